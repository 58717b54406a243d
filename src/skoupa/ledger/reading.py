"""Queries on the ledger that both databases understand, and rows made into Entries again.

Every query names its cluster and has an index to walk along. Placeholders are `?`; `numbered` turns them into those of
PostgreSQL.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from skoupa.ledger.rows import COUNTED, Entry, Tally, clean
from skoupa.ledger.schema import IS_RARE, IS_UNTOLD
from skoupa.ledger.store import Place, Wish
from skoupa.model.verdicts import Claim, Hold, Propagation

Query = tuple[str, list[Any]]

# In the order of `entry_of`.
_COLUMNS: Final = (
    "e.id, c.name, e.uid, e.at, e.kind, e.resource, e.namespace, e.name, e.mechanism, e.rule, e.run, e.outcome, e.epoch,"
    " e.attempts, e.weight, e.finished_at, e.error, e.told, e.restored_as, e.kept, e.details, e.partly"
)
_SELECT: Final = (
    f"SELECT {_COLUMNS} FROM skoupa_entries AS e JOIN skoupa_clusters AS c ON c.number = e.cluster"  # noqa: S608 - constants
)
# A Namespace counts in itself, as it does while the process runs. Details are long, and few have what is counted.
_TALLY: Final = (
    "SELECT at, mechanism, rule, run, CASE WHEN resource = 'namespaces' THEN name ELSE namespace END, resource, weight, "
    """CASE WHEN details LIKE '%,"beside":%' THEN details ELSE '' END FROM skoupa_entries"""
)


class _Details(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What nobody filters by."""

    api_version: str
    labels: tuple[tuple[str, str], ...] = ()
    author: str = ""
    due: float = 0.0
    claims: tuple[Claim, ...] = ()
    holds: tuple[Hold, ...] = ()
    propagation: Propagation = "Background"
    unkept: str = ""
    beside: tuple[tuple[str, str], ...] = ()


_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(_Details)


def details_of(entry: Entry) -> str:
    details = _Details(
        api_version=entry.api_version,
        labels=entry.labels,
        author=entry.author,
        due=entry.due,
        claims=entry.claims,
        holds=entry.holds,
        propagation=entry.propagation,
        unkept=entry.unkept,
        beside=entry.beside,
    )
    return _encoder.encode(details).decode()


def entry_of(row: Sequence[Any]) -> Entry:
    details = _decoder.decode(row[20])
    return Entry(
        id=row[0],
        cluster=row[1],
        uid=row[2],
        at=row[3],
        api_version=details.api_version,
        kind=row[4],
        resource=row[5],
        namespace=row[6],
        name=row[7],
        labels=details.labels,
        mechanism=row[8],
        rule=row[9],
        author=details.author,
        run=row[10],
        due=details.due,
        claims=details.claims,
        holds=details.holds,
        propagation=details.propagation,
        weight=row[14],
        epoch=row[12],
        outcome=row[11],
        attempts=row[13],
        finished_at=row[15],
        error=row[16],
        told=bool(row[17]),
        restored_as=row[18],
        kept=row[19],
        unkept=details.unkept,
        partly=None if row[21] is None else bool(row[21]),
        beside=details.beside,
    )


def tally_of(row: Sequence[Any]) -> Tally:
    at, mechanism, rule, run, namespace, resource, weight, details = row
    return Tally(
        at=at,
        mechanism=mechanism,
        rule=rule,
        run=run,
        namespace=namespace,
        resource=resource,
        weight=weight,
        beside=_decoder.decode(details).beside if details else (),
    )


def find_query(cluster: int, wish: Wish, *, limit: int, before: Place | None) -> Query:
    conditions: list[str] = ["e.cluster = ?"]
    values: list[Any] = [cluster]
    time = _time(wish)
    for condition, value in _conditions(wish):
        conditions.append(condition)
        values += value
    if before is not None:
        # The first half alone lets the index begin in the right place.
        conditions.append(f"{time} <= ? AND (e.at < ? OR e.id < ?)")
        values += [before.at, before.at, before.id]
    where = " AND ".join(conditions)
    return f"{_SELECT} WHERE {where} ORDER BY {time} DESC, e.id DESC LIMIT ?", [*values, limit]


