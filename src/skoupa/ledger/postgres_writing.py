"""Changes written to PostgreSQL: what is new to the ledger goes in one statement, as one transaction of its own.

Each question and answer between two processes costs more than a row, and nearly every deletion is of an object that has no
row yet. What comes more than once in a batch, and what has a row that was to be made, is written afterwards in the order of
the rules, together in one transaction. Where that fails the first part may be written: whoever writes it again changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import cache
from typing import Any, Final

from skoupa.ledger.batches import Values, apart, at_once, planned, put
from skoupa.ledger.statements import ANY_BODY, Statement
from skoupa.ledger.store import Change, Intent, Note

# The driver is not there for everybody and has no types.
_Connection = Any

# The cluster comes from the same place as the uid, so that only the index of both fits.
_IDS: Final = (
    "SELECT e.uid, e.id FROM unnest($1::int[], $2::text[]) AS n (cluster, uid)"
    " JOIN skoupa_entries AS e ON e.cluster = n.cluster AND e.uid = n.uid"
)
_RETURNING: Final = "RETURNING skoupa_entries.uid, skoupa_entries.id"


async def write(connection: _Connection, number: int, changes: Sequence[Change]) -> dict[str, str]:
    """Returns by uid the ids of the rows that were intended or noted."""
    alone, rest = apart(changes)
    ids = await _write_at_once(connection, number, alone)
    rest += (change for change in alone if isinstance(change, Intent | Note) and change.uid not in ids)
    if rest:
        ids |= await _write_in_order(connection, number, rest)
    return ids


async def _write_at_once(connection: _Connection, number: int, changes: Sequence[Change]) -> dict[str, str]:
    """The ids of those that are new; what was to be made and is there already is left as it was."""
    if not changes:
        return {}
    statements = at_once(number, changes)
    keeping = [change for change in changes if isinstance(change, Intent) and change.bodies]
    columns = [column for _, rows in statements for column in _columns(rows)]
    async with AsyncExitStack() as stack:
        if keeping:
            # A single statement is a transaction by itself.
            await stack.enter_async_context(connection.transaction())
        ids = dict(await connection.fetch(_all(tuple(one for one, _ in statements)), *columns))
        if new := [intent for intent in keeping if intent.uid in ids]:
            bodies, rows = put(number, new)
            await connection.execute(_sql(bodies), *_columns(rows))
    return ids


async def _write_in_order(connection: _Connection, number: int, changes: Sequence[Change]) -> dict[str, str]:
    intents = [change for change in changes if isinstance(change, Intent)]
    decided = {change.uid for change in changes if isinstance(change, Intent | Note)}
    ids: dict[str, str] = {}
    async with connection.transaction():
        keeps = any(intent.bodies for intent in intents) or (
            bool(intents) and await connection.fetchval(ANY_BODY)
        )
        for statement, rows in planned(number, changes, keeps=keeps):
            if statement.decides:
                ids.update(await connection.fetch(f"{_sql(statement)} {_RETURNING}", *_columns(rows)))
            else:
                await connection.execute(_sql(statement), *_columns(rows))
        # Those that their row did not need any more.
        if settled := list(decided - ids.keys()):
            ids.update(await connection.fetch(_IDS, [number] * len(settled), settled))
    return ids


def _columns(rows: Sequence[Values]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


@cache
def _sql(statement: Statement, *, first: int = 1) -> str:
    names = ", ".join(name for name, _ in statement.columns)
    arrays = ", ".join(
        f"${place}::{kind}[]" for place, (_, kind) in enumerate(statement.columns, start=first)
    )
    return f"WITH n ({names}) AS (SELECT * FROM unnest({arrays})) {statement.text}"  # noqa: S608 - constants


@cache
def _all(statements: tuple[Statement, ...]) -> str:
    """All of them as one; what it returns are the ids of the rows that were made."""
    parts, answer, first = list[str](), "SELECT '' AS uid, '' AS id WHERE false", 1
    for place, statement in enumerate(statements):
        text = _sql(statement, first=first)
        if statement.decides:
            text, answer = f"{text} {_RETURNING}", f"SELECT uid, id FROM part_{place}"  # noqa: S608 - a number of ours
        parts.append(f"part_{place} AS ({text})")
        first += len(statement.columns)
    return f"WITH {', '.join(parts)} {answer}"
