"""Rows of policies that are meant by the end of their name: `old` is every one that is called so, in whatever namespace.

The rules are looked for first, each once however many rows it has, and then the rows of each along its own index: rows of other
rules cost nothing. What is older than enough rows of those before is not read. Nothing here is a transaction: rows that are written meanwhile
may be there or not, as between two pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from skoupa.ledger.rows import Entry
from skoupa.ledger.store import Place, Wish


class Find(Protocol):
    async def __call__(self, wish: Wish, *, limit: int, before: Place | None) -> list[Entry]: ...


def is_end_of(end: str, rule: str) -> bool:
    """Whether a rule is meant by that, as a Brake means it too; `end` is in small letters."""
    return f"/{rule}".lower().endswith(f"/{end}")


async def found_by_end(
    wish: Wish, rules: Iterable[str], find: Find, *, limit: int, before: Place | None
) -> list[Entry]:
    """The newest first; `rules` are all that there are of policies."""
    end, found = wish.rule_end or "", list[Entry]()
    for rule in rules:
        if is_end_of(end, rule):
            one = msgspec.structs.replace(wish, rule=rule, rule_end=None, since=_since(wish, found, limit))
            found += await find(one, limit=limit, before=before)
            found = sorted(found, key=_age, reverse=True)[:limit]
    return found


def _since(wish: Wish, found: list[Entry], limit: int) -> float | None:
    if len(found) < limit:
        return wish.since
    return found[-1].at if wish.since is None else max(wish.since, found[-1].at)


def _age(entry: Entry) -> tuple[float, str]:
    return entry.at, entry.id
