"""What the rows in a SQLite file take: pages in use, and what the disk gives for the file and its WAL."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from skoupa.ledger.connecting import Connection
from skoupa.ledger.store import Size


def used(raw: sqlite3.Connection) -> int:
    pages, free, page = (
        raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * page)


def size_of(connection: Connection) -> Size:
    raw = connection.raw
    count = raw.execute(
        "SELECT count(*) FROM skoupa_entries WHERE cluster = ?", [connection.number]
    ).fetchone()
    path = Path(raw.execute("PRAGMA database_list").fetchone()[2])
    files = [path, path.with_name(f"{path.name}-wal")]
    return Size(
        rows=count[0],
        used=used(raw),
        allocated=sum(file.stat().st_size for file in files if file.exists()),
    )
