"""Changes written to a SQLite file, each call in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from skoupa.ledger.batches import Values, planned
from skoupa.ledger.connecting import Connection
from skoupa.ledger.statements import ANY_BODY, Statement
from skoupa.ledger.store import Change, Intent, Note

_SIZES: Final = (256, 32, 4, 1)
_IDS: Final = Statement(
    columns=(("uid", "text"),),
    text="SELECT uid, id FROM skoupa_entries WHERE uid IN (SELECT uid FROM n) AND cluster = ?",
)


def apply(connection: Connection, changes: Sequence[Change]) -> dict[str, str]:
    """Returns by uid the ids of the rows that were intended or noted."""
    assert connection.number is not None
    decided = [(change.uid,) for change in changes if isinstance(change, Intent | Note)]
    ids: dict[str, str] = {}
    with connection.transaction() as cursor:
        keeps = bool(cursor.execute(ANY_BODY).fetchone()[0]) or any(_has_bodies(change) for change in changes)
        for statement, rows in planned(connection.number, changes, keeps=keeps):
            for some in _pieces(rows):
                cursor.execute(_sql(statement, len(some)), _values(some))
        for some in _pieces(decided):
            ids.update(cursor.execute(_sql(_IDS, len(some)), [*_values(some), connection.number]))
    return ids


def _has_bodies(change: Change) -> bool:
    return isinstance(change, Intent) and bool(change.bodies)


def _pieces(rows: list[Values]) -> Iterator[list[Values]]:
    """Many rows in one statement cost half of what they cost one by one, and the interpreter's lock is let go once.

    Only few sizes: the statements that were made are kept, one for each.
    """
    start = 0
    for size in _SIZES:
        while len(rows) - start >= size:
            yield rows[start : start + size]
            start += size


def _values(rows: list[Values]) -> list[Any]:
    return [value for row in rows for value in row]


@cache
def _sql(statement: Statement, count: int) -> str:
    names = ", ".join(name for name, _ in statement.columns)
    row = f"({', '.join('?' * len(statement.columns))})"
    return f"WITH n ({names}) AS (VALUES {', '.join([row] * count)}) {statement.text}"
