"""The real server takes the definitions of retention, and refuses what can't be meant with what to write."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec
import pytest

from harness.controlplane import Access
from skoupa.errors import Invalid
from skoupa.kinds.definition import Definition, document, resource
from skoupa.kinds.retention import DEFINITIONS
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from tests.cluster.reaching import connected, eventually

pytestmark = pytest.mark.cluster

JOBS = {"any": [{"resources": {"kinds": ["batch/v1/Job"]}}]}
ELSEWHERE = {"any": [{"resources": {"kinds": ["Job"], "namespaces": ["team-*"]}}]}
RETENTION: dict[str, Any] = {
    "match": JOBS,
    "exclude": {"any": [{"resources": {"selector": {"matchLabels": {"audit": "yes"}}}}]},
    "after": {"succeeded": "1h", "failed": "7d", "finished": "1w2d", "unused": "0", "created": "30m"},
    "keepNewest": {"count": 3, "per": "Owner"},
    "owners": "Ignore",
    "capacity": {"atMost": 100, "divide": "PerNamespace"},
    "suspend": True,
    "deletionPropagationPolicy": "Foreground",
}
PROFILE: dict[str, Any] = {
    "kind": "example.com/Training",
    "succeeded": "object.status.phase == 'Done'",
    "failed": "object.status.phase == 'Broken'",
    "finishedAt": "status.endTime",
    "uses": [
        {"path": "spec.workers[].configs{}.secretName", "kind": "Secret"},
        {"path": 'spec."a.b/c".name', "kind": "apps/Deployment", "namespacePath": "spec.where"},
    ],
    "produces": [{"path": "spec.output", "kind": "ConfigMap", "namespace": "shop"}],
    "takes": [{"path": "status.bucketRef.name", "kind": "example.com/Bucket"}],
}
GOOD: list[tuple[str, dict[str, Any]]] = [
    ("RetentionPolicy", RETENTION),
    ("RetentionPolicy", {"after": {"unused": "30m"}}),
    ("RetentionPolicy", {"capacity": {"fromQuota": "count/jobs.batch"}}),
    ("ClusterRetentionPolicy", {**RETENTION, "match": ELSEWHERE}),
    ("ClusterRetentionPolicy", {"keepNewest": {"count": 0, "per": "Family", "family": "^(.*)-v[0-9]+$"}}),
    ("KindProfile", PROFILE),
    ("KindProfile", {"kind": "Widget", "finished": "true"}),
]
BAD: list[tuple[str, dict[str, Any], str]] = [
    ("RetentionPolicy", {}, "it says nothing: write after, keepNewest or capacity"),
    ("ClusterRetentionPolicy", {"match": JOBS}, "it says nothing"),
    ("RetentionPolicy", {"after": {}}, "write after which moment: created, finished"),
    ("RetentionPolicy", {"after": {"finished": "1.5h"}}, "spec.after.finished"),
    ("RetentionPolicy", {"after": {"finished": "1m1h"}}, "spec.after.finished"),
    ("RetentionPolicy", {"after": {"finished": ""}}, "spec.after.finished"),
    ("RetentionPolicy", {"after": {"finished": "-1h"}}, "spec.after.finished"),
    (
        "RetentionPolicy",
        {"after": {"unused": "1h"}, "match": ELSEWHERE},
        "a ClusterRetentionPolicy takes them",
    ),
    ("RetentionPolicy", {"after": {"unused": "1h"}, "exclude": ELSEWHERE}, "leave out namespaces"),
    ("RetentionPolicy", {"after": {"unused": "1h"}, "match": {**JOBS, "all": []}}, "any and all can't stand"),
    ("RetentionPolicy", {"keepNewest": {"count": -1}}, "greater than or equal to 0"),
    ("RetentionPolicy", {"keepNewest": {}}, "spec.keepNewest.count: Required value"),
    (
        "RetentionPolicy",
        {"keepNewest": {"count": 1, "per": "Owner", "family": "a"}},
        "write per: Family with it",
    ),
    ("RetentionPolicy", {"keepNewest": {"count": 1, "per": "Team"}}, "Unsupported value"),
    ("RetentionPolicy", {"capacity": {}}, "either atMost or fromQuota"),
    ("RetentionPolicy", {"capacity": {"atMost": 0}}, "greater than or equal to 1"),
    ("RetentionPolicy", {"capacity": {"atMost": 1, "fromQuota": "pods"}}, "either atMost or fromQuota"),
    ("RetentionPolicy", {"capacity": {"fromQuota": "jobs please"}}, "spec.capacity.fromQuota"),
    ("RetentionPolicy", {"capacity": {"fromQuota": "pods", "divide": "Cluster"}}, "leave out divide"),
    ("RetentionPolicy", {"after": {"unused": "1h"}, "owners": "Maybe"}, "Unsupported value"),
    ("KindProfile", {"kind": "Widget"}, "it teaches nothing"),
    ("KindProfile", {"finished": "true"}, "spec.kind: Required value"),
    ("KindProfile", {"kind": "v1/widgets", "finished": "true"}, "spec.kind"),
    ("KindProfile", {"kind": "Widget", "uses": [{"path": "a", "kind": "Secret"}], "finishedAt": "b"}, "too"),
    ("KindProfile", {"kind": "Widget", "uses": [{"path": "spec..a", "kind": "Secret"}]}, "spec.uses[0].path"),
    (
        "KindProfile",
        {
            "kind": "Widget",
            "uses": [{"path": "a", "kind": "Secret", "namespace": "b", "namespacePath": "c"}],
        },
        "namespace and namespacePath can't stand together",
    ),
]


def _with_admin(plane: Access, work: Callable[[Client], Awaitable[None]]) -> None:
    async def connect() -> None:
        async with connected(plane.kubeconfig) as client:
            await work(client)

    asyncio.run(connect())


@pytest.fixture(scope="module")
def kinds(control_plane: Access) -> Iterator[dict[str, Definition]]:
    """Under a group of their own: the control plane is shared, and an install may come and go on it."""
    group = f"retention-{secrets.token_hex(4)}.skoupa.dev"
    definitions = {each.kind: msgspec.structs.replace(each, group=group) for each in DEFINITIONS}

    async def install(client: Client) -> None:
        for definition in definitions.values():
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, document(definition))
        for definition in definitions.values():

            async def established(name: str = definition.name) -> bool:
                found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name, view=WHOLE)
                said = {
                    one["type"]: one["status"] for one in (found.get("status") or {}).get("conditions") or []
                }
                assert said.get("NonStructuralSchema", "False") == "False"
                return said.get("Established") == "True"

            await eventually(established, what=f"{definition.name} is established")

    async def remove(client: Client) -> None:
        for definition in definitions.values():
            found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, definition.name, view=METADATA)
            await client.delete(
                CUSTOM_RESOURCE_DEFINITIONS, definition.name, uid=found.metadata.uid, propagation="Background"
            )

    _with_admin(control_plane, install)
    try:
        yield definitions
    finally:
        _with_admin(control_plane, remove)


async def write(
    admin: Client, definition: Definition, spec: dict[str, Any], namespace: str
) -> dict[str, Any]:
    kind = resource(definition)
    manifest = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": f"one-{secrets.token_hex(4)}"},
        "spec": spec,
    }
    return await admin.create(kind, manifest, namespace=namespace if kind.namespaced else "")


@pytest.mark.parametrize(("kind", "spec"), GOOD)
async def test_a_good_manifest_is_taken_and_nothing_of_it_is_lost(
    admin: Client, kinds: dict[str, Definition], namespace: str, kind: str, spec: dict[str, Any]
) -> None:
    made = (await write(admin, kinds[kind], spec, namespace))["spec"]
    for key, value in spec.items():
        if isinstance(value, dict):
            assert value.items() <= made[key].items()
        else:
            assert made[key] == value


@pytest.mark.parametrize("bad", BAD)
async def test_what_can_not_be_meant_is_refused_with_what_to_write(
    admin: Client, kinds: dict[str, Definition], namespace: str, bad: tuple[str, dict[str, Any], str]
) -> None:
    kind, spec, said = bad
    with pytest.raises(Invalid) as refused:
        await write(admin, kinds[kind], spec, namespace)
    assert said in refused.value.status.message
