"""Group commit in front of a real store, and what happens while the store is away, slow or full."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skoupa.clock import SystemClock
from skoupa.errors import LedgerUnavailable
from skoupa.ledger.journal import Journal
from skoupa.ledger.rows import Body, Entry, Ids
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Change, Wish
from skoupa.sim.clock import VirtualClock, run
from tests.unit.ledger.entries import CLUSTER, entry, intent

pytestmark = pytest.mark.unit


class Unsteady(SqliteStore):
    """A real store that can be switched off, or made to answer later; `batches` are its transactions."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, cluster=CLUSTER)
        self.on = asyncio.Event()
        self.on.set()
        self.away = False
        self.commits_but_fails = False
        self.batches: list[list[Change]] = []

    async def write(self, changes: Sequence[Change]) -> Mapping[str, str]:
        await self.on.wait()
        if self.away:
            raise LedgerUnavailable("switched off")
        self.batches.append(list(changes))
        ids = await super().write(changes)
        if self.commits_but_fails:
            raise LedgerUnavailable("the answer was lost")
        return ids


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Unsteady]:
    store = Unsteady(tmp_path / "ledger.db")
    await store.open()
    yield store
    await store.close()


class StandingStill(SystemClock):
    """No time passes; whoever waits for company waits until it is `there`."""

    def __init__(self) -> None:
        super().__init__()
        self.there = asyncio.Event()

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        assert 0 < seconds < 0.1
        await self.there.wait()


@asynccontextmanager
async def journal_on(
    store: SqliteStore, *, clock: SystemClock | None = None, **options: Any
) -> AsyncIterator[Journal]:
    journal = Journal(store, clock=clock or SystemClock(), **options)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(journal.run())
        yield journal
        running.cancel()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 - the condition belongs to the code under test
            await asyncio.sleep(0.005)


async def rows(store: SqliteStore) -> dict[str, Entry]:
    return {row.uid: row for row in await store.find(limit=10_000)}


async def test_an_intent_is_on_disk_when_intend_returns(store: Unsteady) -> None:
    async with journal_on(store) as journal:
        ids = await journal.intend([intent("a", id="mine")])
        assert ids == {"a": "mine"}
        assert (await rows(store))["a"].outcome == "intended"


async def test_the_id_of_an_older_row_is_given_back(store: Unsteady) -> None:
    async with journal_on(store) as journal:
        await journal.intend([intent("a", id="first")])
        assert (await journal.intend([intent("a", id="second")]))["a"] == "first"


async def test_what_waits_together_goes_in_one_transaction(store: Unsteady) -> None:
    async with journal_on(store) as journal:
        store.on.clear()
        async with asyncio.TaskGroup() as group:
            for _ in range(200):
                group.create_task(journal.intend([intent()]))
            await until(lambda: journal.statistics()["queued"] == 200)
            store.on.set()
        assert len(store.batches) <= 2
        assert sum(len(batch) for batch in store.batches) == 200


async def test_a_lone_intent_does_not_wait_for_company(store: Unsteady) -> None:
    async with journal_on(store) as journal, asyncio.timeout(60):
        for _ in range(50):
            await journal.intend([intent()])
    assert len(store.batches) == 50


async def test_while_many_come_a_transaction_waits_for_company(store: Unsteady) -> None:
    clock = StandingStill()
    async with journal_on(store, clock=clock) as journal:
        # The first is written at once, and those that follow it within a moment go together.
        await journal.intend([intent("first")])
        async with asyncio.TaskGroup() as group:
            for _ in range(20):
                group.create_task(journal.intend([intent()]))
            await until(lambda: journal.statistics()["queued"] == 20)
            clock.there.set()
    assert [len(batch) for batch in store.batches] == [1, 20]


async def test_a_try_that_could_not_be_written_down_closes_no_row_of_an_earlier_one(store: Unsteady) -> None:
    async with journal_on(store) as journal:
        await journal.intend([intent("a")])
        store.away = True
        with pytest.raises(LedgerUnavailable):
            await journal.intend([msgspec.structs.replace(intent("a"), open_before=True)])
        store.away = False
        assert await journal.drain(20)
        assert (await rows(store))["a"].outcome == "intended"


