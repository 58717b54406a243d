"""The seed's one-line policies on the real server: unreferenced claims, Pods behind no Service, what nothing uses, what has ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from skoupa.expr.cel.pool import Pool
from skoupa.kinds.retention.profile import KIND_PROFILES
from skoupa.kube.client import Client
from skoupa.kube.resources import CONFIG_MAPS, PODS, Resource
from skoupa.runs.evaluation import Found
from tests.cluster.reaching import eventually
from tests.cluster.runs.test_evaluation import CLAIMS, Judge, condition, make, names
from tests.cluster.teaching import TRAININGS, kinds_brought

pytestmark = pytest.mark.cluster

DEPLOYMENTS = Resource(group="apps", version="v1", plural="deployments", kind="Deployment", namespaced=True)
SERVICES = Resource(version="v1", plural="services", kind="Service", namespaced=True)


@pytest.fixture
async def judge(admin: Client, namespace: str) -> AsyncIterator[Judge]:
    async with Pool(clock=admin.clock) as pool:
        yield Judge(admin, pool, namespace)


def pod(*, claim: str = "", config_map: str = "") -> dict[str, Any]:
    volumes: list[dict[str, Any]] = []
    if claim:
        volumes.append({"name": "data", "persistentVolumeClaim": {"claimName": claim}})
    if config_map:
        volumes.append({"name": "settings", "configMap": {"name": config_map}})
    return {"containers": [{"name": "web", "image": "web"}], "volumes": volumes}


async def both(judge: Judge, resource: Resource, expression: str, *, inside: bool = False) -> list[str]:
    """What goes by it; the same in both languages, once nothing is too new to be told."""

    async def settled(kind: str, **spec: Any) -> dict[str, Found]:
        unclear: list[str] = []

        async def once() -> dict[str, Found]:
            found = await judge(kind, resource, **spec)
            unclear[:] = [str(one.why) for one in found.values() if one.outcome == "unclear"]
            return {} if unclear else found

        return await eventually(once, what=lambda: unclear)

    text = expression.replace("object", "target")
    yes = {"all": [condition(f"{{{{ {text} }}}}", "Equals", True)]}
    first = await settled("CleanupPolicy" if inside else "ClusterCleanupPolicy", conditions=yes)
    second = await settled(
        "NamespacedDeletingPolicy" if inside else "DeletingPolicy",
        conditions=[{"name": "a", "expression": expression}],
    )
    assert names(first) == names(second)
    return names(first)


async def test_one_line_finds_what_nothing_refers_to(judge: Judge, admin: Client, namespace: str) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    for name in ("mounted", "parked", "forgotten"):
        await make(admin, CLAIMS, namespace, name, spec=claim)
        await make(admin, CONFIG_MAPS, namespace, name)
    template = {"metadata": {"labels": {"app": "parked"}}, "spec": pod(claim="parked", config_map="parked")}
    scaled = {"replicas": 0, "selector": {"matchLabels": {"app": "parked"}}, "template": template}
    await make(admin, DEPLOYMENTS, namespace, "parked", spec=scaled)
    await make(admin, PODS, namespace, "web", spec=pod(claim="mounted", config_map="mounted"))
    for inside in (False, True):
        assert await both(judge, CLAIMS, "skoupa_unused(object)", inside=inside) == ["forgotten"]
        assert await both(judge, CONFIG_MAPS, "skoupa_unused(object)", inside=inside) == ["forgotten"]
        assert await both(judge, CLAIMS, "skoupa_unmounted(object)", inside=inside) == ["forgotten", "parked"]
    used = f"contains(skoupa_used_by(target), 'Deployment {namespace}/parked')"
    only = {"all": [condition(f"{{{{ {used} }}}}", "Equals", True)]}
    assert names(await judge("CleanupPolicy", CONFIG_MAPS, conditions=only)) == ["parked"]


async def test_one_line_finds_pods_behind_no_service(judge: Judge, admin: Client, namespace: str) -> None:
    ports = {"ports": [{"port": 80}], "selector": {"app": "web"}}
    await make(admin, SERVICES, namespace, "web", spec=ports)
    await make(admin, PODS, namespace, "served", metadata={"labels": {"app": "web"}}, spec=pod())
    await make(admin, PODS, namespace, "alone", metadata={"labels": {"app": "other"}}, spec=pod())
    for inside in (False, True):
        assert await both(judge, PODS, "!skoupa_behind_service(object)", inside=inside) == ["alone"]
    assert judge.bodies is False
    # Nobody runs them here, so that none has ended.
    assert await both(judge, PODS, "skoupa_finished(object)") == []
    assert judge.bodies is True


async def test_what_has_finished_by_a_profile_goes_and_what_it_says_still_runs_does_not(
    judge: Judge, admin: Client, namespace: str
) -> None:
    finished = "skoupa_finished(object)"
    async with kinds_brought(admin):
        ended = {
            "conditions": [{"type": "Succeeded", "status": "True"}],
            "finishedAt": "2026-01-02T00:00:00Z",
        }
        for name, phase in (("night", "Done"), ("day", "Uploading")):
            # Both look as if they had ended.
            await make(admin, TRAININGS, namespace, name, status={**ended, "phase": phase})
        profile = {
            "apiVersion": KIND_PROFILES.api_version,
            "kind": KIND_PROFILES.kind,
            "metadata": {"name": "training"},
            "spec": {"kind": "example.com/Training", "finished": "object.status.phase == 'Done'"},
        }
        await admin.create(KIND_PROFILES, profile)
        for inside in (False, True):
            assert await both(judge, TRAININGS, finished, inside=inside) == ["night"]
        other = {**profile, "metadata": {"name": "another"}}
        await admin.create(KIND_PROFILES, other)
        found = await judge("DeletingPolicy", TRAININGS, conditions=[{"name": "a", "expression": finished}])
        assert names(found) == []
        assert "are both about it" in str(found["night"].why)