def _time(wish: Wish) -> str:
    # The plus keeps SQLite, which knows nothing of the values, from preferring a span of time to an id.
    return "e.at" if wish.id is None else "+e.at"


def _conditions(wish: Wish) -> list[tuple[str, list[Any]]]:
    found: list[tuple[str, list[Any]]] = [
        (f"e.{column} = ?", [clean(value)])
        for column in ("id", "uid", "namespace", "name", "mechanism", "rule")
        if (value := getattr(wish, column)) is not None
    ]
    if wish.kind is not None:
        # Kinds begin with a capital, what kubectl shows does not.
        found.append(("e.kind = ?" if wish.kind[:1].isupper() else "e.resource = ?", [wish.kind]))
    if wish.run is not None:
        found.append(("e.run = ? AND e.run <> ''" if wish.run else "e.run = ?", [clean(wish.run)]))
    time = _time(wish)
    if wish.since is not None:
        found.append((f"{time} >= ?", [wish.since]))
    if wish.until is not None:
        found.append((f"{time} < ?", [wish.until]))
    if wish.outcomes is not None:
        places = ", ".join("?" * len(wish.outcomes))
        rare = not {"deleted", "terminating"} & set(wish.outcomes)
        # An empty list is no outcome at all; `IN ()` is not SQL.
        condition = f"e.outcome IN ({places})" if places else "e.outcome = ''"
        found.append((condition + (f" AND e.{IS_RARE}" if rare else ""), list(wish.outcomes)))
    return found


def policies_query(cluster: int) -> Query:
    """The rules that begin with a kind, each once: from one to the next along their index, however many rows each has.

    A kind begins with a capital, and the key of a label does not.
    """
    within = "cluster = ? AND rule >= 'A' AND rule < '['"
    following = "SELECT min(rule) FROM skoupa_entries WHERE cluster = ? AND rule > found.rule AND rule < '['"
    text = (
        f"WITH RECURSIVE found (rule) AS (SELECT min(rule) FROM skoupa_entries WHERE {within}"  # noqa: S608 - constants
        f" UNION ALL SELECT ({following}) FROM found WHERE found.rule IS NOT NULL)"
        " SELECT rule FROM found WHERE rule IS NOT NULL"
    )
    return text, [cluster, cluster]


def age(entry: Entry) -> tuple[float, str]:
    """The oldest first."""
    return entry.at, entry.id


def open_query(cluster: int) -> Query:
    """Begun, or taken by the server and not seen to be gone; in no order."""
    begun = f"e.cluster = ? AND e.outcome = 'intended' AND e.{IS_RARE}"
    taken = "e.cluster = ? AND e.outcome = 'terminating'"
    return f"{_SELECT} WHERE {begun} UNION ALL {_SELECT} WHERE {taken}", [cluster, cluster]


def untold_query(cluster: int, *, limit: int, after: Place | None = None) -> Query:
    later = " AND (e.at, e.id) > (?, ?)" if after is not None else ""
    place = [after.at, after.id] if after is not None else []
    where = f"e.cluster = ? AND {IS_UNTOLD}{later}"
    return f"{_SELECT} WHERE {where} ORDER BY e.at, e.id LIMIT ?", [cluster, *place, limit]


def tally_query(cluster: int, *, since: float) -> Query:
    places = ", ".join("?" * len(COUNTED))
    where = f"cluster = ? AND at >= ? AND outcome IN ({places})"
    return f"{_TALLY} WHERE {where} ORDER BY at, id", [cluster, since, *COUNTED]


def oldest_query(cluster: int, *, before: float, limit: int) -> Query:
    """The keys of a piece of what may be forgotten, the oldest first."""
    return (
        "SELECT cluster, uid FROM skoupa_entries WHERE cluster = ? AND at < ? AND outcome <> 'intended' ORDER BY at LIMIT ?",
        [cluster, before, limit],
    )


def numbered(text: str) -> str:
    """The same query with the placeholders of PostgreSQL."""
    count = itertools.count(1)
    return re.sub(r"\?", lambda _: f"${next(count)}", text)
