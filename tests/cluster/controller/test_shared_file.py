"""Two replicas with one SQLite file, and the one that leads stands still for longer than its Lease, again and again.

It may be stopped in the middle of a write, and then the other can write nothing until it goes on: nothing goes meanwhile.
When it wakes up it still has outcomes to write down, and believes what it knew. What both wrote is told by a trigger in the
file itself, and what reached the server by its audit log.
"""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from harness.controlplane import ControlPlane
from skoupa.kube.resources import NAMESPACES
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.running import Yard
from tests.cluster.controller.test_ledger import NAME, rows
from tests.cluster.controller.test_standing_still import (
    Replicas,
    all_gone,
    another_place,
    in_the_audit_log,
    left,
    make_all,
    two_replicas,
)
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster

MANY = 300
ROUNDS = 3

NOTES = """
CREATE TABLE notes (uid TEXT, before TEXT, after TEXT);
CREATE TRIGGER noted AFTER UPDATE OF outcome ON skoupa_entries
WHEN NEW.outcome <> 'intended' OR OLD.outcome IN ('deleted', 'terminating')
BEGIN INSERT INTO notes VALUES (NEW.uid, OLD.outcome, NEW.outcome); END;
"""


@pytest.fixture
async def replicas(plane: ControlPlane, yard: Yard) -> AsyncIterator[Replicas]:
    async with two_replicas(plane, yard, clusterName=NAME) as found:
        with closing(sqlite3.connect(yard.ledger, timeout=30)) as connection:
            connection.executescript(NOTES)
        yield found


def noted(ledger: Path) -> list[tuple[str, str, str]]:
    with closing(sqlite3.connect(ledger, timeout=30)) as connection:
        return connection.execute("SELECT uid, before, after FROM notes").fetchall()


async def stand_still(replicas: Replicas, place: People, *, at: int) -> None:
    """In the middle of all that goes there, until another has led for a while."""

    async def in_the_middle() -> bool:
        return len(await left(place)) <= at

    await eventually(in_the_middle, what="some to go", patiently=False)
    replicas.stop_leader()
    there = len(await left(place))
    await replicas.taken_over()

    async def goes_on_or_can_not() -> bool:
        if not there:
            # This machine had other things to do, and all had gone meanwhile.
            return True
        # As it takes over, or later when it wants to write down what goes.
        waits = any("ledger.db can't be used" in line["error"] for line in replicas.leader.said("trouble"))
        return waits or bool(replicas.leader.said("held")) or len(await left(place)) < there

    await eventually(goes_on_or_can_not, what="the other to go on, or to wait for the file", seconds=60)
    await replicas.woken_up()


async def test_a_leader_that_stands_still_again_and_again_deletes_nothing_twice_and_completes_each_row_once(
    replicas: Replicas, people: People, audit: AuditLog, yard: Yard
) -> None:
    chance = random.Random()
    for _ in range(ROUNDS):
        place = await another_place(people)
        wanted = [f"web-{number}" for number in range(MANY)]
        await make_all(place, wanted, "1s")
        await place.label(place.namespace, resource=NAMESPACES, keep=None)
        await stand_still(replicas, place, at=chance.randint(MANY // 4, MANY - MANY // 4))
        await all_gone(place)

        async def all_finished(place: People = place) -> bool:
            return all(entry.finished_at for entry in await rows(yard.ledger, place))

        await eventually(all_finished, what="each row to have its end")
        found = await rows(yard.ledger, place)
        assert sorted(entry.name for entry in found) == sorted(wanted), "a row each"
        outcomes = Counter(entry.outcome for entry in found)
        assert set(outcomes) <= {"deleted", "gone-by-unknown"}, outcomes
        deletes = await in_the_audit_log(audit, place, wanted)
        taken = Counter(
            entry["objectRef"]["name"] for entry in deletes if entry["responseStatus"]["code"] == 200
        )
        assert taken == Counter(wanted), "nothing is deleted twice"

    ended = Counter(uid for uid, _, after in noted(yard.ledger) if after == "deleted")
    assert set(ended.values()) == {1}, "what is deleted is written down as that once"
    assert not [note for note in noted(yard.ledger) if note[1] == "deleted"], "and stays so"
    told = Counter(
        (line["namespace"], line["name"])
        for process in (replicas.leader, replicas.other)
        for line in process.said("deleted")
    )
    assert set(told.values()) == {1}, "and is told once"
