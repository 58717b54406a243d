"""The ledger in one SQLite file: the default, for one replica with a volume.

One thread writes and never blocks the event loop; readers have connections and threads of their own and see the last
commit (WAL). What `write` returned for survives `kill -9`; a power cut may take the last moments, never the file.
Which connections there are is `sqlite_connections`' part, and what is asked of them that of the other modules of this name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from skoupa.clock import Clock, SystemClock
from skoupa.errors import LedgerUnavailable, LedgerUnusable, NotErased
from skoupa.ledger import (
    reading,
    sqlite_announced,
    sqlite_bodies,
    sqlite_pruning,
    sqlite_unneeded,
    sqlite_writing,
)
from skoupa.ledger.connecting import Connection, connect, marked
from skoupa.ledger.identity import Identity
from skoupa.ledger.rows import Body, Entry, Tally
from skoupa.ledger.rule_ends import found_by_end
from skoupa.ledger.sqlite_connections import Connections
from skoupa.ledger.sqlite_pruning import of_all, own
from skoupa.ledger.sqlite_size import cut, size_of
from skoupa.ledger.store import EVERYTHING, Change, Place, Size, Wish

T = TypeVar("T")

BUSY_SECONDS: Final = 5.0
# How many times as long is waited for who reads what is to be erased, and how soon it is tried again.
_ERASE_TRIES: Final = 3
_ERASE_AGAIN_SECONDS: Final = 0.1
_READERS: Final = 2


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
        clock: Clock | None = None,
    ) -> None:
        self.path = path
        self.cluster = cluster
        self.where = str(path)
        self._writable = writable
        self._identity = identity
        self._named = named
        self._known: Mapping[str, str] | None = None
        self._busy_seconds = busy_seconds
        self._clock = clock or SystemClock()
        self._connections = Connections(path, connect=self._connect)
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="ledger-writer")
        self._reading = ThreadPoolExecutor(_READERS, thread_name_prefix="ledger-reader")

    @property
    def remark(self) -> str:
        return self._connections.remark

    async def open(self) -> None:
        if self._writable:
            await self._write(lambda _: None)
        else:
            await self._read(lambda _: None)

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._end)

    async def write(self, changes: Sequence[Change]) -> Mapping[str, str]:
        return await self._write(lambda connection: sqlite_writing.apply(connection, changes))

    async def open_entries(self) -> list[Entry]:
        return sorted(await self._entries(reading.open_query), key=reading.age)

    async def find(
        self, wish: Wish = EVERYTHING, *, limit: int = 100, before: Place | None = None
    ) -> list[Entry]:
        if wish.rule_end is not None:
            rules = [str(rule) for (rule,) in await self._rows(reading.policies_query)]
            return await found_by_end(wish, rules, self.find, limit=limit, before=before)
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
        oldest = min(before, spare)
        gone = await self._forget(lambda one: sqlite_pruning.forget(one, of_all(one), before=oldest))
        if most_bytes is not None:
            most = most_bytes
            limit = min(spare, await self._read(lambda one: cut(one, most_bytes=most)))
            gone += await self._forget(lambda one: sqlite_pruning.forget(one, own(one), before=limit))
        return gone

    async def forget_bodies(self, *, before: float, now: float, most_bytes: int | None = None) -> int:
        gone = await self._forget(lambda one: sqlite_bodies.forget(one, of_all(one), before=before, now=now))
        if most_bytes is not None:
            most = most_bytes
            limit = await self._read(lambda one: sqlite_bodies.before_limit(one, most_bytes=most))
            gone += await self._forget(lambda one: sqlite_bodies.forget(one, own(one), before=limit, now=now))
        return gone

    async def _forget(self, a_piece: Callable[[Connection], int]) -> int:
        """In pieces, so that nobody who writes waits long."""
        gone = 0
        while count := await self._write(a_piece):
            gone += count
        if gone:
            # Pages that are free now, to the disk.
            await self._write(lambda one: one.raw.execute("PRAGMA incremental_vacuum").fetchall())
        return gone

    async def size(self) -> Size:
        return await self._read(size_of)

    async def body(self, entry_id: str) -> tuple[Body, ...]:
        return (await self.bodies([entry_id])).get(entry_id, ())

    async def bodies(self, entry_ids: Sequence[str]) -> Mapping[str, tuple[Body, ...]]:
        return await self._read(lambda connection: sqlite_bodies.read(connection, entry_ids))

    async def purge(self, entry_id: str) -> bool:
        there = await self._write(lambda connection: sqlite_bodies.purge(connection, entry_id))
        end = self._clock.monotonic() + _ERASE_TRIES * self._busy_seconds
        while not await self._write(sqlite_bodies.empty_log):
            # SQLite waits for readers by itself; not for somebody who empties the log too.
            if self._clock.monotonic() >= end:
                raise NotErased(
                    f"what is kept of {entry_id} is out of the trash, but its bytes are still in {self.path} or in its log "
                    f"{self.path.name}-wal: another process has been reading there all the while",
                    advice="end what has the file open (a backup, sqlite3, a command with --ledger), and purge it once more",
                )
            await self._clock.sleep(self._clock.jitter(_ERASE_AGAIN_SECONDS))
        return there

    async def clusters(self) -> Mapping[str, str]:
        query = "SELECT name, identity FROM skoupa_clusters ORDER BY name"
        return await self._read(lambda connection: dict(connection.raw.execute(query)))

    async def announced(self, keys: Sequence[str]) -> Collection[str]:
        return await self._read(lambda connection: sqlite_announced.known(connection, keys))

    async def announce(self, keys: Mapping[str, float], *, now: float) -> None:
        await self._write(lambda connection: sqlite_announced.put(connection, keys, now=now))

    async def unneeded(self) -> Mapping[str, float]:
        return await self._read(sqlite_unneeded.known)

    async def note_unneeded(self, moments: Mapping[str, float | None]) -> None:
        await self._write(lambda connection: sqlite_unneeded.put(connection, moments))

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
        return await self._in(self._writing, self._connections.write, work)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        return await self._in(self._reading, self._connections.read, work)

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
        self._writing.shutdown()
        self._connections.close()


def _rows(connection: Connection, query: Callable[[int], reading.Query]) -> list[Any]:
    if connection.number is None:
        return []
    return connection.raw.execute(*query(connection.number)).fetchall()
