"""Since when nobody needs which objects, as an observer saw it, in a SQLite file."""

from __future__ import annotations

from collections.abc import Mapping

from skoupa.ledger.connecting import Connection


def known(connection: Connection) -> dict[str, float]:
    rows = connection.raw.execute(
        "SELECT uid, since FROM skoupa_unneeded WHERE cluster = ?", (connection.number,)
    )
    return dict(rows)


def put(connection: Connection, moments: Mapping[str, float | None]) -> None:
    number = connection.number
    with connection.transaction() as cursor:
        cursor.executemany(
            "DELETE FROM skoupa_unneeded WHERE cluster = ? AND uid = ?",
            [(number, uid) for uid, since in moments.items() if since is None],
        )
        cursor.executemany(
            "INSERT INTO skoupa_unneeded (cluster, uid, since) VALUES (?, ?, ?)"
            " ON CONFLICT (cluster, uid) DO UPDATE SET since = excluded.since",
            [(number, uid, since) for uid, since in moments.items() if since is not None],
        )
