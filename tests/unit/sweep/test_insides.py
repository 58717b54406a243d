"""What is inside Namespaces that are asked about together: one list where that is short, and the same answers as one by one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec
import pytest

from skoupa.errors import SkoupaError
from skoupa.facts.rows import Extraction, Row
from skoupa.kube.client import Client
from skoupa.kube.flow import Flow
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.kube.transport import Request, Response, Stream, Transport
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold
from skoupa.sim.clock import VirtualClock, run
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sweep.insides import GLANCE, MANY, WORTH, Insides
from skoupa.sweep.parents import patience_of

pytestmark = pytest.mark.unit

SECRETS = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
ALL = "/api/v1/secrets"


def judge(row: Row) -> Hold | None:
    """Only what is called so holds, and its Hold has its name."""
    if not row.name.startswith("holds"):
        return None
    return Hold(reason=reason("protects-inside", object=f"{row.namespace}/{row.name}", why=""))


class Wire:
    """Writes down what is listed; `mangle` changes what comes back."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.lists: list[str] = []
        self.mangle: Callable[[Request, bytes], bytes] = lambda _, body: body

    async def send(self, request: Request) -> Response:
        response = await self._inner.send(request)
        if request.verb != "list":
            return response
        self.lists.append(request.path)
        return msgspec.structs.replace(response, body=self.mangle(request, response.body))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


class Town:
    def __init__(self, clock: VirtualClock, cluster: EmbeddedCluster) -> None:
        self.clock, self.cluster = clock, cluster
        self.people = Client(Flow(cluster, clock), clock)
        self.wire = Wire(cluster)
        client = Client(Flow(self.wire, clock), clock)
        self.insides = Insides(patience_of(client), extraction=Extraction())

    async def place(self, name: str, *secrets: str) -> str:
        await self.people.create(NAMESPACES, {"metadata": {"name": name}})
        for one in secrets:
            await self.put(name, one)
        return name

    async def put(self, place: str, name: str) -> None:
        await self.people.create(SECRETS, {"metadata": {"name": name}}, namespace=place)

    async def ask(self, place: str, *, lenient: bool = False) -> str:
        """Which object holds; empty: none."""
        hold = await self.insides.first(SECRETS, place, judge, lenient=lenient, of_many=True)
        return dict(hold.reason.facts)["object"] if hold is not None else ""

    async def ask_all(self, *places: str) -> list[str]:
        return await asyncio.gather(*(self.ask(place) for place in places))


@asynccontextmanager
async def _town(clock: VirtualClock) -> AsyncIterator[Town]:
    async with EmbeddedCluster(clock=clock) as cluster:
        yield Town(clock, cluster)


def tale(told: Callable[[Town], Awaitable[None]]) -> None:
    async def main(clock: VirtualClock) -> None:
        async with _town(clock) as town:
            await told(town)

    run(main)


def test_many_at_once_are_answered_by_one_list_and_each_for_itself() -> None:
    async def told(town: Town) -> None:
        places = [await town.place(f"p{number}", "harmless") for number in range(20)]
        await town.put("p7", "holds")
        await town.place("elsewhere", "holds")
        answers = await town.ask_all(*places)
        assert answers == ["p7/holds" if place == "p7" else "" for place in places]
        assert town.wire.lists == [ALL]

    tale(told)


def test_few_are_looked_into_one_by_one() -> None:
    async def told(town: Town) -> None:
        places = [await town.place(f"p{number}", "holds") for number in range(MANY - 1)]
        assert await town.ask_all(*places) == [f"{place}/holds" for place in places]
        assert sorted(town.wire.lists) == [f"/api/v1/namespaces/{place}/secrets" for place in places]

    tale(told)


def test_where_much_is_elsewhere_each_is_looked_into_after_one_short_page() -> None:
    async def told(town: Town) -> None:
        places = [await town.place(f"p{number}", "harmless") for number in range(MANY)]
        await town.place("full", *(f"any{number}" for number in range(WORTH * MANY + 1)))
        await town.put("p1", "holds")
        assert await town.ask_all(*places) == ["", "p1/holds", "", ""]
        assert town.wire.lists.count(ALL) == 1
        assert len(town.wire.lists) == 1 + MANY

    tale(told)


def test_a_list_that_is_longer_than_a_page_and_worth_it_is_read_to_its_end() -> None:
    async def told(town: Town) -> None:
        places = [await town.place(f"p{number}") for number in range(40)]
        await town.place("a-first", *(f"any{number}" for number in range(2 * GLANCE)))
        await town.put("p39", "holds")
        assert await town.ask_all(*places) == [*[""] * 39, "p39/holds"]
        assert set(town.wire.lists) == {ALL}

    tale(told)


