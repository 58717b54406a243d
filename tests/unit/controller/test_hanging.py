"""Deletes that hang, as behind a webhook that does not answer: only they wait."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from skoupa.kube.resources import LEASES
from skoupa.kube.transport import Request, Response, Stream
from skoupa.sim.faults import Fault, asking
from tests.unit.controller.replicas import Replica, replicas
from tests.unit.controller.stage import HOUR, MINUTE, Stage, story

pytestmark = pytest.mark.unit

WEBHOOK_SECONDS = 10.0
MANY = 300
TROUBLED = "troubled"


def deletes_in(namespace: str, *, name: str = "") -> Callable[[Request], bool]:
    def when(request: Request) -> bool:
        path = request.path
        return request.method == "DELETE" and f"/namespaces/{namespace}/" in path and path.endswith(name)

    return when


def hang(stage: Stage, *, name: str = "") -> tuple[Fault, Fault]:
    """Each such delete takes as long as the webhook's time-out, and then fails."""
    when = deletes_in(TROUBLED, name=name)
    words = 'failed calling webhook "gate.example": context deadline exceeded'
    return (
        stage.cluster.faults.delay(WEBHOOK_SECONDS, when=when, times=None),
        stage.cluster.faults.answer(500, when=when, times=None, message=words),
    )


def stop_hanging(stage: Stage, faults: tuple[Fault, Fault]) -> None:
    for fault in faults:
        stage.cluster.faults.remove(fault)


async def troubled(stage: Stage, count: int = MANY) -> None:
    await stage.namespace(TROUBLED)
    for number in range(count):
        await stage.make(f"stuck-{number}", "1m", namespace=TROUBLED)


def said(replica: Replica, event: str) -> list[dict[str, str]]:
    return [line for line in replica.lines if line["event"] == event]


@story()
async def test_more_deletes_that_hang_than_may_be_in_flight_make_others_late_once_and_then_never(
    stage: Stage,
) -> None:
    async with replicas(stage, 1, rate={"inFlight": 16}):
        await troubled(stage)
        hang(stage)
        await stage.until(70)
        await stage.make("first", "1s")
        await stage.later(2 * WEBHOOK_SECONDS)
        assert not stage.there("first"), "the first wave is over by then"
        for number in range(20):
            await stage.make(f"later-{number}", "1s")
            await stage.later(2)
            assert not stage.there(f"later-{number}"), "those that hang do not keep all workers any more"


@story()
async def test_what_hung_goes_within_a_minute_of_the_webhook_answering_again(stage: Stage) -> None:
    async with replicas(stage, 1, rate={"inFlight": 16}):
        await troubled(stage)
        faults = hang(stage)
        await stage.until(10 * MINUTE)
        assert len(stage.found(namespace=TROUBLED)) == MANY
        stop_hanging(stage, faults)
        await stage.later(MINUTE)
        assert not stage.found(namespace=TROUBLED)


@story()
async def test_in_a_place_that_hangs_each_is_still_tried_and_only_a_few_at_a_time(stage: Stage) -> None:
    async with replicas(stage, 1, rate={"inFlight": 16}) as (replica,):
        await troubled(stage, 40)
        hang(stage)
        await stage.until(4 * MINUTE)
        replica.cable.deletes.clear()
        await stage.later(10 * MINUTE)
        tried = replica.cable.deletes
        assert len(set(tried)) == 40
        # Four hands, ten seconds each.
        assert len(tried) <= 10 * MINUTE / WEBHOOK_SECONDS * 4 + 4


@story()
async def test_a_webhook_that_hangs_for_one_object_does_not_make_its_neighbours_wait(stage: Stage) -> None:
    async with replicas(stage, 1, rate={"inFlight": 4}):
        await troubled(stage, 1)
        hang(stage, name="stuck-0")
        await stage.until(3 * MINUTE)
        for number in range(10):
            await stage.make(f"web-{number}", "1s", namespace=TROUBLED)
        await stage.later(MINUTE)
        assert stage.found(namespace=TROUBLED) == {"stuck-0"}


@story()
async def test_places_where_deletes_hang_are_told_once_with_what_to_look_for(stage: Stage) -> None:
    async with replicas(stage, 1, rate={"inFlight": 16}) as (replica,):
        await troubled(stage, 40)
        faults = hang(stage)
        await stage.until(30 * MINUTE)
        (line,) = said(replica, "deletes hang")
        assert (line["level"], line["where"]) == ("warning", f"configmaps in {TROUBLED}")
        assert "admission webhook" in line["advice"]
        overdue = replica.process.engine.sweeper.memory.overdue
        assert {code for _, code in overdue.values()} <= {"failing", "hanging"}
        assert len(overdue) == 40
        stop_hanging(stage, faults)
        await stage.later(2 * MINUTE)
        assert not overdue
        assert not replica.process.engine.sweeper.hanging.places


@story()
async def test_deletes_that_were_cut_because_the_lease_ran_out_mark_nothing_as_hanging(stage: Stage) -> None:
    async with replicas(stage, 1, rate={"inFlight": 8}) as (replica,):
        await troubled(stage, 40)
        slow = stage.cluster.faults.delay(40, when=deletes_in(TROUBLED), times=None)
        await stage.until(62)
        renewals = stage.cluster.faults.answer(500, when=asking(kind=LEASES.qualified), times=None)
        await stage.later(20)
        assert "no answer before the lease ran out" in said(replica, "delete failed")[0]["error"]
        assert not replica.leads
        assert not replica.process.engine.sweeper.hanging.places
        stage.cluster.faults.remove(renewals)
        stage.cluster.faults.remove(slow)
        await stage.later(30)
        assert replica.leads
        assert not stage.found(namespace=TROUBLED)
        assert not said(replica, "deletes hang")


@story()
async def test_deletes_that_were_slow_and_done_leave_no_mark_behind(stage: Stage) -> None:
    async with replicas(stage, 1) as (replica,):
        server = replica.cable._server

        class Slowly:
            """Its answers come long after the watch has told."""

            async def send(self, request: Request) -> Response:
                response = await server.send(request)
                if request.method == "DELETE":
                    await stage.clock.sleep(4)
                return response

            def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
                return server.stream(request)

            async def close(self) -> None:
                return

        replica.cable._server = Slowly()
        for number in range(20):
            await stage.make(f"a{number}", "10s")
        await stage.later(5 * MINUTE)
        assert not stage.found()
        replica.cable._server = server
        told = len([line for line in replica.lines if line["event"] == "deletes hang"])
        await stage.later(5 * HOUR)
        assert not replica.process.engine.sweeper.hanging.places
        assert len([line for line in replica.lines if line["event"] == "deletes hang"]) == told
