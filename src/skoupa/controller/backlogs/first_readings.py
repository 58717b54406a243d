"""What is read for the first time is counted before any of it goes: a first start of that kind, or of that namespace.

A right that comes later, a namespace or a kind that a setting adds, a list that failed for long: each can bring as many
forgotten labels as a new cluster does. Until everything that is read for the first time together has been read, what it
brings is held; then it goes, or is held as a backlog. A setting that gives old objects a time makes everything a first
reading that was not there to be counted when it was switched on. What was read is written down by who leads and enforces,
and only when it changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from skoupa.clock import Clock
from skoupa.controller.backlogs.backlog import FIRST_START_LIMIT, OVERDUE_SECONDS, Backlog, FirstReading
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.sight.ever_read import EverRead, Place
from skoupa.controller.sight.feeds import Feeds
from skoupa.controller.state import KINDS_COUNTED, KINDS_READ, READINGS_HELD, State
from skoupa.errors import Forbidden, SkoupaError
from skoupa.facts.rows import Row
from skoupa.kube.backoff import Backoff
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold


class FirstReadings:
    """`on_held` hears of a backlog; `look_again` that what waited for the count may go or is held otherwise."""

    def __init__(
        self,
        state: State,
        backlog: Backlog,
        *,
        clock: Clock,
        knowledge: Knowledge,
        ever: EverRead,
        feeds: Callable[[], Feeds | None],
        acting: Callable[[], bool],
        standing_by: Callable[[], bool],
        on_held: Callable[[], None],
        look_again: Callable[[], None],
    ) -> None:
        self._state = state
        self._backlog = backlog
        self._clock = clock
        self._knowledge = knowledge
        self._ever = ever
        self._feeds = feeds
        self._acting = acting
        self._standing_by = standing_by
        self._on_held = on_held
        self._look_again = look_again
        self.error: SkoupaError | None = None
        self.looked = asyncio.Event()
        # What is being written must not be taken for what somebody else wrote.
        self.writing = asyncio.Lock()
        # Whose first list is not counted yet, by kind and namespace; empty almost always, and asked for every verdict.
        self._uncounted: set[tuple[str, str]] = set()
        self._expected: set[tuple[str, str]] = set()
        # What was read since a setting gave old objects a time; None: all that was ever read.
        self._since: EverRead | None = None
        self._remembered = False
        # As the state has it.
        self._read_written: dict[str, list[str]] | None = None
        self._since_written: dict[str, list[str]] | None = None
        self._held_written: list[FirstReading] = []

    def hold(self, row: Row, now: float) -> Hold | None:  # noqa: ARG002 - ends when it was counted
        if not self._uncounted:
            return None
        kind, namespace = row.resource.qualified, row.namespace
        if (kind, namespace) not in self._uncounted and (
            (kind, "") not in self._uncounted or self._counted.has(kind, namespace)
        ):
            return None
        return Hold(reason=reason("not-counted", kind=kind))

    def expect(self, places: Iterable[tuple[str, str]]) -> None:
        """These are going to be read."""
        self._expected = set(places)
        self._note_uncounted()

    def count_again(self) -> None:
        """Only what is read by now was counted with the settings of now; all else is, when it comes."""
        self._since = EverRead()
        self._add_namespaces()
        self._add(self._known().first_lists()[0])
        self._note_uncounted()

    async def accept(self) -> None:
        """Somebody accepted what was read until now; what comes later is counted."""
        self._backlog.hold_first_readings((), instead=True)
        self._add_namespaces()
        self._add(self._known().first_lists()[0])
        self._note_uncounted()
        if not await self.write_down():
            self.looked.set()
        self._look_again()

    async def write_down(self) -> bool:
        """Whether nothing is left to be written."""
        async with self.writing:
            return await self._write_down()

    @property
    def _counted(self) -> EverRead:
        return self._since if self._since is not None else self._ever

    def _note_uncounted(self) -> None:
        self._uncounted = {place for place in self._expected if not self._counted.has(*place)}

    def remember(self) -> None:
        """What the state says; it has to be read, and so has what there is. Before anything is swept."""
        feeds = self._known()
        written = self._state.get(KINDS_READ, dict[str, list[str]])
        held = self._state.get(READINGS_HELD, list[FirstReading]) or []
        self._ever.load(written or {})
        since = self._state.get(KINDS_COUNTED, dict[str, list[str]])
        if self._written_since() == self._since_written:
            # Else it could not be written down so far.
            self._since = EverRead() if since is not None else None
            self._counted.load(since or {})
        read, _ = feeds.first_lists()
        if written is None and not self._remembered:
            # Counted as a whole cluster, or swept before anybody wrote down what was read.
            self._add(read)
        if self._backlog.first_readings == self._held_written:
            # Else it could not be written down so far.
            left = [one for one in held if not self._is_over(one, read)]
            self._backlog.hold_first_readings(left, instead=True)
        self._read_written, self._held_written, self._since_written = written, held, since
        self._remembered = True
        self._note_uncounted()
        feeds.remember()
        self.looked.set()

    @property
    def misses_something(self) -> bool:
        """Whether something that was read before may not be read now, or may be of a group whose kinds nobody tells."""
        feeds = self._known()
        return bool(feeds.unseen.kinds() or feeds.untold)

    def _is_over(self, held: FirstReading, read: Iterable[Place]) -> bool:
        """Nothing is left of it, as far as all of it is seen."""
        for place in read:
            if place.resource.qualified == held.kind and place.namespace in {"", held.namespace}:
                rows = self._rows(place.resource, held.namespace)
                return not self._backlog.overdue(rows, held.before, self._clock.now())
        return False

    async def follow(self) -> None:
        backoff = Backoff(self._clock)
        while True:
            await self.looked.wait()
            self.looked.clear()
            if not self._remembered or self._standing_by():
                continue
            self._count()
            async with self.writing:
                written = await self._write_down()
            if written:
                backoff.reset()
            else:
                self.looked.set()
                await self._clock.sleep(backoff.next())

    def _count(self) -> None:
        feeds = self._known()
        self._add_namespaces()
        read, awaited = feeds.first_lists()
        new = [place for place in read if self._is_new(place)]
        if not new or any(map(self._is_new, awaited)):
            return
        before = self._clock.now() - OVERDUE_SECONDS
        counts = {place: self._overdue(place, before) for place in new}
        if sum(counts.values()) > FIRST_START_LIMIT:
            self._backlog.hold_first_readings(
                FirstReading(
                    kind=place.resource.qualified, namespace=place.namespace, before=before, count=count
                )
                for place, count in counts.items()
                if count
            )
            self._on_held()
        self._add(new)
        self._note_uncounted()
        self._look_again()

    def _overdue(self, place: Place, before: float) -> int:
        kind = place.resource.qualified
        found = self._rows(place.resource, place.namespace)
        rows = (row for row in found if not self._counted.has(kind, row.namespace))
        return self._backlog.overdue(rows, before, self._clock.now())

    def _rows(self, resource: Resource, namespace: str) -> Iterator[Row]:
        found = self._knowledge.store.of_kind(resource)
        return (row for row in found if namespace in {"", row.namespace})

    def _is_new(self, place: Place) -> bool:
        return not self._counted.has(place.resource.qualified, place.namespace)

    def _add(self, places: Iterable[Place]) -> None:
        for place in places:
            self._ever.add(place.resource.qualified, place.namespace)
            self._counted.add(place.resource.qualified, place.namespace)
        if self._since is not None and self._since.has_all(self._ever):
            self._since = None

    def _add_namespaces(self) -> None:
        """Those that are read one by one, by no feed."""
        if self._knowledge.settings.namespaces and self._known().denied(NAMESPACES):
            self._add(Place(NAMESPACES, row.name) for row in self._knowledge.store.of_kind(NAMESPACES))

    async def _write_down(self) -> bool:
        """What is held first: who starts after only that was written counts again, and holds the same."""
        held = self._backlog.first_readings
        if held != self._held_written:
            if not await self._put(READINGS_HELD, held):
                return False
            self._held_written = held
        since = self._written_since()
        if since != self._since_written:
            if not await self._put(KINDS_COUNTED, since):
                return False
            self._since_written = since
        read = self._ever.written(served=self._served())
        if read != self._read_written:
            if not await self._put(KINDS_READ, read):
                return False
            self._read_written = read
        return True

    def _written_since(self) -> dict[str, list[str]] | None:
        return self._since.written(served=self._served()) if self._since is not None else None

    def _served(self) -> set[str]:
        return {resource.qualified for resource in self._knowledge.discovery.resources}

    async def _put(self, key: str, value: Any) -> bool:
        if not self._acting():
            return True
        try:
            await self._state.put(key, value)
        except Forbidden:
            # Who may write no state has none after a restart either.
            return True
        except SkoupaError as error:
            self.error = error
            return False
        self.error = None
        return True

    def _known(self) -> Feeds:
        feeds = self._feeds()
        assert feeds is not None
        return feeds
