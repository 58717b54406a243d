"""A cluster in memory whose deletions are kept in a ledger, and `skoupa` run against both."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skoupa.cli.app import app
from skoupa.cli.remembering import declared as remembering
from skoupa.cli.restoring import restore
from skoupa.errors import NotFound
from skoupa.facts.rows import Extraction, uid_text
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import Resource
from skoupa.ledger.rows import Entry, Ids, Unkept
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Finish, Intent, Wish
from skoupa.ledger.trash.keeper import Keeper, Keeping
from skoupa.ledger.trash.sealing import Key, Seal
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold
from tests.unit.cli.saying import Said, Shell
from tests.unit.cli.worlds import TTL, Town

CLUSTER = "east"


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
        self.keys: tuple[Key, ...] = ()
        self.keeping = Keeping()
        self._ids = Ids(self.clock)
        monkeypatch.setattr(restore, "in_cluster", self._in_cluster)

    def __call__(self, *args: str) -> Said:
        return super().__call__(*args, "--ledger", str(self.path))

    def delete(self, kind: str, name: str, *, namespace: str = "shop", mechanism: str = "ttl") -> str:
        """As the controller does it; the id of the row."""
        return asyncio.run(self._delete(kind, name, namespace, mechanism))

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

    def row(self, entry_id: str) -> Entry:
        async def find() -> Entry:
            store = SqliteStore(self.path, cluster=CLUSTER)
            try:
                [found] = await store.find(Wish(id=entry_id))
            finally:
                await store.close()
            return found

        return asyncio.run(find())

    async def _delete(self, kind: str, name: str, namespace: str, mechanism: str) -> str:
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
        )
        keeper = Keeper(
            client,
            seal=lambda: Seal(cluster=CLUSTER, keys=self.keys),
            discovery=lambda: discovery,
            keeping=self.keeping,
        )
        found_bodies = await keeper.keep(row, claim)
        assert not isinstance(found_bodies, Hold), found_bodies
        unkept = found_bodies.why if isinstance(found_bodies, Unkept) else ""
        bodies = () if isinstance(found_bodies, Unkept) else found_bodies
        entry = Entry(
            id=self._ids.next(),
            cluster=CLUSTER,
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
            due=claim.due,
            claims=(claim,),
            unkept=unkept,
        )
        store = SqliteStore(self.path, cluster=CLUSTER)
        try:
            ids = await store.write([Intent(entry=entry, bodies=bodies)])
            await client.delete(resource, name, namespace=where, uid=entry.uid, propagation="Background")
            done = Finish(uid=entry.uid, epoch=0, outcome="deleted", at=self.clock.now())
            await store.write([done])
        finally:
            await store.close()
        self.clock.moment += 1
        return ids[entry.uid]


def without_server_fields(found: Mapping[str, Any] | None) -> dict[str, Any]:
    from skoupa.kube.resources import CONFIG_MAPS
    from skoupa.ledger.trash.manifests import stripped

    assert found is not None
    return msgspec.to_builtins(stripped(dict(found), CONFIG_MAPS))  # type: ignore[no-any-return]
