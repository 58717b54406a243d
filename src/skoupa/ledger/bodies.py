"""Queries on the trash that both databases understand: whose bodies there are, and which are too old or too many.

Every query names its cluster and has an index to walk along. What is forgotten is forgotten whole, the oldest first;
its row stays and says when. A row that is still open keeps what it has. Placeholders are `?`, as in `reading`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skoupa.ledger.reading import Query
from skoupa.ledger.rows import Body
from skoupa.ledger.schema import IS_KEPT


def forgotten(now: float) -> int:
    """What the column `kept` says from then on."""
    return -int(now)


def old_query(cluster: int, *, before: float, limit: int) -> Query:
    """The keys of a piece of what is to be forgotten, the oldest first."""
    where = f"cluster = ? AND {IS_KEPT} AND at < ? AND outcome <> 'intended'"
    text = f"SELECT cluster, uid FROM skoupa_entries WHERE {where} ORDER BY at LIMIT ?"  # noqa: S608 - constants
    return text, [cluster, before, limit]


def newest_too_many_query(cluster: int, *, most_bytes: int) -> Query:
    """When the newest of those was decided that have to go, so that the rest takes no more than that; else NULL."""
    totals = (
        "SELECT at, sum(kept) OVER (ORDER BY at DESC) AS total"  # noqa: S608 - constants
        f" FROM skoupa_entries WHERE cluster = ? AND {IS_KEPT}"
    )
    return f"SELECT max(at) FROM ({totals}) AS run WHERE total > ?", [cluster, most_bytes]  # noqa: S608 - constants


def by_entry(rows: Iterable[Any]) -> dict[str, tuple[Body, ...]]:
    """From rows of id, part, form and data, in any order; the object itself comes first."""
    found: dict[str, list[Body]] = {}
    for entry_id, part, form, data in rows:
        found.setdefault(entry_id, []).append(Body(part=part, form=form, data=data))
    return {entry_id: tuple(sorted(bodies, key=lambda body: body.part)) for entry_id, bodies in found.items()}
