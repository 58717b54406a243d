"""Where commands read history and trash from: a Protocol, and the ledger itself behind `--ledger`.

Whoever else can answer these questions (a running controller) may join. What comes out of the trash is open already:
the keys are where the source is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, Protocol

import msgspec

from skoupa.errors import UsageError
from skoupa.ledger.opening import store_for
from skoupa.ledger.rows import Entry
from skoupa.ledger.store import Place, Restored, Store, Wish
from skoupa.ledger.trash.contents import Kept
from skoupa.ledger.trash.sealing import Seal, read_keys

_BODIES_AT_ONCE: Final = 200


class HistorySource(Protocol):
    @property
    def where(self) -> str:
        """As it may be shown to anybody."""

    async def find(self, wish: Wish, *, limit: int, before: Place | None = None) -> list[Entry]:
        """The newest first."""

    async def get(self, entry_id: str) -> Entry | None: ...

    async def kept(self, entries: Sequence[Entry]) -> Mapping[str, tuple[Kept, ...]]:
        """By id; the object itself first, then what went along. Absent: nothing is kept."""

    async def restored(self, uids: Mapping[str, str]) -> None:
        """Remembers what became of it: the old uid and the new one."""

    async def purge(self, entry_id: str) -> bool:
        """Erases what is kept; whether there was anything."""


class LedgerChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What the options say. `cluster` is needed only where a database has rows of several."""

    ledger: str | None = None
    cluster: str | None = None
    key_file: str | None = None
    key_env: str | None = None


class LedgerSource:
    def __init__(self, store: Store, seal: Seal) -> None:
        self._store = store
        self._seal = seal

    @property
    def where(self) -> str:
        return self._store.where

    async def find(self, wish: Wish, *, limit: int, before: Place | None = None) -> list[Entry]:
        return await self._store.find(wish, limit=limit, before=before)

    async def get(self, entry_id: str) -> Entry | None:
        return await self._store.get(entry_id)

    async def kept(self, entries: Sequence[Entry]) -> Mapping[str, tuple[Kept, ...]]:
        found: dict[str, tuple[Kept, ...]] = {}
        for start in range(0, len(entries), _BODIES_AT_ONCE):
            some = {entry.id: entry for entry in entries[start : start + _BODIES_AT_ONCE]}
            for entry_id, bodies in (await self._store.bodies(tuple(some))).items():
                uid = some[entry_id].uid
                ordered = sorted(bodies, key=lambda body: body.part)
                found[entry_id] = tuple(self._seal.open(body, uid=uid) for body in ordered)
        return found

    async def restored(self, uids: Mapping[str, str]) -> None:
        await self._store.write([Restored(uid=old, restored_as=new) for old, new in uids.items()])

    async def purge(self, entry_id: str) -> bool:
        return await self._store.purge(entry_id)


@asynccontextmanager
async def opened(choice: LedgerChoice, *, writable: bool = False) -> AsyncIterator[LedgerSource]:
    if choice.ledger is None:
        raise UsageError(
            "where the history is has to be said",
            advice="give --ledger with the path of the ledger, or postgresql://…",
        )
    if choice.ledger == "none":
        raise UsageError("--ledger none has no history", advice="give a path, or postgresql://…")
    keys = read_keys(file=choice.key_file or "", variable=choice.key_env or "")
    cluster = choice.cluster if choice.cluster is not None else await _only_cluster(choice.ledger)
    store = store_for(choice.ledger, cluster=cluster, writable=writable)
    try:
        await store.open()
        yield LedgerSource(store, Seal(cluster=cluster, keys=keys))
    finally:
        await store.close()


async def _only_cluster(where: str) -> str:
    """Opened for reading: a name that was guessed must not be written into the database."""
    store = store_for(where, cluster="", writable=False)
    try:
        await store.open()
        clusters = await store.clusters()
    finally:
        await store.close()
    if len(clusters) > 1:
        raise UsageError(
            f"the ledger {store.where} has rows of several clusters: {', '.join(clusters)}",
            advice="say which one with --cluster",
        )
    return clusters[0] if clusters else ""
