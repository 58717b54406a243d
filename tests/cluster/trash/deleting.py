"""Deletes objects of a real server as the controller does: kept in the trash, intended, deleted, finished."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

from skoupa.facts.rows import Extraction, uid_text
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import Resource
from skoupa.ledger.rows import Entry, Ids
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Finish, Intent
from skoupa.ledger.trash.keeper import Keeper
from skoupa.ledger.trash.manifests import stripped
from skoupa.ledger.trash.sealing import Key, Seal
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim
from tests.cluster.commands import SECONDS, Said
from tests.cluster.reaching import eventually, exists

CLUSTER = "test"
TTL = "cleanup.kyverno.io/ttl"
CLAIM = Claim(mechanism="ttl", rule=f"{TTL}=1h", due=1.0, reason=reason("ttl-date", key=TTL, value="1h"))

# The commands are there whether or not the program has them already.
_PROGRAM = """
from skoupa.cli.remembering import declared as remembering
from skoupa.cli.app import app
there = {info.name or info.callback.__name__ for info in app.registered_commands}
for command in (remembering.history, remembering.restore, remembering.trash):
    if command.__name__ not in there:
        app.command()(command)
from skoupa.__main__ import main
main()
"""


class Bin:
    """A trash in a file, and the commands that look into it."""

    def __init__(self, client: Client, path: Path, *, kubeconfig: Path, keys: tuple[Key, ...] = ()) -> None:
        self.client = client
        self.path = path
        self._kubeconfig = kubeconfig
        self._keys = keys
        self._ids = Ids(client.clock)

    async def kind(self, name: str) -> Resource:
        return (await discover(self.client)).resolve(name)

    async def read(self, kind: str, name: str, *, namespace: str = "") -> dict[str, Any]:
        return await self.client.get(await self.kind(kind), name, namespace=namespace, view=WHOLE)

    async def bare(self, kind: str, name: str, *, namespace: str = "") -> dict[str, Any]:
        """Without server fields, and without the label that lets it go."""
        resource = await self.kind(kind)
        read = await self.client.get(resource, name, namespace=namespace, view=WHOLE)
        found = stripped(read, resource)
        labels = found["metadata"].get("labels", {})
        labels.pop(TTL, None)
        if not labels:
            found["metadata"].pop("labels", None)
        return found

    async def delete(self, kind: str, name: str, *, namespace: str = "", wait: bool = True) -> str:
        """The id of the row. Waits until the object is gone."""
        discovery = await discover(self.client)
        resource = discovery.resolve(kind)
        found = await self.client.get(resource, name, namespace=namespace, view=METADATA)
        row = Extraction().row(resource, found)
        seal = Seal(cluster=CLUSTER, keys=self._keys)
        bodies = await Keeper(self.client, seal=lambda: seal, discovery=lambda: discovery).keep(row, CLAIM)
        assert isinstance(bodies, tuple), bodies
        entry = Entry(
            id=self._ids.next(),
            cluster=CLUSTER,
            at=self.client.clock.now(),
            api_version=resource.api_version,
            kind=resource.kind,
            resource=resource.qualified,
            namespace=namespace,
            name=name,
            uid=uid_text(row.uid),
            labels=row.labels,
            mechanism="ttl",
            rule=CLAIM.rule,
            due=CLAIM.due,
            claims=(CLAIM,),
        )
        store = SqliteStore(self.path, cluster=CLUSTER)
        try:
            ids = await store.write([Intent(entry=entry, bodies=bodies)])
            await self.client.delete(
                resource, name, namespace=namespace, uid=entry.uid, propagation="Background"
            )
            done = Finish(uid=entry.uid, epoch=0, outcome="deleted", at=self.client.clock.now())
            await store.write([done])
        finally:
            await store.close()
        if wait:
            await self.gone(resource, name, namespace=namespace)
        return ids[entry.uid]

    async def gone(self, resource: Resource, name: str, *, namespace: str = "") -> None:
        async def is_gone() -> bool:
            return not await exists(self.client, resource, name, namespace=namespace)

        await eventually(is_gone, what=f"{resource.qualified}/{name} to go", seconds=60)

    async def skoupa(self, *args: str) -> Said:
        environment = {"PATH": os.environ["PATH"], "KUBECONFIG": str(self._kubeconfig)}
        command = (sys.executable, "-c", _PROGRAM, *args, "--ledger", str(self.path))
        process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, env=environment)
        try:
            async with asyncio.timeout(SECONDS):
                out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Said(code=process.returncode or 0, out=out.decode(), err=err.decode())

    async def restore(self, *args: str, code: int = 0) -> dict[str, dict[str, Any]]:
        """What became of each, by KIND/NAME."""
        said = await self.skoupa("restore", *args, "--yes", "-o", "json")
        assert said.code == code, said.err + said.out
        return {f"{item['kind']}/{item['name']}": item for item in json.loads(said.out)["items"]}
