"""Two replicas and a Lease: take-over loses nothing and doubles nothing, whoever dies and however."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from datetime import datetime

import pytest

from skoupa.kube.lists import count
from skoupa.kube.resources import CONFIG_MAPS
from tests.cluster.reaching import eventually, until
from tests.cluster.ttl.objects import AuditLog, People
from tests.cluster.ttl.running import Skoupa, Yard

pytestmark = pytest.mark.cluster

MANY = 5000
LEASE_SECONDS = 4
IN_FLIGHT = 64


async def two(yard: Yard, *, rate: float = 100.0) -> tuple[Skoupa, Skoupa]:
    """The one that leads, and the one that waits."""
    both = [
        yard.start(lease__seconds=str(LEASE_SECONDS), rate__deletionsPerSecond=str(rate)) for _ in range(2)
    ]
    for process in both:
        await process.says("ready", seconds=60)
    await until(lambda: any(process.said("leading") for process in both), what="one of them to lead")
    first, second = sorted(both, key=lambda process: not process.said("leading"))
    return first, second


async def make_many(people: People, due: str) -> None:
    numbers = iter(range(MANY))

    async def work() -> None:
        for number in numbers:
            await people.make(f"web-{number}", due)

    await asyncio.gather(*(work() for _ in range(32)))


async def left(people: People) -> int:
    """The one that every namespace has does not count."""
    return await count(people.client, CONFIG_MAPS, namespace=people.namespace) - 1


async def test_the_leader_killed_in_the_middle_of_five_thousand_deletions(
    people: People, yard: Yard, audit: AuditLog
) -> None:
    first, second = await two(yard, rate=100_000)
    due = time.time() + 8
    await make_many(people, time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime(due)))

    async def in_the_middle() -> bool:
        return await left(people) < MANY - 800

    await eventually(in_the_middle, what="the deletions to begin", seconds=60)
    first.kill()
    killed = time.time()
    assert 0 < await left(people) < MANY

    async def all_gone() -> bool:
        return await left(people) == 0

    await eventually(all_gone, what="all to go", seconds=60)
    assert second.said("leading")
    deletes = audit.deletes(people.namespace)
    taken = [entry for entry in deletes if entry["responseStatus"]["code"] == 200]
    times = Counter(entry["objectRef"]["name"] for entry in taken)
    assert set(times.values()) == {1}, "nothing is deleted twice"
    # The server may have carried out what was under way at the kill, but nobody was left to hear its answer.
    assert MANY - len(times) <= IN_FLIGHT
    assert len({entry["objectRef"]["name"] for entry in deletes}) == MANY
    moments = [_moment(entry["requestReceivedTimestamp"]) for entry in taken]
    assert min(moment for moment in moments if moment > killed + 0.5) - killed < LEASE_SECONDS + 3


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


async def test_a_signal_hands_over_at_once(people: People, yard: Yard) -> None:
    first, second = await two(yard)
    told = time.monotonic()
    first.terminate()
    await second.says("leading")
    assert time.monotonic() - told < LEASE_SECONDS - 1
    await until(lambda: not first.running, what="the first to end")
    assert first.exit_code() == 0
    assert [line["event"] for line in first.lines[-2:]] == ["stopping", "stopped"]
    await people.make("web", "1s")
    await people.gone("web")


async def test_in_the_gap_the_dead_go_and_who_was_born_again_lives(
    people: People, yard: Yard, audit: AuditLog
) -> None:
    """Nobody leads for a while: an object comes back under its old name with a new time."""
    first, second = await two(yard)
    made = await people.make("web", "2s")
    await people.make("old", "2s")
    first.kill()
    await people.remove(made)
    again = await people.make("web", "1h")
    await second.says("leading")
    await people.gone("old")
    await people.make("last", "1s")
    await people.gone("last")
    assert await people.there("web")
    uids = {entry["requestObject"]["preconditions"]["uid"] for entry in audit.deletes(people.namespace)}
    assert again["metadata"]["uid"] not in uids
