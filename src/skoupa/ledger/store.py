"""What a ledger store can do, as a Protocol, and the changes that are written to it.

A store keeps the rows of one cluster; a database may hold those of many. All changes of one `write` are in one
transaction, or in two: first those of objects that are new. Every method raises LedgerUnavailable when the database can't be used now, and may simply be called again:
a store opens itself anew. Nothing here batches or retries, that is the journal's part.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from skoupa.ledger.rows import FOUND_GONE, Body, Entry, Result, Tally


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """A delete is about to be sent. What goes to the trash goes with it or not at all.

    `open_before`: nobody knows yet what became of an earlier one, so that its row stays open whatever becomes of this.
    """

    entry: Entry
    bodies: tuple[Body, ...] = ()
    open_before: bool = False

    @property
    def uid(self) -> str:
        return self.entry.uid

    @property
    def found_gone(self) -> bool:
        return self.entry.unkept == FOUND_GONE


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that sends nothing: its outcome (`braked`, `would-delete`) is known already."""

    entry: Entry

    @property
    def uid(self) -> str:
        return self.entry.uid


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an intent. Whoever intended last owns the row; news that it was deleted count from everybody."""

    uid: str
    epoch: int
    outcome: Result
    at: float
    error: str = ""


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """Closes a row that is still as open as it was `seen` (its epoch then), and takes it over."""

    uid: str
    seen: int
    epoch: int
    outcome: Result
    at: float
    error: str = ""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Its Event was written."""

    uid: str


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    uid: str
    restored_as: str


Change = Intent | Note | Finish | Resolution | Told | Restored


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for; None is anything, and `namespace=""` is what lives in none. `until` is not part of the span.

    `kind` is a kind (`Deployment`) or the name that kubectl shows (`deployments.apps`). `rule_end` is, in small letters, how the
    names of the policies end that are meant: instead of a `rule`.
    """

    id: str | None = None
    uid: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    since: float | None = None
    until: float | None = None
    mechanism: str | None = None
    rule: str | None = None
    rule_end: str | None = None
    run: str | None = None
    outcomes: tuple[Result, ...] | None = None


EVERYTHING = Wish()


class Place(msgspec.Struct, frozen=True):
    """Where a page of `find` ended: the next one begins with what is older."""

    at: float
    id: str


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """`used` is what the rows of this ledger take, `allocated` what the disk gives for them."""

    rows: int
    used: int
    allocated: int


class Store(Protocol):
    @property
    def cluster(self) -> str: ...

    @property
    def where(self) -> str:
        """The database, as it may be shown to anybody."""

    @property
    def remark(self) -> str:
        """Something that happened to it and that somebody should know; empty: nothing."""

    async def open(self) -> None:
        """Connects and brings the schema up to date. Raises LedgerUnusable where waiting would not help."""

    async def close(self) -> None: ...

    async def write(self, changes: Sequence[Change]) -> Mapping[str, str]:
        """Returns by uid the ids of the rows that were intended or noted: an older row keeps its own."""

    async def open_entries(self) -> list[Entry]:
        """Intended and without an outcome, or terminating as far as is known; the oldest first."""

    async def find(
        self, wish: Wish = EVERYTHING, *, limit: int = 100, before: Place | None = None
    ) -> list[Entry]:
        """The newest first."""

    async def get(self, entry_id: str) -> Entry | None: ...

    async def untold(self, *, limit: int = 1000, after: Place | None = None) -> list[Entry]:
        """Deletions whose Event was not written; the oldest first, or the oldest `after` a place."""

    async def tally(self, since: float) -> list[Tally]:
        """What counts against the ceilings of the brakes, the oldest first."""

    async def prune(self, *, before: float, spare: float, most_bytes: int | None = None) -> int:
        """Forgets what is older than `before`, and the oldest until the rest takes no more than `most_bytes`.

        Open rows stay, and so does what was decided from `spare` on: the brakes count it. Returns how many went.
        """

    async def forget_bodies(self, *, before: float, now: float, most_bytes: int | None = None) -> int:
        """Forgets what is kept of decisions older than `before`, and of the oldest until the rest takes no more.

        Their rows stay and say that it was forgotten `now`; open ones keep what they have. Returns of how many.
        """

    async def size(self) -> Size:
        """Looks at all rows, so not for every scrape of a metric."""

    async def body(self, entry_id: str) -> tuple[Body, ...]:
        """The manifest and its dependents; empty when nothing is kept."""

    async def bodies(self, entry_ids: Sequence[str]) -> Mapping[str, tuple[Body, ...]]: ...

    async def purge(self, entry_id: str) -> bool:
        """Erases its bodies; whether there were any. Raises NotErased where they are in no row any more and still in a file."""

    async def clusters(self) -> Mapping[str, str]:
        """The clusters that this database has rows of, each with what it is told from others by (`identity`), or nothing."""

    async def announced(self, keys: Sequence[str]) -> Collection[str]:
        """Which of these notices ahead of a deletion were given, by whatever replica."""

    async def announce(self, keys: Mapping[str, float], *, now: float) -> None:
        """They were given, with the time of each that they tell of; forgotten when that is over."""

    async def unneeded(self) -> Mapping[str, float]:
        """Since when nobody needs which objects, by uid, as an observer wrote it down."""

    async def note_unneeded(self, moments: Mapping[str, float | None]) -> None:
        """None: that is over."""

    async def mark(self, proposed: str) -> str:
        """What this ledger of this cluster is told from others by, for as long as it exists; `proposed` if it has none yet.

        Empty where nothing is kept.
        """
