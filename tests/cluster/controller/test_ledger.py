"""What goes is written down, before and after: whoever dies, and whatever becomes of the database."""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.postgres import PostgresServer
from skoupa import names
from skoupa.kube.lists import Scope, count, pages
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS, EVENTS, NAMESPACES
from skoupa.ledger.opening import store_for
from skoupa.ledger.rows import Entry
from skoupa.ledger.store import Wish
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.reaching import eventually, until

pytestmark = pytest.mark.cluster

MANY = 1200
NAME = "test"


async def make_many(people: People, number: int) -> set[str]:
    """All of them wait until the Namespace is not kept any more."""
    await people.label(people.namespace, resource=NAMESPACES, keep="true")
    numbers = iter(range(number))
    uids: set[str] = set()

    async def work() -> None:
        for index in numbers:
            made = await people.make(f"web-{index}", "1s")
            uids.add(made["metadata"]["uid"])

    await asyncio.gather(*(work() for _ in range(16)))
    return uids


async def left(people: People) -> int:
    return await count(people.client, CONFIG_MAPS, namespace=people.namespace) - 1


async def rows(where: str | Path, people: People) -> list[Entry]:
    store = store_for(str(where), cluster=NAME, writable=False)
    await store.open()
    try:
        return await store.find(Wish(namespace=people.namespace), limit=10 * MANY)
    finally:
        await store.close()


async def test_each_deletion_has_its_row_with_the_reason(people: People, yard: Yard) -> None:
    process = await yard.started(clusterName=NAME)
    made = await people.make("web", body={"data": {"colour": "blue"}})
    patch = {"metadata": {"labels": {names.TTL_LABEL: "1s"}}}
    await people.client.merge_patch(CONFIG_MAPS, "web", patch, namespace=people.namespace, manager="someone")
    await people.gone("web")
    process.end()
    (entry,) = await rows(yard.ledger, people)
    assert (entry.uid, entry.kind, entry.name) == (made["metadata"]["uid"], "ConfigMap", "web")
    assert (entry.outcome, entry.attempts, entry.mechanism) == ("deleted", 1, "ttl")
    assert entry.rule == "cleanup.kyverno.io/ttl=1s"
    assert entry.author == "someone", "the program that wrote the label"
    assert entry.told
    assert dict(entry.labels)["cleanup.kyverno.io/ttl"] == "1s"


def lose(ledger: Path) -> None:
    for file in ledger.parent.glob(f"{ledger.name}*"):
        file.unlink()


def changes_told(process: Skoupa, yard: Yard) -> list[str]:
    said = f"the ledger {yard.ledger} is not the one that this cluster was last swept with"
    return [line["why"] for line in process.said("degraded") if said in line["why"]]


async def test_a_start_on_a_new_file_says_that_the_history_is_gone_and_holds_what_ceilings_can_not_count(
    people: People, yard: Yard
) -> None:
    process = await yard.started(clusterName=NAME)
    await people.make("web", "1s")
    await people.gone("web")
    process.end()
    process = await yard.started(clusterName=NAME)
    await people.make("again", "1s")
    await people.gone("again")
    process.end()
    assert not changes_told(process, yard)
    lose(yard.ledger)
    process = await yard.started(clusterName=NAME)
    await until(lambda: changes_told(process, yard), what="it to say that the ledger is another one")
    await people.make("late", "1s")
    held = await process.says("held", name="late")
    assert "brake ledger-changed" in held["why"]
    process.end()


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, yard: Yard) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(yard.ledger)
        return
    with PostgresServer() as server:
        yield server.dsn


async def test_killed_again_and_again_every_deletion_has_exactly_one_completed_row(
    people: People, yard: Yard, where: str
) -> None:
    uids = await make_many(people, MANY)
    chance = random.Random(7)
    settings = {"clusterName": NAME, "rate__deletionsPerSecond": "600", "lease__seconds": "3"}
    settings["ledger__dsn"] = where
    process = await yard.started(**settings)
    await people.label(people.namespace, resource=NAMESPACES, keep=None)
    for _ in range(3):
        so_far = await left(people)
        # However late this machine looks, some are left for the next time.
        goal = so_far - min(chance.randint(50, 300), so_far // 2)

        async def some_went(goal: int = goal) -> bool:
            return await left(people) <= goal

        await eventually(some_went, what="some to go", patiently=False)
        process.kill()
        process = await yard.started(**settings)

    async def all_gone() -> bool:
        return await left(people) == 0

    await eventually(all_gone, what="all to go", seconds=90)
    process.end()
    found = await rows(where, people)
    assert {entry.uid for entry in found} == uids
    assert len(found) == len(uids)
    outcomes = Counter(entry.outcome for entry in found)
    # What was under way at a kill is gone; that it was us nobody can prove any more.
    assert set(outcomes) <= {"deleted", "gone-by-unknown"}
    # Each worker waits for its next intent until the outcome of its last is written as well: one row of each, and there are two
    # workers for each request that may be in flight.
    assert outcomes["gone-by-unknown"] <= 3 * 2 * 64
    assert all(entry.finished_at for entry in found)
    assert all(entry.told for entry in found)
    named: set[str] = set()
    async for page in pages(people.client, EVENTS, WHOLE, scope=Scope(namespace=people.namespace)):
        for event in page.items:
            # A note of one object alone does not repeat its name.
            named |= {event["regarding"]["name"], *re.findall(r"web-\d+", event["note"])}
    assert named == {f"web-{number}" for number in range(MANY)}, "no name is lost"


async def test_without_its_database_nothing_goes_and_with_it_everything_does(
    people: People, yard: Yard
) -> None:
    with PostgresServer() as server:
        uids = await make_many(people, 240)
        # So slow that much is left when the database has gone.
        process = await yard.started(clusterName=NAME, ledger__dsn=server.dsn, rate__deletionsPerSecond="30")
        await people.label(people.namespace, resource=NAMESPACES, keep=None)

        async def some_went() -> bool:
            return await left(people) < 235

        await eventually(some_went, what="some to go", patiently=False)
        server.kill()

        async def held_for_that() -> bool:
            # Before, they were held by the label of their Namespace.
            told = process.said("held", namespace=people.namespace)
            return any(one["why"].startswith("what goes can't be written down: ") for one in told)

        await eventually(held_for_that, what="to say that nothing can be written down")
        server.start()

        async def all_gone() -> bool:
            return await left(people) == 0

        await eventually(all_gone, what="all to go", seconds=90)
        process.end()
        found = await rows(server.dsn, people)
    assert {entry.uid for entry in found} == uids
    assert {entry.outcome for entry in found} <= {"deleted", "gone-by-unknown"}


async def test_without_a_ledger_it_works_and_says_so(people: People, yard: Yard) -> None:
    process = await yard.started(ledger__dsn="none")
    assert process.said("no ledger")
    await people.make("web", "1s")
    await people.gone("web")
    assert not yard.ledger.exists()


async def test_a_ledger_that_can_never_be_written_ends_the_process_with_advice(yard: Yard) -> None:
    process = yard.start(ledger__dsn="/proc/nowhere/ledger.db")

    async def ended() -> bool:
        return not process.running

    await eventually(ended, what="it to end")
    assert process.exit_code() == 6


async def test_an_observer_writes_down_what_would_have_gone(people: People, yard: Yard) -> None:
    process = await yard.started(enforce=False, clusterName=NAME)
    await people.make("web", "1s")
    await process.says("would delete", name="web")
    process.end()
    (entry,) = await rows(yard.ledger, people)
    assert entry.outcome == "would-delete"
    assert await people.there("web")
