"""After the delete somebody looks: what finalizers keep is told with their names, deleted once, and told no more when it went."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from harness.controlplane import ControlPlane
from skoupa.errors import NotFound
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.cluster.commands import skoupa
from tests.cluster.controller.objects import AuditLog, People, grant
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.controller.test_rights import EVENTS, OWN
from tests.cluster.reaching import eventually, until

pytestmark = pytest.mark.cluster

BLOCKER = "skoupa.example/test"
PAUSE = "2s"


async def unblock(people: People, name: str) -> None:
    patch = {"metadata": {"finalizers": None}}
    await people.client.merge_patch(CONFIG_MAPS, name, patch, namespace=people.namespace)


def reports(process: Skoupa, people: People, name: str) -> int:
    return len(process.said("stuck", name=name, namespace=people.namespace))


async def more_reports(process: Skoupa, people: People, name: str, *, than: int) -> None:
    # Each comes after twice the time.
    await until(lambda: reports(process, people, name) > than, what=f"more reports of {name}", seconds=200)


async def terminating(process: Skoupa) -> float:
    return await process.metric('skoupa_holds{reason="terminating"}')


async def test_what_still_terminates_is_told_with_its_finalizers_until_they_go_and_is_deleted_once(
    people: People, yard: Yard, audit: AuditLog
) -> None:
    process = await yard.started(stuckAfter=PAUSE)
    for name in ("web", "other"):
        await people.make(name, "1s", finalizers=[BLOCKER, "skoupa.example/second"])
    deleted = await process.says("deleted", name="web", namespace=people.namespace)
    assert deleted["terminating"] == "True"
    stuck = await process.says("stuck", name="web", namespace=people.namespace)
    await process.says("stuck", name="other", namespace=people.namespace)
    assert stuck["level"] == "warning"
    assert stuck["finalizers"] == f"{BLOCKER}, skoupa.example/second"
    event = await people.event("web", "SkoupaStuck")
    assert event["type"] == "Warning"
    assert event["message"].startswith("deleted at ")
    assert event["message"].endswith(f" and still there; waiting for {BLOCKER}, skoupa.example/second")
    assert await process.metric('skoupa_stuck_total{kind="configmaps"}') >= 1
    waiting = await terminating(process)
    assert waiting >= 2
    assert await process.metric('skoupa_oldest_overdue_seconds{reason="terminating"}') > 0

    # Whatever is written to it now, it is only looked at.
    await people.label("web", team="b")
    await people.label("web", ttl="2s")
    await more_reports(process, people, "web", than=reports(process, people, "web") + 1)
    await unblock(people, "web")
    await people.gone("web")
    told = reports(process, people, "web")
    # Both were found together, so that their reports come together.
    await more_reports(process, people, "other", than=told)
    await unblock(people, "other")
    await people.gone("other")

    async def over() -> bool:
        return await terminating(process) <= waiting - 2

    await eventually(over, what="them to be counted no more")
    assert reports(process, people, "web") == told
    assert sorted(entry["objectRef"]["name"] for entry in audit.deletes(people.namespace)) == ["other", "web"]


async def test_plan_and_explain_name_the_finalizers_that_it_waits_for(
    plane: ControlPlane, people: People
) -> None:
    made = await people.make("web", "1s", finalizers=[BLOCKER])
    await people.remove(made)
    here = ("-n", people.namespace)
    planned = await skoupa("plan", *here, "-o", "json", kubeconfig=plane.kubeconfig)
    (item,) = json.loads(planned.out)["items"]
    (hold,) = item["holds"]
    assert hold["reason"]["code"] == "terminating"
    assert hold["reason"]["text"].startswith("it is being deleted since ")
    assert hold["reason"]["text"].endswith(f"; waiting for {BLOCKER}")
    explained = await skoupa("explain", "cm/web", *here, kubeconfig=plane.kubeconfig)
    assert explained.out.splitlines()[1].startswith("  Is being deleted since ")
    assert f"waiting for {BLOCKER}" in explained.out


async def test_what_somebody_else_deleted_before_it_started_is_told_too_and_not_deleted_again(
    people: People, yard: Yard, audit: AuditLog
) -> None:
    made = await people.make("web", "1s", finalizers=[BLOCKER])
    await people.remove(made)
    process = await yard.started(stuckAfter=PAUSE)
    stuck = await process.says("stuck", name="web", namespace=people.namespace)
    assert stuck["finalizers"] == BLOCKER
    await more_reports(process, people, "web", than=1)
    await unblock(people, "web")
    await people.gone("web")
    assert audit.deletes(people.namespace) == []


@pytest.fixture
async def blocked(people: People) -> AsyncIterator[People]:
    """A Namespace in which something has a finalizer; nothing of it is left to the next test."""
    name = f"blocked-{secrets.token_hex(4)}"
    await people.client.create(NAMESPACES, {"metadata": {"name": name}})
    inside = People(people.client, name)
    await inside.make("deed", finalizers=[BLOCKER])
    yield inside
    with suppress(NotFound):
        await people.label(name, resource=NAMESPACES, ttl=None)
    with suppress(NotFound):
        await unblock(inside, "deed")


async def test_a_namespace_is_told_with_the_finalizers_inside_it_also_by_who_may_list_but_not_get(
    plane: ControlPlane, blocked: People, yard: Yard, audit: AuditLog
) -> None:
    """Its own metadata has no finalizer: what it waits for stands in its conditions."""
    user = f"sweeper-{secrets.token_hex(4)}"
    boss = blocked.client
    await grant(boss, user, OWN, namespace=yard.home)
    await grant(boss, user, [("list watch", "*", "*"), ("delete", "", "namespaces"), EVENTS])
    process = await yard.started(kubeconfig=plane.kubeconfig_for(user=user), stuckAfter="8s")
    await blocked.label(blocked.namespace, resource=NAMESPACES, ttl="1s")
    await process.says("stuck", name=blocked.namespace)
    event = await blocked.event(blocked.namespace, "SkoupaStuck", kind="Namespace", namespace="default")
    assert event["type"] == "Warning"
    # The server writes the conditions in its own time, so it may be no more than the next report that has them.
    waiting = f"{BLOCKER} in 1 resource instances"
    await until(
        lambda: [line for line in process.said("stuck") if waiting in line["finalizers"]],
        what=lambda: f"a report with what is inside: {process.said('stuck')}",
        seconds=120,
    )
    await unblock(blocked, "deed")
    await blocked.gone(blocked.namespace, resource=NAMESPACES, seconds=60)
    deleted = [entry["objectRef"]["name"] for entry in audit.entries() if entry["verb"] == "delete"]
    assert deleted.count(blocked.namespace) == 1
