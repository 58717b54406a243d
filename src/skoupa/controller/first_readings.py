"""What is read for the first time is counted before any of it goes: a first start of that kind, or of that namespace.

A right that comes later, a namespace or a kind that a setting adds, a list that failed for long: each can bring as many
forgotten labels as a new cluster does. Until everything that is read for the first time together has been read, what it
brings is held; then it goes, or is held as a backlog. What was read is written down by who leads and enforces, and only
when it changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from skoupa.clock import Clock
from skoupa.controller.backlog import FIRST_START_LIMIT, OVERDUE_SECONDS, Backlog, FirstReading
from skoupa.controller.ever_read import EverRead, Place
from skoupa.controller.feeds import Feeds
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.state import KINDS_READ, READINGS_HELD, State
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
        self._remembered = False
        # As the state has it.
        self._read_written: dict[str, list[str]] | None = None
        self._held_written: list[FirstReading] = []

    def hold(self, row: Row, now: float) -> Hold | None:  # noqa: ARG002 - ends when it was counted
        if not self._uncounted:
            return None
        kind, namespace = row.resource.qualified, row.namespace
        if (kind, namespace) not in self._uncounted and (
            (kind, "") not in self._uncounted or self._ever.has(kind, namespace)
        ):
            return None
        return Hold(reason=reason("not-counted", kind=kind))

    def expect(self, places: Iterable[tuple[str, str]]) -> None:
        """These are going to be read."""
        self._uncounted = {place for place in places if not self._ever.has(*place)}

    def remember(self) -> None:
        """What the state says; it has to be read, and so has what there is. Before anything is swept."""
        feeds, knowledge = self._known(), self._knowledge
        written = self._state.get(KINDS_READ, dict[str, list[str]])
        held = self._state.get(READINGS_HELD, list[FirstReading]) or []
        self._ever.load(written or {})
        read, _ = feeds.first_lists()
        if written is None and not self._remembered:
            # Counted as a whole cluster, or swept before anybody wrote down what was read.
            self._add(read)
        if knowledge.settings.accept_backlog:
            self._backlog.hold_first_readings((), instead=True)
        elif self._backlog.first_readings == self._held_written:
            # Else it could not be written down so far.
            left = [one for one in held if not self._is_over(one, read)]
            self._backlog.hold_first_readings(left, instead=True)
        self._read_written, self._held_written = written, held
        self._remembered = True
        self._uncounted = {place for place in self._uncounted if not self._ever.has(*place)}
        feeds.remember()
        self.looked.set()

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
        feeds, knowledge = self._known(), self._knowledge
        if knowledge.settings.namespaces and feeds.denied(NAMESPACES):
            # They are read one by one, by no feed.
            for row in knowledge.store.of_kind(NAMESPACES):
                self._ever.add(NAMESPACES.qualified, row.name)
        read, awaited = feeds.first_lists()
        new = [place for place in read if self._is_new(place)]
        if not new or any(map(self._is_new, awaited)):
            return
        before = self._clock.now() - OVERDUE_SECONDS
        counts = {place: self._overdue(place, before) for place in new}
        if sum(counts.values()) > FIRST_START_LIMIT and not knowledge.settings.accept_backlog:
            self._backlog.hold_first_readings(
                FirstReading(
                    kind=place.resource.qualified, namespace=place.namespace, before=before, count=count
                )
                for place, count in counts.items()
                if count
            )
            self._on_held()
        self._add(new)
        self._uncounted = {place for place in self._uncounted if not self._ever.has(*place)}
        self._look_again()

    def _overdue(self, place: Place, before: float) -> int:
        kind = place.resource.qualified
        found = self._rows(place.resource, place.namespace)
        rows = (row for row in found if not self._ever.has(kind, row.namespace))
        return self._backlog.overdue(rows, before, self._clock.now())

    def _rows(self, resource: Resource, namespace: str) -> Iterator[Row]:
        found = self._knowledge.store.of_kind(resource)
        return (row for row in found if namespace in {"", row.namespace})

    def _is_new(self, place: Place) -> bool:
        return not self._ever.has(place.resource.qualified, place.namespace)

    def _add(self, places: Iterable[Place]) -> None:
        for place in places:
            self._ever.add(place.resource.qualified, place.namespace)

    async def _write_down(self) -> bool:
        """What is held first: who starts after only that was written counts again, and holds the same."""
        held = self._backlog.first_readings
        if held != self._held_written:
            if not await self._put(READINGS_HELD, held):
                return False
            self._held_written = held
        served = {resource.qualified for resource in self._knowledge.discovery.resources}
        read = self._ever.written(served=served)
        if read != self._read_written:
            if not await self._put(KINDS_READ, read):
                return False
            self._read_written = read
        return True

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
