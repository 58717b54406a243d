"""However often an object was refused: it goes within a minute of the cause being removed."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.other_time import OtherTime
from tests.cluster.controller.refusing import Doorman, doorman
from tests.cluster.controller.running import Yard
from tests.cluster.reaching import until

pytestmark = pytest.mark.cluster

TRIES = 200
# The pauses of the first few and of the last of them are measured.
FIRST, LAST = 5, 18
# Of true time 200 pauses of 45 s would take two hours. What is left of a minute beside one is for the request itself.
SHORTER = 40.0
# What nobody measures is soon over.
HURRY = 30 * SHORTER
MINUTE = 60.0 / SHORTER
# For one request on a machine that has other things to do.
A_MOMENT = 5.0
# The Lease's pauses are shorter too: with these it is renewed as often as ever.
LEASE = {"lease__seconds": "600", "lease__retrySeconds": "80"}


@pytest.fixture
async def door(people: People, tmp_path: Path) -> AsyncIterator[Doorman]:
    async with doorman(people, tmp_path) as found:
        yield found


async def test_after_200_failed_tries_an_object_still_goes_within_a_minute_of_the_cause_being_removed(
    door: Doorman, people: People, yard: Yard, audit: AuditLog, tmp_path: Path
) -> None:
    clock = OtherTime(tmp_path, shorter=SHORTER)
    process = await yard.started(program=clock.program, **LEASE)
    door.refuse("web", "not yet")
    await people.make("web", "1s")
    await tried(door, FIRST)
    clock.make_shorter(HURRY)
    await tried(door, TRIES - LAST)
    clock.make_shorter(SHORTER)
    # One may be in a short pause still, and one under way.
    hurried = len(door.asked_about("web")) + 2
    await tried(door, max(TRIES, hurried + LAST))
    tries = door.asked_about("web")
    pauses = [later.came - earlier.answered for earlier, later in pairwise(tries)]
    # Each has jitter, and any one may have met a busy machine.
    assert pauses[0] < statistics.median(pauses[hurried:]) < MINUTE

    removed = time.monotonic()
    door.let_go("web")
    await people.gone("web", seconds=MINUTE + A_MOMENT)
    (taken,) = [asked for asked in door.asked_about("web") if asked.allowed]
    assert taken.came - removed < MINUTE + A_MOMENT
    assert await until(lambda: codes(audit, people)[-1] == 200, what="the end of the audit log")
    *refused, _ = codes(audit, people)
    assert len(refused) >= TRIES
    assert set(refused) == {403}
    sample = 'skoupa_delete_failures_total{error="Forbidden",kind="configmaps"}'
    assert await process.metric(sample) == len(refused)
    assert process.said("delete failed", name="web", namespace=people.namespace)


async def tried(door: Doorman, times: int) -> None:
    await until(lambda: len(door.asked_about("web")) >= times, what=f"{times} tries", seconds=200)


def codes(audit: AuditLog, people: People) -> list[int]:
    return [entry["responseStatus"]["code"] for entry in audit.deletes(people.namespace)]
