"""A server that answers errors for a while: afterwards every policy runs at its next tick, and none is lost."""

from __future__ import annotations

import asyncio
import time

from harness.faultproxy import FaultProxy, Rule, kube_status
from skoupa.expr.instants import parse_rfc3339
from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import DELETING_POLICIES
from skoupa.kube.resources import Resource
from tests.cluster.controller.shop import MINUTE, MINUTELY, Shop, passed
from tests.cluster.controller.stages import Stage
from tests.cluster.reaching import eventually, faulty

EACH = 25
# Of errors after the tick that falls into them.
ERROR_SECONDS = 20

Named = tuple[Resource, str]


async def write_policies(shop: Shop) -> list[Named]:
    """Each about one object of its own, every minute."""
    named: list[Named] = []
    for number in range(EACH):
        name = f"jmes-{number}"
        spec = shop.cleaning(f"web-{name}", where={"namespaces": [shop.namespace]})
        await shop.write(CLUSTER_CLEANUP_POLICIES, name, spec | MINUTELY)
        named.append((CLUSTER_CLEANUP_POLICIES, name))
        name = f"cel-{number}"
        spec = shop.deleting(f"object.metadata.name == 'web-{name}'")
        await shop.write(DELETING_POLICIES, name, spec | MINUTELY)
        named.append((DELETING_POLICIES, name))
    for kind, name in named:
        await shop.ready(kind, name)
    return named


def next_tick() -> float:
    return (time.time() // MINUTE + 1) * MINUTE


async def succeeded_since(shop: Shop, named: Named, moment: float) -> bool:
    status = await shop.status(*named)
    ran = parse_rfc3339(str(status.get("lastExecutionTime", "")))
    told = status.get("conditions") or status.get("conditionStatus", {}).get("conditions", ())
    succeeded = {one["type"]: one["status"] for one in told}.get("LastRunSucceeded") == "True"
    return succeeded and isinstance(ran, int) and ran >= moment


async def after_a_time_of_errors_every_policy_runs_at_its_next_tick(stage: Stage) -> None:
    async with faulty(stage.plane) as proxy:
        try:
            await _errors_come_and_go(stage, proxy)
        finally:
            # While the proxy still serves: a process that ends has a Lease to hand over.
            await asyncio.to_thread(stage.yard.close)


async def _errors_come_and_go(stage: Stage, proxy: FaultProxy) -> None:
    shop = await stage.shop()
    await stage.yard.started(kubeconfig=proxy.write_kubeconfig(stage.folder / "proxy"))
    named = await write_policies(shop)
    broken = proxy.script(Rule(kube_status(500, message="etcd has no leader"), times=None))
    proxy.cut_open_connections()
    # A tick of all of them falls into it, and the Lease is lost on the way.
    await passed(next_tick() + ERROR_SECONDS)
    assert proxy.hits(broken) > 0
    for _, name in named:
        await shop.people.make(f"web-{name}")
    proxy.clear()
    tick = next_tick()

    async def all_gone() -> bool:
        return not await shop.names()

    # Before the tick after it.
    await eventually(all_gone, what="all 50 objects to go", seconds=tick + MINUTE - 2 - time.time())

    async def all_told() -> bool:
        return all([await succeeded_since(shop, one, tick) for one in named])

    await eventually(all_told, what="the status of all 50 to tell of the run", seconds=2 * MINUTE)
