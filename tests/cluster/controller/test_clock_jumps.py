"""Somebody sets the clock of the machine that Skoupa runs on: nothing goes early, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from harness.controlplane import ControlPlane
from harness.faultproxy import FaultProxy, Rule, Slow
from skoupa.kube.resources import LEASES
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.other_time import OtherTime
from tests.cluster.controller.refusing import doorman
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.reaching import eventually, faulty, until

pytestmark = pytest.mark.cluster

HOUR = 3600.0
# What was measured on a busy machine may be off by as long as an answer took.
NEARLY = 30.0


@pytest.fixture
def clock(tmp_path: Path) -> OtherTime:
    return OtherTime(tmp_path)


@pytest.fixture
async def proxy(plane: ControlPlane, yard: Yard) -> AsyncIterator[FaultProxy]:
    async with faulty(plane) as proxy:
        yield proxy
        # While the proxy still serves: a process that ends has a Lease to hand over.
        await asyncio.to_thread(yard.close)


async def apart(process: Skoupa, by: float) -> None:
    """Waits until the process measures the server's clock as that far ahead of its own."""

    async def is_apart() -> bool:
        return abs(await process.metric("skoupa_clock_skew_seconds") - by) < NEARLY

    await eventually(is_apart, what=f"the clocks to be {by:g} s apart")


async def known(process: Skoupa, objects: float) -> None:
    async def all_known() -> bool:
        return await process.metric("skoupa_objects") >= objects

    await eventually(all_known, what=f"{objects:g} objects to be known")


async def test_a_clock_that_jumps_ahead_deletes_nothing_early_says_so_and_goes_on_when_it_is_right_again(
    clock: OtherTime, people: People, yard: Yard, audit: AuditLog
) -> None:
    process = await yard.started(program=clock.program)
    await people.make("in-half-an-hour", "30m")
    await people.make("in-an-hour", "1h")
    await people.make("in-two-hours", "2h")
    await process.says("leading")
    clock.be_wrong_by(HOUR + 60)
    early = await process.says("held", name="in-half-an-hour", namespace=people.namespace, seconds=90)
    await process.says("held", name="in-an-hour", namespace=people.namespace, seconds=90)
    assert early["level"] == "warning"
    assert early["why"].startswith("the clock here and the server's differ by -36")
    await apart(process, -HOUR - 60)
    assert await process.metric('skoupa_holds{reason="clock-skew"}') >= 2
    # What is really due has to wait too: nothing that is judged now can be relied on.
    await people.make("due", "1s")
    await process.says("held", name="due", namespace=people.namespace)
    assert not audit.deletes(people.namespace)

    clock.be_wrong_by(0)
    await people.gone("due", seconds=60)
    await apart(process, 0)
    for name in ("in-half-an-hour", "in-an-hour", "in-two-hours"):
        assert await people.there(name)
    assert [entry["objectRef"]["name"] for entry in audit.deletes(people.namespace)] == ["due"]
    assert await process.metric('skoupa_holds{reason="clock-skew"}') == 0


async def test_a_clock_that_jumps_back_deletes_nothing_wrong_and_all_that_is_due_goes_when_it_is_right_again(
    clock: OtherTime, people: People, yard: Yard, audit: AuditLog
) -> None:
    process = await yard.started(program=clock.program)
    before = await process.metric("skoupa_objects")
    # Long enough for it to be known, however busy this machine is.
    await people.make("known-before", "12s")
    await people.make("in-an-hour", "1h")
    await known(process, before + 2)
    clock.be_wrong_by(-HOUR)
    await apart(process, HOUR)
    for number in range(10):
        await people.make(f"made-meanwhile-{number}", "1s")
    await known(process, before + 12)

    clock.be_wrong_by(0)
    due = ["known-before", *(f"made-meanwhile-{number}" for number in range(10))]
    for name in due:
        await people.gone(name)
    assert await people.there("in-an-hour")
    assert sorted(entry["objectRef"]["name"] for entry in audit.deletes(people.namespace)) == sorted(due)


