"""The ledger of this cluster and no other: opened for it, and refused where its rows are those of a namesake.

A name can be copied with a settings file; the uid of kube-system can't. Where that may not be read, the Namespace that
Skoupa lives in stands for the cluster, and where that may not be read either, a namesake is not noticed, which is said.
Rows without a `clusterName` carry the server's address: whose they are is written down for `restore`, and nobody is refused.
While the server does not say, the ledger counts as away: nothing is read there, nothing written, nothing deleted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from skoupa.errors import Forbidden, LedgerUnavailable, LedgerUnusable, NotFound, SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES
from skoupa.ledger.identity import MOST_SURE
from skoupa.ledger.opening import is_shared, store_for
from skoupa.ledger.store import Store
from skoupa.report.log import Log
from skoupa.settings import Settings

ASK_SECONDS: Final = 5.0
_UNSEEN: Final = (
    "no permission to read the Namespace kube-system, by whose uid clusters of one clusterName are told apart"
)


class ClusterIdentity:
    """Asked for until the server has answered once, and remembered from then on: it never changes."""

    def __init__(self, client: Client, *, home: str) -> None:
        self._client = client
        self._home = home
        self.known: Mapping[str, str] | None = None

    async def __call__(self) -> Mapping[str, str]:
        if self.known is None:
            try:
                async with self._client.clock.timeout(ASK_SECONDS):
                    names = dict.fromkeys((MOST_SURE, self._home))
                    found = {name: await self._uid(name) for name in names}
            except (SkoupaError, TimeoutError) as error:
                why = str(error) or "no answer in time"
                raise LedgerUnavailable(
                    f"whose rows the ledger has is not known before the server says which cluster this is ({why})",
                    advice="it is asked again",
                ) from error
            self.known = {name: uid for name, uid in found.items() if uid}
        return self.known

    async def _uid(self, name: str) -> str:
        """Empty: it may not be read, or is not there."""
        try:
            try:
                found = await self._client.find(NAMESPACES, name, view=METADATA)
            except Forbidden:
                # A Role in a Namespace can grant to get that one, not to list.
                found = await self._client.get(NAMESPACES, name, view=METADATA)
        except (Forbidden, NotFound):
            return ""
        return found.metadata.uid


def own_store(client: Client, settings: Settings, *, server: str) -> tuple[Store, ClusterIdentity]:
    """Not opened yet. `server` is its address: rows carry it where the settings give no name."""
    identity = ClusterIdentity(client, home=settings.lease.namespace)
    if settings.namespaces and not settings.cluster_name:
        # Who looks after some namespaces has no right to read others, and asks for nothing that is not needed.
        identity.known = {}
    store = store_for(
        settings.ledger.dsn,
        cluster=settings.cluster_name or server,
        identity=identity,
        named=bool(settings.cluster_name),
    )
    return store, identity


@asynccontextmanager
async def own_ledger(client: Client, settings: Settings, *, server: str, log: Log) -> AsyncIterator[Store]:
    """For `skoupa run`."""
    where = settings.ledger.dsn
    store, identity = own_store(client, settings, server=server)
    try:
        await _open(store, identity, shared=is_shared(where), log=log)
        if where == "none":
            log(
                "no ledger",
                level="warning",
                why="ledger.dsn is none: no history, no trash, nothing to restore",
            )
        elif is_shared(where) and identity.known is not None and MOST_SURE not in identity.known:
            instead = f"that of {settings.lease.namespace} is used" if identity.known else "none is noticed"
            log("degraded", level="warning", why=f"{_UNSEEN}: {instead}")
        yield store
    finally:
        await store.close()


async def _open(store: Store, identity: ClusterIdentity, *, shared: bool, log: Log) -> None:
    try:
        await store.open()
    except LedgerUnavailable as error:
        # A server comes back, and meanwhile everything due is held. A file that can't be opened needs somebody.
        file_is_bad = not shared and identity.known is not None
        if isinstance(error, LedgerUnusable) or file_is_bad:
            raise
        log("trouble", level="warning", what="ledger", error=str(error))