async def test_outcomes_are_written_after_their_intents_without_waiting(store: Unsteady) -> None:
    async with journal_on(store) as journal:
        await journal.intend([intent("a"), intent("b")])
        journal.finish("a", outcome="deleted", epoch=1)
        journal.finish("b", outcome="failed", epoch=1, error="refused")
        journal.note(entry("c", outcome="braked"))
        journal.told(["a"])
        journal.restored("a", restored_as="a2")
        assert await journal.drain()
        found = await rows(store)
        assert (found["a"].outcome, found["a"].told, found["a"].restored_as) == ("deleted", True, "a2")
        assert (found["b"].outcome, found["b"].error) == ("failed", "refused")
        assert found["c"].outcome == "braked"
        assert journal.statistics() == {"queued": 0, "written": 7, "failed": 0, "missing": 0}


async def test_no_intent_is_taken_while_the_store_is_away_and_outcomes_wait_for_it(store: Unsteady) -> None:
    async with journal_on(store) as journal:
        await journal.intend([intent("a")])
        store.away = True
        with pytest.raises(LedgerUnavailable, match="switched off"):
            await journal.intend([intent("b")])
        journal.finish("a", outcome="deleted", epoch=1)
        await until(lambda: journal.statistics()["failed"] > 2)
        assert journal.error is not None
        store.away = False
        assert await journal.drain(20)
        await journal.intend([intent("c")])
        assert journal.error is None
        found = await rows(store)
        assert found.keys() == {"a", "c"}
        assert found["a"].outcome == "deleted"


async def test_an_intent_whose_commit_was_not_answered_does_not_stay_open(store: Unsteady) -> None:
    async with journal_on(store) as journal:
        store.commits_but_fails = True
        with pytest.raises(LedgerUnavailable):
            await journal.intend([intent("a")])
        store.commits_but_fails = False
        assert await journal.drain(20)
        (row,) = (await rows(store)).values()
        assert row.outcome == "failed"
        assert "nothing was sent" in row.error


async def test_outcomes_that_were_written_twice_count_once(store: Unsteady) -> None:
    async with journal_on(store) as journal:
        await journal.intend([intent("a")])
        store.commits_but_fails = True
        journal.note(entry("b", outcome="braked"))
        journal.finish("a", outcome="deleted", epoch=1)
        await until(lambda: journal.statistics()["failed"] > 1)
        store.commits_but_fails = False
        assert await journal.drain(20)
        found = await rows(store)
        assert (found["a"].outcome, found["a"].attempts) == ("deleted", 1)
        assert (found["b"].outcome, found["b"].attempts) == ("braked", 0)


async def test_a_slow_store_lets_nothing_go_and_leaves_nothing_open(store: Unsteady) -> None:
    async with journal_on(store, patience=0.05) as journal:
        store.on.clear()
        with pytest.raises(LedgerUnavailable, match=r"within 0\.05 s"):
            await journal.intend([intent("a")])
        store.on.set()
        assert await journal.drain(20)
        assert {row.outcome for row in (await rows(store)).values()} == {"failed"}


