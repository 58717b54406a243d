"""Thousands of deletions by one policy on a real server: every name can be found without the log."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS, EVENTS
from skoupa.ledger.opening import store_for
from skoupa.ledger.store import Wish
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Yard
from tests.cluster.controller.shop import TICK_SECONDS, Shop
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster

MANY = 5000
CLUSTER = "shop-cluster"
UNBRAKED = {
    "brakes__share": "100",
    "brakes__maxPerRun": str(2 * MANY),
    "brakes__surgeOver": str(2 * MANY),
    "brakes__perMinute": str(4 * MANY),
    "brakes__rulePerMinute": str(4 * MANY),
    "brakes__namespacePerMinute": str(4 * MANY),
    "rate__deletionsPerSecond": "1000",
}


def names_of(events: list[dict[str, object]], reason: str) -> set[str]:
    def found() -> Iterator[str]:
        for event in events:
            if event["reason"] == reason:
                said, _, names = str(event["note"]).rpartition(": ")
                yield from names.split(", ") if said.startswith("deleted configmaps") else ()

    return set(found())


async def test_five_thousand_deletions_leave_five_thousand_names(
    policies: None, yard: Yard, people: People
) -> None:
    shop = Shop(people)
    wanted = {f"old-{number}" for number in range(MANY)}
    waiting = iter(sorted(wanted))

    async def work() -> None:
        for name in waiting:
            await people.make(name)

    await asyncio.gather(*(work() for _ in range(32)))
    await yard.started(clusterName=CLUSTER, **UNBRAKED)
    where = {"where": {"namespaces": [shop.namespace]}}
    await shop.write(CLUSTER_CLEANUP_POLICIES, "tidy", shop.cleaning("old-*", **where))

    async def gone() -> bool:
        return not await shop.names()

    await eventually(gone, what="all of them to go", seconds=TICK_SECONDS + 60)
    await shop.ran(CLUSTER_CLEANUP_POLICIES, "tidy", matched=MANY, deleted=MANY)

    async def all_told() -> bool:
        own = (await everything(people.client, EVENTS, WHOLE, scope=Scope(namespace=shop.namespace))).items
        default = (await everything(people.client, EVENTS, WHOLE, scope=Scope(namespace="default"))).items
        ours = [event for event in default if event["regarding"].get("name") == "tidy"]
        return names_of(list(own), "SkoupaDeleted") == names_of(ours, "SkoupaPolicyDeleted") == wanted

    await eventually(all_told, what="every name to be in an Event on its like and on the policy", seconds=60)
    own = (await everything(people.client, EVENTS, WHOLE, scope=Scope(namespace=shop.namespace))).items
    assert len(own) < MANY / 10
    store = store_for(str(yard.ledger), cluster=CLUSTER, writable=False)
    await store.open()
    try:
        rows = await store.find(Wish(namespace=shop.namespace), limit=2 * MANY)
    finally:
        await store.close()
    assert {row.name for row in rows if row.kind == CONFIG_MAPS.kind} == wanted
    assert {row.rule for row in rows} == {"ClusterCleanupPolicy/tidy"}
