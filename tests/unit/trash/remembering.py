"""A cluster in memory whose deletions are kept in a ledger, and `skoupa` run against both."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from skoupa.cli.app import app
from skoupa.cli.options import Connecting
from skoupa.cli.remembering import declared as remembering
from skoupa.cli.restoring import restore
from skoupa.cli.worlds import World
from skoupa.errors import NotFound
from skoupa.facts.rows import Extraction, uid_text
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.ledger.rows import Entry, Ids, Unkept
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Finish, Intent, Wish
from skoupa.ledger.trash.keeper import Keeper, Keeping
from skoupa.ledger.trash.sealing import Key, Seal
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold
from tests.unit.cli.saying import Said, Shell
from tests.unit.cli.worlds import TTL, Town

R = TypeVar("R")

CLUSTER = "east"
KUBE_SYSTEM = "kube-system"


def declare() -> None:
    """The commands are there whether or not the program has them already."""
    there = {info.name or getattr(info.callback, "__name__", "") for info in app.registered_commands}
    for command in (remembering.history, remembering.restore, remembering.trash):
        if command.__name__ not in there:
            app.command()(command)


class Memory(Town):
    def __init__(self, skoupa: Shell, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
        super().__init__(skoupa, monkeypatch)
        declare()
        # History goes by the clock of the machine.
        self.clock.moment = time.time()
        self.path = path
        # How the rows call their cluster, and where the commands reach the one that is there.
        self.called = CLUSTER
        self.address = ""
        # What the ledger says whose rows they are; a controller writes that down as it opens it.
        self.whose = {KUBE_SYSTEM: self.own_uid}
        self.keys: tuple[Key, ...] = ()
        self.keeping = Keeping()
        self._ids = Ids(self.clock)
        monkeypatch.setattr(restore, "in_cluster", self._in_cluster)

    def __call__(self, *args: str) -> Said:
        return super().__call__(*args, "--ledger", str(self.path))

    def delete(
        self, kind: str, name: str, *, namespace: str = "shop", mechanism: str = "ttl", run: str = ""
    ) -> str:
        """As the controller does it; the id of the row."""
        return asyncio.run(self._delete(kind, name, namespace, mechanism, run))

    def remove(self, resource: Resource, name: str, *, namespace: str = "shop") -> None:
        """What the server's collector does, which stands still here."""

        async def gone() -> None:
            client = Client(self.cluster, self.clock)
            try:
                found = await client.get(resource, name, namespace=namespace, view=METADATA)
            except NotFound:
                return
            await client.delete(
                resource, name, namespace=namespace, uid=found.metadata.uid, propagation="Background"
            )

        asyncio.run(gone())

    @property
    def own_uid(self) -> str:
        found = self.find(NAMESPACES, KUBE_SYSTEM)
        assert found is not None
        return str(found["metadata"]["uid"])

    def used_by(self, **uids: str) -> None:
        """The ledger says that this cluster used it first; without any, as one of an earlier release: nothing."""
        self.whose = {name.replace("_", "-"): uid for name, uid in uids.items()}
        said = next((f"{name}={uid}" for name, uid in self.whose.items()), "")
        with sqlite3.connect(self.path) as raw:
            raw.execute("UPDATE skoupa_clusters SET identity = ?", [said])
        raw.close()

    def row(self, entry_id: str) -> Entry:
        async def find() -> Entry:
            store = SqliteStore(self.path, cluster=self.called)
            try:
                [found] = await store.find(Wish(id=entry_id))
            finally:
                await store.close()
            return found

        return asyncio.run(find())

    async def _delete(self, kind: str, name: str, namespace: str, mechanism: str, run: str) -> str:
        client = Client(self.cluster, self.clock)
        discovery = await discover(client)
        resource = discovery.resolve(kind)
        where = namespace if resource.namespaced else ""
        found = await client.get(resource, name, namespace=where, view=METADATA)
        row = Extraction().row(resource, found)
        claim = Claim(
            mechanism=mechanism,
            rule=f"{TTL}=1h" if mechanism == "ttl" else "nightly",
            due=self.clock.now(),
            reason=reason("ttl-date", key=TTL, value="1h"),
            run=run,
        )
        keeper = Keeper(
            client,
            seal=lambda: Seal(cluster=self.called, keys=self.keys),
            discovery=lambda: discovery,
            keeping=self.keeping,
        )
        found_bodies = await keeper.keep(row, claim)
        assert not isinstance(found_bodies, Hold), found_bodies
        unkept = found_bodies.why if isinstance(found_bodies, Unkept) else ""
        bodies = () if isinstance(found_bodies, Unkept) else found_bodies
        entry = Entry(
            id=self._ids.next(),
            cluster=self.called,
            at=self.clock.now(),
            api_version=resource.api_version,
            kind=resource.kind,
            resource=resource.qualified,
            namespace=where,
            name=name,
            uid=uid_text(row.uid),
            labels=row.labels,
            mechanism=mechanism,
            rule=claim.rule,
            run=run,
            due=claim.due,
            claims=(claim,),
            unkept=unkept,
        )
        store = SqliteStore(self.path, cluster=self.called, identity=self._which)
        try:
            ids = await store.write([Intent(entry=entry, bodies=bodies)])
            await client.delete(resource, name, namespace=where, uid=entry.uid, propagation="Background")
            done = Finish(uid=entry.uid, epoch=0, outcome="deleted", at=self.clock.now())
            await store.write([done])
        finally:
            await store.close()
        self.clock.moment += 1
        return ids[entry.uid]

    async def _which(self) -> Mapping[str, str]:
        return self.whose

    def _in_cluster(self, work: Callable[[World], Coroutine[Any, Any, R]], *, connecting: Connecting) -> R:
        def there(world: World) -> Coroutine[Any, Any, R]:
            return work(msgspec.structs.replace(world, cluster=self.address))

        return super()._in_cluster(there, connecting=connecting)


def without_server_fields(found: Mapping[str, Any] | None) -> dict[str, Any]:
    from skoupa.kube.resources import CONFIG_MAPS
    from skoupa.ledger.trash.manifests import stripped

    assert found is not None
    return msgspec.to_builtins(stripped(dict(found), CONFIG_MAPS))  # type: ignore[no-any-return]
