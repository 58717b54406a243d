"""Notices ahead of a deletion that were given, in a SQLite file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from skoupa.ledger.connecting import Connection


def known(connection: Connection, keys: Sequence[str]) -> set[str]:
    rows = connection.raw.execute(
        "SELECT key FROM skoupa_announced WHERE cluster = ? AND key IN (SELECT value FROM json_each(?))",
        (connection.number, json.dumps(list(keys))),
    )
    return {key for (key,) in rows}


def put(connection: Connection, keys: Mapping[str, float], *, now: float) -> None:
    with connection.transaction() as cursor:
        cursor.execute("DELETE FROM skoupa_announced WHERE cluster = ? AND due < ?", (connection.number, now))
        cursor.executemany(
            "INSERT OR IGNORE INTO skoupa_announced (cluster, key, due) VALUES (?, ?, ?)",
            [(connection.number, key, due) for key, due in keys.items()],
        )
