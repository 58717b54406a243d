"""Which owners came back by an earlier command: the ledger has their old uids and their new ones.

Only of those that went by themselves is that written down, and only they have a row. Looked for once for each owner, and not for
ever: beyond that one that came back is told as made since, which it may be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Final

from skoupa.cli.remembering.carried import quietly
from skoupa.cli.remembering.ledgers import HistorySource
from skoupa.ledger.rows import Entry
from skoupa.ledger.store import Wish
from skoupa.ledger.trash.contents import Kept

CameBack = Mapping[str, Collection[str]]

_OWNERS: Final = 500
# It may have gone again, and come back again.
_TIMES: Final = 5


async def came_back(source: HistorySource, entries: Iterable[Entry], parts: Iterable[Kept]) -> CameBack:
    """By the uid that an owner had: those that it got since. `entries` are about to come back themselves."""
    known = {entry.uid for entry in entries}
    owners = (owner for kept in parts for owner in _owners(kept))
    wanted = dict.fromkeys(uid for uid in owners if uid and uid not in known)
    return {uid: await quietly(source, _since(source, uid)) for uid in islice(wanted, _OWNERS)}


async def _since(source: HistorySource, uid: str) -> set[str]:
    found: set[str] = set()
    latest = uid
    for _ in range(_TIMES):
        rows = await source.find(Wish(uid=latest), limit=_TIMES)
        latest = next((row.restored_as for row in rows if row.restored_as), "")
        if not latest or latest in found:
            break
        found.add(latest)
    return found


def _owners(kept: Kept) -> list[str]:
    if kept.manifest is None:
        return []
    return [str(one.get("uid", "")) for one in kept.manifest["metadata"].get("ownerReferences") or ()]
