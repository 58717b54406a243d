"""The ledger in one SQLite file: the default, for one replica with a volume.

One thread writes and never blocks the event loop; readers have connections and threads of their own and see the last
commit (WAL). What `write` returned for survives `kill -9`; a power cut may take the last moments, never the file.
A connection that failed is closed and opened anew by the next call; so is one whose file was moved away.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from skoupa.errors import LedgerUnavailable, LedgerUnusable
from skoupa.ledger import reading, sqlite_announced, sqlite_bodies
from skoupa.ledger.connecting import Connection, connect, marked, translated
from skoupa.ledger.identity import Identity
from skoupa.ledger.rows import Body, Entry, Tally
from skoupa.ledger.sqlite_size import size_of, used
from skoupa.ledger.statements import ANY_BODY, Statement, Values, planned
from skoupa.ledger.store import EVERYTHING, Change, Intent, Note, Place, Size, Wish

T = TypeVar("T")

BUSY_SECONDS: Final = 5.0
_READERS: Final = 2
_PRUNED_AT_ONCE: Final = 500
_SIZES: Final = (256, 32, 4, 1)
_IDS: Final = Statement(
    columns=(("uid", "text"),),
    text="SELECT uid, id FROM skoupa_entries WHERE uid IN (SELECT uid FROM n) AND cluster = ?",
)


class SqliteStore:
    def __init__(
        self,
        path: Path,
        *,
        cluster: str,
        writable: bool = True,
        identity: Identity | None = None,
        named: bool = True,
        busy_seconds: float = BUSY_SECONDS,
    ) -> None:
        self.path = path
        self.cluster = cluster
        self.where = str(path)
        self.remark = ""
        self._writable = writable
        self._identity = identity
        self._named = named
        self._known: Mapping[str, str] | None = None
        self._busy_seconds = busy_seconds
        self._writer: Connection | None = None
        self._idle: list[Connection] = []
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="ledger-writer")
        self._reading = ThreadPoolExecutor(_READERS, thread_name_prefix="ledger-reader")

    async def open(self) -> None:
        if self._writable:
            await self._write(lambda _: None)
        else:
            await self._read(lambda _: None)

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._end)

    async def write(self, changes: Sequence[Change]) -> Mapping[str, str]:
        return await self._write(lambda connection: _apply(connection, changes))

    async def open_entries(self) -> list[Entry]:
        return sorted(await self._entries(reading.open_query), key=reading.age)

    async def find(
        self, wish: Wish = EVERYTHING, *, limit: int = 100, before: Place | None = None
    ) -> list[Entry]:
        return await self._entries(
            lambda number: reading.find_query(number, wish, limit=limit, before=before)
        )

    async def get(self, entry_id: str) -> Entry | None:
        found = await self.find(Wish(id=entry_id), limit=1)
        return found[0] if found else None

    async def untold(self, *, limit: int = 1000, after: Place | None = None) -> list[Entry]:
        return await self._entries(lambda number: reading.untold_query(number, limit=limit, after=after))

    async def tally(self, since: float) -> list[Tally]:
        rows = await self._rows(lambda number: reading.tally_query(number, since=since))
        return [reading.tally_of(row) for row in rows]

    async def prune(self, *, before: float, spare: float, most_bytes: int | None = None) -> int:
        gone = 0
        while count := await self._write(lambda connection: _forget(connection, before=min(before, spare))):
            gone += count
        if most_bytes is not None:
            while count := await self._write(
                lambda connection: (
                    _forget(connection, before=spare) if used(connection.raw) > most_bytes else 0
                )
            ):
                gone += count
        if gone:
            await self._give_back()
        return gone

    async def forget_bodies(self, *, before: float, most_bytes: int, now: float) -> int:
        limit = await self._read(lambda one: sqlite_bodies.before_limit(one, most_bytes=most_bytes))
        before = max(before, limit)
        gone = 0
        while count := await self._write(lambda one: sqlite_bodies.forget(one, before=before, now=now)):
            gone += count
        if gone:
            await self._give_back()
        return gone

    async def _give_back(self) -> None:
        """Pages that are free now, to the disk."""
        await self._write(lambda connection: connection.raw.execute("PRAGMA incremental_vacuum").fetchall())

    async def size(self) -> Size:
        return await self._read(size_of)

    async def body(self, entry_id: str) -> tuple[Body, ...]:
        return (await self.bodies([entry_id])).get(entry_id, ())

    async def bodies(self, entry_ids: Sequence[str]) -> Mapping[str, tuple[Body, ...]]:
        return await self._read(lambda connection: sqlite_bodies.read(connection, entry_ids))

    async def purge(self, entry_id: str) -> bool:
        return await self._write(lambda connection: sqlite_bodies.purge(connection, entry_id))

    async def clusters(self) -> Mapping[str, str]:
        query = "SELECT name, identity FROM skoupa_clusters ORDER BY name"
        return await self._read(lambda connection: dict(connection.raw.execute(query)))

    async def announced(self, keys: Sequence[str]) -> Collection[str]:
        return await self._read(lambda connection: sqlite_announced.known(connection, keys))

    async def announce(self, keys: Mapping[str, float], *, now: float) -> None:
        await self._write(lambda connection: sqlite_announced.put(connection, keys, now=now))

    async def mark(self, proposed: str) -> str:
        return await self._write(lambda connection: marked(connection, proposed))

    async def _entries(self, query: Callable[[int], reading.Query]) -> list[Entry]:
        return await self._read(
            lambda connection: [reading.entry_of(row) for row in _rows(connection, query)]
        )

    async def _rows(self, query: Callable[[int], reading.Query]) -> list[Any]:
        return await self._read(lambda connection: _rows(connection, query))

    async def _write(self, work: Callable[[Connection], T]) -> T:
        if not self._writable:
            raise LedgerUnusable(f"the ledger {self.path} was opened for reading only")
        return await self._in(self._writing, self._as_writer, work)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        return await self._in(self._reading, self._as_reader, work)

    async def _in(
        self,
        threads: ThreadPoolExecutor,
        how: Callable[[Callable[[Connection], T]], T],
        work: Callable[[Connection], T],
    ) -> T:
        if self._identity is not None and self._known is None:
            self._known = await self._identity()
        try:
            future = asyncio.get_running_loop().run_in_executor(threads, how, work)
        except RuntimeError as error:  # an executor that was shut down has no error of its own
            raise LedgerUnavailable(f"the ledger {self.path} is closed") from error
        return await future

    def _as_writer(self, work: Callable[[Connection], T]) -> T:
        with translated(self.path):
            if self._writer is not None and self._writer.stale:
                self._writer.raw.close()
                self._writer = None
                self.remark = (
                    f"the file {self.path} was moved away or replaced while it was in use; what was in it is not "
                    "in the history any more, unless it is put back"
                )
        if self._writer is None:
            self._writer = self._connect(writable=True)
        try:
            with translated(self.path):
                return work(self._writer)
        except LedgerUnavailable as error:
            # A lock passes and a full volume gets room; anything else may be the connection's own state.
            if not isinstance(error.__cause__, sqlite3.OperationalError) or "I/O" in error.message:
                self._writer.raw.close()
                self._writer = None
            raise

    def _as_reader(self, work: Callable[[Connection], T]) -> T:
        connection = self._idle.pop() if self._idle else self._connect(writable=False)
        try:
            with translated(self.path):
                if connection.stale or connection.number is None:
                    connection.raw.close()
                    connection = self._connect(writable=False)
                answer = work(connection)
        except BaseException:
            connection.raw.close()
            raise
        self._idle.append(connection)
        return answer

    def _connect(self, *, writable: bool) -> Connection:
        return connect(
            self.path,
            cluster=self.cluster,
            writable=writable,
            busy_seconds=self._busy_seconds,
            known=self._known,
            named=self._named,
        )

    def _end(self) -> None:
        self._reading.shutdown()
        for connection in self._idle:
            connection.raw.close()
        self._idle.clear()
        self._writing.shutdown()
        # The last to close moves the WAL into the file.
        if self._writer is not None:
            with contextlib.suppress(sqlite3.Error):
                self._writer.raw.close()
            self._writer = None


def _apply(connection: Connection, changes: Sequence[Change]) -> dict[str, str]:
    assert connection.number is not None
    decided = [(change.uid,) for change in changes if isinstance(change, Intent | Note)]
    ids: dict[str, str] = {}
    with connection.transaction() as cursor:
        keeps = bool(cursor.execute(ANY_BODY).fetchone()[0]) or any(_has_bodies(change) for change in changes)
        for statement, rows in planned(connection.number, changes, keeps=keeps):
            for some in _pieces(rows):
                cursor.execute(_sql(statement, len(some)), _values(some))
        for some in _pieces(decided):
            ids.update(cursor.execute(_sql(_IDS, len(some)), [*_values(some), connection.number]))
    return ids


def _has_bodies(change: Change) -> bool:
    return isinstance(change, Intent) and bool(change.bodies)


def _pieces(rows: list[Values]) -> Iterator[list[Values]]:
    """Many rows in one statement cost half of what they cost one by one, and the interpreter's lock is let go once.

    Only few sizes: the statements that were made are kept, one for each.
    """
    start = 0
    for size in _SIZES:
        while len(rows) - start >= size:
            yield rows[start : start + size]
            start += size


def _values(rows: list[Values]) -> list[Any]:
    return [value for row in rows for value in row]


@cache
def _sql(statement: Statement, count: int) -> str:
    names = ", ".join(name for name, _ in statement.columns)
    row = f"({', '.join('?' * len(statement.columns))})"
    return f"WITH n ({names}) AS (VALUES {', '.join([row] * count)}) {statement.text}"


def _rows(connection: Connection, query: Callable[[int], reading.Query]) -> list[Any]:
    if connection.number is None:
        return []
    return connection.raw.execute(*query(connection.number)).fetchall()


def _forget(connection: Connection, *, before: float) -> int:
    assert connection.number is not None
    with connection.transaction() as cursor:
        keys = cursor.execute(
            *reading.oldest_query(connection.number, before=before, limit=_PRUNED_AT_ONCE)
        ).fetchall()
        cursor.executemany("DELETE FROM skoupa_bodies WHERE cluster = ? AND uid = ?", keys)
        cursor.executemany("DELETE FROM skoupa_entries WHERE cluster = ? AND uid = ?", keys)
    return len(keys)