async def _another(proxy: FaultProxy, lease: str) -> None:
    """The answer has come when what follows it is sent: the renewal itself."""

    def renewals() -> int:
        return sum(seen.method == "PUT" and seen.path.startswith(lease) for seen in proxy.requests)

    before = renewals()
    await until(lambda: renewals() > before, what="the Lease to be renewed")


async def test_a_jump_while_an_answer_is_under_way_is_not_hidden_by_it(
    clock: OtherTime, proxy: FaultProxy, people: People, yard: Yard, tmp_path: Path
) -> None:
    """The answer was asked for before the jump and comes after it: its date fits either clock."""
    process = await yard.started(
        program=clock.program, kubeconfig=proxy.write_kubeconfig(tmp_path / "proxy"), lease__seconds="60"
    )
    before = await process.metric("skoupa_objects")
    await people.make("in-half-an-hour", "30m")
    await known(process, before + 1)
    lease = LEASES.path(namespace=yard.home)
    for count in range(3):
        slow = proxy.script(Rule(Slow(before=1.0), method="GET", path=lease, times=1))
        await until(partial(proxy.hits, slow), what="a renewal of the Lease")
        clock.be_wrong_by(HOUR)
        await _another(proxy, lease)
        for number in range(20):
            # Whatever comes to be known wakes who looks for what is due.
            await people.make(f"in-two-hours-{count}-{number}", "2h")
        await apart(process, -HOUR)
        clock.be_wrong_by(0)
        await apart(process, 0)
    assert not process.said("deleted", namespace=people.namespace)
    assert await people.there("in-half-an-hour")


async def test_what_was_far_ahead_and_is_far_behind_a_moment_later_is_not_forgotten(
    clock: OtherTime, people: People, yard: Yard
) -> None:
    """As for a machine that slept: what became due meanwhile is first looked at while the clocks are apart."""
    process = await yard.started(program=clock.program)
    before = await process.metric("skoupa_objects")
    clock.be_wrong_by(-3 * HOUR)
    await apart(process, 3 * HOUR)
    await people.make("due", "1s")
    await people.make("in-an-hour", "1h")
    await known(process, before + 2)
    clock.be_wrong_by(3 * HOUR)
    await process.says("held", name="due", namespace=people.namespace)
    await process.says("held", name="in-an-hour", namespace=people.namespace)
    clock.be_wrong_by(0)
    await people.gone("due", seconds=60)
    assert await people.there("in-an-hour")


async def test_a_clock_that_is_set_again_and_again_while_much_is_going_lets_nothing_go_early(
    clock: OtherTime, people: People, yard: Yard, audit: AuditLog
) -> None:
    process = await yard.started(program=clock.program)
    later = [f"later-{number}" for number in range(50)]
    due = [f"due-{number}" for number in range(100)]
    await asyncio.gather(*(people.make(name, "30m") for name in later))
    for count, name in enumerate(due):
        await people.make(name, "1s")
        if count % 5 == 0:
            clock.be_wrong_by((HOUR, 0, -HOUR, 0)[count // 5 % 4])
    clock.be_wrong_by(0)
    for name in due:
        await people.gone(name, seconds=60)
    for name in later:
        assert await people.there(name)
    assert sorted({entry["objectRef"]["name"] for entry in audit.deletes(people.namespace)}) == sorted(due)
    assert process.running


async def test_a_try_that_fails_while_the_clock_is_ahead_is_not_put_off_by_as_much(
    clock: OtherTime, people: People, yard: Yard, tmp_path: Path
) -> None:
    async with doorman(people, tmp_path) as door:
        process = await yard.started(program=clock.program)
        door.refuse("web", "not yet")
        door.hang("web")
        await people.make("web", "1s")
        await until(lambda: "web" in door.arrived, what="the delete to be under way")
        clock.be_wrong_by(HOUR)
        door.answer("web")
        await process.says("delete failed", name="web", namespace=people.namespace)
        clock.be_wrong_by(0)
        door.let_go("web")
        await people.gone("web", seconds=60)
