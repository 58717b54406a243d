"""Towns by chance: whoever owns whatever, and whatever is shared, nothing goes that is not of the tenant that was deleted."""

from __future__ import annotations

import random
from typing import Any

import pytest

from skoupa import names
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from tests.unit.controller.stage import MINUTE, PRIORITIES, Stage, definition, story
from tests.unit.controller.tenancy.town import (
    CLASSES,
    KINDS,
    ON,
    ROLES,
    SHARED,
    VOLUMES,
    bring_tenants,
    foos,
    leave,
    lives,
    make,
    status,
    tenant,
)

pytestmark = pytest.mark.unit

ONE, OTHER = "111111", "222222"
BODIES: dict[Resource, dict[str, Any]] = {
    PRIORITIES: {"value": 1},
    CLASSES: {"provisioner": "x"},
    ROLES: {"rules": []},
}
PREFIXES = (f"{ONE}-", f"{OTHER}-", f"{ONE}2-", f"x-{ONE}-", "11111-", "shop-")


class Town:
    def __init__(self, stage: Stage, chance: random.Random) -> None:
        self.stage = stage
        self.chance = chance
        self.made: list[tuple[Resource, dict[str, Any]]] = []

    async def fill(self) -> None:
        await bring_tenants(self.stage)
        for name in (ONE, OTHER):
            await tenant(self.stage, name)
            kind = foos(name)
            await self.stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(kind))
            await self.stage.settle()
            for prefix in (f"{name}-", "any-"):
                await self._make(kind, f"{prefix}foo")
        places = [f"{prefix}{number}" for prefix in PREFIXES for number in range(2)]
        for name in places:
            self.made.append((NAMESPACES, await self.stage.namespace(name, **self._marks())))
        for number in range(24):
            resource = self.chance.choice(list(BODIES))
            await self._make(resource, f"{self.chance.choice(PREFIXES)}{number}", **BODIES[resource])
        for number in range(8):
            await self._volume(f"{self.chance.choice(PREFIXES)}v{number}", self.chance.choice(places))
        for number in range(24):
            place = self.chance.choice(places)
            metadata = {"name": f"c{number}", **self._marks()}
            found = await self.stage.people.create(CONFIG_MAPS, {"metadata": metadata}, namespace=place)
            self.made.append((CONFIG_MAPS, found))

    async def _make(self, resource: Resource, name: str, **body: Any) -> None:
        self.made.append((resource, await make(self.stage, resource, name, metadata=self._marks(), **body)))

    async def _volume(self, name: str, namespace: str) -> None:
        claim = {"namespace": namespace, "name": "data"}
        if self.chance.random() < 0.8:
            claim["uid"] = f"uid-{name}"
        policy = self.chance.choice(["Retain", "Delete"])
        spec = {"claimRef": claim, "persistentVolumeReclaimPolicy": policy}
        await self._make(VOLUMES, name, spec=spec)

    def _marks(self) -> dict[str, Any]:
        """Owners in no namespace, and now and then that it is shared."""
        marks: dict[str, Any] = {}
        labels: dict[str, str] = {}
        owners = [(kind, one) for kind, one in self.made if not kind.namespaced]
        if owners and self.chance.random() < 0.5:
            kind, one = self.chance.choice(owners)
            marks["ownerReferences"] = [
                {
                    "apiVersion": kind.api_version,
                    "kind": kind.kind,
                    "name": one["metadata"]["name"],
                    "uid": one["metadata"]["uid"],
                }
            ]
        if self.chance.random() < 0.1:
            labels |= SHARED
        if self.chance.random() < 0.3:
            # Skoupa's own, of which somebody else makes nonsense.
            labels[names.TENANT_LABEL] = self.chance.choice([ONE, OTHER, "nobody", ""])
        return marks | ({"labels": labels} if labels else {})

    def there(self) -> set[str]:
        served = {
            (one.resource.group, one.resource.plural) for one in self.stage.cluster.plane.catalogue.served()
        }
        kinds = {kind for kind, _ in self.made if (kind.group, kind.plural) in served}
        return {one["metadata"]["uid"] for kind in kinds for one in self.stage.cluster.objects(kind)}


def is_shared(found: dict[str, Any]) -> bool:
    return names.SHARED_LABEL in found["metadata"].get("labels", {})


def belongs(kind: Resource, found: dict[str, Any]) -> bool:
    """The rule once more, in other words than those of the code; what is shared or claimed elsewhere is nobody's."""
    metadata = found["metadata"]
    if is_shared(found):
        return False
    if kind.namespaced:
        return str(metadata["namespace"]).startswith(f"{ONE}-")
    name = str(metadata["name"])
    if kind == VOLUMES:
        claim = found["spec"]["claimRef"]
        inside = claim["namespace"].startswith(f"{ONE}-")
        return inside and (
            name.startswith(f"{ONE}-") or ("uid" in claim and not name.startswith(f"{OTHER}-"))
        )
    return name.startswith(f"{ONE}-") or kind.group.startswith(f"{ONE}-")


@pytest.mark.parametrize("seed", range(20))
@story(also=KINDS, features=ON)
async def test_nothing_goes_but_what_is_the_tenants(stage: Stage, seed: int) -> None:
    await a_tenant_leaves_a_town(stage, seed)


@pytest.mark.parametrize("seed", range(20, 32))
@story(also=KINDS, features=ON, tenants={"label": names.TENANT_LABEL})
async def test_nothing_else_goes_where_a_label_is_written_and_read(stage: Stage, seed: int) -> None:
    await a_tenant_leaves_a_town(stage, seed)


async def a_tenant_leaves_a_town(stage: Stage, seed: int) -> None:
    town = Town(stage, random.Random(seed))
    await town.fill()
    await stage.settle()
    called = {one["metadata"]["uid"]: f"{kind.kind} {one['metadata']['name']}" for kind, one in town.made}
    before = called.keys() & town.there()
    await stage.play()
    await stage.later(10)
    assert before <= town.there()
    await leave(stage, ONE)
    # Longer than volumes are left to drivers, of which an embedded cluster has none.
    await stage.later(20 * MINUTE)
    gone = before - town.there()
    mine = {one["metadata"]["uid"] for kind, one in town.made if belongs(kind, one)}
    assert {called[uid] for uid in gone - mine} == set()
    # What is in a Namespace that is shared stays with it, and so do the volumes of its claims.
    lent = {one["metadata"]["name"] for kind, one in town.made if kind == NAMESPACES and is_shared(one)}
    inside = {
        one["metadata"]["uid"]
        for kind, one in town.made
        if one["metadata"].get("namespace") in lent
        or (kind == VOLUMES and one["spec"]["claimRef"]["namespace"] in lent)
    }
    left = mine - gone - inside
    # What is left of it keeps the Tenant, and its Namespace, definition or the like says why.
    if left:
        assert lives(stage, ONE), {called[uid] for uid in left}
        assert status(stage, ONE)["blockers"]
    else:
        assert not lives(stage, ONE) or status(stage, ONE)["blockers"]
    assert lives(stage, OTHER)
