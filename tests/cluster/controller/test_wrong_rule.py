"""A mistake is bounded, visible and reversible: a rule that matches too much, on a real server, from end to end."""

from __future__ import annotations

import asyncio
import base64
import os
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.controlplane import ControlPlane
from harness.postgres import PostgresServer
from skoupa import names
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from skoupa.ledger.opening import store_for
from skoupa.ledger.store import Wish
from skoupa.ledger.trash.sealing import Key, Seal, read_keys
from skoupa.sweep.tripping import brake_name
from tests.cluster.commands import skoupa
from tests.cluster.controller.braking import brake
from tests.cluster.controller.objects import SECRETS, AuditLog, People
from tests.cluster.controller.ruled import with_rule
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.reaching import eventually
from tests.standing_rule import Spec
from tests.unit.report.notices.receiver import receiving

pytestmark = pytest.mark.cluster

NAMESPACES_WANTED = 50
# So many that they are most of the kind, whatever other tests have left on the server.
EACH = 10
RULE = "Rule/all-of-it"
BRAKE = brake_name("share", RULE)
SERVER_FIELDS = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")
PASSWORD = "hunter2-in-the-clear"
COLOUR = "as-blue-as-the-sea"
CLUSTER = "test"


class Shop:
    """Fifty namespaces with what is in them."""

    def __init__(self, client: Client, tag: str) -> None:
        self.client = client
        self.tag = tag
        self.places = [f"{tag}-{number}" for number in range(NAMESPACES_WANTED)]

    async def open(self) -> None:
        await asyncio.gather(*(self._furnish(place) for place in self.places))

    async def _furnish(self, place: str) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": place}})
        first = await self._make(place, "app-0", data={"colour": "blue", "empty": "", "long": "x" * 3000})
        owner = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "app-0",
            "uid": first["metadata"]["uid"],
        }
        await self._make(place, "app-1", owners=[owner], binaryData={"raw": "AAEC"})
        await self._make(place, "app-2", immutable=True, data={"a.yaml": "list: [1, 2]\n"})
        for number in range(3, EACH):
            await self._make(place, f"app-{number}", data={"number": str(number)})

    async def _make(self, place: str, name: str, *, owners: Any = (), **content: Any) -> dict[str, Any]:
        metadata = {
            "name": name,
            "labels": {"team": self.tag},
            "annotations": {"note": f"{place} {name}"},
            "ownerReferences": list(owners),
        }
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content}
        return await self.client.create(CONFIG_MAPS, body, namespace=place)

    async def manifests(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Without what is the server's, and what keeps it for now."""
        found = await everything(self.client, CONFIG_MAPS, WHOLE, scope=Scope(labels=f"team={self.tag}"))
        return {_place(one): _plain(one) for one in found.items}

    async def close(self) -> None:
        found = await everything(self.client, NAMESPACES, METADATA)
        for one in found.items:
            if one.metadata.name in self.places:
                await self.client.delete(
                    NAMESPACES, one.metadata.name, uid=one.metadata.uid, propagation="Background"
                )


def _place(found: dict[str, Any]) -> tuple[str, str]:
    return found["metadata"]["namespace"], found["metadata"]["name"]


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in found["metadata"].items() if key not in SERVER_FIELDS}
    metadata["labels"] = {key: value for key, value in metadata["labels"].items() if key != names.KEEP_LABEL}
    owners = metadata.get("ownerReferences", ())
    metadata["ownerReferences"] = [{**owner, "uid": ""} for owner in owners]
    content = {key: value for key, value in found.items() if key not in {"metadata", "kind", "apiVersion"}}
    return {"metadata": metadata, **content}


@pytest.fixture
async def shop(boss: Client) -> AsyncIterator[Shop]:
    opened = Shop(boss, f"wrong{os.urandom(3).hex()}")
    await opened.open()
    yield opened
    await opened.close()


async def leader(processes: list[Skoupa]) -> Skoupa:
    async def found() -> Skoupa | None:
        for one in processes:
            if one.running and await one.metric("skoupa_leading"):
                return one
        return None

    leading = await eventually(found, what="one to lead", seconds=60)
    assert leading is not None
    return leading


