"""The ledger in PostgreSQL: for several replicas, many clusters and long histories.

The driver is an extra and is looked for when the store is opened. A connection that was lost is made anew by the next
call, and the schema is looked at again then: it may be another database. The password is in no error and no log.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from skoupa.ledger import postgres_bodies, postgres_pruning, postgres_writing, reading
from skoupa.ledger.dsn import driver, shown, translated, understood
from skoupa.ledger.identity import Identity
from skoupa.ledger.postgres_ready import bring_up_to_date, identify, number_of
from skoupa.ledger.rows import Body, Entry, Tally
from skoupa.ledger.rule_ends import found_by_end
from skoupa.ledger.store import EVERYTHING, Change, Place, Size, Wish

# The driver is not there for everybody and has no types.
_Connection = Any
_Pool = Any

CONNECT_SECONDS: Final = 5.0
STATEMENT_SECONDS: Final = 10.0
_CONNECTIONS: Final = 4
_NOBODY: Final = 0
# Every query and every change here has an index to walk along. A planner without fresh statistics thinks that reading
# the whole table is cheap, for each batch.
_ALONG_INDEXES: Final = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    # One made while the table was empty would be kept when it is large.
    "plan_cache_mode": "force_custom_plan",
    "jit": "off",
}


class PostgresStore:
    def __init__(
        self,
        dsn: str,
        *,
        cluster: str,
        writable: bool = True,
        identity: Identity | None = None,
        connect_seconds: float = CONNECT_SECONDS,
        statement_seconds: float = STATEMENT_SECONDS,
    ) -> None:
        self.cluster = cluster
        self.remark = ""
        self.where = shown(dsn)
        self._dsn = dsn
        self._writable = writable
        self._identity = identity
        self._connect_seconds = connect_seconds
        self._statement_seconds = statement_seconds
        self._opening = asyncio.Lock()
        self._pool: _Pool | None = None
        self._number: int | None = None

    async def open(self) -> None:
        async with self._connection():
            pass

    async def close(self) -> None:
        if self._pool is not None:
            # Closing politely waits for connections that may be stuck.
            self._pool.terminate()
            self._pool = None

    async def write(self, changes: Sequence[Change]) -> Mapping[str, str]:
        async with self._connection() as (connection, number):
            return await postgres_writing.write(connection, number, changes)

    async def open_entries(self) -> list[Entry]:
        async with self._connection() as (connection, number):
            return sorted(await _entries(connection, reading.open_query(number)), key=reading.age)

    async def find(
        self, wish: Wish = EVERYTHING, *, limit: int = 100, before: Place | None = None
    ) -> list[Entry]:
        if wish.rule_end is not None:
            return await found_by_end(wish, await self._policies(), self.find, limit=limit, before=before)
        async with self._connection() as (connection, number):
            query = reading.find_query(number, wish, limit=limit, before=before)
            return await _entries(connection, query)

    async def _policies(self) -> list[str]:
        async with self._connection() as (connection, number):
            text, values = reading.policies_query(number)
            return [str(row[0]) for row in await connection.fetch(reading.numbered(text), *values)]

    async def get(self, entry_id: str) -> Entry | None:
        found = await self.find(Wish(id=entry_id), limit=1)
        return found[0] if found else None

    async def untold(self, *, limit: int = 1000, after: Place | None = None) -> list[Entry]:
        async with self._connection() as (connection, number):
            return await _entries(connection, reading.untold_query(number, limit=limit, after=after))

    async def tally(self, since: float) -> list[Tally]:
        async with self._connection() as (connection, number):
            text, values = reading.tally_query(number, since=since)
            return [reading.tally_of(row) for row in await connection.fetch(reading.numbered(text), *values)]

    async def prune(self, *, before: float, spare: float, most_bytes: int | None = None) -> int:
        async with self._connection() as (connection, number):
            gone = await postgres_pruning.forget(connection, number, before=min(before, spare))
            if most_bytes is not None:
                cut = await postgres_pruning.cut(connection, number, most_bytes=most_bytes)
                gone += await postgres_pruning.forget(connection, number, before=min(cut, spare))
        return gone

    async def size(self) -> Size:
        async with self._connection() as (connection, number):
            return await postgres_pruning.size_of(connection, number)

    async def body(self, entry_id: str) -> tuple[Body, ...]:
        return (await self.bodies([entry_id])).get(entry_id, ())

    async def bodies(self, entry_ids: Sequence[str]) -> Mapping[str, tuple[Body, ...]]:
        async with self._connection() as (connection, number):
            return await postgres_bodies.read(connection, number, entry_ids)

    async def forget_bodies(self, *, before: float, now: float, most_bytes: int | None = None) -> int:
        async with self._connection() as (connection, number):
            if most_bytes is not None:
                limit = await postgres_bodies.before_limit(connection, number, most_bytes=most_bytes)
                before = max(before, limit)
            return await postgres_bodies.forget(connection, number, before=before, now=now)

    async def purge(self, entry_id: str) -> bool:
        async with self._connection() as (connection, number):
            return await postgres_bodies.purge(connection, number, entry_id)

    async def clusters(self) -> Mapping[str, str]:
        query = "SELECT name, identity FROM skoupa_clusters ORDER BY name"
        async with self._connection() as (connection, _):
            return dict(await connection.fetch(query))

    async def announced(self, keys: Sequence[str]) -> Collection[str]:
        async with self._connection() as (connection, number):
            rows = await connection.fetch(
                "SELECT key FROM skoupa_announced WHERE cluster = $1 AND key = ANY($2::text[])",
                number,
                list(keys),
            )
        return {row[0] for row in rows}

    async def announce(self, keys: Mapping[str, float], *, now: float) -> None:
        async with self._connection() as (connection, number), connection.transaction():
            await connection.execute(
                "DELETE FROM skoupa_announced WHERE cluster = $1 AND due < $2", number, now
            )
            await connection.execute(
                "INSERT INTO skoupa_announced (cluster, key, due) SELECT $1, n.key, n.due"
                " FROM unnest($2::text[], $3::float8[]) AS n (key, due) ORDER BY n.key ON CONFLICT DO NOTHING",
                number,
                list(keys),
                list(keys.values()),
            )

    async def unneeded(self) -> Mapping[str, float]:
        async with self._connection() as (connection, number):
            rows = await connection.fetch("SELECT uid, since FROM skoupa_unneeded WHERE cluster = $1", number)
        return {row[0]: row[1] for row in rows}

    async def note_unneeded(self, moments: Mapping[str, float | None]) -> None:
        begun = {uid: since for uid, since in moments.items() if since is not None}
        async with self._connection() as (connection, number), connection.transaction():
            await connection.execute(
                "DELETE FROM skoupa_unneeded WHERE cluster = $1 AND uid = ANY($2::text[])",
                number,
                [uid for uid in moments if uid not in begun],
            )
            await connection.execute(
                "INSERT INTO skoupa_unneeded (cluster, uid, since) SELECT $1, n.uid, n.since"
                " FROM unnest($2::text[], $3::float8[]) AS n (uid, since) ORDER BY n.uid"
                " ON CONFLICT (cluster, uid) DO UPDATE SET since = excluded.since",
                number,
                list(begun),
                list(begun.values()),
            )

    async def mark(self, proposed: str) -> str:
        async with self._connection() as (connection, number):
            await connection.execute(
                "UPDATE skoupa_clusters SET mark = $1 WHERE number = $2 AND mark = ''", proposed, number
            )
            return str(
                await connection.fetchval("SELECT mark FROM skoupa_clusters WHERE number = $1", number)
            )

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[tuple[_Connection, int]]:
        """A connection, and the number of the cluster; of a reader whose cluster has no rows one that nobody has."""
        pgdriver = driver()
        try:
            with translated(pgdriver, self.where):
                with understood(self.where):
                    pool = await self._ready_pool(pgdriver)
                    connection = await pool.acquire(timeout=self._connect_seconds)
                try:
                    if self._number is None:
                        await self._get_ready(connection)
                    yield connection, _NOBODY if self._number is None else self._number
                finally:
                    await pool.release(connection)
        except BaseException:
            # After a loss it may be another database, or one that was put back from a copy.
            self._number = None
            raise

    async def _ready_pool(self, pgdriver: Any) -> _Pool:
        async with self._opening:
            if self._pool is None:
                milliseconds = str(int(self._statement_seconds * 1000))
                self._pool = await pgdriver.create_pool(
                    self._dsn,
                    min_size=0,
                    max_size=_CONNECTIONS,
                    timeout=self._connect_seconds,
                    # The server ends a statement first; this is for a server that no longer answers.
                    command_timeout=self._statement_seconds + 2,
                    reset=_leave_as_it_is,
                    server_settings={
                        "application_name": "skoupa",
                        "statement_timeout": milliseconds,
                        "idle_in_transaction_session_timeout": milliseconds,
                        "default_transaction_read_only": "off" if self._writable else "on",
                        **_ALONG_INDEXES,
                    },
                )
            return self._pool

    async def _get_ready(self, connection: _Connection) -> None:
        await bring_up_to_date(connection, where=self.where, writable=self._writable)
        number = await number_of(connection, self.cluster, writable=self._writable)
        if number is not None and self._identity is not None:
            known = await self._identity()
            await identify(connection, number, known, cluster=self.cluster, where=self.where)
        self._number = number


async def _leave_as_it_is(_: _Connection) -> None:
    """Nothing here outlives its transaction, so a round trip to reset the connection would be for nothing."""


async def _entries(connection: _Connection, query: reading.Query) -> list[Entry]:
    text, values = query
    return [reading.entry_of(row) for row in await connection.fetch(reading.numbered(text), *values)]
