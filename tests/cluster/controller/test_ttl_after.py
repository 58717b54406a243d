"""`skoupa.dev/ttl-after` on a real server with kube-controller-manager beside: native owners and ours agree."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, Resource
from skoupa.kube.transport import Request
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.running import Yard
from tests.cluster.reaching import eventually
from tests.cluster.test_finishing import CONTAINER, JOBS, end_pod

pytestmark = pytest.mark.cluster

DEPLOYMENTS = Resource(group="apps", version="v1", plural="deployments", kind="Deployment", namespaced=True)
REPLICA_SETS = Resource(group="apps", version="v1", plural="replicasets", kind="ReplicaSet", namespaced=True)
REVISIONS = Resource(
    group="apps", version="v1", plural="controllerrevisions", kind="ControllerRevision", namespaced=True
)
ON: dict[str, Any] = {"features__retention": "true"}


def after(value: str) -> dict[str, str]:
    return {names.TTL_AFTER_LABEL: value}


async def mark(people: People, name: str, *, resource: Resource = CONFIG_MAPS) -> str:
    found = await people.client.get(resource, name, view=METADATA, namespace=people.namespace)
    return (found.metadata.annotations or {}).get(names.UNNEEDED_SINCE_ANNOTATION, "")


def patches(audit: AuditLog, people: People, name: str) -> list[dict[str, Any]]:
    return [
        entry
        for entry in audit.entries()
        if entry["verb"] == "patch"
        and (entry["objectRef"].get("namespace"), entry["objectRef"].get("name")) == (people.namespace, name)
        and entry["objectRef"]["resource"] == "configmaps"
    ]


def template(config: str) -> dict[str, Any]:
    volume = {"name": "config", "configMap": {"name": config}}
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [CONTAINER], "volumes": [volume]}}


async def test_a_config_goes_a_while_after_the_last_of_what_used_it_and_a_rollback_keeps_it(
    yard: Yard, people: People, audit: AuditLog
) -> None:
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template("old")}
    web = await people.make("web", resource=DEPLOYMENTS, body={"spec": spec})
    skoupa = await yard.started(**ON)

    async def rolled_out() -> bool:
        scope = Scope(namespace=people.namespace)
        return bool((await everything(people.client, REPLICA_SETS, METADATA, scope=scope)).items)

    await eventually(rolled_out, what="the ReplicaSet of the first edition")
    await people.make("old", labels=after("unused-3s"))
    await people.client.merge_patch(
        DEPLOYMENTS, "web", {"spec": {"template": template("new")}}, namespace=people.namespace
    )
    # Not before something uses it.
    for name in ("new", "free"):
        await people.make(name, labels=after("unused-3s"))
    # Nothing names it; the ReplicaSet of the first edition, to which a rollback goes, names the old one.
    await people.gone("free")
    assert await people.there("old")
    assert await people.there("new")
    assert not await mark(people, "old")
    await people.remove(web, resource=DEPLOYMENTS)
    for name in ("old", "new"):
        await people.gone(name, seconds=60)
    deleted = await skoupa.says("deleted", name="old", namespace=people.namespace)
    assert "unused-3s" in deleted["why"]
    for name in ("old", "free"):
        assert len(patches(audit, people, name)) == 1


async def test_a_job_goes_a_while_after_it_finished_and_a_restart_keeps_its_mark(
    yard: Yard, people: People
) -> None:
    given = {**ON, "lease__seconds": "3"}
    skoupa = await yard.started(**given)
    pod = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
    await people.make(
        "report",
        resource=JOBS,
        labels=after("finished-10s"),
        body={"spec": {"backoffLimit": 0, "template": pod}},
    )
    await end_pod(people.client, people.namespace, phase="Succeeded", code=0)

    async def marked() -> str:
        return await mark(people, "report", resource=JOBS)

    first = await eventually(marked, what="the mark on the Job", patiently=True)
    skoupa.kill()
    again = await yard.started(**given)
    await people.gone("report", resource=JOBS)
    # The line is written after the object is gone.
    deleted = await again.says("deleted", name="report", namespace=people.namespace)
    assert first in deleted["why"]


async def test_observing_writes_no_mark_and_deletes_nothing(yard: Yard, people: People) -> None:
    skoupa = await yard.started(enforce=False, **ON)
    await people.make("config", labels=after("unused-1s"))
    await skoupa.says("would delete", name="config", namespace=people.namespace)
    assert await people.there("config")
    assert not await mark(people, "config")


async def test_an_object_that_is_nested_without_end_holds_what_it_may_use_and_stops_nobody(
    yard: Yard, people: People
) -> None:
    """Whoever may write a ControllerRevision may write one of which nobody can read the inside."""
    deep = "[" * 9000 + "]" * 9000
    written = (
        f'{{"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {{"name": "deep"}}, '
        f'"revision": 1, "data": {{"more": {deep}}}}}'
    )
    path = REVISIONS.path(namespace=people.namespace)
    headers = people.client.headers(("Content-Type", "application/json"))
    await people.client.ask(
        Request(method="POST", path=path, headers=headers, body=written.encode()), doing="make it"
    )
    skoupa = await yard.started(**ON)
    await people.make("config", labels=after("unused-1s"))
    await people.make("other", ttl="1s")
    await people.gone("other")
    await skoupa.says("ready")
    assert await people.there("config")
    assert not await mark(people, "config")
    found = await people.client.get(REVISIONS, "deep", view=METADATA, namespace=people.namespace)
    await people.client.delete(
        REVISIONS, "deep", namespace=people.namespace, uid=found.metadata.uid, propagation="Background"
    )
    await people.gone("config", seconds=60)