async def test_who_stops_waiting_leaves_nothing_open(store: Unsteady) -> None:
    async with journal_on(store) as journal:
        store.on.clear()
        waiting = asyncio.create_task(journal.intend([intent("a")]))
        await until(lambda: journal.statistics()["queued"] == 1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        store.on.set()
        assert await journal.drain(20)
        assert await store.open_entries() == []


async def test_going_on_without_the_store_writes_the_rows_later(store: Unsteady) -> None:
    async with journal_on(store, on_failure="continue") as journal:
        store.away = True
        ids = await journal.intend([intent("a", id="mine")])
        assert ids == {"a": "mine"}
        journal.finish("a", outcome="deleted", epoch=1)
        await journal.intend([intent("b")])
        store.away = False
        assert await journal.drain(20)
        found = await rows(store)
        assert (found["a"].outcome, found["b"].outcome) == ("deleted", "intended")
        assert journal.statistics()["missing"] == 0


async def test_memory_is_bounded_and_what_never_gets_its_row_is_counted(store: Unsteady) -> None:
    async with journal_on(store, on_failure="continue", most_waiting=10) as journal:
        store.away = True
        for _ in range(15):
            await journal.intend([intent()])
        assert not journal.note(entry("x", outcome="braked")), "whoever has it comes with it again"
        journal.told(["x"])
        assert journal.statistics()["queued"] == 10
        assert journal.statistics()["missing"] == 5
        store.away = False
        assert await journal.drain(20)
        assert len(await rows(store)) == 10


async def test_manifests_that_wait_for_the_trash_are_bounded_too(store: Unsteady) -> None:
    body = (Body(form="json", data=b"x" * 1000),)
    async with journal_on(store, on_failure="continue", most_bytes=3000) as journal:
        store.away = True
        for _ in range(5):
            await journal.intend([intent(bodies=body)])
        assert journal.statistics()["missing"] == 2
        store.away = False
        assert await journal.drain(20)
        store.away = True
        for _ in range(3):
            await journal.intend([intent(bodies=body)])
        assert journal.statistics()["missing"] == 2
    async with journal_on(store, most_bytes=3000) as journal:
        for _ in range(5):
            with pytest.raises(LedgerUnavailable, match="switched off"):
                await journal.intend([intent(bodies=body)])
        store.away = False
        assert await journal.drain(20)
        await journal.intend([intent(bodies=body)])


async def test_a_journal_that_is_behind_takes_no_intent_until_it_has_caught_up(store: Unsteady) -> None:
    async with journal_on(store, most_waiting=10) as journal:
        store.on.clear()
        for number in range(10):
            journal.note(entry(f"n{number}", outcome="braked"))
        with pytest.raises(LedgerUnavailable, match="10 changes behind"):
            await journal.intend([intent("a")])
        waiting = asyncio.create_task(journal.room())
        store.on.set()
        await waiting
        await journal.intend([intent("a")])


async def test_who_has_very_many_notes_waits_for_room_while_that_helps(store: Unsteady) -> None:
    async with journal_on(store, most_waiting=10, patience=0.1) as journal:
        store.on.clear()
        for number in range(5):
            assert journal.note(entry(f"n{number}", outcome="braked"))
        began = journal.statistics()["written"]
        # It hangs: what waits for room is looked at all the same, and goes on.
        async with asyncio.timeout(60):
            await journal.room()
        assert journal.statistics()["written"] == began
        store.away = True
        store.on.set()
        await until(lambda: journal.error is not None)
        async with asyncio.timeout(60):
            await journal.room()
        store.away = False
        assert await journal.drain(20)
        assert len(await rows(store)) == 5


async def test_a_journal_that_ended_says_so(store: Unsteady) -> None:
    async with journal_on(store) as journal:
        store.on.clear()
        waiting = asyncio.create_task(journal.intend([intent("a")]))
        await until(lambda: journal.statistics()["queued"] == 1)
    with pytest.raises(LedgerUnavailable, match="closed"):
        await waiting
    with pytest.raises(LedgerUnavailable, match="closed"):
        await journal.intend([intent("b")])
    assert not await journal.drain()


async def test_a_ledger_locked_by_another_process_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    store = SqliteStore(path, cluster=CLUSTER, busy_seconds=0.05)
    await store.open()
    async with journal_on(store) as journal:
        await journal.intend([intent("a")])
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        journal.finish("a", outcome="deleted", epoch=1)
        await until(lambda: journal.statistics()["failed"] > 0)
        other.execute("ROLLBACK")
        other.close()
        assert await journal.drain(20)
    assert [row.uid for row in await store.find(Wish(outcomes=("deleted",)))] == ["a"]
    await store.close()


def test_ids_sort_by_time_and_never_meet() -> None:
    ids = Ids(SystemClock(seed=1))
    made = [ids.next() for _ in range(5000)]
    assert made == sorted(set(made))
    assert {len(one) for one in made} == {15}
    assert all(one == one.lower() and one.isalnum() for one in made)


def test_a_simulated_cluster_can_have_a_real_ledger(tmp_path: Path) -> None:
    """Virtual time stands still while the file is written, so no patience runs out."""

    async def live(clock: VirtualClock) -> list[Entry]:
        store = SqliteStore(tmp_path / "ledger.db", cluster=CLUSTER)
        journal = Journal(store, clock=clock, patience=0.001)
        began = clock.now()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(journal.run())
            for number in range(50):
                await journal.intend([intent(f"u{number}")])
                journal.finish(f"u{number}", outcome="deleted", epoch=1)
                await clock.sleep(3600)
            assert await journal.drain()
            running.cancel()
        assert clock.now() == began + 50 * 3600
        rows = await store.find()
        await store.close()
        return rows

    assert [row.outcome for row in run(live)] == ["deleted"] * 50
