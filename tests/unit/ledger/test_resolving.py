"""What became of open rows, by the look of the cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from skoupa.clock import SystemClock
from skoupa.errors import Unreachable
from skoupa.ledger.resolving import Sight, outcome_of, resolve
from skoupa.ledger.rows import Entry
from skoupa.ledger.sqlite import SqliteStore
from skoupa.sim.clock import VirtualClock, run
from tests.unit.ledger.entries import CLUSTER, entry, finish, intent

pytestmark = pytest.mark.unit


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "ledger.db", cluster=CLUSTER)
    await store.open()
    yield store
    await store.close()


@pytest.mark.parametrize(
    ("sight", "outcome"),
    [
        (Sight(state="present"), "still-there"),
        (Sight(state="absent"), "gone-by-unknown"),
        (Sight(state="absent", ours=True), "deleted"),
        (Sight(state="terminating", since=1000.0), "terminating"),
        (Sight(state="terminating", since=999.0), "terminating"),
        (Sight(state="terminating"), "terminating"),
        (Sight(state="terminating", since=500.0), "gone"),
        (Sight(state="unknown"), None),
    ],
)
def test_the_cluster_tells_what_became_of_an_intent(sight: Sight, outcome: str | None) -> None:
    assert outcome_of(entry(at=1000.0), sight) == outcome


def test_what_was_on_its_way_before_the_last_of_several_tries_may_have_gone_by_an_earlier_one() -> None:
    sight = Sight(state="terminating", since=500.0)
    assert outcome_of(entry(at=1000.0, attempts=1), sight) == "gone"
    assert outcome_of(entry(at=1000.0, attempts=2), sight) == "terminating"


async def test_every_open_row_is_closed_and_adopted(store: SqliteStore) -> None:
    await store.write([intent(f"u{number}", epoch=4) for number in range(1200)])
    await store.write([finish("u0", epoch=4)])

    async def look(row: Entry) -> Sight:
        return Sight(state="present" if int(row.uid[1:]) % 2 else "absent")

    resolved = await resolve(store, look, epoch=5, clock=SystemClock())
    assert resolved.outcomes == {"still-there": 600, "gone-by-unknown": 599}
    assert resolved.left == ()
    assert {(row.outcome, row.epoch) for row in resolved.went} == {("gone-by-unknown", 5)}
    assert len(resolved.went) == 599
    assert await store.open_entries() == []
    rows = await store.find(limit=2000)
    assert len(rows) == 1200
    assert {row.epoch for row in rows if row.uid != "u0"} == {5}


async def test_what_cannot_be_looked_at_stays_open_for_the_next_time(store: SqliteStore) -> None:
    await store.write([intent("a"), intent("b")])

    async def look(row: Entry) -> Sight:
        if row.uid == "a":
            raise Unreachable("no answer")
        return Sight(state="absent")

    resolved = await resolve(store, look, epoch=2, clock=SystemClock())
    assert [row.uid for row in resolved.left] == ["a"]
    assert [row.uid for row in await store.open_entries()] == ["a"]


async def test_a_deletion_that_the_old_leader_reports_later_outranks_the_guess(store: SqliteStore) -> None:
    await store.write([intent("a", epoch=1)])

    async def look(_: Entry) -> Sight:
        return Sight(state="present")

    await resolve(store, look, epoch=2, clock=SystemClock())
    await store.write([finish("a", "deleted", epoch=1)])
    assert [row.outcome for row in await store.find()] == ["deleted"]


async def test_a_row_whose_object_is_terminating_is_left_for_a_later_look_with_what_it_is_now(
    store: SqliteStore,
) -> None:
    await store.write([intent("a", epoch=1)])
    states = iter(["terminating", "absent"])

    async def look(_: Entry) -> Sight:
        return Sight(state=next(states))  # type: ignore[arg-type] # the two above

    resolved = await resolve(store, look, epoch=2, clock=SystemClock())
    assert [(row.uid, row.outcome, row.epoch) for row in resolved.left] == [("a", "terminating", 2)]
    assert [row.uid for row in resolved.went] == ["a"]
    later = await resolve(store, look, epoch=2, clock=SystemClock(), among=resolved.left)
    assert (later.left, later.went) == ((), ()), "it went once"
    assert [row.outcome for row in await store.find()] == ["deleted"]


async def test_rows_of_a_leader_at_work_stay_its_own_where_nobody_takes_them_over(store: SqliteStore) -> None:
    await store.write([intent("a", epoch=7)])

    async def look(_: Entry) -> Sight:
        return Sight(state="present")

    await resolve(store, look, epoch=None, clock=SystemClock())
    await store.write([finish("a", "gone-by-unknown", epoch=7)])
    assert [(row.outcome, row.epoch) for row in await store.find()] == [("gone-by-unknown", 7)]


def test_all_looks_together_end_in_time_and_one_kind_without_an_answer_does_not_hide_others(
    tmp_path: Path,
) -> None:
    async def main(clock: VirtualClock) -> None:
        store = SqliteStore(tmp_path / "ledger.db", cluster=CLUSTER)
        await store.open()
        await store.write(
            [intent(f"s{number}", resource="widgets.shop.example") for number in range(100)]
            + [intent(f"q{number}") for number in range(100)]
        )

        async def look(row: Entry) -> Sight:
            await clock.sleep(1000 if row.uid.startswith("s") else 0.01)
            return Sight(state="absent")

        began = clock.monotonic()
        resolved = await resolve(store, look, epoch=2, clock=clock)
        assert clock.monotonic() - began < 10
        assert resolved.outcomes == {"gone-by-unknown": 100}
        assert resolved.silent == ("widgets.shop.example",)
        assert len(resolved.left) == 100
        await store.close()

    run(main)


def test_what_was_not_looked_at_in_time_stays_open(tmp_path: Path) -> None:
    async def main(clock: VirtualClock) -> None:
        store = SqliteStore(tmp_path / "ledger.db", cluster=CLUSTER)
        await store.open()
        await store.write([intent(f"u{number}") for number in range(200)])

        async def look(_: Entry) -> Sight:
            await clock.sleep(2)
            return Sight(state="absent")

        began = clock.monotonic()
        resolved = await resolve(store, look, epoch=2, clock=clock, within=20)
        assert clock.monotonic() - began <= 20
        assert 0 < resolved.outcomes["gone-by-unknown"] < 200
        assert len(await store.open_entries()) == len(resolved.left) > 0
        await store.close()

    run(main)
