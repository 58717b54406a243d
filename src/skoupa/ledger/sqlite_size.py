"""What the rows in a SQLite file take, each cluster's for itself, and where to cut when they take too much.

A row is weighed by what it says, once more for the indexes that say it too, and by what is kept of it in the trash.
"""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path
from typing import Final

from skoupa.ledger.connecting import Connection
from skoupa.ledger.store import Size

# Numbers, times and what SQLite needs for a row and its places in the indexes.
_PLAIN_BYTES: Final = 250
_OF_A_ROW: Final = (
    "length(details) + length(error) + max(kept, 0)"
    " + 2 * (length(id) + length(name) + length(kind) + length(mechanism) + length(rule) + length(run))"
    f" + 3 * (length(uid) + length(namespace) + length(resource)) + {_PLAIN_BYTES}"
)
_TOTAL: Final = f"SELECT count(*), coalesce(sum({_OF_A_ROW}), 0) FROM skoupa_entries WHERE cluster = ?"  # noqa: S608 - constants
_TOO_MANY: Final = (
    f"SELECT max(at) FROM (SELECT at, sum({_OF_A_ROW}) OVER (ORDER BY at DESC, id DESC) AS total"  # noqa: S608 - constants
    " FROM skoupa_entries WHERE cluster = ?) AS run WHERE total > ?"
)


def cut(connection: Connection, *, most_bytes: int) -> float:
    """The time before which everything has to go, so that the rest of this cluster takes no more than that."""
    # Of rows that the file has no room for there are none: nearly always nothing has to be weighed.
    if _in_use(connection.raw) <= most_bytes:
        return -math.inf
    (at,) = connection.raw.execute(_TOO_MANY, [connection.number, most_bytes]).fetchone()
    return -math.inf if at is None else math.nextafter(at, math.inf)


def size_of(connection: Connection) -> Size:
    raw = connection.raw
    rows, used = raw.execute(_TOTAL, [connection.number]).fetchone()
    path = Path(raw.execute("PRAGMA database_list").fetchone()[2])
    files = [path, path.with_name(f"{path.name}-wal")]
    return Size(
        rows=rows,
        used=used,
        allocated=sum(file.stat().st_size for file in files if file.exists()),
    )


def _in_use(raw: sqlite3.Connection) -> int:
    pages, free, page = (
        raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * page)
