"""Decisions that send nothing have their rows too, however many come at once and whatever the ledger does meanwhile."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from skoupa.errors import LedgerUnavailable
from skoupa.ledger.journal import Journal
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Change
from skoupa.sim.clock import VirtualClock
from skoupa.sweep.record import Record
from tests.unit.controller.braking import brakes, bring_kind, pull, release
from tests.unit.controller.stage import MINUTE, SHOP, Stage, story

pytestmark = pytest.mark.unit

MANY = 300
ROOM = 20


class Tardy(SqliteStore):
    """Takes its time for each transaction, or is away."""

    def __init__(self, path: Path, clock: VirtualClock, *, seconds: float = 0.0) -> None:
        super().__init__(path, cluster="east")
        self.away = False
        self._virtual = clock
        self._seconds = seconds

    async def write(self, changes: Sequence[Change]) -> Mapping[str, str]:
        await self._virtual.sleep(self._seconds)
        if self.away:
            raise LedgerUnavailable("switched off")
        return await super().write(changes)


@asynccontextmanager
async def narrow(stage: Stage, store: Tardy) -> AsyncIterator[Record]:
    """A ledger with little room for what waits."""
    await store.open()
    record = Record(store, stage.clock)
    record.journal = Journal(store, clock=stage.clock, most_waiting=ROOM)
    writing = asyncio.create_task(record.journal.run())
    try:
        yield record
    finally:
        for play in stage.plays:
            await play.kill()
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await store.close()


async def outcomes(store: Tardy) -> Counter[str]:
    return Counter(row.outcome for row in await store.find(limit=10 * MANY))


def some() -> list[str]:
    return [f"web-{number}" for number in range(MANY)]


@story(mode="observe", acceptBacklog=True)
async def test_each_of_very_many_that_would_go_has_its_row_though_they_are_found_quicker_than_written(
    stage: Stage, tmp_path: Path
) -> None:
    store = Tardy(tmp_path / "l.db", stage.clock, seconds=1.0)
    async with narrow(stage, store) as record:
        stage.old(some(), "1m")
        play = await stage.play(record=record)
        await stage.later(5 * MINUTE)
        assert await outcomes(store) == {"would-delete": MANY}
        assert record.journal.statistics()["missing"] == 0
        assert len(play.told("would delete")) == MANY


@pytest.mark.parametrize("mode", ["observe", "enforce"])
@story(acceptBacklog=True)
async def test_what_is_decided_while_the_ledger_is_away_has_its_row_when_it_is_back_and_is_told_once(
    stage: Stage, tmp_path: Path, mode: str
) -> None:
    store = Tardy(tmp_path / "l.db", stage.clock)
    async with narrow(stage, store) as record:
        await bring_kind(stage)
        if mode == "enforce":
            await pull(stage, "stop", namespace=SHOP, reason="a freeze")
        play = await stage.play(record=record, mode=mode)
        store.away = True
        for name in some():
            await stage.make(name, "1m")
        await stage.later(5 * MINUTE)
        assert await outcomes(store) == {}
        store.away = False
        await stage.later(5 * MINUTE)
        outcome = {"observe": "would-delete", "enforce": "braked"}[mode]
        assert await outcomes(store) == {outcome: MANY}
        if mode == "observe":
            assert len(play.told("would delete")) == MANY


@story()
async def test_a_backlog_that_a_brake_stands_for_is_recorded_as_braked_object_by_object(
    stage: Stage, tmp_path: Path
) -> None:
    store = Tardy(tmp_path / "l.db", stage.clock)
    async with narrow(stage, store) as record:
        await bring_kind(stage)
        stage.old(some(), "1m")
        await stage.play(record=record)
        await stage.later(MINUTE)
        assert await brakes(stage) == {"first-start"}
        assert await outcomes(store) == {"braked": MANY}
        [row] = await store.find(limit=1)
        assert [hold.reason.code for hold in row.holds] == ["first-start-backlog"]
        await release(stage, "first-start")
        await stage.later(MINUTE)
        assert not stage.found()
        assert await outcomes(store) == {"deleted": MANY}


@story()
async def test_old_objects_that_were_labelled_together_are_recorded_as_braked(
    stage: Stage, tmp_path: Path
) -> None:
    store = Tardy(tmp_path / "l.db", stage.clock)
    async with narrow(stage, store) as record:
        await bring_kind(stage)
        stage.old(some())
        await stage.play(record=record)
        for name in some():
            await stage.label(name, ttl="1m")
        await stage.later(MINUTE)
        assert await outcomes(store) == {"braked": MANY}
        assert len(stage.found()) == MANY
