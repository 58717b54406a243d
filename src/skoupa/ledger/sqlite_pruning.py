"""Rows in a SQLite file that are forgotten, a piece at a time.

A file is one installation's, so by age those of all clusters in it go: of a name or an address that it had before there is
nobody else who would.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from skoupa.ledger import reading
from skoupa.ledger.connecting import Connection

_AT_ONCE: Final = 500


def own(connection: Connection) -> list[int]:
    """The number of this cluster."""
    assert connection.number is not None
    return [connection.number]


def of_all(connection: Connection) -> list[int]:
    """The numbers of all clusters in the file."""
    return [number for (number,) in connection.raw.execute("SELECT number FROM skoupa_clusters")]


def forget(connection: Connection, numbers: Iterable[int], *, before: float) -> int:
    with connection.transaction() as cursor:
        keys = [
            key
            for number in numbers
            for key in cursor.execute(*reading.oldest_query(number, before=before, limit=_AT_ONCE))
        ]
        cursor.executemany("DELETE FROM skoupa_bodies WHERE cluster = ? AND uid = ?", keys)
        cursor.executemany("DELETE FROM skoupa_entries WHERE cluster = ? AND uid = ?", keys)
    return len(keys)
