"""Policies asked about pages of the real server: metadata alone and whole, context and functions answered by it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from skoupa.expr.cel.pool import Pool
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import View
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, PODS, Resource
from skoupa.policy.reading import read_policy
from skoupa.runs.calls.outside import Outside
from skoupa.runs.evaluation import Evaluation, Found
from skoupa.runs.expressions import namespaces_of
from skoupa.settings import PolicySettings

pytestmark = pytest.mark.cluster

CLAIMS = Resource(
    version="v1", plural="persistentvolumeclaims", kind="PersistentVolumeClaim", namespaced=True
)


class Judge:
    """Asks a policy about all objects of a kind in one namespace."""

    def __init__(self, client: Client, pool: Pool, namespace: str) -> None:
        self._client = client
        self._pool = pool
        self._namespace = namespace
        self.bodies: bool | None = None

    async def __call__(self, kind: str, resource: Resource, **spec: Any) -> dict[str, Found]:
        group = "policies.kyverno.io/v1" if "Deleting" in kind else "kyverno.io/v2"
        namespace = "" if kind in {"ClusterCleanupPolicy", "DeletingPolicy"} else self._namespace
        metadata = {"name": "old", **({"namespace": namespace} if namespace else {})}
        discovery = await discover(self._client)
        reading = read_policy(
            {
                "apiVersion": group,
                "kind": kind,
                "metadata": metadata,
                "spec": {"schedule": "@daily", **self._matching(kind, resource), **spec},
            },
            discovery=discovery,
        )
        assert reading.policy is not None, reading.problems
        outside = Outside(self._client, settings=PolicySettings())
        try:
            evaluation = Evaluation(
                reading.policy,
                pool=self._pool,
                calls=outside.calls(namespace=namespace, discovery=discovery),
                clock=self._client.clock,
                namespaces={self._namespace: {}},
                namespace_object=namespaces_of(self._client),
            )
            await evaluation.begin()
            self.bodies = evaluation.needs_bodies
            view: View[msgspec.Raw] = View(type=msgspec.Raw, metadata_only=not evaluation.needs_bodies)
            scope = Scope(namespace=self._namespace)
            found: dict[str, Found] = {}
            async for page in pages(self._client, resource, view, scope=scope, page_size=3):
                for one in await evaluation.page(resource, page.items):
                    found[one.metadata.name] = one
            return found
        finally:
            await outside.close()

    def _matching(self, kind: str, resource: Resource) -> dict[str, Any]:
        if "Deleting" not in kind:
            return {"match": {"any": [{"resources": {"kinds": [resource.kind]}}]}}
        rule = {"apiGroups": [resource.group], "apiVersions": ["*"], "resources": [resource.plural]}
        return {"matchConstraints": {"resourceRules": [rule]}}


@pytest.fixture
async def judge(admin: Client, namespace: str) -> AsyncIterator[Judge]:
    async with Pool(clock=admin.clock) as pool:
        yield Judge(admin, pool, namespace)


async def make(client: Client, resource: Resource, namespace: str, name: str, **fields: Any) -> None:
    metadata = {"name": name, **fields.pop("metadata", {})}
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **fields}
    await client.create(resource, body, namespace=namespace)


def names(found: dict[str, Found], outcome: str = "claimed") -> list[str]:
    return sorted(
        name for name, one in found.items() if one.outcome == outcome and not name.startswith("kube-")
    )


def condition(key: str, operator: str, value: Any) -> dict[str, Any]:
    return {"key": key, "operator": operator, "value": value}


async def test_metadata_is_enough_for_labels_and_time(judge: Judge, admin: Client, namespace: str) -> None:
    for number in range(7):
        labels = {"size": str(number)} if number else {}
        await make(admin, CONFIG_MAPS, namespace, f"c{number}", metadata={"labels": labels})
    old = condition("{{ time_since('', '{{ target.metadata.creationTimestamp }}', '') }}", "LessThan", "1h")
    large = condition("{{ target.metadata.labels.size }}", "GreaterThan", 4)
    found = await judge("CleanupPolicy", CONFIG_MAPS, conditions={"all": [old, large]})
    assert judge.bodies is False
    assert names(found) == ["c5", "c6"]
    assert "c0" in names(found, "unclear")
    assert "target.metadata.labels is not there" in str(found["c0"].why)
    text = "object.kind == 'ConfigMap' && int(object.metadata.labels['size']) > 4"
    found = await judge(
        "NamespacedDeletingPolicy", CONFIG_MAPS, conditions=[{"name": "a", "expression": text}]
    )
    assert judge.bodies is False
    assert names(found) == ["c5", "c6"]
    assert "c0" in names(found, "unclear")


async def test_bodies_are_read_where_conditions_look_into_them(
    judge: Judge, admin: Client, namespace: str
) -> None:
    for name, value in (("a", "1"), ("b", "2")):
        await make(admin, CONFIG_MAPS, namespace, name, data={"key": value})
    first = condition("{{ target.data.key || '' }}", "Equals", "1")
    assert names(await judge("ClusterCleanupPolicy", CONFIG_MAPS, conditions={"all": [first]})) == ["a"]
    assert judge.bodies is True
    text = "has(object.data.key) && object.data.key == '2'"
    found = await judge("DeletingPolicy", CONFIG_MAPS, conditions=[{"name": "a", "expression": text}])
    assert names(found) == ["b"]


async def test_claims_that_no_pod_mounts_are_found_by_asking_the_server(
    judge: Judge, admin: Client, namespace: str
) -> None:
    for name in ("used", "unused"):
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        await make(admin, CLAIMS, namespace, name, spec=spec)
    pod = {
        "containers": [{"name": "c", "image": "nginx"}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "used"}}],
    }
    await make(admin, PODS, namespace, "user", spec=pod)
    mounted = {
        "name": "mounted",
        "apiCall": {
            "urlPath": "/api/v1/namespaces/{{ request.namespace }}/pods",
            "jmesPath": "items[].spec.volumes[].persistentVolumeClaim.claimName",
        },
    }
    unused = condition("{{ target.metadata.name }}", "AnyNotIn", "{{ mounted }}")
    found = await judge("CleanupPolicy", CLAIMS, context=[mounted], conditions={"all": [unused]})
    assert names(found) == ["unused"]
    text = (
        "!resource.List('v1', 'pods', object.metadata.namespace).items.exists(p, p.spec.volumes.exists(v, "
        "has(v.persistentVolumeClaim) && v.persistentVolumeClaim.claimName == object.metadata.name))"
    )
    found = await judge("NamespacedDeletingPolicy", CLAIMS, conditions=[{"name": "a", "expression": text}])
    assert names(found) == ["unused"], {name: str(one.why) for name, one in found.items()}


async def test_what_the_server_refuses_leaves_objects_unclear(
    judge: Judge, admin: Client, namespace: str
) -> None:
    await make(admin, CONFIG_MAPS, namespace, "a")
    call: dict[str, Any] = {"urlPath": "/apis/nothing.example/v1/things", "jmesPath": "items"}
    entry = {"name": "x", "apiCall": call}
    used = condition("{{ x || `[]` }}", "Equals", [])
    found = await judge("ClusterCleanupPolicy", CONFIG_MAPS, context=[entry], conditions={"all": [used]})
    assert names(found, "unclear") == ["a"]
    assert "context entry x:" in str(found["a"].why)
    call["default"] = []
    found = await judge("ClusterCleanupPolicy", CONFIG_MAPS, context=[entry], conditions={"all": [used]})
    assert names(found) == ["a"]


async def test_the_namespace_of_an_object_is_the_server_s(
    judge: Judge, admin: Client, namespace: str
) -> None:
    await admin.merge_patch(NAMESPACES, namespace, {"metadata": {"annotations": {"team": "a"}}})
    await make(admin, CONFIG_MAPS, namespace, "a")
    text = "namespaceObject.metadata.annotations['team'] == 'a' && namespaceObject.status.phase == 'Active'"
    for kind in ("DeletingPolicy", "NamespacedDeletingPolicy"):
        found = await judge(kind, CONFIG_MAPS, conditions=[{"name": "a", "expression": text}])
        assert names(found) == ["a"], str(found["a"].why)
