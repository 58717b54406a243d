"""Shared lists: one reading for all who ask at once, nobody waits for who is slow, and half a list is none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import msgspec
import pytest

from skoupa.errors import ServerFailure, SkoupaError, UsageError
from skoupa.kube.client import Client
from skoupa.kube.flow import Flow
from skoupa.kube.lists import Scope
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.policy.queries import Query
from skoupa.runs.lists import Lists
from skoupa.sim.clock import VirtualClock, run
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.faults import asking

pytestmark = pytest.mark.unit

QUERY = Query(CONFIG_MAPS, Scope(namespace="shop", labels="app=web"))


class Reader:
    """Keeps what it was given; `slow` seconds for each page, `fails` at the first."""

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
        await self._clock.sleep(self._slow)
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
