"""Thousands of deletions by one policy: every name can be found without the log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS, EVENTS
from skoupa.ledger.opening import store_for
from skoupa.ledger.store import Wish
from tests.cluster.controller.braking import left
from tests.cluster.controller.shop import Shop, passed
from tests.cluster.controller.stages import Stage
from tests.cluster.reaching import eventually

MANY = 5000
CLUSTER = "shop-cluster"
# For all of them, on a machine that has much else to do.
SECONDS = 180.0
UNBRAKED = {
    "brakes__share": "100",
    "brakes__maxPerRun": str(2 * MANY),
    "brakes__surgeOver": str(2 * MANY),
    "brakes__perMinute": str(4 * MANY),
    "brakes__rulePerMinute": str(4 * MANY),
    "brakes__namespacePerMinute": str(4 * MANY),
    "rate__deletionsPerSecond": "1000",
}


def names_of(events: list[dict[str, Any]], reason: str) -> set[str]:
    def found() -> Iterator[str]:
        for event in events:
            if event["reason"] == reason:
                said, _, names = str(event["note"]).rpartition(": ")
                if said.startswith("deleted configmaps"):
                    yield from names.split(", ")
                elif str(event["note"]).startswith("deleted: "):
                    # Where few went within a moment, as on a slow machine, each has an Event of its own.
                    yield event["regarding"]["name"]

    return set(found())


async def _make_all(shop: Shop, wanted: set[str]) -> None:
    waiting = iter(sorted(wanted))

    async def work() -> None:
        for name in waiting:
            await shop.people.make(name)

    await asyncio.gather(*(work() for _ in range(32)))


async def five_thousand_deletions_leave_five_thousand_names(stage: Stage) -> None:
    shop = await stage.shop()
    wanted = {f"old-{number}" for number in range(MANY)}
    await _make_all(shop, wanted)
    await stage.yard.started(clusterName=CLUSTER, **UNBRAKED)
    where = {"where": {"namespaces": [shop.namespace]}}
    shop.choose_tick()
    await shop.write(CLUSTER_CLEANUP_POLICIES, "tidy", shop.cleaning("old-*", **where))
    await shop.ticked()

    async def gone() -> bool:
        # Each look costs what is deleting them something.
        await passed(time.time() + 1)
        return await left(shop.people) == 0 and not await shop.names()

    await eventually(gone, what="all of them to go", seconds=SECONDS)
    await shop.ran(CLUSTER_CLEANUP_POLICIES, "tidy", matched=MANY, deleted=MANY)

    async def events(namespace: str) -> list[dict[str, Any]]:
        found = await everything(stage.client, EVENTS, WHOLE, scope=Scope(namespace=namespace))
        return list(found.items)

    async def all_told() -> bool:
        await passed(time.time() + 1)
        own, default = await events(shop.namespace), await events("default")
        ours = [event for event in default if event["regarding"].get("name") == "tidy"]
        return names_of(own, "SkoupaDeleted") == names_of(ours, "SkoupaPolicyDeleted") == wanted

    await eventually(
        all_told, what="every name to be in an Event on its like and on the policy", seconds=SECONDS
    )
    assert len(await events(shop.namespace)) < MANY / 10
    store = store_for(str(stage.yard.ledger), cluster=CLUSTER, writable=False)
    await store.open()
    try:
        rows = await store.find(Wish(namespace=shop.namespace), limit=2 * MANY)
    finally:
        await store.close()
    assert {row.name for row in rows if row.kind == CONFIG_MAPS.kind} == wanted
    assert {row.rule for row in rows} == {"ClusterCleanupPolicy/tidy"}
