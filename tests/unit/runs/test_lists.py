"""Shared lists: one reading for all who ask at once, nobody waits for who is slow, and half a list is none."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import msgspec
import pytest

from skoupa.errors import ServerFailure, SkoupaError, TimedOut, UsageError
from skoupa.kube.client import Client
from skoupa.kube.flow import Flow, Limits
from skoupa.kube.lists import Scope
from skoupa.kube.resources import CONFIG_MAPS, PODS
from skoupa.kube.transport import Request
from skoupa.policy.queries import Query
from skoupa.runs.lists import Lists
from skoupa.sim.clock import VirtualClock, run
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.faults import asking

pytestmark = pytest.mark.unit

QUERY = Query(CONFIG_MAPS, Scope(namespace="shop", labels="app=web"))


class Reader:
    """Keeps what it was given; `slow` seconds for each page with something for it, `fails` at the first."""

    def __init__(self, clock: VirtualClock, *, slow: float = 0.0, fails: bool = False) -> None:
        self._clock = clock
        self._slow = slow
        self._fails = fails
        self.items: list[msgspec.Raw] = []
        self.ended_at = 0.0
        self.error: SkoupaError | None = None

    async def read(self, lists: Lists, *, bodies: bool = False, query: Query = QUERY) -> None:
        try:
            await lists.read(query, bodies=bodies, take=self._take)
        except SkoupaError as error:
            self.error = error
        self.ended_at = self._clock.monotonic()

    async def _take(self, items: Sequence[msgspec.Raw], first: bool) -> None:  # noqa: FBT001 - as it is called
        if first:
            self.items.clear()
        if self._fails:
            raise UsageError("it can't be judged")
        await self._clock.sleep(self._slow if items else 0.0)
        self.items += items


class Stage(NamedTuple):
    clock: VirtualClock
    cluster: EmbeddedCluster
    lists: Lists


def staged(told: Callable[[Stage], Awaitable[None]]) -> Callable[[], None]:
    def test() -> None:
        async def main(clock: VirtualClock) -> None:
            async with EmbeddedCluster(clock=clock) as cluster:
                cluster.load(
                    [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}]
                    + [
                        {
                            "apiVersion": "v1",
                            "kind": "ConfigMap",
                            "metadata": {
                                "name": f"web-{number}",
                                "namespace": "shop",
                                "labels": {"app": "web"},
                            },
                            "data": {"colour": "blue"},
                        }
                        for number in range(1200)
                    ]
                )
                await told(Stage(clock, cluster, Lists(Client(Flow(cluster, clock), clock))))

        run(main)

    test.__name__, test.__doc__ = told.__name__, told.__doc__
    return test


@staged
async def test_who_asks_for_the_same_at_once_shares_one_list(stage: Stage) -> None:
    clock, lists = stage.clock, stage.lists
    readers = [Reader(clock) for _ in range(10)]
    await asyncio.gather(*(reader.read(lists, bodies=number == 3) for number, reader in enumerate(readers)))
    assert lists.lists == 1
    assert [len(reader.items) for reader in readers] == [1200] * 10
    assert b'"colour"' in bytes(readers[0].items[0]), "what one needs whole, the others get whole"
    other = Reader(clock)
    await other.read(lists)
    assert lists.lists == 2
    assert b'"colour"' not in bytes(other.items[0])


def of_apps(*names: str, more: str = "", fields: str = "", namespace: str = "shop") -> Query:
    labels = f"app={names[0]}" if len(names) == 1 else f"app in ({','.join(names)})"
    return Query(CONFIG_MAPS, Scope(namespace=namespace, labels=labels + more, fields=fields))


def make(stage: Stage, name: str, app: str, **labels: str) -> None:
    metadata = {"name": name, "namespace": "shop", "labels": {"app": app, **labels}}
    stage.cluster.load([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}])


def names_of(reader: Reader) -> list[str]:
    return sorted(msgspec.json.decode(bytes(item))["metadata"]["name"] for item in reader.items)


@staged
async def test_queries_that_differ_in_the_values_of_one_label_are_one_list_and_each_gets_its_own(
    stage: Stage,
) -> None:
    clock, lists = stage.clock, stage.lists
    for app in ("a", "b", "c", "d"):
        make(stage, f"{app}-1", app)
        make(stage, f"{app}-2", app, team="x")
    queries = [of_apps("a"), of_apps("b"), of_apps("b", "c"), of_apps("b"), of_apps("none"), QUERY]
    readers = [Reader(clock) for _ in queries]
    await asyncio.gather(
        *(reader.read(lists, query=query) for reader, query in zip(readers, queries, strict=True))
    )
    assert lists.lists == 1
    assert [names_of(reader) for reader in readers[:5]] == [
        ["a-1", "a-2"],
        ["b-1", "b-2"],
        ["b-1", "b-2", "c-1", "c-2"],
        ["b-1", "b-2"],
        [],
    ]
    assert len(readers[5].items) == 1200
    assert all(reader.error is None for reader in readers)


@staged
async def test_who_has_a_page_to_itself_keeps_nobody_waiting(stage: Stage) -> None:
    """Its pages have nothing for the other, who only has to hear that the list is over."""
    for number in range(500):
        make(stage, f"a-{number:04d}", "a")
    slow, quick = Reader(stage.clock, slow=60.0), Reader(stage.clock)
    await asyncio.gather(slow.read(stage.lists), quick.read(stage.lists, query=of_apps("a")))
    assert (len(slow.items), len(quick.items)) == (1200, 500)
    assert quick.ended_at < 5 < slow.ended_at


@staged
async def test_however_many_are_slow_whoever_is_quick_waits_for_none_of_them(stage: Stage) -> None:
    """Each reads a list of its own."""
    apps = [f"slow-{number}" for number in range(30)]
    for app in (*apps, "quick"):
        make(stage, app, app)
    slow = [Reader(stage.clock, slow=300.0) for _ in apps]
    quick = Reader(stage.clock)
    waiting = [
        asyncio.create_task(reader.read(stage.lists, query=of_apps(app, more=f",n!={app}")))
        for reader, app in zip(slow, apps, strict=True)
    ]
    await stage.clock.sleep(1)
    await quick.read(stage.lists, query=of_apps("quick", more=",n!=quick"))
    assert names_of(quick) == ["quick"]
    assert quick.ended_at < 10
    await asyncio.gather(*waiting)
    assert [names_of(reader) for reader in slow] == [[app] for app in apps]


def hanging(stage: Stage, count: int) -> tuple[Lists, list[asyncio.Task[None]], list[Reader]]:
    """So many lists that get no answer, each of another namespace, on a way that is wide enough for all."""
    wide = Flow(stage.cluster, stage.clock, limits=Limits(at_first=64, turn_seconds=3.0, by_kind=True))
    lists = Lists(Client(wide, stage.clock))
    stage.cluster.faults.delay(1000.0, when=asking(verb="list", kind="pods"), times=None)
    readers = [Reader(stage.clock) for _ in range(count)]
    queries = (Query(PODS, Scope(namespace=f"team-{number}")) for number in range(count))
    tasks = [
        asyncio.create_task(reader.read(lists, query=query))
        for reader, query in zip(readers, queries, strict=True)
    ]
    return lists, tasks, readers


@staged
async def test_however_many_lists_get_no_answer_whoever_is_quick_waits_for_none_of_them(stage: Stage) -> None:
    lists, waiting, silent = hanging(stage, 30)
    await stage.clock.sleep(1)
    quick = Reader(stage.clock)
    await quick.read(lists)
    assert len(quick.items) == 1200
    assert quick.ended_at < 15
    await asyncio.gather(*waiting)
    assert all(isinstance(reader.error, TimedOut) for reader in silent)


@staged
async def test_who_shares_a_list_that_comes_late_does_not_wait_for_who_is_slow(stage: Stage) -> None:
    """The list is in a turn of the slow by then."""
    second = asking(kind="configmaps")
    stage.cluster.faults.delay(
        10.0, when=lambda request: second(request) and "continue" not in dict(request.query), times=1
    )
    slow, quick = Reader(stage.clock, slow=300.0), Reader(stage.clock)
    await asyncio.gather(slow.read(stage.lists), quick.read(stage.lists))
    assert (len(slow.items), len(quick.items)) == (1200, 1200)
    assert 10 < quick.ended_at < 20


@staged
async def test_a_list_that_comes_late_is_read_once_for_all_who_wanted_it(stage: Stage) -> None:
    """There is no turn of the slow for it: lists that get no answer have them all."""
    lists, waiting, _ = hanging(stage, 8)
    await stage.clock.sleep(10)
    page = asking(kind="configmaps")
    stage.cluster.faults.delay(5.0, when=lambda request: page(request) and "continue" in dict(request.query))
    readers = [Reader(stage.clock), Reader(stage.clock, fails=True), Reader(stage.clock)]
    await asyncio.gather(*(reader.read(lists) for reader in readers))
    assert [len(reader.items) for reader in readers] == [1200, 0, 1200]
    assert [reader.error is not None for reader in readers] == [False, True, False]
    assert max(reader.ended_at for reader in readers) < 20
    assert lists.lists == 8 + 1
    await asyncio.gather(*waiting)


OTHERS = (
    of_apps("b", more=",team=x"),
    of_apps("b", fields="metadata.name=b-1"),
    of_apps("b", namespace=""),
    Query(CONFIG_MAPS, Scope(namespace="shop", labels="app!=b")),
    Query(CONFIG_MAPS, Scope(namespace="shop", labels="team=x")),
    Query(CONFIG_MAPS, Scope(namespace="shop")),
)


@staged
async def test_queries_that_differ_in_anything_else_are_lists_of_their_own(stage: Stage) -> None:
    make(stage, "a-1", "a")
    make(stage, "b-1", "b", team="x")
    for other in OTHERS:
        one, two, alone = (Reader(stage.clock) for _ in range(3))
        before = stage.lists.lists
        await asyncio.gather(one.read(stage.lists, query=of_apps("a")), two.read(stage.lists, query=other))
        assert stage.lists.lists == before + 2
        await alone.read(stage.lists, query=other)
        assert (names_of(one), names_of(two)) == (["a-1"], names_of(alone))


@staged
async def test_what_else_queries_ask_for_is_asked_for_all_of_them(stage: Stage) -> None:
    make(stage, "a-1", "a", team="x")
    make(stage, "a-2", "a", team="y")
    make(stage, "b-1", "b", team="x")
    readers = [Reader(stage.clock) for _ in range(3)]
    queries = [of_apps("a", more=",team=x"), of_apps("b", more=",team=x"), of_apps("b", more=",team=y")]
    await asyncio.gather(*(r.read(stage.lists, query=q) for r, q in zip(readers, queries, strict=True)))
    # The third differs from the second in its team alone, but that list is one of apps by then.
    assert stage.lists.lists == 2
    assert [names_of(reader) for reader in readers] == [["a-1"], ["b-1"], []]


@staged
async def test_who_needs_whole_objects_does_not_make_other_queries_read_them_too(stage: Stage) -> None:
    make(stage, "a-1", "a")
    make(stage, "b-1", "b")
    one, two = Reader(stage.clock), Reader(stage.clock)
    await asyncio.gather(
        one.read(stage.lists, query=of_apps("a")), two.read(stage.lists, query=of_apps("b"), bodies=True)
    )
    assert b'"data"' not in bytes(one.items[0])
    assert b'"data"' in bytes(two.items[0])


@staged
async def test_whoever_asks_for_whatever_in_whatever_order_gets_exactly_that(stage: Stage) -> None:
    for app in "abcd":
        make(stage, f"{app}-1", app)
    dice = random.Random(6)
    for _ in range(40):
        asked = [(dice.sample("abcd", dice.randint(1, 3)), dice.random() < 0.5) for _ in range(12)]
        readers = [Reader(stage.clock) for _ in asked]
        await asyncio.gather(
            *(
                reader.read(stage.lists, query=of_apps(*sorted(apps)), bodies=bodies)
                for reader, (apps, bodies) in zip(readers, asked, strict=True)
            )
        )
        for reader, (apps, bodies) in zip(readers, asked, strict=True):
            assert reader.error is None
            assert names_of(reader) == sorted(f"{app}-1" for app in apps)
            assert not bodies or all(b'"data"' in bytes(item) for item in reader.items)


@staged
async def test_a_list_of_many_values_does_not_outgrow_the_address_of_a_request(stage: Stage) -> None:
    apps = [f"{number:03d}-{'long' * 10}" for number in range(100)]
    for app in apps:
        make(stage, app, app)
    longest = 0

    def heard(request: Request) -> bool:
        nonlocal longest
        longest = max(longest, len(dict(request.query).get("labelSelector", "")))
        return False

    stage.cluster.faults.answer(500, when=heard, times=None)
    readers = [Reader(stage.clock) for _ in apps]
    await asyncio.gather(
        *(r.read(stage.lists, query=of_apps(app)) for r, app in zip(readers, apps, strict=True))
    )
    assert [names_of(reader) for reader in readers] == [[app] for app in apps]
    assert 200 < longest <= 1000
    assert 2 < stage.lists.lists < 10


@staged
async def test_who_is_slow_and_was_read_along_reads_only_its_own_afterwards(stage: Stage) -> None:
    make(stage, "a-1", "a")
    make(stage, "b-1", "b")
    slow, quick = Reader(stage.clock, slow=20.0), Reader(stage.clock)
    await asyncio.gather(
        slow.read(stage.lists, query=of_apps("a")), quick.read(stage.lists, query=of_apps("b"))
    )
    assert (names_of(slow), names_of(quick)) == (["a-1"], ["b-1"])
    assert quick.ended_at < 5


@staged
async def test_who_is_slow_delays_nobody_and_reads_the_whole_list_too(stage: Stage) -> None:
    clock, lists = stage.clock, stage.lists
    readers = [Reader(clock, slow=20.0 if number == 0 else 0.0) for number in range(4)]
    await asyncio.gather(*(reader.read(lists) for reader in readers))
    assert [len(reader.items) for reader in readers] == [1200] * 4
    assert max(reader.ended_at for reader in readers[1:]) < 5
    assert readers[0].ended_at >= 60


@staged
async def test_one_reader_that_fails_has_failed_for_itself(stage: Stage) -> None:
    clock, lists = stage.clock, stage.lists
    readers = [Reader(clock, fails=number == 1) for number in range(3)]
    await asyncio.gather(*(reader.read(lists) for reader in readers))
    assert [reader.error is not None for reader in readers] == [False, True, False]
    assert len(readers[2].items) == 1200


@staged
async def test_a_list_that_breaks_off_is_an_error_for_all(stage: Stage) -> None:
    clock, lists = stage.clock, stage.lists
    second = asking(kind="configmaps")
    stage.cluster.faults.answer(
        500, when=lambda request: second(request) and "continue" in dict(request.query), times=None
    )
    readers = [Reader(clock) for _ in range(3)]
    await asyncio.gather(*(reader.read(lists) for reader in readers))
    assert all(isinstance(reader.error, ServerFailure) for reader in readers)


@staged
async def test_who_led_and_was_ended_leaves_no_half_list_to_the_others(stage: Stage) -> None:
    clock, lists = stage.clock, stage.lists
    leader, follower = Reader(clock, slow=1.0), Reader(clock)
    leading = asyncio.create_task(leader.read(lists))
    following = asyncio.create_task(follower.read(lists))
    await clock.sleep(0.5)
    leading.cancel()
    await following
    assert follower.error is not None


@staged
async def test_who_comes_while_a_list_is_read_waits_for_the_next(stage: Stage) -> None:
    clock, lists = stage.clock, stage.lists
    readers = [Reader(clock, slow=0.1) for _ in range(30)]

    async def later(reader: Reader, wait: float) -> None:
        await clock.sleep(wait)
        await reader.read(lists)

    await asyncio.gather(*(later(reader, 0.02 * number) for number, reader in enumerate(readers)))
    assert [len(reader.items) for reader in readers] == [1200] * 30
    assert all(reader.error is None for reader in readers)
    assert 1 < lists.lists < 30


@staged
async def test_large_objects_come_a_few_at_a_time_and_small_ones_in_whole_pages(stage: Stage) -> None:
    def loads(mark: str, number: int, size: int) -> list[dict[str, object]]:
        about = {"namespace": "shop", "labels": {"app": mark}}
        return [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": f"{mark}-{one:03}", **about},
                "data": {"text": "x" * size},
            }
            for one in range(number)
        ]

    stage.cluster.load([*loads("large", 160, 400_000), *loads("small", 1200, 10)])
    for mark, expected in (("large", [100, 41, 19]), ("small", [100, 500, 500, 100])):
        came: list[int] = []

        async def take(items: Sequence[msgspec.Raw], first: bool, came: list[int] = came) -> None:  # noqa: FBT001 - as it is called
            assert first is not bool(came)
            came.append(len(items))

        query = Query(CONFIG_MAPS, Scope(namespace="shop", labels=f"app={mark}"))
        await stage.lists.read(query, bodies=True, take=take)
        assert came == expected
        came.clear()
        await stage.lists.read(query, bodies=False, take=take)
        assert came[0] == min(500, sum(expected)), "metadata is small whatever the object is"
