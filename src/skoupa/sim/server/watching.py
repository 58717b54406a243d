"""Watches: what happened since a resourceVersion, as lines, until the server or the client has had enough.

A watch hears of each change in the moment of the write and decides with the state before and after what its client
should see: an object that begins to match is ADDED, one that stops matching is DELETED. Bookmarks come about once a
minute, and a server ends every watch after 30 to 60 minutes. Waiting is done on the clock, one wake-up for any number
of changes. What tests break on purpose (cuts, silence) is in `faults`.
"""

from __future__ import annotations

from asyncio import Event as Signal
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import suppress

import msgspec

from skoupa.errors import Disconnected
from skoupa.sim.server import encoding
from skoupa.sim.server.calls import Call
from skoupa.sim.server.selecting import Selection, selection_of
from skoupa.sim.state.plane import Plane
from skoupa.sim.state.refusals import Cause, Refusal, expired, options_invalid
from skoupa.sim.state.storage import Change, Row

# A server says how far it is once more before it ends a watch.
LAST_BOOKMARK = 2.0
SHORTEST_LIFE = 1800.0
# A client that reads more slowly than this many changes is dropped, as a real server does.
LONGEST_QUEUE = 100_000
_LINES_AT_ONCE = 500


class Watch:
    """One open watch; made when the request is answered, read through `lines`."""

    def __init__(self, plane: Plane, call: Call) -> None:
        self._plane = plane
        self.call = call
        self._selection = selection_of(call)
        self._pending: deque[Change] = deque()
        self._wake = Signal()
        self._cut = False
        self._ended = False
        _check_options(plane, call)
        plane.store.tick()
        self._first = self._opening()
        self._seen = max(plane.store.revision, self._start())
        call.served.shelf.listeners.append(self._hear)
        plane.watches.setdefault(call.served.shelf, []).append(self)

    def cut(self) -> None:
        """The connection breaks."""
        self._cut = True
        self._wake.set()

    def end(self) -> None:
        """The server ends the answer properly, after what is still to be sent."""
        self._ended = True
        self._wake.set()

    def close(self) -> None:
        with suppress(ValueError):
            self.call.served.shelf.listeners.remove(self._hear)
        # A kind whose definition is gone has no watches any more.
        with suppress(ValueError, KeyError):
            self._plane.watches[self.call.served.shelf].remove(self)

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Whole lines, several at a time where there are several; raises `Disconnected` when cut."""
        clock = self._plane.clock
        now = clock.monotonic()
        ends = now + self._lifetime()
        bookmark = self._next_bookmark(now, ends)
        for lines in _in_batches(self._first):
            yield lines
        while True:
            if self._cut:
                raise Disconnected("the watch was cut: connection reset by peer")
            # Cleared before the queue is read: a change that comes while a batch is sent must not be slept on.
            self._wake.clear()
            for lines in _in_batches(self._changes()):
                yield lines
            now = clock.monotonic()
            if self._ended or now >= ends:
                return
            if now >= bookmark:
                bookmark = self._next_bookmark(now, ends)
                yield self._bookmark()
            with suppress(TimeoutError):
                async with clock.timeout(max(0.0, min(ends, bookmark) - clock.monotonic())):
                    await self._wake.wait()

    def _next_bookmark(self, now: float, ends: float) -> float:
        last = ends - LAST_BOOKMARK
        if now >= last or not self.call.flag("allowWatchBookmarks"):
            return ends + 1
        return min(now + self._plane.bookmark_seconds, last)

    def _hear(self, change: Change) -> None:
        if not self._pending:
            self._wake.set()
        self._pending.append(change)
        if len(self._pending) > LONGEST_QUEUE:
            self.close()
            self.end()

    def _lifetime(self) -> float:
        asked = self.call.number("timeoutSeconds")
        return float(asked) if asked else SHORTEST_LIFE * (1 + self._plane.random.random())

    def _start(self) -> int:
        text = self.call.query.get("resourceVersion", "")
        if text and not text.isdecimal():
            said = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
            raise Refusal(code=500, reason="", message=said)
        return int(text or 0)

    def _opening(self) -> Iterable[bytes]:
        """What is sent at once: the present state or the changes since a version."""
        since, served, partial = self._start(), self.call.served, self.call.partial
        shelf = served.shelf
        streaming = self.call.query.get("sendInitialEvents")
        if streaming != "false" and (streaming or not since):
            lines = (
                encoding.line("ADDED", served, row, partial=partial)
                for row in list(shelf.in_namespace(self._selection.namespace))
                if self._selection.matches(served, row)
            )
            return self._initial(lines, self._plane.store.revision) if streaming else lines
        if since and since < shelf.complete_after:
            self._ended = True
            said = f"too old resource version: {since} ({shelf.complete_after})"
            return [encoding.failure_line(expired(said))]
        return list(self._rendered(shelf.since(since) if since else ()))

    def _initial(self, lines: Iterable[bytes], version: int) -> Iterator[bytes]:
        yield from lines
        if self.call.flag("allowWatchBookmarks"):
            yield encoding.bookmark(
                self.call.served, version, initial_events_end=True, partial=self.call.partial
            )

    def _changes(self) -> Iterator[bytes]:
        while self._pending:
            change = self._pending.popleft()
            if change.version > self._seen:
                self._seen = change.version
                yield from self._rendered((change,))

    def _rendered(self, changes: Iterable[Change]) -> Iterator[bytes]:
        served, partial = self.call.served, self.call.partial
        for change in changes:
            event, row = seen_by(self._selection, change, call=self.call)
            if event:
                yield encoding.line(event, served, row, partial=partial)

    def _bookmark(self) -> bytes:
        self._seen = max(self._seen, self._plane.store.revision)
        return encoding.bookmark(self.call.served, self._seen, partial=self.call.partial)


def seen_by(selection: Selection, change: Change, *, call: Call) -> tuple[str, Row]:
    """The event that a watch with this selection sees of a change, "" if none."""
    served = call.served
    before = change.previous is not None and selection.matches(served, change.previous)
    now = change.event != "DELETED" and selection.matches(served, change.row)
    if now:
        return ("MODIFIED" if before else "ADDED"), change.row
    if not before:
        return "", change.row
    if change.event == "DELETED":
        return "DELETED", change.row
    # The last state that matched, under the version at which it stopped to.
    assert change.previous is not None
    return "DELETED", at_version(change.previous, change.version)


def at_version(row: Row, version: int) -> Row:
    metadata = row.metadata() | {"resourceVersion": str(version)}
    return msgspec.structs.replace(row, version=version, meta=msgspec.json.encode(metadata))


def _in_batches(lines: Iterable[bytes]) -> Iterator[bytes]:
    batch: list[bytes] = []
    for line in lines:
        batch.append(line)
        if len(batch) == _LINES_AT_ONCE:
            yield b"".join(batch)
            batch.clear()
    if batch:
        yield b"".join(batch)


def _check_options(plane: Plane, call: Call) -> None:
    query = call.query
    match, streaming = query.get("resourceVersionMatch", ""), query.get("sendInitialEvents", "")
    causes: list[tuple[str, str]] = []
    if streaming:
        if match != "NotOlderThan":
            said = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            causes.append(("resourceVersionMatch", said))
        if not plane.features["WatchList"]:
            said = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
            causes.append(("sendInitialEvents", said))
    elif match:
        said = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(("resourceVersionMatch", said))
    if causes:
        raise options_invalid(
            "ListOptions",
            *(
                Cause(reason="FieldValueForbidden", field=field, message=f"Forbidden: {said}")
                for field, said in causes
            ),
        )