async def test_a_rule_that_matches_everything_is_braked_released_on_purpose_and_undone_by_one_command(
    plane: ControlPlane, people: People, running: Yard, shop: Shop, audit: AuditLog
) -> None:
    before = await shop.manifests()
    assert len(before) == NAMESPACES_WANTED * EACH
    rule = Spec(rule=RULE, namespaces=(f"{shop.tag}-*",), names="app-*", first=time.time(), author="kim")
    with PostgresServer() as server:
        given: dict[str, Any] = {
            "program": with_rule(rule),
            "clusterName": "test",
            "ledger__dsn": server.dsn,
            "lease__seconds": "4",
            "trash__enabled": "true",
        }
        first = await running.started(**given)
        second = running.start(**given)
        await second.says("ready", seconds=60)

        # Braked before its first deletion.
        made = await brake(people, BRAKE)
        assert made["spec"]["scope"] == {"policy": RULE}
        assert f"claims {len(before)} of all " in made["spec"]["reason"]
        assert "more than the 30 % of brakes.share; nothing of it went" in made["spec"]["reason"]
        await people.make("labelled", "1s")
        await people.gone("labelled")

        # Another leader holds it just so.
        first.kill()
        assert await leader([first, second]) is second
        third = running.start(**given)
        await third.says("ready", seconds=60)
        await people.make("labelled-again", "1s")
        await people.gone("labelled-again", seconds=60)
        assert await shop.manifests() == before
        sent = [entry for place in shop.places for entry in audit.deletes(place)]
        assert sent == []

        # Released on purpose.
        released = await skoupa("brakes", "release", BRAKE, "--yes", kubeconfig=plane.kubeconfig)
        assert released.code == 0, released.err

        async def all_went() -> bool:
            return not await shop.manifests()

        await eventually(all_went, what="all to go", seconds=90)

        # What a rule took comes back only with a time in which it is kept.
        filters = ("-A", "--by-policy", RULE, "--limit", "0", "--ledger", server.dsn, "--yes")
        refused = await skoupa("restore", *filters, kubeconfig=plane.kubeconfig)
        assert refused.code == 5, refused.err
        assert "--keep-for" in refused.err
        assert not await shop.manifests()

        # One command.
        restored = await skoupa(
            "restore", *filters, "--with-dependents", "--keep-for", "7d", kubeconfig=plane.kubeconfig
        )
        assert restored.code == 0, restored.err + restored.out
        assert await shop.manifests() == before

        # Its history says who wrote the rule, and what became of it.
        told = await skoupa(
            "history",
            "-A",
            "--by-policy",
            RULE,
            "--ledger",
            server.dsn,
            "--limit",
            "0",
            "-o",
            "json",
            kubeconfig=plane.kubeconfig,
        )
        items = msgspec.json.decode(told.out)["items"]
        deleted = {
            (item["namespace"], item["name"]) for item in items if item["outcome"]["what"] == "deleted"
        }
        # Where its owner went first, the server may have collected it before we did.
        collected = before.keys() - deleted
        assert {name for _, name in collected} <= {"app-1"}
        assert {item["author"] for item in items} == {"kim"}
        assert all(item["restoredAs"] for item in items if item["outcome"]["what"] == "deleted")
        for process in (second, third):
            process.end()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[PostgresServer | None]:
    """None: the file that a controller has by itself."""
    if request.param == "sqlite":
        yield None
        return
    # Whatever comes to it is in its log then, too.
    with PostgresServer(settings={"log_statement": "all"}) as server:
        yield server


@pytest.mark.parametrize("encrypted", [False, True])
async def test_no_value_of_a_secret_is_in_the_ledger_the_log_an_event_or_a_notice(
    people: People, running: Yard, tmp_path: Path, database: PostgresServer | None, *, encrypted: bool
) -> None:
    keys = tmp_path / "keys" / "trash"
    keys.parent.mkdir()
    keys.write_text(base64.b64encode(os.urandom(32)).decode())
    values = {"password": base64.b64encode(PASSWORD.encode()).decode()}
    applied = {"kubectl.kubernetes.io/last-applied-configuration": msgspec.json.encode(values).decode()}
    where: dict[str, Any] = {} if database is None else {"ledger__dsn": database.dsn}
    async with receiving() as receiver:
        config = tmp_path / "skoupa.json"
        route = {"name": "all", "type": "webhook", "url": receiver.url, "events": ["deleted", "notice"]}
        told = {"routes": [route], "default": "all", "every": "1s"}
        config.write_bytes(msgspec.json.encode({"notices": told, "ttl": {"noticeBefore": "1h"}}))
        process = await running.started(
            flags=("--config", str(config)),
            clusterName=CLUSTER,
            trash__enabled="true",
            trash__keyFile=str(keys) if encrypted else "",
            **where,
        )
        await people.make("seen", "30m", body={"data": {"colour": COLOUR}})
        await people.make("db", "30m", resource=SECRETS, body={"data": values}, annotations=applied)
        notice = await people.event("db", "SkoupaNotice", kind="Secret")
        await people.label("seen", ttl="1s")
        await people.label("db", resource=SECRETS, ttl="1s")
        await people.gone("seen")
        await people.gone("db", resource=SECRETS)
        event = await people.event("db", "SkoupaDeleted", kind="Secret")
        posted = await receiver.until(1)
        process.end()
        posted = receiver.requests
    assert any(b"db" in one.body for one in posted)
    ledger = running.ledger if database is None else database.dsn
    kept = await _opened(ledger, people, keys=read_keys(file=str(keys) if encrypted else ""))
    read = _files(tmp_path, but=keys.parent)
    if database is None:
        assert str(running.ledger) in read
    else:
        # All of it is in its files then.
        database.stop()
        read |= _files(database.directory / "data", but=keys.parent)
        read["its log"] = database.log.read_bytes()
        assert any(people.namespace.encode() in content for content in read.values())
    read["events"] = f"{event}{notice}".encode()
    read |= {f"notice {number}": one.body for number, one in enumerate(posted)}
    if encrypted:
        assert values["password"] in kept, "and it is there for who has the key"
    else:
        # What is compressed looks like nothing.
        read["the trash"] = kept.encode()
    assert COLOUR in kept
    for place, content in read.items():
        for value in (PASSWORD.encode(), values["password"].encode()):
            assert value not in content, place
            assert value.hex().encode() not in content, place


async def _opened(where: str | Path, people: People, *, keys: tuple[Key, ...]) -> str:
    """All that is in the trash of these people, as it was before it was packed."""
    store, seal = store_for(str(where), cluster=CLUSTER, writable=False), Seal(cluster=CLUSTER, keys=keys)
    await store.open()
    try:
        entries = {one.id: one for one in await store.find(Wish(namespace=people.namespace), limit=100)}
        bodies = await store.bodies(list(entries))
    finally:
        await store.close()
    assert len(bodies) == 2
    return str([seal.open(body, uid=entries[id_].uid) for id_, some in bodies.items() for body in some])


def _files(folder: Path, *, but: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.parent != but
    }
