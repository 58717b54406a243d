"""One command brings all back that went, however many that are."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from skoupa.facts.rows import Extraction, uid_text
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.ledger.rows import Entry, Ids, Unkept
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Finish, Intent
from skoupa.ledger.trash.keeper import Keeper
from skoupa.ledger.trash.sealing import Seal
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold
from tests.unit.cli.worlds import TTL, config_map, obj
from tests.unit.trash.remembering import Memory
from tests.unit.trash.test_commands import DONE

pytestmark = pytest.mark.unit

MANY = 1100


def delete_many(memory: Memory, number: int) -> None:
    """So many ConfigMaps of the shop, as `Memory.delete` does it with one."""
    names = [f"web-{one}" for one in range(number)]
    memory.holding(obj("Namespace", "shop"), *(config_map(name, "1h", data={"v": name}) for name in names))

    async def go() -> None:
        client, now = Client(memory.cluster, memory.clock), memory.clock.now()
        discovery = await discover(client)
        keeper = Keeper(
            client, seal=lambda: Seal(cluster=memory.called, keys=()), discovery=lambda: discovery
        )
        claim = Claim(
            mechanism="ttl", rule=f"{TTL}=1h", due=now, reason=reason("ttl-date", key=TTL, value="1h")
        )
        ids, changes = Ids(memory.clock), list[Intent | Finish]()
        for name in names:
            found = await client.get(CONFIG_MAPS, name, namespace="shop", view=METADATA)
            row = Extraction().row(CONFIG_MAPS, found)
            bodies = await keeper.keep(row, claim)
            assert not isinstance(bodies, Hold | Unkept)
            entry = Entry(
                id=ids.next(),
                cluster=memory.called,
                at=now,
                api_version="v1",
                kind="ConfigMap",
                resource="configmaps",
                namespace="shop",
                name=name,
                uid=uid_text(row.uid),
                mechanism=claim.mechanism,
                rule=claim.rule,
                claims=(claim,),
            )
            await client.delete(CONFIG_MAPS, name, namespace="shop", uid=entry.uid, propagation="Background")
            changes += (
                Intent(entry=entry, bodies=bodies),
                Finish(uid=entry.uid, epoch=0, outcome="deleted", at=now),
            )
        store = SqliteStore(memory.path, cluster=memory.called, identity=memory._which)
        try:
            for start in range(0, len(changes), 1000):
                await store.write(changes[start : start + 1000])
        finally:
            await store.close()

    asyncio.run(go())
    memory.clock.moment += 1


def test_all_that_went_come_back_with_one_command_and_limit_is_for_who_wants_fewer(memory: Memory) -> None:
    delete_many(memory, MANY)
    few = memory("restore", "-n", "shop", "--since", "1h", "--limit", "20", "--yes")
    assert few.code == DONE, few.err
    assert few.out.endswith("20 of 20 restored.\n")
    assert "only the newest 20 are looked at" in few.err
    said = memory("restore", "-n", "shop", "--since", "1h", "--dry-run")
    assert said.out.endswith(
        f"{MANY - 20} of {MANY} would come back. Nothing was restored: this is a dry run.\n"
    )
    document = msgspec.json.decode(
        memory("restore", "-n", "shop", "--since", "1h", "--yes", "-o", "json").out
    )
    assert len(document["items"]) == MANY
    assert all(memory.find(CONFIG_MAPS, f"web-{one}", namespace="shop") is not None for one in range(MANY))


def test_without_a_limit_nothing_is_left_out(memory: Memory) -> None:
    delete_many(memory, MANY)
    said = memory("restore", "-n", "shop", "--since", "1h", "-y")
    assert (said.code, said.out.splitlines()[-1]) == (DONE, f"{MANY} of {MANY} restored."), said.err
    assert "newest" not in said.err
