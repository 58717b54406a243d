"""The three stories of the proposal (seed 002) on a real server, with a neighbour and the system beside."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from skoupa.kinds.tenant import TENANTS
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from tests.cluster.controller.impatient import IMPATIENT
from tests.cluster.controller.objects import CLUSTER_ROLES
from tests.cluster.controller.running import Yard
from tests.cluster.controller.tenants import (
    all_else,
    as_they_are,
    bring_tenants,
    every_kind,
    foos,
    leave,
    make_each,
    make_tenant,
    new_id,
    remove_all,
    structural,
    take_tenants_away,
    until_held,
    until_left,
    until_served,
)
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster

ON: dict[str, Any] = {"features__tenants": "true"}
# Of these nothing is a tenant's, whatever it is called.
NEVER = {"Node", "CSINode", "VolumeAttachment", "ResourceSlice"}


@pytest.fixture
async def tenants(boss: Client) -> AsyncIterator[Client]:
    """The kind, which other tests of this control plane do without."""
    await bring_tenants(boss)
    yield boss
    await take_tenants_away(boss)


async def owned_role(client: Client, name: str, owner: dict[str, Any]) -> dict[str, Any]:
    """Somebody's role that hangs on an object of somebody else."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    role = {"metadata": {"name": name, "ownerReferences": [reference]}, "rules": []}
    return await client.create(CLUSTER_ROLES, role)


async def kind_of_the_administrator(client: Client) -> Resource:
    kind = foos(f"admins{new_id()}.example")
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, structural(kind))
    await until_served(client, kind)
    return kind


async def test_all_of_a_tenant_goes_and_whatever_only_looks_alike_stays_as_it_is(
    tenants: Client, yard: Yard
) -> None:
    one, other = new_id(), new_id()
    await kind_of_the_administrator(tenants)
    kinds = await every_kind(tenants)
    assert len(kinds) >= 20
    await yard.started(program=IMPATIENT, **ON)
    for name in (one, other):
        await make_tenant(tenants, name)
        await until_held(tenants, name)
    theirs = {
        # Another tenant's, longer and shorter ids, the id inside, and the id alone.
        **await make_each(tenants, kinds, f"{other}-", "theirs"),
        **await make_each(tenants, kinds, f"{one}2-", "theirs"),
        **await make_each(tenants, kinds, f"{one[:5]}-", "theirs"),
        **await make_each(tenants, kinds, f"x-{one}-", "theirs"),
        **await make_each(tenants, kinds, one, "theirs"),
    }
    mine = await make_each(tenants, kinds, f"{one}-", "mine")
    machines = {key: found for key, found in mine.items() if key.partition("/")[0] in NEVER}
    theirs |= machines
    # A kind of the tenant's own, with an object that has something of somebody else hanging on it.
    own = foos(f"{one}-mine.example")
    await until_served(tenants, own)
    foo = await tenants.create(
        own, {"apiVersion": own.api_version, "kind": "Foo", "metadata": {"name": f"{one}-foo"}}
    )
    hanging = {
        "name": "hanging",
        "ownerReferences": [
            {
                "apiVersion": own.api_version,
                "kind": "Foo",
                "name": f"{one}-foo",
                "uid": foo["metadata"]["uid"],
            }
        ],
    }
    await tenants.create(CONFIG_MAPS, {"metadata": hanging}, namespace=f"{other}-theirs")
    theirs |= {
        f"ClusterRole/{other}-of-a-namespace": await owned_role(
            tenants, f"{other}-of-a-namespace", mine[f"Namespace/{one}-mine"]
        ),
        f"ClusterRole/{other}-of-a-class": await owned_role(
            tenants, f"{other}-of-a-class", mine[f"PriorityClass/{one}-mine"]
        ),
    }
    await tenants.create(CONFIG_MAPS, {"metadata": {"name": "inside"}}, namespace=f"{one}-mine")
    before = await as_they_are(tenants, kinds, theirs)
    assert before.keys() == theirs.keys()
    others = await all_else(tenants, kinds, but=mine.values())
    assert len(others) > len(theirs) + 50, "with what the server has brought itself"
    await leave(tenants, one)
    await until_left(tenants, one)
    assert await as_they_are(tenants, kinds, mine) == {key: before[key] for key in machines}
    assert await as_they_are(tenants, kinds, theirs) == before
    now = await all_else(tenants, kinds, but=mine.values())
    assert {uid: now.get(uid) for uid in others} == others
    assert await tenants.get(CONFIG_MAPS, "hanging", namespace=f"{other}-theirs", view=METADATA)
    await leave(tenants, other)
    await until_left(tenants, other)
    left = await as_they_are(tenants, kinds, theirs)
    gone = {called_so for called_so in theirs if f"/{other}-" in called_so or f".{other}-" in called_so}
    assert before.keys() - left.keys() == {key for key in gone if key.partition("/")[0] not in NEVER}
    await remove_all(tenants, kinds, theirs)


async def test_a_tenant_waits_for_its_namespace_and_says_so(tenants: Client, yard: Yard) -> None:
    one = new_id()
    await yard.started(program=IMPATIENT, **ON)
    await make_tenant(tenants, one)
    await until_held(tenants, one)
    await tenants.create(NAMESPACES, {"metadata": {"name": f"{one}-stuck"}})
    body = {"metadata": {"name": "stuck", "finalizers": ["example.com/never"]}}
    await tenants.create(CONFIG_MAPS, body, namespace=f"{one}-stuck")
    await leave(tenants, one)

    async def told() -> bool:
        found: dict[str, Any] = await tenants.get(TENANTS, one, view=WHOLE)
        return any("stuck" in text for text in (found.get("status") or {}).get("blockers") or ())

    await eventually(told, what="the status to name what blocks", seconds=60, patiently=True)
    await tenants.merge_patch(
        CONFIG_MAPS, "stuck", {"metadata": {"finalizers": None}}, namespace=f"{one}-stuck"
    )
    await until_left(tenants, one)
