"""How much the rows of a cluster take in PostgreSQL, and which are forgotten, a piece at a time."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from skoupa.ledger import reading
from skoupa.ledger.postgres_ready import LONG_SECONDS
from skoupa.ledger.store import Size

# The driver is not there for everybody and has no types.
_Connection = Any

_AT_ONCE: Final = 500


async def forget(connection: _Connection, number: int, *, before: float) -> int:
    """In pieces, so that nobody who writes waits long. A row that somebody intends meanwhile stays."""
    text, _ = reading.oldest_query(number, before=before, limit=_AT_ONCE)
    statement = (
        f"WITH old AS ({reading.numbered(text)}), gone AS ("  # noqa: S608 - constants
        "DELETE FROM skoupa_entries AS e USING old WHERE e.cluster = old.cluster AND e.uid = old.uid AND e.at < $2"
        " AND e.outcome <> 'intended' RETURNING e.cluster, e.uid), bodies AS ("
        "DELETE FROM skoupa_bodies AS b USING gone WHERE b.cluster = gone.cluster AND b.uid = gone.uid)"
        " SELECT count(*) FROM gone"
    )
    total = 0
    while count := await connection.fetchval(statement, number, before, _AT_ONCE):
        total += count
    return total


async def cut(connection: _Connection, number: int, *, most_bytes: int) -> float:
    """The time before which everything has to go, so that the rest takes no more than that."""
    async with _patiently(connection):
        at = await connection.fetchval(
            "SELECT max(at) FROM (SELECT at, sum(pg_column_size(e.*) + greatest(kept, 0))"
            " OVER (ORDER BY at DESC, id DESC) AS total FROM skoupa_entries AS e WHERE cluster = $1) AS run"
            " WHERE total > $2",
            number,
            most_bytes,
            timeout=LONG_SECONDS,
        )
    return -math.inf if at is None else math.nextafter(at, math.inf)


async def size_of(connection: _Connection, number: int) -> Size:
    async with _patiently(connection):
        row = await connection.fetchrow(
            "SELECT count(*), coalesce(sum(pg_column_size(e.*) + greatest(kept, 0)), 0),"
            " pg_total_relation_size('skoupa_entries') + pg_total_relation_size('skoupa_bodies')"
            " FROM skoupa_entries AS e WHERE cluster = $1",
            number,
            timeout=LONG_SECONDS,
        )
    assert row is not None
    return Size(rows=row[0], used=int(row[1]), allocated=row[2])


@asynccontextmanager
async def _patiently(connection: _Connection) -> AsyncIterator[None]:
    async with connection.transaction():
        await connection.execute(f"SET LOCAL statement_timeout = {int(LONG_SECONDS * 1000)}")
        await connection.execute("SET LOCAL enable_seqscan = on")
        yield
