"""Retention on a real server: native collectors and ours do not fight, use in between counts, and the feature can be switched."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kinds.retention.policy import RETENTION_POLICIES
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, PODS, Resource
from skoupa.kube.timestamps import whole_seconds
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.running import Yard
from tests.cluster.controller.test_retention_stories import POD, bring_policies
from tests.cluster.controller.test_ttl_after import (
    DEPLOYMENTS,
    ON,
    REPLICA_SETS,
    after,
    mark,
    patches,
    template,
)
from tests.cluster.reaching import eventually
from tests.cluster.test_finishing import CONTAINER, JOBS, end_pod

pytestmark = pytest.mark.cluster


async def marked(people: People, name: str) -> str:
    async def is_marked() -> str:
        return await mark(people, name)

    return await eventually(is_marked, what=f"the mark on {name}", patiently=True)


async def test_use_in_between_takes_the_mark_off_and_the_time_starts_anew(
    yard: Yard, people: People, audit: AuditLog
) -> None:
    await yard.started(**ON)
    # Long enough for whatever is done below; what is asserted is that marks come and go.
    await people.make("config", labels=after("unused-15s"))
    first = await marked(people, "config")
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template("config")}
    web = await people.make("web", resource=DEPLOYMENTS, body={"spec": spec})

    async def unmarked() -> bool:
        return not await mark(people, "config")

    await eventually(unmarked, what="the mark to be taken off", patiently=True)

    async def another_second() -> bool:
        return whole_seconds(people.client.clock.now()) > first

    # The controller is done with it, and marks are whole seconds.
    await eventually(lambda: anything(people, REPLICA_SETS), what="the ReplicaSet", seconds=60)
    await eventually(another_second, what="the second of the first mark to pass")
    await people.remove(web, resource=DEPLOYMENTS)
    assert await marked(people, "config") > first
    await people.gone("config", seconds=60)
    # One for each transition.
    assert len(patches(audit, people, "config")) == 3


async def test_switched_off_nothing_is_marked_or_goes_and_on_again_it_goes_by_its_first_mark(
    yard: Yard, people: People, audit: AuditLog
) -> None:
    off = await yard.started()
    await people.make("config", labels=after("unused-1h"))
    # What else it does it does, and it has seen all of this by then.
    await off.has_heard_of_all(people, CONFIG_MAPS)
    assert not await mark(people, "config")
    off.end()
    on = await yard.started(**ON)
    first = await marked(people, "config")
    on.end()
    off = await yard.started()
    # The time of the label has come, and nobody who looks at that is there.
    await people.client.merge_patch(
        CONFIG_MAPS, "config", {"metadata": {"labels": after("unused-1s")}}, namespace=people.namespace
    )
    await off.has_heard_of_all(people, CONFIG_MAPS)
    assert await mark(people, "config") == first
    off.end()
    on = await yard.started(**ON)
    await people.gone("config", seconds=60)
    deleted = await on.says("deleted", name="config", namespace=people.namespace)
    assert first in deleted["why"]
    assert len(patches(audit, people, "config")) == 1


async def test_what_kubernetes_takes_sooner_is_nothing_to_fail_at_and_what_ours_takes_cascades(
    yard: Yard, people: People
) -> None:
    skoupa = await yard.started(**ON)
    spec = {"backoffLimit": 0, "template": POD}
    native = {**spec, "ttlSecondsAfterFinished": 1}
    await people.make("native", resource=JOBS, labels=after("finished-1h"), body={"spec": native})
    await end_pod(people.client, people.namespace, phase="Succeeded", code=0)
    # The controller of Jobs takes it, however long ours would wait.
    await people.gone("native", resource=JOBS, seconds=60)
    await eventually(lambda: no_pods(people), what="its Pod to go with it", seconds=60)
    await people.make("ours", resource=JOBS, labels=after("finished-1s"), body={"spec": spec})
    await end_pod(people.client, people.namespace, phase="Succeeded", code=0)
    await people.gone("ours", resource=JOBS, seconds=60)
    await eventually(lambda: no_pods(people), what="the Pod of ours to go with it", seconds=60)
    await skoupa.says("deleted", name="ours", namespace=people.namespace)
    assert not skoupa.said("deleted", name="native")
    assert not skoupa.said("failed", namespace=people.namespace)


async def anything(people: People, resource: Resource) -> bool:
    found = await everything(people.client, resource, METADATA, scope=Scope(namespace=people.namespace))
    return bool(found.items)


async def no_pods(people: People) -> bool:
    return not await pods(people)


async def pods(people: People) -> set[str]:
    found = await everything(people.client, PODS, METADATA, scope=Scope(namespace=people.namespace))
    return {one.metadata.name for one in found.items}


async def end(people: People, name: str, *, at: float) -> None:
    """As a kubelet would."""
    terminated = {"exitCode": 0, "reason": "Ended", "finishedAt": whole_seconds(at)}
    state = {"terminated": terminated}
    container = {**CONTAINER, "imageID": "", "ready": False, "restartCount": 0, "state": state}
    status = {"phase": "Succeeded", "containerStatuses": [container]}
    await people.client.merge_patch(
        PODS, name, {"status": status}, namespace=people.namespace, subresource="status"
    )


async def test_pods_that_ended_are_limited_by_their_end_and_never_those_that_a_job_counts_on(
    yard: Yard, people: People
) -> None:
    await bring_policies(people)
    spec = {"backoffLimit": 0, "completions": 2, "parallelism": 1, "template": POD}
    await people.make("report", resource=JOBS, body={"spec": spec})
    first = await end_pod(people.client, people.namespace, phase="Succeeded", code=0)

    async def second() -> str:
        return next(iter(await pods(people) - {first}), "")

    following = await eventually(second, what="the second Pod of the Job", seconds=60)
    # Of nobody; made in another order than they ended.
    ended = {"last": 3, "oldest": 1, "middle": 2}
    for name in ended:
        await people.make(name, resource=PODS, body=POD)
    now = people.client.clock.now()
    for name, later in ended.items():
        await end(people, name, at=now + later)
    limit: dict[str, Any] = {
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "capacity": {"atMost": 2, "divide": "PerNamespace"},
    }
    made = await people.make("pods", resource=RETENTION_POLICIES, body={"spec": limit})
    await yard.started(**ON)
    # Two may stay: that of the Job, which no limit takes, and the one that ended last.
    for name in ("oldest", "middle"):
        await people.gone(name, resource=PODS, seconds=60)
    assert await pods(people) == {first, following, "last"}
    await end(people, following, at=people.client.clock.now() + 1)

    async def complete() -> bool:
        found = await people.client.get(JOBS, "report", namespace=people.namespace, view=WHOLE)
        return int((found.get("status") or {}).get("succeeded") or 0) == 2

    await eventually(complete, what="the Job to count both", seconds=60)
    await people.gone("last", resource=PODS, seconds=60)
    assert await pods(people) == {first, following}
    await people.remove(made, resource=RETENTION_POLICIES)
