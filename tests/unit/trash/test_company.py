"""What went along: told where it is missing, counted where it can't come back, and found where only its Namespace has a row."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from datetime import UTC
from typing import Any

import msgspec
import pytest

from skoupa.cli.looking.gone import look_back, tell_gone
from skoupa.cli.options import Connecting
from skoupa.cli.remembering.ledgers import LedgerSource, LeftOut
from skoupa.cli.worlds import World
from skoupa.errors import UnknownKind, UsageError
from skoupa.kube.client import Client
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, Resource
from skoupa.ledger.rows import Entry
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Finish, Intent
from skoupa.ledger.trash.keeper import Keeping
from tests.unit.cli.worlds import TTL, config_map, obj
from tests.unit.ledger.entries import entry
from tests.unit.trash.remembering import CLUSTER, Memory
from tests.unit.trash.test_commands import (
    DONE,
    LEFTOVERS,
    USAGE,
    asked,
    items,
    outcomes,
    restored,
    take_along,
)

pytestmark = pytest.mark.unit


def a_namespace_went(memory: Memory, *objects: dict[str, Any], **keeping: Any) -> str:
    """With a ConfigMap `small` in it, and these; the id of its row."""
    memory.keeping = Keeping(**keeping)
    memory.holding(obj("Namespace", "shop"), config_map("small", data={"k": "v"}), *objects)
    entry_id = memory.delete("namespaces", "shop")

    async def collect() -> None:
        async with memory.cluster:
            for _ in range(2000):
                if memory.find(NAMESPACES, "shop") is None:
                    return
                await asyncio.sleep(0)

    # A Namespace is emptied a moment after its deletion.
    memory.clock.moment += 10
    asyncio.run(collect())
    assert memory.find(NAMESPACES, "shop") is None
    assert not memory.cluster.objects(CONFIG_MAPS, namespace="shop")
    return entry_id


def with_a_large_one(memory: Memory) -> str:
    return a_namespace_went(
        memory, config_map("large", data={"k": "v" * 5000}), object_bytes=3000, on_failure="continue"
    )


def with_more_than_is_kept(memory: Memory) -> str:
    more = [config_map(f"more-{number}") for number in range(3)]
    return a_namespace_went(memory, *more, parts=1, on_failure="continue")


def into_lab(memory: Memory) -> tuple[str, ...]:
    """Where nothing waits for the account of a new Namespace, which nobody makes here."""
    memory.holding(obj("Namespace", "lab"))
    return ("--into", "lab")


def test_what_was_too_large_to_be_kept_is_a_leftover_of_its_restore(memory: Memory) -> None:
    entry_id = with_a_large_one(memory)
    said = memory("restore", entry_id, "--with-dependents", "--dry-run")
    assert said.code == LEFTOVERS
    assert "2 of 3 would come back." in said.out
    found = restored(memory, entry_id, "--with-dependents", *into_lab(memory), code=LEFTOVERS)
    assert outcomes(found) == {"small": "restored", "large": "not-kept"}
    large = next(item for item in found if item["name"] == "large")
    assert (large["kind"], large["namespace"], large["wentAlong"]) == ("ConfigMap", "shop", True)
    assert "trash.maxObjectBytes" in large["outcome"]["text"]


def test_what_went_along_beyond_what_is_kept_is_not_taken_for_restored(memory: Memory) -> None:
    entry_id = with_more_than_is_kept(memory)
    said = memory("restore", entry_id, "--with-dependents", *into_lab(memory), "--yes")
    assert said.code == LEFTOVERS
    assert "1 of 1 restored, and maybe more went along." in said.out
    assert "not all that went along is known: more goes along than is kept of one deletion" in said.err


def test_who_does_not_ask_for_what_went_along_misses_nothing(memory: Memory) -> None:
    assert memory("restore", with_a_large_one(memory), "--dry-run").code == DONE


def test_history_of_a_deletion_says_that_not_all_that_went_along_is_kept(memory: Memory) -> None:
    assert "bytes, but not all that went along;" in memory("history", "show", with_a_large_one(memory)).out
    memory.holding(config_map("alone", "1h", namespace="lab"))
    alone = memory.delete("configmaps", "alone", namespace="lab")
    assert "not all" not in memory("history", "show", alone).out


def trash_cells(memory: Memory) -> dict[str, tuple[str, bool | None]]:
    """By name: the word in the table, and what programs are told."""
    said = memory("history", "-A").out.splitlines()
    start = said[0].index("TRASH")
    items = msgspec.json.decode(memory("history", "-A", "-o", "json").out)["items"]
    words = {item["id"]: line[start:].split()[0] for item in items for line in said if item["id"] in line}
    return {item["name"]: (words[item["id"]], item["trash"]["partly"]) for item in items}


def test_the_table_of_history_marks_what_is_only_partly_in_the_trash(memory: Memory) -> None:
    with_a_large_one(memory)
    memory.holding(
        config_map("alone", "1h", namespace="lab"),
        obj("Secret", "login", namespace="lab", data={"password": "aHVudGVyMg=="}),
    )
    memory.delete("configmaps", "alone", namespace="lab")
    login = memory.delete("secrets", "login", namespace="lab")
    assert trash_cells(memory) == {
        "shop": ("partly", True),
        "alone": ("kept", False),
        # Without a key its values are not kept.
        "login": ("partly", True),
    }
    assert "bytes, but not all of it;" in memory("history", "show", login).out


def test_of_rows_of_an_earlier_release_it_is_not_known_whether_all_is_in_the_trash(memory: Memory) -> None:
    with_a_large_one(memory)
    with sqlite3.connect(memory.path) as raw:
        raw.execute("UPDATE skoupa_entries SET partly = NULL")
    raw.close()
    assert trash_cells(memory) == {"shop": ("kept", None)}


def test_explain_of_what_went_along_and_was_not_kept_says_so(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    entry_id = with_a_large_one(memory)
    asked(memory, "large")
    told = capsys.readouterr().out
    assert told.startswith("ConfigMap shop/large\n  Went along with Namespace shop and was not kept: it has ")
    assert entry_id in told
    said = memory("history", "cm/large", "-n", "shop")
    assert "ConfigMap large went along with Namespace shop and was not kept: it has" in said.err
    [item] = restored(memory, "cm/large", "-n", "shop", code=LEFTOVERS)
    assert item["outcome"]["what"] == "not-kept"
    with pytest.raises(UsageError, match="not by Skoupa"):
        asked(memory, "never")


def test_explain_does_not_say_not_by_skoupa_where_not_all_that_went_along_is_known(memory: Memory) -> None:
    entry_id = with_more_than_is_kept(memory)
    with pytest.raises(UsageError) as raised:
        asked(memory, "never")
    said = str(raised.value)
    assert "whether configmaps/never went along with Namespace shop is not known: more goes along" in said
    assert entry_id in said
    assert "not by Skoupa" not in said


def test_explain_does_not_know_what_was_in_a_namespace_that_is_purged_from_the_trash(memory: Memory) -> None:
    entry_id = a_namespace_went(memory)
    assert memory("trash", "purge", entry_id, "--yes").code == DONE
    with pytest.raises(UsageError, match="is not known: what was in it is not in the trash any more"):
        asked(memory, "small")


def test_history_of_a_namespace_that_went_as_a_whole_names_that_deletion(memory: Memory) -> None:
    entry_id = a_namespace_went(memory)
    for args in (("-n", "shop"), ("configmaps", "-n", "shop")):
        said = memory("history", *args)
        assert said.code == DONE
        assert f"went along with Namespace shop; `skoupa history show {entry_id}`" in said.err
    assert "went along" not in memory("history", "-n", "lab").err
    assert "went along" not in memory("history", "-n", "shop", "--outcome", "failed").err


def test_history_of_something_in_no_namespace_looks_into_none(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"))
    memory.delete("configmaps", "a")
    assert memory("history", "ns/ten", "-n", "shop").out == "Nothing of ns/ten.\n"
    assert memory("history", "-n", "lab").out == "Nothing in the namespace lab; -A looks into all.\n"
    assert memory("history", "cm/lab/b", "-n", "shop").out == "Nothing of cm/lab/b in the namespace lab.\n"


def as_a_controller_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(source: LedgerSource, wish: object, **rest: Any) -> list[Entry]:
        source.left_out = LeftOut(by_rights=True)
        return []

    monkeypatch.setattr(LedgerSource, "find", nothing)


@pytest.mark.parametrize("command", [("history",), ("restore", "--yes")])
def test_who_may_not_read_it_is_told_that_it_would_not_be_found(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, command: Sequence[str]
) -> None:
    memory.holding(config_map("a", "1h"))
    memory.delete("configmaps", "a")
    as_a_controller_shows_nothing(monkeypatch)
    assert "what you may not read in the cluster is not found" in memory(*command, "ns/ten", "-n", "shop").err
    assert "not found" not in memory(*command, "configmaps", "-n", "shop").err


def test_a_restore_that_finds_nothing_of_what_was_named_is_not_done(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"))
    memory.delete("configmaps", "a")
    said = memory("restore", "cm/never", "-n", "shop", "--yes")
    assert said.code == LEFTOVERS
    assert "0 of 1 restored." in said.out
    said = memory("restore", "cm/a", "cm/never", "-n", "shop", "--yes")
    assert said.code == LEFTOVERS
    assert "1 of 2 restored." in said.out
    assert "the history has nothing of configmaps/never that went" in said.err
    assert memory("restore", "secrets", "-n", "shop", "--yes").code == DONE


def in_namespace(memory: Memory, resource: Resource, namespace: str) -> set[str]:
    return {one["metadata"]["name"] for one in memory.cluster.objects(resource, namespace=namespace)}


def test_into_another_namespace_comes_what_was_in_one_and_not_that_itself(memory: Memory) -> None:
    account = obj("ServiceAccount", "default", namespace="shop")
    a_namespace_went(memory, account)
    memory.holding(obj("Namespace", "lab"), obj("ServiceAccount", "default", namespace="lab"))
    said = memory("restore", "ns/shop", "-n", "shop", "--into", "lab", "--with-dependents", "--yes")
    assert said.code == DONE, said.out
    assert "1 of 1 restored." in said.out
    assert "every namespace has its own" in said.out
    assert "Namespace shop itself stays out" in said.err
    assert in_namespace(memory, CONFIG_MAPS, "lab") == {"small"}
    assert memory.find(NAMESPACES, "shop") is None


def test_a_namespace_that_is_not_empty_yet_says_what_its_end_waits_for(memory: Memory) -> None:
    stuck = config_map("stuck")
    stuck["metadata"]["finalizers"] = ["test.example/guard"]
    memory.holding(obj("Namespace", "shop"), stuck)
    memory.delete("namespaces", "shop")
    [item] = restored(memory, "ns/shop", "-n", "shop", code=LEFTOVERS)
    assert item["outcome"]["text"] == (
        "one of that name is still being deleted, waiting for what is in it; try again when it is gone"
    )


def test_what_its_namespace_has_again_by_itself_is_no_leftover_where_a_rule_took_it(memory: Memory) -> None:
    memory.holding(config_map("kube-root-ca.crt", "1h"), config_map("web", "1h"))
    for name in ("kube-root-ca.crt", "web"):
        memory.delete("configmaps", name)
    memory.holding(config_map("kube-root-ca.crt"))
    said = memory("restore", "configmaps", "-n", "shop", "--yes")
    assert said.code == DONE, said.out
    assert "every namespace has its own, which is left as it is" in said.out
    assert "1 of 1 restored." in said.out


def test_an_account_that_went_by_itself_may_have_had_what_the_new_one_has_not(memory: Memory) -> None:
    memory.holding(obj("ServiceAccount", "default", namespace="shop", labels={TTL: "1h"}))
    memory.delete("serviceaccounts", "default")
    memory.holding(obj("ServiceAccount", "default", namespace="shop"))
    [item] = restored(memory, "serviceaccounts", "-n", "shop", code=LEFTOVERS)
    assert item["outcome"]["text"] == "another one of that name is there by now"


def test_a_namespace_alone_does_not_come_into_another_one(memory: Memory) -> None:
    a_namespace_went(memory)
    memory.holding(obj("Namespace", "lab"))
    said = memory("restore", "ns/shop", "-n", "shop", "--into", "lab", "--yes")
    assert said.code == LEFTOVERS
    assert "--with-dependents brings it back" in said.err


def test_a_namespace_to_restore_into_that_is_not_there_has_to_be_made(memory: Memory) -> None:
    a_namespace_went(memory)
    [item] = restored(
        memory, "ns/shop", "-n", "shop", "--into", "nowhere", "--with-dependents", code=LEFTOVERS
    )
    assert item["outcome"]["text"] == (
        "there is no namespace nowhere: create it first (kubectl create namespace nowhere)"
    )


def test_what_was_restored_before_is_not_taken_for_another_one(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"))
    entry_id = memory.delete("configmaps", "a")
    restored(memory, entry_id)
    [again] = restored(memory, entry_id, code=LEFTOVERS)
    assert again["outcome"] == {"what": "exists", "text": "it is back already: it was restored before"}


def test_what_went_along_and_is_there_may_be_from_an_earlier_restore(memory: Memory) -> None:
    entry_id = take_along(memory, "owner")
    restored(memory, entry_id, "--with-dependents")
    again = restored(memory, entry_id, "--with-dependents", code=LEFTOVERS)
    texts = {item["name"]: item["outcome"]["text"] for item in again}
    assert texts == {
        "web": "it is back already: it was restored before",
        "x": "one of that name is there by now, maybe since an earlier restore",
    }


def test_the_key_of_a_label_stands_for_all_its_values(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"), config_map("b", "1h"), config_map("c"))
    for name, mechanism in (("a", "ttl"), ("b", "ttl"), ("c", "policy")):
        memory.delete("configmaps", name, mechanism=mechanism)
    assert [item["name"] for item in items(memory, "history", "-A", "--by-policy", TTL)] == ["b", "a"]
    [newest] = items(memory, "history", "-A", "--by-policy", TTL, "--limit", "1")
    assert newest["name"] == "b"
    assert items(memory, "history", "-A", "--by-policy", "janitor/ttl") == []
    assert [item["name"] for item in items(memory, "history", "-A", "--by-policy", "nightly")] == ["c"]


@pytest.mark.parametrize(
    ("text", "part"),
    [("5x", "7d (ago)"), ("7 days", "7d (ago)"), ("frday", "did you mean friday?"), ("13:99", "7d (ago)")],
)
def test_a_time_to_look_back_to_is_explained_with_times_that_are_past(
    memory: Memory, text: str, part: str
) -> None:
    memory.holding(config_map("a", "1h"))
    memory.delete("configmaps", "a")
    said = memory("history", "-A", "--since", text)
    assert said.code == USAGE
    assert part in said.sentence
    assert "tomorrow" not in said.sentence


def a_widget_went(memory: Memory) -> None:
    gone = entry(
        "00000000-0000-0000-0000-0000000000aa",
        cluster=CLUSTER,
        api_version="shop.example/v1",
        kind="Widget",
        resource="widgets.shop.example",
        namespace="shop",
        name="gone",
    )

    async def write() -> None:
        store = SqliteStore(memory.path, cluster=CLUSTER)
        try:
            await store.write([Intent(entry=gone)])
            await store.write([Finish(uid=gone.uid, epoch=gone.epoch, outcome="deleted", at=gone.at)])
        finally:
            await store.close()

    asyncio.run(write())


def looked_back(memory: Memory, target: str) -> None:
    """As `explain` asks when the server does not know the kind."""
    kind = target.partition("/")[0]
    missing = UnknownKind(f"the server has no kind {kind}", advice="kubectl api-resources lists them")
    world = World(client=Client(memory.cluster, memory.clock), namespace="shop")
    found = asyncio.run(
        look_back(
            missing,
            target,
            world=world,
            ledger={"ledger": str(memory.path)},
            connecting=Connecting(namespace="shop"),
            zone=UTC,
        )
    )
    tell_gone(found, zone=UTC, form="text")


@pytest.mark.parametrize("kind", ["widgets.shop.example", "Widget"])
def test_an_object_whose_kind_is_gone_too_is_told_from_the_ledger(
    memory: Memory, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    a_widget_went(memory)
    looked_back(memory, f"{kind}/gone")
    told = capsys.readouterr().out
    assert told.startswith("Widget shop/gone\n  Deleted")
    assert f"its kind is gone, too: the server has no kind {kind}" in told


def test_a_slip_in_a_kind_is_told_as_one(memory: Memory) -> None:
    a_widget_went(memory)
    with pytest.raises(UnknownKind, match="the server has no kind widgt"):
        looked_back(memory, "widgt/gone")


def test_who_reads_the_ledger_itself_is_told_nothing_about_rights() -> None:
    assert LeftOut().remarks(absent=True) == []
