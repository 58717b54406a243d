"""Kinds that come and go by themselves are left alone, which is told, until `watchAlso` names them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import ControlPlane
from skoupa.errors import NotFound
from skoupa.kube.resources import Resource
from tests.cluster.commands import skoupa
from tests.cluster.controller.objects import CORE_EVENTS, AuditLog, People
from tests.cluster.controller.running import Skoupa, Yard

pytestmark = pytest.mark.cluster

LEASES = Resource(group="coordination.k8s.io", version="v1", plural="leases", kind="Lease", namespaced=True)
ENDPOINTS = Resource(version="v1", plural="endpoints", kind="Endpoints", namespaced=True)
SLICES = Resource(
    group="discovery.k8s.io",
    version="v1",
    plural="endpointslices",
    kind="EndpointSlice",
    namespaced=True,
)
KINDS = (CORE_EVENTS, LEASES, ENDPOINTS, SLICES)


def body(resource: Resource, people: People) -> Mapping[str, Any]:
    if resource is CORE_EVENTS:
        about = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": people.namespace, "name": "web"}
        return {"involvedObject": about, "reason": "Tested", "type": "Normal"}
    return {"addressType": "IPv4", "endpoints": []} if resource is SLICES else {}


async def make_all(people: People) -> list[dict[str, Any]]:
    return [
        await people.make("web", "1s", resource=resource, body=body(resource, people)) for resource in KINDS
    ]


@pytest.fixture
async def made(people: People) -> AsyncIterator[None]:
    """One of each; those that stay are removed after the test."""
    found = await make_all(people)
    yield
    for resource, one in zip(KINDS, found, strict=True):
        with suppress(NotFound):
            await people.remove(one, resource=resource)


async def all_gone(people: People) -> None:
    for resource in KINDS:
        await people.gone("web", resource=resource)


async def planned(plane: ControlPlane, people: People, *more: str) -> dict[str, list[Mapping[str, str]]]:
    """The Holds of each kind, asked for by name."""
    kinds = ",".join(resource.qualified for resource in KINDS)
    said = await skoupa(
        "plan", kinds, "-n", people.namespace, "-o", "json", *more, kubeconfig=plane.kubeconfig
    )
    assert said.code == 0, said.err
    items = json.loads(said.out)["items"]
    assert {item["name"] for item in items} == {"web"}
    return {item["kind"]: [hold["reason"] for hold in item["holds"]] for item in items}


@pytest.mark.usefixtures("made")
async def test_they_stay_unless_the_setting_names_them(
    sweeping: Skoupa, people: People, yard: Yard, audit: AuditLog
) -> None:
    await people.make("last", "1s")
    await people.gone("last")
    for resource in KINDS:
        assert await people.there("web", resource=resource)
    assert sweeping.said("deleted", name="web", namespace=people.namespace) == []
    await yard.started(watchAlso=",".join(resource.qualified for resource in KINDS))
    await all_gone(people)
    await each_deleted_once(people, audit)


@pytest.mark.usefixtures("made")
async def test_plan_and_explain_say_that_they_are_not_watched_and_what_to_set(
    plane: ControlPlane, people: People, tmp_path: Path
) -> None:
    held = await planned(plane, people)
    assert held.keys() == {resource.kind for resource in KINDS}
    named = []
    for resource in KINDS:
        (why,) = held[resource.kind]
        assert why["code"] == "not-watched"
        advice = why["text"].rpartition(": ")[2]
        assert advice == f"add {resource.qualified} to the setting watchAlso"
        named.append(advice.split()[1])
    explained = await skoupa("explain", "lease/web", "-n", people.namespace, kubeconfig=plane.kubeconfig)
    assert "  held by: leases.coordination.k8s.io are not watched" in explained.out
    config = tmp_path / "config.yaml"
    config.write_text(f"watchAlso: [{', '.join(named)}]\n")
    assert await planned(plane, people, "--config", str(config)) == {resource.kind: [] for resource in KINDS}


async def test_their_kinds_may_be_written_as_manifests_write_them(
    people: People, yard: Yard, audit: AuditLog
) -> None:
    process = await yard.started(watchAlso="Event,Lease,Endpoints,EndpointSlice")
    await make_all(people)
    await all_gone(people)
    await each_deleted_once(people, audit)
    assert process.said("delete failed", namespace=people.namespace) == []


async def each_deleted_once(people: People, audit: AuditLog) -> None:
    """An Event, too, which two groups of the server have."""
    # Whatever was still to be deleted when they went is done when this one is.
    await people.make("last", "1s")
    await people.gone("last")
    refs = [entry["objectRef"] for entry in audit.deletes(people.namespace)]
    deleted = sorted(ref["resource"] for ref in refs if ref["name"] == "web")
    assert deleted == sorted(resource.plural for resource in KINDS)
