"""The embedded cluster serves our kinds too; it knows no CEL, and what that lets through still holds."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.errors import Invalid
from skoupa.kinds import definitions
from skoupa.kinds.brake import BRAKES, EVERYTHING, BrakeSpec, Scope, manifest
from skoupa.kinds.brake_effect import active
from skoupa.kinds.brake_reading import read_brake
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from skoupa.sim.cluster import EmbeddedCluster
from tests.unit.sim.asking import on_cluster

pytestmark = pytest.mark.unit


async def installed(cluster: EmbeddedCluster) -> Client:
    client = Client(cluster, cluster.clock)
    for definition in definitions():
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    for definition in definitions():
        while not await established(client, definition["metadata"]["name"]):
            await cluster.clock.sleep(0.1)
    return client


async def established(client: Client, name: str) -> bool:
    found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name, view=WHOLE)
    conditions = (found.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def test_a_brake_is_served_filled_in_and_refused_by_its_schema() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await installed(cluster)
        assert (await discover(client)).resolve("brk").qualified == "brakes.skoupa.dev"
        body = manifest("one", BrakeSpec(scope=Scope(namespace="shop")))
        body["spec"]["schedule"] = {"from": "@daily", "to": "@weekly"}
        made = await client.create(BRAKES, body)
        assert made["spec"]["schedule"]["timeZone"] == "UTC"
        assert read_brake(made).scope == Scope(namespace="shop")
        assert await refused(client, {"scope": {"mechanism": "tll"}})
        assert await refused(client, {"scope": {"namespace": "Shop"}})
        assert await refused(client, {})

    on_cluster(work)


async def refused(client: Client, spec: dict[str, Any]) -> bool:
    body = {**manifest("bad", BrakeSpec(scope=EVERYTHING)), "spec": spec}
    try:
        await client.create(BRAKES, body)
    except Invalid:
        return True
    return False


@pytest.mark.parametrize(
    "spec",
    [
        {"scope": {}},
        {"scope": {"all": True, "namespace": "shop"}},
        {"scope": {"all": True}, "schedule": {"from": "never", "to": "always"}},
    ],
)
def test_a_brake_that_only_a_rule_would_refuse_holds_everything(spec: dict[str, Any]) -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await installed(cluster)
        made = await client.create(BRAKES, {**manifest("odd", BrakeSpec(scope=EVERYTHING)), "spec": spec})
        brake = read_brake(made)
        assert brake.problems
        assert brake.scope == EVERYTHING
        assert active(brake, cluster.clock.now())

    on_cluster(work)
