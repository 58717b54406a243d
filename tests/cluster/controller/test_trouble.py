"""A server in trouble, one whose clock is off, an object that never rests: seen through the fault proxy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import ControlPlane
from harness.faultproxy import FaultProxy, OtherClock, Rule, Seen, Slow, kube_status
from skoupa.kube.resources import CONFIG_MAPS
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.reaching import eventually, faulty, until

pytestmark = pytest.mark.cluster

RETRY_AFTER = 2
# The longest that anybody is believed.
UNREAD_SECONDS = 30
IN_FLIGHT = 4
# A timer may be early by the clock's grain.
GRAIN = 0.01


@pytest.fixture
async def proxy(plane: ControlPlane) -> AsyncIterator[FaultProxy]:
    async with faulty(plane) as proxy:
        yield proxy


@pytest.fixture
def through(proxy: FaultProxy, tmp_path: Path) -> Path:
    return proxy.write_kubeconfig(tmp_path / "proxy")


@pytest.fixture(autouse=True)
async def end_in_time(yard: Yard, proxy: FaultProxy) -> AsyncIterator[None]:
    """While the proxy still serves: a process that ends has a Lease to hand over."""
    yield
    await asyncio.to_thread(yard.close)


def path_of(people: People, name: str = "") -> str:
    return CONFIG_MAPS.path(namespace=people.namespace, name=name)


def deletes(proxy: FaultProxy, path: str) -> list[Seen]:
    return [seen for seen in proxy.requests if seen.method == "DELETE" and seen.path.startswith(path)]


async def test_a_server_that_asks_for_patience_gets_it_and_everything_goes(
    proxy: FaultProxy, through: Path, people: People, yard: Yard
) -> None:
    await yard.started(kubeconfig=through, rate__inFlight=str(IN_FLIGHT))
    busy = proxy.script(
        Rule(
            kube_status(429, retry_after=RETRY_AFTER), method="DELETE", path=path_of(people), times=IN_FLIGHT
        )
    )
    wanted = [f"web-{number}" for number in range(20)]
    await asyncio.gather(*(people.make(name, "1s") for name in wanted))
    for name in wanted:
        await people.gone(name)
    sent = deletes(proxy, path_of(people))
    assert proxy.hits(busy) == IN_FLIGHT
    assert len(sent) == len(wanted) + IN_FLIGHT
    told = sent[0].at
    # Only what was under way when the server spoke.
    assert len([seen for seen in sent if seen.at < told + RETRY_AFTER - GRAIN]) <= IN_FLIGHT


async def test_a_kind_that_can_not_be_read_makes_nothing_else_late(
    proxy: FaultProxy, through: Path, people: People, yard: Yard
) -> None:
    """As the server answers whoever lists or watches a kind whose conversion webhook is dead."""
    unread = kube_status(
        429, message="storage is (re)initializing: failed to list", retry_after=UNREAD_SECONDS
    )
    broken = proxy.script(Rule(unread, method="GET", path="/apis/apps/v1/replicasets", times=None))
    moments = [asyncio.get_running_loop().time()]
    process = await yard.started(kubeconfig=through, cascade__ignoreKinds="replicasets.apps")
    moments.append(asyncio.get_running_loop().time())
    for number in range(3):
        await people.make(f"web-{number}", "1s")
        await people.gone(f"web-{number}")
        moments.append(asyncio.get_running_loop().time())
    assert proxy.hits(broken)
    each = [later - earlier for earlier, later in pairwise(moments)]
    assert max(each) < UNREAD_SECONDS - 5, "nobody waited for as long as that kind was to wait"
    assert {line["kinds"] for line in process.said("can't be read")} <= {"replicasets.apps"}


@pytest.mark.parametrize("status", [500, 503])
async def test_a_server_that_fails_is_tried_with_growing_pauses_until_it_does_not(
    proxy: FaultProxy, through: Path, people: People, yard: Yard, status: int
) -> None:
    process = await yard.started(kubeconfig=through)
    rule = Rule(
        kube_status(status, message="etcd has no leader"), method="DELETE", path=path_of(people), times=6
    )
    proxy.script(rule)
    await people.make("web", "1s")
    failed = await process.says("delete failed", name="web", namespace=people.namespace)
    assert "etcd has no leader" in failed["error"]
    await process.says("deleted", name="web", namespace=people.namespace)
    assert not await people.there("web")
    sent = deletes(proxy, path_of(people))
    assert [seen.status for seen in sent] == [status] * 6 + [200]
    # Four tries make one attempt, with pauses of at least half of 0.2, 0.4 and 0.8 s; then half of 0.5 s; then anew.
    pauses = [later.at - earlier.at for earlier, later in pairwise(sent)]
    for pause, least in zip(pauses, (0.1, 0.2, 0.4, 0.25, 0.1, 0.2), strict=True):
        assert pause >= least - GRAIN
    assert len(process.said("delete failed", name="web", namespace=people.namespace)) == 1


async def test_an_object_that_changes_faster_than_it_can_be_deleted_goes_by_its_uid_after_three_equal_verdicts(
    proxy: FaultProxy, through: Path, people: People, yard: Yard, audit: AuditLog
) -> None:
    """The way to the server is so slow that the object was written to again whenever a delete arrives."""
    await yard.started(kubeconfig=through)
    proxy.script(Rule(Slow(before=0.5), method="DELETE", path=path_of(people), times=None))
    made = await people.make("web", "1s")
    writers = [asyncio.create_task(_write(people, number)) for number in range(2)]
    try:
        await people.gone("web")
    finally:
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)
    sent = await until(
        lambda: found if len(found := audit.deletes(people.namespace)) == 3 else None,
        what=lambda: f"three deletes in the audit log: {audit.deletes(people.namespace)}",
    )
    assert sent is not None
    assert [entry["responseStatus"]["code"] for entry in sent] == [409, 409, 200]
    named = [entry["requestObject"]["preconditions"] for entry in sent]
    assert [sorted(one) for one in named] == [["resourceVersion", "uid"], ["resourceVersion", "uid"], ["uid"]]
    assert {one["uid"] for one in named} == {made["metadata"]["uid"]}
    assert named[0]["resourceVersion"] != named[1]["resourceVersion"]


async def test_deletes_that_were_slow_once_do_not_keep_a_busy_object(
    proxy: FaultProxy, through: Path, people: People, yard: Yard, audit: AuditLog
) -> None:
    """Whether they still are is tried out, since an object that is written to all the time never goes by its state."""
    await yard.started(kubeconfig=through)
    proxy.script(Rule(Slow(before=1.3), method="DELETE", path=path_of(people), times=2))
    proxy.script(Rule(Slow(before=0.3), method="DELETE", path=path_of(people), times=None))
    await people.make("web", "1s")
    writers = [asyncio.create_task(_write(people, number)) for number in range(2)]
    try:
        await people.gone("web", seconds=60)
    finally:
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)
    taken = await until(lambda: _taken(audit.deletes(people.namespace)), what="the delete in the audit log")
    *tried, went = ["dryRun" in entry["requestObject"] for entry in taken]
    # More than once where this machine was as slow once more.
    assert tried
    assert all(tried)
    assert not went
    assert all(sorted(entry["requestObject"]["preconditions"]) == ["uid"] for entry in taken)


def _taken(sent: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the server did not refuse, once there is more than a dry run among it."""
    taken = [entry for entry in sent if entry["responseStatus"]["code"] == 200]
    return taken if any("dryRun" not in entry["requestObject"] for entry in taken) else []


