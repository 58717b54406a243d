"""The trash in a SQLite file: what is read from it, forgotten and erased.

A query never leaves it to SQLite where to begin: without statistics it takes the bodies first, and looks at all of them
for each row.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Final

from skoupa.ledger import bodies
from skoupa.ledger.connecting import Connection
from skoupa.ledger.rows import Body

_AT_ONCE: Final = 500


def read(connection: Connection, entry_ids: Sequence[str]) -> dict[str, tuple[Body, ...]]:
    rows = connection.raw.execute(
        "SELECT e.id, b.part, b.form, b.data FROM json_each(?) AS wanted"
        " CROSS JOIN skoupa_entries AS e CROSS JOIN skoupa_bodies AS b"
        " WHERE e.cluster = ? AND e.id = wanted.value AND b.cluster = e.cluster AND b.uid = e.uid",
        (json.dumps(list(dict.fromkeys(entry_ids))), connection.number),
    )
    return bodies.by_entry(rows)


def before_limit(connection: Connection, *, most_bytes: int) -> float:
    """The time before which everything has to go, so that the rest takes no more than that."""
    assert connection.number is not None
    query = bodies.newest_too_many_query(connection.number, most_bytes=most_bytes)
    (at,) = connection.raw.execute(*query).fetchone()
    return -math.inf if at is None else math.nextafter(at, math.inf)


def forget(connection: Connection, numbers: Iterable[int], *, before: float, now: float) -> int:
    """A piece of what these clusters have there, so that nobody who writes waits long."""
    with connection.transaction() as cursor:
        keys = [
            key
            for number in numbers
            for key in cursor.execute(*bodies.old_query(number, before=before, limit=_AT_ONCE))
        ]
        cursor.executemany("DELETE FROM skoupa_bodies WHERE cluster = ? AND uid = ?", keys)
        when = bodies.forgotten(now)
        cursor.executemany(
            "UPDATE skoupa_entries SET kept = ? WHERE cluster = ? AND uid = ?", [(when, *key) for key in keys]
        )
    return len(keys)


def purge(connection: Connection, entry_id: str) -> bool:
    """Overwritten where it is, as whatever goes: for the bytes to be in no file `empty_log` has to follow."""
    with connection.transaction() as cursor:
        key = (connection.number, entry_id)
        cursor.execute(
            "DELETE FROM skoupa_bodies WHERE cluster = ?1 AND uid IN"
            " (SELECT uid FROM skoupa_entries WHERE cluster = ?1 AND id = ?2)",
            key,
        )
        there = cursor.rowcount > 0
        if there:
            cursor.execute("UPDATE skoupa_entries SET kept = -1 WHERE cluster = ? AND id = ?", key)
    return there


def empty_log(connection: Connection) -> bool:
    """Brings all that is in the log into the file, and empties it; False: somebody reads what was there before."""
    busy, _, _ = connection.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy
