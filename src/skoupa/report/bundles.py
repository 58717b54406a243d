"""Deletions as Kubernetes Events, bundled when many go at once.

An Event is a write like the delete itself, so a thousand deletions must not become a thousand Events. Of a few objects
each gets its own. When more than that go within a moment in one namespace and of one kind they share Events whose notes
carry all the names. A bundle that the writer has no room for waits for the next round: no name is lost.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from skoupa.clock import Clock
from skoupa.facts.rows import Row, uid_text
from skoupa.judge.ttl import will_return
from skoupa.kube.events import NOTE_LIMIT, Event, EventWriter, Regarding
from skoupa.model.reasons import render
from skoupa.model.verdicts import Claim

FLUSH_SECONDS: Final = 1.0
# As many as this, alike and in one moment, still get an Event each.
FEW: Final = 10
# Bundles that wait for room while the server takes no Events; beyond it the oldest are dropped, and counted.
WAITING_LIMIT: Final = 20_000
REASON: Final = "SkoupaDeleted"
ACTION: Final = "Delete"


class Bundles:
    def __init__(self, writer: EventWriter, clock: Clock) -> None:
        self._writer = writer
        self._clock = clock
        self._open: dict[tuple[str, str, str], list[tuple[Row, Claim, float]]] = {}
        self._unsent: deque[Event] = deque()
        self._added = asyncio.Event()

    def __len__(self) -> int:
        return sum(len(bundle) for bundle in self._open.values()) + len(self._unsent)

    def add(self, row: Row, claim: Claim, at: float) -> None:
        alike = (row.namespace, row.resource.qualified, claim.mechanism)
        self._open.setdefault(alike, []).append((row, claim, at))
        self._added.set()

    async def run(self) -> None:
        while True:
            await self._added.wait()
            self._added.clear()
            await self._clock.sleep(FLUSH_SECONDS)
            self.flush()
            if self._unsent:
                self._added.set()

    def flush(self) -> None:
        bundles, self._open = self._open, {}
        for bundle in bundles.values():
            self._unsent += events_of(bundle)
        while self._unsent and self._writer.room:
            self._writer.tell(self._unsent.popleft())
        while len(self._unsent) > WAITING_LIMIT:
            self._unsent.popleft()
            self._writer.dropped += 1


def events_of(bundle: list[tuple[Row, Claim, float]]) -> list[Event]:
    """One Event for each of a few objects; for many, as few as their names fit into."""
    if len(bundle) <= FEW:
        return [_single(row, claim, at) for row, claim, at in bundle]
    events: list[Event] = []
    rest = bundle
    while rest:
        row, claim, at = rest[0]
        head = f"deleted {row.resource.qualified} ({claim.mechanism}): "
        names: list[str] = []
        used = len(head.encode())
        for found, _, _ in rest:
            used += len(found.name.encode()) + 2
            # An object's name has 253 characters at most: one always fits.
            if names and used > NOTE_LIMIT:
                break
            names.append(found.name)
        told, rest = rest[: len(names)], rest[len(names) :]
        uids = tuple(uid_text(found.uid) for found, _, _ in told)
        events.append(deletion(regarding(row), at, head + ", ".join(names), uids=uids))
    return events


def _single(row: Row, claim: Claim, at: float) -> Event:
    again = will_return(row)
    note = f"deleted: {render(claim.reason)}" + (f"; {render(again)}" if again else "")
    return deletion(regarding(row), at, note, uids=(uid_text(row.uid),))


def regarding(row: Row) -> Regarding:
    return Regarding(
        api_version=row.resource.api_version,
        kind=row.resource.kind,
        name=row.name,
        namespace=row.namespace,
        uid=uid_text(row.uid),
    )


def deletion(about: Regarding, at: float, note: str, *, uids: tuple[str, ...]) -> Event:
    """An object goes once: whoever tells it again, whenever, tells the same."""
    return Event(regarding=about, reason=REASON, action=ACTION, note=note, at=at, identity="once", uids=uids)
