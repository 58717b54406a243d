"""A row about a finalizer that was taken off an object is not how that went: `restore` and `explain` pass it by."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from skoupa.ledger.rows import Entry, Result
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Finish, Intent, Note
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold
from skoupa.sweep.finalizers import standing_for
from tests.unit.cli.worlds import config_map, obj
from tests.unit.trash.remembering import CLUSTER, Memory

pytestmark = pytest.mark.unit

FINALIZER = "example.org/cleanup"
DONE, LEFTOVERS = 0, 4


def written(memory: Memory, entry: Entry, outcome: Result) -> None:
    async def write() -> None:
        store = SqliteStore(memory.path, cluster=CLUSTER)
        try:
            await store.write([Intent(entry=entry)])
            await store.write([Finish(uid=entry.uid, epoch=entry.epoch, outcome=outcome, at=entry.at)])
        finally:
            await store.close()

    asyncio.run(write())


def taken_off(memory: Memory, of: str, *, outcome: Result = "deleted") -> str:
    """Of the object that went by the decision `of`, somewhat later; the id of the row."""
    went = memory.row(of)
    why = reason(
        "tenant-finalizer-forced",
        tenant="111111",
        proof="it is in its Namespace",
        finalizer=FINALIZER,
        since="2026-05-01T12:00:00Z",
    )
    claim = Claim(mechanism="tenants", rule="Tenant/111111", due=went.at, reason=why)
    entry = msgspec.structs.replace(
        went,
        id=f"{went.id[:-1]}z",
        uid=standing_for(went.uid, FINALIZER),
        at=went.at + 60,
        mechanism=claim.mechanism,
        rule=claim.rule,
        claims=(claim,),
        outcome="intended",
        kept=0,
        partly=None,
    )
    written(memory, entry, outcome)
    return entry.id


def test_an_object_comes_back_by_its_name_although_a_finalizer_was_taken_off_after_it_was_deleted(
    memory: Memory,
) -> None:
    memory.holding(config_map("a", "1h", data={"k": "v"}))
    went = memory.delete("configmaps", "a")
    taken_off(memory, went)
    document = memory.document("restore", "cm/a", "-n", "shop", "--yes")
    assert [(one["id"], one["outcome"]["what"]) for one in document["items"]] == [(went, "restored")]
    found = memory.find(CONFIG_MAPS, "a")
    assert found is not None
    assert found["data"] == {"k": "v"}


def test_what_was_only_freed_of_a_finalizer_is_nothing_to_bring_back(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"))
    off = taken_off(memory, memory.delete("configmaps", "a"))
    said = memory("restore", off, "--yes")
    assert said.code == LEFTOVERS
    assert f"this is not how it went: its finalizer {FINALIZER} was taken off" in said.out
    shown = memory("history", "show", off).out
    assert f"  Its finalizer {FINALIZER} was taken off " in shown
    assert "Deleted" not in shown
    assert "in the trash" not in shown


def test_explain_of_what_is_gone_tells_how_it_went_and_not_what_was_taken_off_it(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"))
    went = memory.delete("configmaps", "a")
    taken_off(memory, went)
    said = memory("explain", "cm/a", "-n", "shop")
    assert said.code == DONE, said.err
    assert "  Deleted " in said.out
    assert f"`skoupa restore {went}` brings it back" in said.out


def test_what_went_along_with_a_namespace_is_found_past_the_finalizer_that_was_taken_off_that(
    memory: Memory,
) -> None:
    memory.holding(obj("Namespace", "shop"), config_map("a"))
    went = memory.delete("namespaces", "shop")
    memory.remove(CONFIG_MAPS, "a")
    memory.remove(NAMESPACES, "shop", namespace="")
    taken_off(memory, went)
    said = memory("history", "cm/a", "-n", "shop")
    assert f"ConfigMap a went along with Namespace shop; `skoupa history show {went}`" in said.err


@pytest.mark.parametrize("outcome", ["braked", "would-delete"])
def test_explain_of_what_went_otherwise_says_that_it_was_not_skoupa(memory: Memory, outcome: Result) -> None:
    memory.holding(config_map("a", "1h"))
    went = memory.row(memory.delete("configmaps", "a"))
    held = (Hold(reason=reason("brake", name="stop", why="the audit")),) if outcome == "braked" else ()
    entry = msgspec.structs.replace(
        went, id=f"{went.id[:-1]}z", uid=f"{went.uid[:-1]}z", outcome=outcome, holds=held, kept=0, name="b"
    )

    async def write() -> None:
        store = SqliteStore(memory.path, cluster=CLUSTER)
        try:
            await store.write([Note(entry=entry)])
        finally:
            await store.close()

    asyncio.run(write())
    said = memory("explain", "cm/b", "-n", "shop")
    assert said.code == DONE, said.err
    assert said.out.rstrip().endswith("It is gone since: not by Skoupa, as far as is known.")
    assert "not by Skoupa" not in memory("explain", "cm/a", "-n", "shop").out
