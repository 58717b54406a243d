"""A process that stood still for longer than its lease goes on with what it was at: nothing of that may leave."""

from __future__ import annotations

import asyncio

import pytest

from skoupa.errors import CutShort, LeaseLost, Withdrawn
from skoupa.kube.client import Client
from skoupa.kube.fence import Fence
from skoupa.kube.flow import Flow, Limits
from skoupa.kube.leases import Election
from skoupa.kube.transport import Request
from skoupa.sim.clock import VirtualClock, run
from tests.unit.kube.test_flow import OK, Scripted

pytestmark = pytest.mark.unit

DELETE = Request(method="DELETE", path="/api/v1/namespaces/a/pods/p", verb="delete", kind="pods")


class Stopped(VirtualClock):
    """Its own time stands still for a while without the event loop hearing of it, as after SIGSTOP."""

    missed = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.missed


def test_a_write_that_was_waiting_when_the_process_stood_still_does_not_leave_any_more() -> None:
    async def main(clock: VirtualClock) -> None:
        stopped = Stopped(clock._loop)
        server = Scripted(clock, OK, seconds=1)
        flow = Flow(server, clock, limits=Limits(in_flight=1, at_first=1))
        election = Election(Client(flow, stopped), namespace="home", name="lease", identity="me")
        election._renewed((stopped.monotonic(), stopped.now()))
        fence = Fence(flow, election)
        first = asyncio.create_task(fence.send(DELETE))
        second = asyncio.create_task(fence.send(DELETE))
        await clock.sleep(0.5)
        stopped.missed = 60.0
        assert (await first).status == 200, "it had left before"
        with pytest.raises(LeaseLost):
            await second
        assert len(server.times) == 1

    run(main)


def test_what_nobody_wants_any_more_is_withdrawn_and_no_lost_lease() -> None:
    async def main(clock: VirtualClock) -> None:
        flow = Flow(Scripted(clock, OK), clock)
        election = Election(Client(flow, clock), namespace="home", name="lease", identity="me")
        election._renewed((clock.monotonic(), clock.now()))
        unwanted = Request(
            method="DELETE", path=DELETE.path, verb="delete", kind="pods", still_wanted=lambda: False
        )
        with pytest.raises(Withdrawn):
            await Fence(flow, election).send(unwanted)

    run(main)


class Suspended(VirtualClock):
    """Of a machine that slept: the hands of its clock are set when it wakes, and nothing else went on."""

    slept = 0.0

    def now(self) -> float:
        return super().now() + self.slept


def test_a_machine_that_was_suspended_for_longer_than_the_lease_does_not_lead_when_it_wakes() -> None:
    async def main(clock: VirtualClock) -> None:
        suspended = Suspended(clock._loop)
        server = Scripted(clock, OK)
        election = Election(Client(server, suspended), namespace="home", name="lease", identity="me")
        election._renewed((suspended.monotonic(), suspended.now()))
        assert election.leading
        suspended.slept = 60.0
        assert not election.leading
        with pytest.raises(LeaseLost):
            await Fence(server, election).send(DELETE)
        assert not server.times

    run(main)


def test_a_write_without_an_answer_ends_with_the_lease_and_a_renewal_lets_it_go_on() -> None:
    async def main(clock: VirtualClock) -> None:
        server = Scripted(clock, OK, seconds=40)
        election = Election(Client(server, clock), namespace="home", name="lease", identity="me")
        election._renewed((clock.monotonic(), clock.now()))
        fence = Fence(server, election)
        began = clock.monotonic()
        sent = [asyncio.create_task(fence.send(DELETE)) for _ in range(3)]
        await clock.sleep(6)
        election._renewed((clock.monotonic(), clock.now()))
        for one in sent:
            with pytest.raises(CutShort):
                await one
        assert clock.monotonic() - began == pytest.approx(6 + 15)
        assert not any(one.cancelled() for one in sent), "the task goes on"

    run(main)


def test_a_lease_that_is_given_up_ends_what_is_under_way_at_once() -> None:
    async def main(clock: VirtualClock) -> None:
        server = Scripted(clock, OK, seconds=40)
        election = Election(Client(server, clock), namespace="home", name="lease", identity="me")
        election._renewed((clock.monotonic(), clock.now()))
        fence = Fence(server, election)
        sent = asyncio.create_task(fence.send(DELETE))
        await clock.sleep(1)
        election._renewed((float("-inf"), float("-inf")))
        began = clock.monotonic()
        with pytest.raises(CutShort):
            await sent
        assert clock.monotonic() == began

    run(main)


def test_whoever_ends_the_task_of_a_write_ends_it() -> None:
    async def main(clock: VirtualClock) -> None:
        server = Scripted(clock, OK, seconds=40)
        election = Election(Client(server, clock), namespace="home", name="lease", identity="me")
        election._renewed((clock.monotonic(), clock.now()))
        fence = Fence(server, election)
        sent = asyncio.create_task(fence.send(DELETE))
        await clock.sleep(1)
        # In the same moment: the lease ends as well.
        election._renewed((float("-inf"), float("-inf")))
        sent.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sent

    run(main)