def test_nothing_counts_that_was_read_before_the_question() -> None:
    async def told(town: Town) -> None:
        places = [await town.place(f"p{number}") for number in range(10)]
        town.cluster.faults.delay(5.0, when=lambda asked: asked.path == ALL, times=1)
        first = asyncio.create_task(town.ask_all(*places[:5]))
        await town.clock.sleep(2)
        await town.put("p9", "holds")
        assert await town.ask_all(*places[5:]) == ["", "", "", "", "p9/holds"]
        assert await first == [""] * 5
        assert town.wire.lists == [ALL, ALL]

    tale(told)


def test_what_keeps_a_list_of_all_from_being_read_is_no_answer() -> None:
    async def told(town: Town) -> None:
        places = [await town.place(f"p{number}", "harmless") for number in range(5)]
        await town.put("p3", "holds")
        town.cluster.faults.answer(403, when=lambda asked: asked.path == ALL, times=None)
        assert await town.ask_all(*places) == ["", "", "", "p3/holds", ""]
        assert await town.ask_all(*places) == ["", "", "", "p3/holds", ""]
        # A refusal for each of them would fill audit logs.
        assert town.wire.lists.count(ALL) == 1

    tale(told)


def test_one_that_can_not_be_understood_holds_its_own_namespace_alone() -> None:
    async def told(town: Town) -> None:
        places = [await town.place(f"p{number}", "harmless") for number in range(5)]
        await town.put("p2", "odd")
        town.wire.mangle = lambda _, body: body.replace(b'"name":"odd"', b'"name":7')
        answers = await asyncio.gather(*(town.ask(place) for place in places), return_exceptions=True)
        assert [isinstance(one, SkoupaError) for one in answers] == [place == "p2" for place in places]
        assert await town.ask("p2", lenient=True) == ""

    tale(told)


def test_one_that_does_not_say_where_it_is_lets_nobody_believe_the_list() -> None:
    async def told(town: Town) -> None:
        places = [await town.place(f"p{number}", "harmless") for number in range(5)]
        await town.put("p4", "holds")

        def mangle(asked: Request, body: bytes) -> bytes:
            return body.replace(b'"namespace":"p4"', b'"other":"p4"') if asked.path == ALL else body

        town.wire.mangle = mangle
        assert await town.ask_all(*places) == ["", "", "", "", "p4/holds"]

    tale(told)


def test_who_stops_asking_keeps_nobody_from_an_answer() -> None:
    async def told(town: Town) -> None:
        places = [await town.place(f"p{number}") for number in range(6)]
        await town.put("p5", "holds")
        town.cluster.faults.delay(5.0, when=lambda asked: asked.path == ALL, times=1)
        asked = [asyncio.create_task(town.ask(place)) for place in places]
        await town.clock.sleep(1)
        # One of them reads for all.
        asked[0].cancel()
        assert await asyncio.gather(*asked[1:]) == ["", "", "", "", "p5/holds"]

    tale(told)


def test_a_kind_that_does_not_answer_keeps_each_of_them_and_nobody_waits_for_long() -> None:
    async def told(town: Town) -> None:
        places = [await town.place(f"p{number}") for number in range(30)]
        town.cluster.faults.delay(600.0, when=lambda asked: asked.kind == "secrets", times=None)
        began = town.clock.monotonic()
        answers = await asyncio.gather(*(town.ask(place) for place in places), return_exceptions=True)
        assert all(isinstance(one, SkoupaError) for one in answers)
        assert town.clock.monotonic() - began < 60

    tale(told)


@pytest.mark.parametrize("seed", range(12))
def test_together_they_hear_what_each_would_hear_alone(seed: int) -> None:
    async def told(town: Town) -> None:
        chance = random.Random(seed)
        places = [await town.place(f"p{number:02d}") for number in range(chance.randrange(1, 30))]
        for number in range(chance.choice([5, 60, 400])):
            called = "holds" if chance.random() < 0.1 else "any"
            await town.put(chance.choice(places), f"{called}{number}")
        asked = chance.sample(places, chance.randrange(1, len(places) + 1))
        together = await town.ask_all(*asked)
        alone = []
        for place in asked:
            await town.clock.sleep(5)
            alone.append(await town.ask(place))
        assert together == alone

    tale(told)
