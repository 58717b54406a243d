"""A tenant's deletion that somebody holds, lets go and regrets: the release is for that tenant alone, and what went comes back once the Tenant is gone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from harness.controlplane import ControlPlane
from skoupa import names
from skoupa.errors import NotFound
from skoupa.kinds.brake import BRAKES, BrakeSpec, Scope, manifest
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, Resource
from tests.cluster.commands import skoupa
from tests.cluster.controller.impatient import IMPATIENT
from tests.cluster.controller.objects import CLUSTER_ROLES
from tests.cluster.controller.running import Yard
from tests.cluster.controller.tenants import (
    bring_tenants,
    leave,
    make_tenant,
    new_id,
    take_tenants_away,
    until_held,
    until_left,
)
from tests.cluster.reaching import eventually
from tests.unit.controller.stage import PRIORITIES

pytestmark = pytest.mark.cluster

LEFTOVERS = 4


async def is_gone(client: Client, kind: Resource, name: str, *, namespace: str = "") -> bool:
    try:
        await client.get(kind, name, view=METADATA, namespace=namespace)
    except NotFound:
        return True
    return False


async def until_braked(client: Client, number: int) -> None:
    async def so() -> bool:
        found: dict[str, Any] = await client.get(BRAKES, "stop", view=WHOLE)
        return int((found.get("status") or {}).get("held", 0)) >= number

    await eventually(so, what=f"the Brake to hold {number}", seconds=90, patiently=True)


async def test_a_tenant_that_was_held_and_let_go_and_is_regretted(
    boss: Client, plane: ControlPlane, kind: None, yard: Yard, home: str
) -> None:
    one = new_id()
    place, high, role = f"{one}-place", f"{one}-high", f"{one}-role"
    await bring_tenants(boss)
    await yard.started(program=IMPATIENT, features__tenants="true")
    await make_tenant(boss, one)
    await until_held(boss, one)
    await boss.create(NAMESPACES, {"metadata": {"name": place}})
    for number in range(20):
        body = {"metadata": {"name": f"c{number}"}, "data": {"k": "v"}}
        await boss.create(CONFIG_MAPS, body, namespace=place)
    await boss.create(CLUSTER_ROLES, {"metadata": {"name": role}, "rules": []})
    stuck = {"name": high, "finalizers": ["example.com/never"]}
    await boss.create(PRIORITIES, {"metadata": stuck, "value": 1})

    # What a pause held of it lets nothing else go uncounted.
    await boss.create(BRAKES, manifest("stop", BrakeSpec(scope=Scope(all=True))))
    await leave(boss, one)
    await until_braked(boss, 1)
    said = await skoupa("brakes", "release", "stop", "--yes", kubeconfig=plane.kubeconfig)
    assert said.code == 0, said.err

    async def nothing_but_what_hangs() -> bool:
        return await is_gone(boss, NAMESPACES, place) and await is_gone(boss, CLUSTER_ROLES, role)

    await eventually(nothing_but_what_hangs, what="the tenant's objects to go", seconds=90, patiently=True)
    state: dict[str, Any] = await boss.get(CONFIG_MAPS, names.STATE_CONFIG_MAP, view=WHOLE, namespace=home)
    assert msgspec.json.decode(state["data"]["allowances"])["left"] == []

    # While it goes on it would take again whatever comes back.
    async def restore(*words: str) -> tuple[int, dict[str, str]]:
        answer = await skoupa(
            *("restore", "-A", "--by-policy", f"Tenant/{one}", "--with-dependents", "--yes", "-o", "json"),
            *("--ledger", str(yard.ledger), *words),
            kubeconfig=plane.kubeconfig,
        )
        items = msgspec.json.decode(answer.out)["items"]
        return answer.code, {item["name"]: item["outcome"]["what"] for item in items}

    code, outcomes = await restore("--keep-for", "1h")
    assert code == LEFTOVERS
    assert set(outcomes.values()) == {"refused"}
    assert await nothing_but_what_hangs()

    await boss.merge_patch(PRIORITIES, high, {"metadata": {"finalizers": None}})
    await until_left(boss, one)
    code, outcomes = await restore()
    assert code == 0, outcomes
    assert {place, role, high, "c0", "c19"} <= {name for name, what in outcomes.items() if what == "restored"}
    for resource, name in ((PRIORITIES, high), (CLUSTER_ROLES, role), (NAMESPACES, place)):
        back = await boss.get(resource, name, view=METADATA)
        assert names.KEEP_LABEL not in (back.metadata.labels or {})
        await boss.delete(resource, name, uid=back.metadata.uid, propagation="Background")
    yard.close()
    await take_tenants_away(boss)
