"""A controller that is killed in each step of the deletion of a tenant, with a request under way: the next one goes on, and takes nothing else."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.controlplane import ControlPlane
from harness.faultproxy import Fault, FaultProxy, Rule, Silence
from skoupa.errors import NotFound
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import Resource
from skoupa.ledger.opening import store_for
from skoupa.ledger.store import Wish
from tests.cluster.controller.impatient import IMPATIENT
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.controller.tenants import (
    all_else,
    as_they_are,
    bring_tenants,
    every_kind,
    leave,
    make_each,
    make_tenant,
    new_id,
    remove_all,
    take_tenants_away,
    until_held,
    until_left,
)
from tests.cluster.reaching import faulty, until

pytestmark = pytest.mark.cluster

NAME = "the-town"
GIVEN: dict[str, Any] = {
    "program": IMPATIENT,
    "features__tenants": "true",
    "lease__seconds": "3",
    "lease__retrySeconds": "0.5",
    "clusterName": NAME,
}
# Of these nothing is a tenant's, whatever it is called.
NEVER = {"Node", "CSINode", "VolumeAttachment", "ResourceSlice"}
UNSENT, ANSWER_LOST = Silence(), Silence(after_bytes=0)
# In the order in which they go; of each step one.
HOOKS, PLACES, CLASSES, ROLES = (
    "validatingwebhookconfigurations",
    "namespaces",
    "priorityclasses",
    "clusterroles",
)
STEPS = (HOOKS, PLACES, CLASSES, ROLES)


class Moment(msgspec.Struct, frozen=True):
    """One request that never gets its answer, and of which steps nothing was asked to go by then."""

    called: str
    method: str
    path: str
    fault: Fault
    untouched: tuple[str, ...] = ()


def moments(one: str) -> tuple[Moment, ...]:
    plan = r"^/apis/storage.k8s.io/v1/storageclasses\?limit=500$"
    return (
        Moment("all kinds are read", "GET", plan, UNSENT, STEPS),
        Moment("a webhook is about to go", "DELETE", f"/{HOOKS}/{one}-", UNSENT, STEPS),
        Moment("a webhook went", "DELETE", f"/{HOOKS}/{one}-", ANSWER_LOST, STEPS[1:]),
        Moment("a definition is about to go", "DELETE", f"/foos.{one}-", UNSENT, STEPS[2:]),
        Moment("a Namespace went", "DELETE", f"/namespaces/{one}-", ANSWER_LOST, STEPS[2:]),
        Moment("a class went", "DELETE", f"/{CLASSES}/{one}-", ANSWER_LOST, STEPS[3:]),
        Moment("a role is about to go", "DELETE", f"/{ROLES}/{one}-", UNSENT),
        Moment("all kinds are read once more", "GET", plan, UNSENT),
        Moment("the finalizers are about to come off", "PATCH", rf"/tenants/{one}(\?|$)", UNSENT),
    )


@pytest.fixture
async def town(
    plane: ControlPlane, boss: Client, yard: Yard, tmp_path: Path
) -> AsyncIterator[tuple[FaultProxy, Path]]:
    await bring_tenants(boss)
    async with faulty(plane) as proxy:
        yield proxy, proxy.write_kubeconfig(tmp_path / "proxy")
        # While the proxy still serves: a process that ends has a Lease to hand over.
        await asyncio.to_thread(yard.close)
    await take_tenants_away(boss)


def hanging(proxy: FaultProxy, moment: Moment) -> Callable[[], bool]:
    """Whether one of the requests of this moment hangs by now."""
    # Two moments may have the same rule, and then their hits count together.
    rule = Rule(moment.fault, method=moment.method, path=re.compile(moment.path))
    before = proxy.hits(rule)
    proxy.script(rule)
    return lambda: proxy.hits(rule) > before


async def is_untouched(client: Client, kind: Resource, name: str) -> bool:
    try:
        found = await client.get(kind, name, view=METADATA)
    except NotFound:
        return False
    return found.metadata.deletion_timestamp is None


async def test_killed_in_each_step_it_goes_on_and_takes_nothing_else(
    boss: Client, town: tuple[FaultProxy, Path], yard: Yard
) -> None:
    proxy, config = town
    one, other = new_id(), new_id()
    kinds = await every_kind(boss)
    for name in (one, other):
        await make_tenant(boss, name)
    theirs = await make_each(boss, kinds, f"{other}-", "theirs")
    mine = await make_each(boss, kinds, f"{one}-", "mine")
    process = await yard.started(kubeconfig=config, **GIVEN)
    await until_held(boss, one)
    before = await as_they_are(boss, kinds, theirs)
    others = await all_else(boss, kinds, but=mine.values())
    for moment in moments(one):
        hangs = hanging(proxy, moment)
        if moment.called == "all kinds are read":
            await leave(boss, one)
        said = partial(_said, moment, process)
        await until(hangs, what=said, seconds=120, patiently=True)
        for plural in moment.untouched:
            (kind,) = (found for found in kinds if found.plural == plural)
            assert await is_untouched(boss, kind, f"{one}-mine"), f"{plural} while {moment.called}"
        assert await is_there(boss, one), moment.called
        process.kill()
        process = await yard.started(kubeconfig=config, **GIVEN)
    await until_left(boss, one)
    left = await as_they_are(boss, kinds, mine)
    assert {key.partition("/")[0] for key in left} <= NEVER
    assert await as_they_are(boss, kinds, theirs) == before
    now = await all_else(boss, kinds, but=mine.values())
    assert {uid: now.get(uid) for uid in others} == others
    assert await is_there(boss, other)
    await asyncio.to_thread(process.end)
    await every_row_has_an_end(yard, {found["metadata"]["uid"] for found in mine.values()})
    await remove_all(boss, kinds, {**theirs, **mine})


def _said(moment: Moment, process: Skoupa) -> tuple[str, str]:
    return moment.called, process.last_words


async def is_there(client: Client, tenant: str) -> bool:
    try:
        await client.get(TENANTS, tenant, view=METADATA)
    except NotFound:
        return False
    return True


async def every_row_has_an_end(yard: Yard, mine: set[str]) -> None:
    """Of what was under way when it was killed too, and nothing is written of what is somebody else's."""
    store = store_for(str(yard.ledger), cluster=NAME, writable=False)
    await store.open()
    try:
        rows = await store.find(Wish(), limit=1000)
    finally:
        await store.close()
    assert len(rows) > len(STEPS)
    assert {row.uid for row in rows} <= mine
    assert all(row.finished_at for row in rows), [(row.name, row.outcome) for row in rows]
