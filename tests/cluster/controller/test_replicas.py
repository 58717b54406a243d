"""Two replicas and a Lease: take-over loses nothing and doubles nothing, whoever dies and however."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import ControlPlane
from skoupa.kube.lists import count
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.reaching import eventually, until

pytestmark = pytest.mark.cluster

MANY = 5000
LEASE_SECONDS = 6
IN_FLIGHT = 64


async def two(
    yard: Yard,
    *,
    kubeconfigs: Iterable[Path | None] = (None, None),
    rate: float = 100.0,
    lease: int = LEASE_SECONDS,
) -> tuple[Skoupa, Skoupa]:
    """The one that leads, and the one that waits."""
    both = [
        yard.start(
            kubeconfig=kubeconfig,
            lease__seconds=str(lease),
            lease__retrySeconds="0.5",
            rate__deletionsPerSecond=str(rate),
            # Five thousand within a minute are meant here.
            brakes__perMinute=str(2 * MANY),
            brakes__namespacePerMinute=str(2 * MANY),
        )
        for kubeconfig in kubeconfigs
    ]
    for process in both:
        await process.says("ready", seconds=60)
    await until(lambda: any(process.said("leading") for process in both), what="one of them to lead")
    first, second = sorted(both, key=lambda process: not process.said("leading"))
    return first, second


async def make_many(people: People) -> None:
    numbers = iter(range(MANY))

    async def work() -> None:
        for number in numbers:
            await people.make(f"web-{number}", "1s")

    await asyncio.gather(*(work() for _ in range(32)))


async def left(people: People) -> int:
    """The one that every namespace has does not count."""
    return await count(people.client, CONFIG_MAPS, namespace=people.namespace) - 1


async def test_the_leader_killed_in_the_middle_of_five_thousand_deletions(
    plane: ControlPlane, people: People, yard: Yard, audit: AuditLog
) -> None:
    # A user each, so that the server's audit log tells them apart.
    users = {
        plane.kubeconfig_for(user=user, groups=["system:masters"]): user
        for user in ("replica-a", "replica-b")
    }
    first, second = await two(yard, kubeconfigs=users, rate=100_000)
    # However long it takes to make them, all of them wait for the same moment.
    await people.label(people.namespace, resource=NAMESPACES, keep="true")
    await make_many(people)
    assert await left(people) == MANY
    await people.label(people.namespace, resource=NAMESPACES, keep=None)

    async def in_the_middle() -> bool:
        return await left(people) < MANY - 800

    await eventually(in_the_middle, what="the deletions to begin", patiently=False)
    killing = time.time()
    first.kill()
    killed = time.time()
    assert 0 < await left(people) < MANY

    async def all_gone() -> bool:
        return await left(people) == 0

    await eventually(all_gone, what="all to go", seconds=60)
    assert second.said("leading")

    def all_told() -> list[dict[str, Any]]:
        deletes = audit.deletes(people.namespace)
        return deletes if len({entry["objectRef"]["name"] for entry in deletes}) == MANY else []

    deletes = await until(all_told, what="every object in the audit log")
    taken = [entry for entry in deletes if entry["responseStatus"]["code"] == 200]
    times = Counter(entry["objectRef"]["name"] for entry in taken)
    assert set(times.values()) == {1}, "nothing is deleted twice"

    # Nobody was left to hear the server's answers to what was under way at the kill. Some of it was carried out.
    unheard = [entry for entry in deletes if entry["responseStatus"]["code"] != 200]
    for entry in unheard:
        assert entry["user"]["username"] == users[first.kubeconfig], entry
        assert _moment(entry["stageTimestamp"]) >= killing, entry
    under_way = Counter(entry["objectRef"]["name"] for entry in unheard)
    assert len(under_way) <= IN_FLIGHT
    assert set(under_way.values()) <= {1}
    assert len(times.keys() | under_way.keys()) == MANY

    moments = [
        _moment(entry["requestReceivedTimestamp"])
        for entry in taken
        if entry["user"]["username"] == users[second.kubeconfig]
    ]
    assert killed < min(moments) < killed + LEASE_SECONDS + 3


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


async def test_a_signal_hands_over_at_once(people: People, yard: Yard) -> None:
    # Nobody who waited for it to run out would be in time.
    lease = 45
    first, second = await two(yard, lease=lease)
    told = time.monotonic()
    first.terminate()
    await second.says("leading")
    assert time.monotonic() - told < 5
    await until(lambda: not first.running, what="the first to end")
    assert first.exit_code() == 0
    # What is missing here (Brakes, for one) may be told at any moment.
    said = [line["event"] for line in first.lines if line["event"] != "degraded"]
    assert said[-2:] == ["stopping", "stopped"]
    await people.make("web", "1s")
    await people.gone("web")


async def test_in_the_gap_the_dead_go_and_who_was_born_again_lives(
    people: People, yard: Yard, audit: AuditLog
) -> None:
    """Nobody leads for a while: an object comes back under its old name with a new time."""
    first, second = await two(yard)
    # Long enough for the first to be dead by then.
    made = await people.make("web", "6s")
    await people.make("old", "6s")
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
