"""The profiles of the cluster, kept true by watching: what they teach together, or why that is not known.

Expressions are compiled in the child process that evaluates them, once for each text. What the server has not told yet, or can't tell at
the moment, is a doubt and never an empty book: before the first list nobody knows of which kinds there are profiles, later those that had
one are doubted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Final

import msgspec

from skoupa.errors import ApiError, Forbidden, SkoupaError
from skoupa.expr.cel.pool import Pool
from skoupa.kinds.retention.profile import KIND_PROFILE
from skoupa.kube import watch, watched
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.policy.retention.teaching import PROFILES, Read, Taught, teach
from skoupa.runs.book import served
from skoupa.runs.using.profiles import Compiling, read_one

NOT_READ: Final = "they are not read yet"
_WHAT_TO_DO: Final = (
    f"grant list and watch on {PROFILES}, or name it in usage.ignoreKinds where you have no profiles"
)
_UNTOLD: Final = (
    f"no permission to list and watch {PROFILES}: what is labelled or retained stays; {_WHAT_TO_DO}"
)

Object = Mapping[str, Any]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A profile as it stands in the cluster."""

    kind: Resource
    found: Object
    read: Read

    @property
    def uid(self) -> str:
        return str(self.found["metadata"]["uid"])

    @property
    def generation(self) -> int:
        return int(self.found["metadata"].get("generation") or 0)


class Profiles:
    """`on_taught` hears when something else is known, or doubted. `told` hears what may not be read, `untold` its end.

    `waived`: the settings say that they need not be read.
    """

    def __init__(
        self,
        client: Client,
        pool: Pool,
        *,
        discovery: Callable[[], Discovery],
        waived: bool,
        on_taught: Callable[[Taught], None],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        self._client = client
        self._compiling = Compiling(pool)
        self._discovery = discovery
        self._waived = waived
        self._on_taught = on_taught
        self._told = told
        self._untold = untold
        self._group: asyncio.TaskGroup | None = None
        self._task: asyncio.Task[None] | None = None
        self._kind: Resource | None = None
        self._looked_at: Discovery | None = None
        self._objects: dict[str, Object] = {}
        # Whether all that there are were read once, and why they may be others by now.
        self._whole = False
        self._behind = ""
        self._forbidden = False
        self._entries: dict[str, Entry] = {}
        self._news = asyncio.Event()
        self.error: SkoupaError | None = None
        self.taught = Taught(unread=NOT_READ)

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._entries.values()))

    def open(self, group: asyncio.TaskGroup) -> None:
        self._group, self._task, self._looked_at = group, None, None

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def arrange(self) -> None:
        """After every look at the kinds."""
        discovery = self._discovery()
        if self._group is None or discovery is self._looked_at:
            return
        self._looked_at = discovery
        kind = served(KIND_PROFILE, discovery)
        if kind is None and discovery.unreadable(KIND_PROFILE.group) is not None:
            # Whether there are any is not known at the moment.
            return
        if kind != self._kind or self._task is None:
            self.close()
            self._task, self._kind = None, kind
            if kind is not None:
                self._task = self._group.create_task(self._watch(kind))
            else:
                self._objects, self._whole, self._behind = {}, True, ""
        self._news.set()

    async def _watch(self, kind: Resource) -> None:
        listed: dict[str, Object] = {}
        events = watch.watch(self._client, kind, WHOLE)
        async with aclosing(events):
            async for event in events:
                match event:
                    case watched.Begun():
                        listed = {}
                    case watched.Listed(objects, _):
                        listed |= {_uid(found): found for found in objects}
                    case watched.Synced():
                        self._objects, self._whole = listed, True
                        self._trust()
                    case watched.Changed(changes, _):
                        for change in changes:
                            if change.deleted:
                                self._objects.pop(_uid(change.object), None)
                            else:
                                self._objects[_uid(change.object)] = change.object
                        self._trust()
                    case watched.Progressed() | watched.Resumed():
                        self._trust(news=bool(self._behind))
                    case watched.Interrupted(error, _):
                        self._lose_touch(error)

    def _trust(self, *, news: bool = True) -> None:
        self._behind = ""
        if self._forbidden:
            self._forbidden = False
            self._untold(_UNTOLD)
        if news:
            self._news.set()

    def _lose_touch(self, error: SkoupaError) -> None:
        said = error.status.message if isinstance(error, ApiError) else error.message
        self._behind = said or "the watch is behind"
        if isinstance(error, Forbidden):
            self._behind += f"; {_WHAT_TO_DO}"
            if not self._forbidden and not self._waived:
                self._forbidden = True
                self._told(_UNTOLD)
        self._news.set()

    async def follow(self) -> None:
        """For ever."""
        backoff = Backoff(self._client.clock)
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self._learn()
            except SkoupaError as error:
                self.error = error
                self._news.set()
                await self._client.clock.sleep(backoff.next())
            else:
                self.error = None
                backoff.reset()

    async def _learn(self) -> None:
        if not self._whole:
            self._say(Taught(unread=self._behind or NOT_READ))
            return
        kind, objects, entries = self._kind, dict(self._objects), {}
        for uid, found in objects.items():
            assert kind is not None, "what is read has a kind"
            read = await read_one(kind, found, compiling=self._compiling, discovery=self._discovery())
            entries[uid] = Entry(kind=kind, found=found, read=read)
        self._entries = entries
        taught = teach(entry.read for entry in entries.values())
        self._say(msgspec.structs.replace(taught, behind=self._behind))

    def _say(self, taught: Taught) -> None:
        """Also where nothing is new: the objects themselves may be, and their status with them."""
        self.taught = taught
        self._on_taught(taught)


def _uid(found: Object) -> str:
    return str(found["metadata"]["uid"])
