"""A delete that the server carried out, or never saw, and to which no answer came: the ledger has one end for each object.

The fault proxy breaks the connection behind the delete (the server has acted) or before it (the server knows nothing).
From this side both look alike. Whoever has the name meanwhile is somebody else, who is neither touched nor spoken of.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.controlplane import ControlPlane
from harness.faultproxy import Close, Fault, FaultProxy, Reset, Rule, Seen, Slow
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from skoupa.ledger.rows import Entry
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.controller.test_ledger import NAME, left, make_many, rows
from tests.cluster.reaching import eventually, faulty, until

pytestmark = pytest.mark.cluster

MANY = 60
# So many tries make one attempt, which then counts as failed.
TRIES = 4
# The server has acted, and its answer is lost.
LOST = (Reset(after_bytes=0), Close(after_bytes=0))
# The server never hears of it.
UNSENT = (Reset(), Close())


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """A process, what stands between it and the server, and what is known of it on both sides."""

    process: Skoupa
    proxy: FaultProxy
    yard: Yard
    people: People
    audit: AuditLog

    @property
    def place(self) -> str:
        return CONFIG_MAPS.path(namespace=self.people.namespace)

    @property
    def web(self) -> str:
        return CONFIG_MAPS.path(namespace=self.people.namespace, name="web")

    def deletes(self) -> list[Seen]:
        return [seen for seen in self.proxy.requests if seen.method == "DELETE" and seen.path == self.web]

    def carried_out(self) -> Counter[str]:
        """How often the server says that it deleted an object, by uid."""
        return Counter(
            entry["requestObject"]["preconditions"]["uid"]
            for entry in self.audit.deletes(self.people.namespace)
            if entry["responseStatus"]["code"] == 200
        )

    async def rows(self) -> list[Entry]:
        """Of the ledger, once the process has ended; each object has one, and it has an end."""
        # In a thread: the process has yet to speak to the server, through the proxy of this loop.
        await asyncio.to_thread(self.process.end)
        found = await rows(self.yard.ledger, self.people)
        assert set(Counter(entry.uid for entry in found).values()) == {1}
        assert all(entry.finished_at for entry in found), [entry.outcome for entry in found]
        return found


@pytest.fixture
async def watched(
    plane: ControlPlane, people: People, yard: Yard, audit: AuditLog, tmp_path: Path
) -> AsyncIterator[Watched]:
    async with faulty(plane) as proxy:
        config = proxy.write_kubeconfig(tmp_path / "proxy")
        process = await yard.started(kubeconfig=config, clusterName=NAME)
        yield Watched(process=process, proxy=proxy, yard=yard, people=people, audit=audit)
        # While the proxy still serves: a process that ends has a Lease to hand over.
        await asyncio.to_thread(yard.close)


@pytest.mark.parametrize("faults", [LOST, UNSENT, (*LOST, *UNSENT)], ids=["behind", "before", "both"])
async def test_each_object_goes_once_and_has_one_completed_row_however_many_answers_are_lost(
    watched: Watched, people: People, faults: tuple[Fault, ...]
) -> None:
    uids = await make_many(people, MANY)
    times = MANY // len(faults)
    for fault in faults:
        watched.proxy.script(Rule(fault, method="DELETE", path=watched.place, times=times))
    await people.label(people.namespace, resource=NAMESPACES, keep=None)

    async def all_gone() -> bool:
        return await left(people) == 0

    await eventually(all_gone, what="all to go", seconds=60)
    wanted = Counter(f"web-{number}" for number in range(MANY))

    def told() -> bool:
        lines = watched.process.said("deleted", namespace=people.namespace)
        return Counter(line["name"] for line in lines) == wanted

    await until(told, what="each to be told, once", seconds=60)
    found = await watched.rows()
    assert {entry.uid for entry in found} == uids
    assert watched.carried_out() == Counter(uids)
    outcomes = Counter(entry.outcome for entry in found)
    assert set(outcomes) <= {"deleted", "gone-by-unknown"}
    assert outcomes["gone-by-unknown"] <= sum(times for fault in faults if fault in LOST)
    assert {entry.told for entry in found} == {True}


async def test_an_object_that_is_still_there_after_tries_without_an_answer_is_tried_again_under_the_same_row(
    watched: Watched, people: People
) -> None:
    watched.proxy.script(Rule(Reset(), method="DELETE", path=watched.web, times=TRIES))
    made = await people.make("web", "1s")
    failed = await watched.process.says("delete failed", namespace=people.namespace, name="web")
    assert "ended in the middle of an answer" in failed["error"]
    await people.gone("web")
    await watched.process.says("deleted", namespace=people.namespace, name="web")
    (entry,) = await watched.rows()
    assert (entry.uid, entry.outcome, entry.attempts) == (made["metadata"]["uid"], "deleted", 2)
    assert [seen.status for seen in watched.deletes()] == [None] * TRIES + [200]
    assert watched.carried_out() == {entry.uid: 1}


async def test_an_answer_that_comes_later_than_the_news_that_the_object_is_gone_is_told_once(
    watched: Watched, people: People
) -> None:
    """The tries before had no answer, so that whoever sees it go would look for it."""
    watched.proxy.script(Rule(Reset(), method="DELETE", path=watched.web, times=TRIES))
    watched.proxy.script(Rule(Slow(delay=2.0), method="DELETE", path=watched.web, times=1))
    await people.make("web", "1s")
    await people.gone("web")
    await until(lambda: watched.deletes()[-1].status == 200, what="the answer")
    await people.make("last", "1s")
    await people.gone("last")
    await watched.process.says("deleted", namespace=people.namespace, name="last")
    assert len(watched.process.said("deleted", namespace=people.namespace, name="web")) == 1
    (entry,) = [entry for entry in await watched.rows() if entry.name == "web"]
    assert entry.outcome == "deleted"


async def test_an_object_whose_every_answer_is_lost_is_looked_for_and_recorded_as_gone(
    watched: Watched, people: People
) -> None:
    watched.proxy.script(Rule(Reset(after_bytes=0), method="DELETE", path=watched.web, times=TRIES))
    made = await people.make("web", "1s")
    await watched.process.says("deleted", namespace=people.namespace, name="web")
    (entry,) = await watched.rows()
    assert (entry.uid, entry.outcome) == (made["metadata"]["uid"], "gone-by-unknown")
    assert watched.carried_out() == {entry.uid: 1}
    assert len(watched.process.said("deleted", namespace=people.namespace, name="web")) == 1


async def refused_in_its_place(watched: Watched) -> dict[str, Any]:
    """The successor, which is there before the second try is; the server then says whose name it is."""
    path = watched.web
    watched.proxy.script(Rule(Slow(before=8.0), method="DELETE", path=path, times=1))
    await watched.proxy.wait_for(lambda seen: seen.method == "DELETE" and seen.path == path, 30, count=2)
    made = await watched.people.make("web", "1h")
    await until(lambda: [seen for seen in watched.deletes() if seen.status == 409], what="the refusal")
    return made


async def no_answer_at_all(watched: Watched) -> dict[str, Any]:
    """The successor; none of the other tries gets an answer either."""
    watched.proxy.script(Rule(Reset(after_bytes=0), method="DELETE", path=watched.web, times=TRIES - 1))
    await watched.people.gone("web")
    made = await watched.people.make("web", "1h")
    await until(lambda: len(watched.deletes()) == TRIES, what="all tries")
    return made


@pytest.mark.parametrize("succeeded", [refused_in_its_place, no_answer_at_all])
async def test_who_has_the_name_by_the_next_try_is_neither_touched_nor_called_ours(
    watched: Watched, people: People, succeeded: Callable[[Watched], Awaitable[dict[str, Any]]]
) -> None:
    process = watched.process
    watched.proxy.script(Rule(Reset(after_bytes=0), method="DELETE", path=watched.web, times=1))
    first = await people.make("web", "1s")
    second = await succeeded(watched)
    old, new = first["metadata"]["uid"], second["metadata"]["uid"]
    deleted = await process.says("deleted", namespace=people.namespace, name="web")
    assert deleted["why"].startswith("cleanup.kyverno.io/ttl=1s")
    # What is due later than all this, and goes, says that the process is through with it.
    await people.make("last", "1s")
    await people.gone("last")
    found = await people.client.get(CONFIG_MAPS, "web", namespace=people.namespace, view=METADATA)
    assert found.metadata.uid == new
    assert not process.said("gone already", namespace=people.namespace, name="web")
    (entry,) = [entry for entry in await watched.rows() if entry.name == "web"]
    assert (entry.uid, entry.outcome) == (old, "gone-by-unknown")
    assert watched.carried_out()[old] == 1
    named = {one["requestObject"]["preconditions"]["uid"] for one in watched.audit.deletes(people.namespace)}
    assert new not in named
