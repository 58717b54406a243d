"""A kind that can't be read holds the Namespaces that it may live in, until `cascade.ignoreKinds` waives it."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from harness.controlplane import ControlPlane
from skoupa.errors import NotFound, SkoupaError
from skoupa.kube.discovery import discover
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from tests.cluster.commands import skoupa
from tests.cluster.controller.objects import People, grant
from tests.cluster.controller.running import Yard
from tests.cluster.controller.test_rights import EVENTS, OWN
from tests.cluster.reaching import eventually
from tests.unit.controller.stage import definition

pytestmark = pytest.mark.cluster


class Secretive(msgspec.Struct, frozen=True, kw_only=True):
    """A namespaced kind, one object of it in the Namespace of `people`, and a user who may read all kinds but that."""

    kind: Resource
    user: str
    kubeconfig: Path


@pytest.fixture
async def secretive(plane: ControlPlane, people: People, yard: Yard) -> AsyncIterator[Secretive]:
    boss = people.client
    group = f"x{secrets.token_hex(4)}.example"
    gadgets = Resource(group=group, version="v1", plural="gadgets", kind="Gadget", namespaced=True)
    others = sorted({resource.group for resource in (await discover(boss)).resources})
    made = await boss.create(CUSTOM_RESOURCE_DEFINITIONS, definition(gadgets))

    async def served() -> bool:
        try:
            await people.make("gear", resource=gadgets)
        except SkoupaError:
            return False
        return True

    await eventually(served, what="the new kind to be served")
    user = f"sweeper-{secrets.token_hex(4)}"
    await grant(boss, user, OWN, namespace=yard.home)
    readable = [("list watch", other, "*") for other in others]
    await grant(boss, user, [*readable, ("delete", "", "namespaces"), EVENTS])
    yield Secretive(kind=gadgets, user=user, kubeconfig=plane.kubeconfig_for(user=user))
    with suppress(NotFound):
        await people.label(people.namespace, resource=NAMESPACES, ttl=None)
    await people.remove(made, resource=CUSTOM_RESOURCE_DEFINITIONS)


async def test_a_kind_that_can_not_be_read_holds_the_namespace_and_its_waiver_lets_go(
    secretive: Secretive, people: People, yard: Yard, tmp_path: Path
) -> None:
    kind = secretive.kind.qualified
    process = await yard.started(kubeconfig=secretive.kubeconfig)
    await people.label(people.namespace, resource=NAMESPACES, ttl="1s")
    held = await process.says("held", name=people.namespace)
    unread = f"deleting it might take along something kept: kept objects of {kind} can't be read"
    assert held["why"] == f"{unread} (no permission: list and watch); cascade.ignoreKinds waives that"
    assert await process.metric('skoupa_holds{reason="keeps-unknown"}') >= 1
    assert await process.metric('skoupa_blind_kinds{state="never-read"}') >= 1
    explained = await skoupa("explain", f"namespace/{people.namespace}", kubeconfig=secretive.kubeconfig)
    assert f"  held by: {unread}" in explained.out
    assert await holds(secretive, people) == ["keeps-unknown"]
    assert await people.there("gear", resource=secretive.kind)

    process.end()
    for waiver in (kind, f"*.{secretive.kind.group}"):
        config = tmp_path / "config.yaml"
        config.write_text(f"cascade: {{ignoreKinds: ['{waiver}']}}\n")
        assert await holds(secretive, people, "--config", str(config)) == []
    waiving = await yard.started(kubeconfig=secretive.kubeconfig, cascade__ignoreKinds=kind)
    await waiving.says("deleted", name=people.namespace)
    await people.gone(people.namespace, resource=NAMESPACES, seconds=60)


async def holds(secretive: Secretive, people: People, *more: str) -> list[str]:
    """The codes of what holds the Namespace by the plan of this user."""
    said = await skoupa("plan", "namespaces", "-A", "-o", "json", *more, kubeconfig=secretive.kubeconfig)
    found = {item["name"]: item["holds"] for item in json.loads(said.out)["items"]}
    return [hold["reason"]["code"] for hold in found[people.namespace]]
