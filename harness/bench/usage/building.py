"""The graph of a running controller, built from a cluster, and next to it the same kinds listed and nothing else.

`turns` does both after each other, several times, since the machine is quicker in one minute than in the next: each build is compared with the
mean of the lists before and after it. What is followed is what the controller would follow where one ConfigMap and one Secret
have the label. The bare list is our own client with the pages and the accepted forms of the feeds; of an answer only its pages are
decoded, or with `plain` its objects into dictionaries, as clients do that have no rules to go by.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from skoupa import names
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.retaining.labelled import Labelled
from skoupa.controller.retaining.usage_feeds import UsageFeeds
from skoupa.controller.retaining.usage_graph import UsageGraph
from skoupa.controller.retaining.wanted_feeds import Key
from skoupa.facts.rows import Extraction
from skoupa.facts.store import Delta
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import pages
from skoupa.kube.objects import Metadata, Partial, View
from skoupa.kube.resources import CONFIG_MAPS, Resource
from skoupa.settings import Settings
from skoupa.usage import finishing, reading
from skoupa.usage.objects import Objects

_SECRETS = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
_PATIENCE_SECONDS = 600


class Took(msgspec.Struct, frozen=True):
    wall: float
    cpu: float


class Turn(msgspec.Struct, frozen=True):
    """The bare list before and after the build; both in seconds."""

    before: Took
    built: Took
    after: Took

    @property
    def wall(self) -> float:
        return self.built.wall / statistics.mean((self.before.wall, self.after.wall))

    @property
    def cpu(self) -> float:
        return self.built.cpu / statistics.mean((self.before.cpu, self.after.cpu))


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """`grown` are the bytes that the first build left in the process, `listed` the objects of a bare list."""

    turns: list[Turn]
    objects: int
    edges: int
    listed: int
    grown: int

    @property
    def ratio(self) -> float:
        return statistics.median(turn.wall for turn in self.turns)

    @property
    def told(self) -> str:
        """Wall and CPU of each turn."""
        notes = (
            f"{turn.built.wall:.2f}/{statistics.mean((turn.before.wall, turn.after.wall)):.2f}"
            f" (CPU {turn.built.cpu:.2f}/{statistics.mean((turn.before.cpu, turn.after.cpu)):.2f})"
            for turn in self.turns
        )
        return ", ".join(notes)


class Built:
    """A graph and the feeds that keep it true."""

    def __init__(self, client: Client, discovery: Discovery) -> None:
        objects = Objects(reading.shipped())
        labelled = Labelled(finishing.shipped(), on_seen=lambda _: None, by_policy=lambda _: False)
        self.graph = UsageGraph(objects, labelled, on_concerned=lambda _: None, on_doubt=lambda: None)
        knowledge = Knowledge(Settings())
        knowledge.discovery = discovery
        self._synced = asyncio.Event()
        self.feeds = UsageFeeds(
            client,
            objects,
            self.graph,
            labelled=labelled,
            knowledge=knowledge,
            on_sight=self._look,
        )
        labelled.learn(Delta(None, row) for row in _labelled_rows())
        self.graph.mentions.follow(labelled)

    async def until_read(self, group: asyncio.TaskGroup) -> None:
        await self.feeds.arrange(group)
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await self._synced.wait()
        doubts = {key.resource.qualified: feed.doubt for key, feed in self.feeds if feed.doubt}
        if doubts:
            raise RuntimeError(f"not all could be read: {doubts}")

    def _look(self) -> None:
        if len(self.feeds) and not self.feeds.awaited:
            self._synced.set()


def _labelled_rows() -> Iterable[Any]:
    extraction = Extraction()
    for resource in (CONFIG_MAPS, _SECRETS):
        metadata = Metadata(
            name="labelled",
            namespace="team-00000",
            uid=f"labelled {resource.kind}",
            resource_version="1",
            labels={names.TTL_AFTER_LABEL: "unused-30d"},
        )
        yield extraction.row(resource, Partial(metadata=metadata))


async def turns(client: Client, *, times: int, plain: bool = False) -> Measured:
    discovery = await discover(client)
    grown = objects = edges = 0
    keys: list[tuple[Key, View[Any]]] = []

    async def build() -> None:
        nonlocal objects, edges, grown
        resident = _resident()
        built = Built(client, discovery)
        async with asyncio.TaskGroup() as group:
            await built.until_read(group)
            keys[:] = [(key, feed.view) for key, feed in built.feeds]
            objects, edges = len(built.graph.graph), built.graph.graph.edges
            grown = grown or _resident() - resident
            built.feeds.close()

    async def bare() -> int:
        return await listed(client, keys, plain=plain)

    # Once beforehand: what is made once in the life of a process is not what grows with a cluster.
    await build()
    count = await bare()
    found = [Turn(await _took(bare), await _took(build), await _took(bare)) for _ in range(times)]
    return Measured(turns=found, objects=objects, edges=edges, listed=count, grown=grown)


async def listed(client: Client, keys: Iterable[tuple[Key, View[Any]]], *, plain: bool) -> int:
    """How many there were. All kinds at once, as the feeds are."""

    async def one(key: Key, view: View[Any]) -> int:
        kind = dict[str, Any] if plain else msgspec.Raw
        as_it_is: View[Any] = View(type=kind, metadata_only=view.metadata_only)
        return sum([len(page.items) async for page in pages(client, key.resource, as_it_is, scope=key.scope)])

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(key, view)) for key, view in keys]
    return sum(task.result() for task in tasks)


async def _took(work: Callable[[], Awaitable[object]]) -> Took:
    gc.collect()
    started, cpu = time.monotonic(), time.process_time()
    await work()
    return Took(time.monotonic() - started, time.process_time() - cpu)


def _resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096
