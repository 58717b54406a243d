"""The trash in PostgreSQL: what is read from it, forgotten and erased."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from skoupa.ledger import bodies
from skoupa.ledger.reading import numbered
from skoupa.ledger.rows import Body

# The driver is not there for everybody and has no types.
_Connection = Any

_AT_ONCE: Final = 500


async def read(connection: _Connection, number: int, entry_ids: Sequence[str]) -> dict[str, tuple[Body, ...]]:
    rows = await connection.fetch(
        "SELECT e.id, b.part, b.form, b.data FROM skoupa_entries AS e"
        " JOIN skoupa_bodies AS b ON b.cluster = e.cluster AND b.uid = e.uid"
        " WHERE e.cluster = $1 AND e.id = ANY($2::text[])",
        number,
        list(entry_ids),
    )
    return bodies.by_entry(rows)


async def before_limit(connection: _Connection, number: int, *, most_bytes: int) -> float:
    """The time before which everything has to go, so that the rest takes no more than that."""
    text, values = bodies.newest_too_many_query(number, most_bytes=most_bytes)
    at = await connection.fetchval(numbered(text), *values)
    return -math.inf if at is None else math.nextafter(at, math.inf)


async def forget(connection: _Connection, number: int, *, before: float, now: float) -> int:
    """In pieces, so that nobody who writes waits long. A row that somebody intends meanwhile keeps what it gets."""
    text, _ = bodies.old_query(number, before=before, limit=_AT_ONCE)
    statement = (
        f"WITH old AS ({numbered(text)}), emptied AS ("  # noqa: S608 - constants
        "UPDATE skoupa_entries AS e SET kept = $4 FROM old WHERE e.cluster = old.cluster AND e.uid = old.uid"
        " AND e.at < $2 AND e.outcome <> 'intended' RETURNING e.cluster, e.uid), gone AS ("
        "DELETE FROM skoupa_bodies AS b USING emptied WHERE b.cluster = emptied.cluster AND b.uid = emptied.uid)"
        " SELECT count(*) FROM emptied"
    )
    total = 0
    when = bodies.forgotten(now)
    while count := await connection.fetchval(statement, number, before, _AT_ONCE, when):
        total += count
    return total


async def purge(connection: _Connection, number: int, entry_id: str) -> bool:
    async with connection.transaction():
        # Else an intent could put something there between the two statements, and the row would say it is not there.
        await connection.execute(
            "SELECT FROM skoupa_entries WHERE cluster = $1 AND id = $2 FOR UPDATE", number, entry_id
        )
        gone = await connection.fetch(
            "DELETE FROM skoupa_bodies AS b USING skoupa_entries AS e"
            " WHERE e.cluster = $1 AND e.id = $2 AND b.cluster = e.cluster AND b.uid = e.uid RETURNING b.uid",
            number,
            entry_id,
        )
        if gone:
            await connection.execute(
                "UPDATE skoupa_entries SET kept = -1 WHERE cluster = $1 AND id = $2", number, entry_id
            )
    return bool(gone)