async def _write(people: People, number: int) -> None:
    beat = 0
    while True:
        beat += 1
        patch = {"metadata": {"annotations": {f"beat-{number}": str(beat)}}}
        await people.client.merge_patch(CONFIG_MAPS, "web", patch, namespace=people.namespace)


@pytest.mark.parametrize("ahead", [30, -30])
async def test_a_clock_that_differs_from_the_servers_holds_until_it_does_not(
    proxy: FaultProxy, through: Path, people: People, yard: Yard, ahead: int
) -> None:
    proxy.script(Rule(OtherClock(ahead), times=None))
    process = await yard.started(kubeconfig=through)
    await people.make("web", "1s")
    held = await process.says("held", name="web", namespace=people.namespace)
    assert held["why"].startswith("the clock here and the server's differ by ")
    assert held["why"].endswith("correct the clock of the machine")
    assert held["level"] == "warning"
    assert await process.metric('skoupa_holds{reason="clock-skew"}') >= 1
    # An answer that was long under way can't be told from a clock that is off, so it is no exact measure.
    assert 20 < await skew(process) * (1 if ahead > 0 else -1) < 31
    assert not deletes(proxy, path_of(people))

    proxy.clear()
    # Dates have whole seconds: less than two can't be told from none.
    proxy.script(Rule(OtherClock(1 if ahead > 0 else -1), times=None))
    await people.gone("web")

    async def in_step() -> bool:
        return abs(await skew(process)) < 2

    await eventually(in_step, what="the clocks to agree")


async def skew(process: Skoupa) -> float:
    return await process.metric("skoupa_clock_skew_seconds")
