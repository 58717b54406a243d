"""`history`, `restore`, `trash purge`, and `explain` of what is gone, on a cluster in memory."""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skoupa.cli.looking import explain
from skoupa.cli.options import Connecting
from skoupa.cli.remembering.ledgers import LedgerSource, Sealed
from skoupa.errors import UsageError
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, PODS
from skoupa.ledger.rows import Entry
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.trash.contents import Kept
from skoupa.ledger.trash.keeper import Keeping
from skoupa.ledger.trash.sealing import Key
from tests.unit.cli.worlds import KEEP, TTL, config_map, obj
from tests.unit.trash.remembering import Memory, without_server_fields

pytestmark = pytest.mark.unit

DONE, USAGE, LEFTOVERS, REFUSED = 0, 2, 4, 5
VALUE = base64.b64encode(b"hunter2-and-more").decode()


def items(memory: Memory, *args: str, code: int = DONE) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = memory.document(*args, code=code)["items"]
    return found


def restored(memory: Memory, *args: str, code: int = DONE) -> list[dict[str, Any]]:
    return items(memory, "restore", *args, "--yes", code=code)


def outcomes(found: list[dict[str, Any]]) -> dict[str, str]:
    return {item["name"]: item["outcome"]["what"] for item in found}


def test_history_shows_the_newest_first_and_filters(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"), config_map("b", "1h"), config_map("c", "1h", namespace="lab"))
    for name, namespace in (("a", "shop"), ("b", "shop"), ("c", "lab")):
        memory.delete("configmaps", name, namespace=namespace)
    assert [item["name"] for item in items(memory, "history", "-A")] == ["c", "b", "a"]
    assert [item["name"] for item in items(memory, "history", "-n", "shop")] == ["b", "a"]
    assert [item["name"] for item in items(memory, "history", "cm/a", "-n", "shop")] == ["a"]
    assert [item["name"] for item in items(memory, "history", "cm/lab/c", "-n", "shop")] == ["c"]
    assert [item["name"] for item in items(memory, "history", "ConfigMap", "-A", "--limit", "1")] == ["c"]
    assert items(memory, "history", "secrets", "pods", "-A") == []
    assert len(items(memory, "history", "-A", "--since", "1h")) == 3
    assert items(memory, "history", "-A", "--until", "1h") == []
    assert items(memory, "history", "-A", "--outcome", "failed") == []
    assert len(items(memory, "history", "-A", "--by-policy", f"{TTL}=1h")) == 3
    assert items(memory, "history", "-A", "--run", "r1") == []


def test_what_one_run_of_a_policy_took_is_found_and_comes_back_by_that_run(memory: Memory) -> None:
    for name, run in (("a", "r1"), ("b", "r1"), ("c", "r2")):
        memory.holding(config_map(name))
        memory.delete("configmaps", name, mechanism="policies", run=run)
    assert {item["name"] for item in items(memory, "history", "-A", "--run", "r1")} == {"a", "b"}
    found = restored(memory, "-A", "--run", "r1", "--keep-for", "7d")
    assert outcomes(found) == {"a": "restored", "b": "restored"}
    assert memory.find(CONFIG_MAPS, "c") is None


def test_history_tells_what_happened_in_the_words_of_plan(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"))
    entry_id = memory.delete("configmaps", "a")
    [item] = items(memory, "history", "-n", "shop")
    assert item["id"] == entry_id
    assert item["outcome"] == {"what": "deleted", "text": ""}
    assert item["claims"][0]["reason"]["facts"] == {"key": TTL, "value": "1h"}
    assert item["trash"]["state"] == "kept"
    table = memory("history", "-n", "shop").out
    assert entry_id in table
    assert f"{TTL}=1h" in table
    assert memory("history", "-n", "shop", "-o", "name").out == f"{entry_id}\n"
    shown = memory("history", "show", entry_id).out
    assert "ConfigMap shop/a" in shown
    assert f"skoupa restore {entry_id}" in shown


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (("show",), "one id"),
        (("show", "000000000000000"), "there is no 000000000000000"),
        (("widget",), "widgets.shop.example"),
        (("-A", "--since", "2099-01-01"), "still to come"),
        (("-A", "--since", "1h", "--until", "2h"), "not after"),
        (("pods", "cm/a"), "can't go together"),
        (("--outcome", "eaten"), "there is no outcome eaten"),
    ],
)
def test_history_says_what_is_wrong_with_a_question(memory: Memory, args: tuple[str, ...], part: str) -> None:
    memory.holding(config_map("a", "1h"))
    memory.delete("configmaps", "a")
    said = memory("history", "-n", "shop", *args)
    assert said.code == USAGE
    assert part in said.sentence


def test_an_object_comes_back_as_it_was_without_the_label_that_killed_it(memory: Memory) -> None:
    memory.holding(config_map("a", "1h", labels={"app": "web"}, data={"k": "v"}))
    before = without_server_fields(memory.find(CONFIG_MAPS, "a"))
    entry_id = memory.delete("configmaps", "a")
    [item] = restored(memory, entry_id)
    assert item["outcome"]["what"] == "restored"
    after = without_server_fields(memory.find(CONFIG_MAPS, "a"))
    assert before["metadata"]["labels"].pop(TTL) == "1h"
    assert after == before
    assert memory.row(entry_id).restored_as == item["newUid"] == memory.metadata("a")["uid"]
    assert "restored" in memory("history", "-n", "shop").out


def test_keep_for_leaves_the_labels_and_holds_it(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"))
    entry_id = memory.delete("configmaps", "a")
    restored(memory, entry_id, "--keep-for", "7d")
    labels = memory.metadata("a")["labels"]
    assert labels[TTL] == "1h"
    assert labels[KEEP]


def test_what_a_rule_let_go_needs_a_time_to_be_kept_for(memory: Memory) -> None:
    memory.holding(config_map("a"))
    entry_id = memory.delete("configmaps", "a", mechanism="policy")
    said = memory("restore", entry_id, "--yes")
    assert said.code == REFUSED
    assert "--keep-for" in said.err
    assert memory.find(CONFIG_MAPS, "a") is None
    assert outcomes(restored(memory, entry_id, "--keep-for", "7d")) == {"a": "restored"}


def test_a_dry_run_changes_nothing_and_without_a_terminal_yes_is_needed(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"))
    entry_id = memory.delete("configmaps", "a")
    assert outcomes(items(memory, "restore", entry_id, "--dry-run")) == {"a": "would-restore"}
    said = memory("restore", entry_id)
    assert said.code == REFUSED
    assert "--yes" in said.err
    assert memory.find(CONFIG_MAPS, "a") is None
    assert memory.row(entry_id).restored_as == ""


def test_restore_without_any_word_about_what_is_refused(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"))
    memory.delete("configmaps", "a")
    said = memory("restore", "-n", "shop", "--yes")
    assert said.code == USAGE
    assert "what to bring back" in said.sentence


def test_what_is_there_is_not_overwritten_and_the_others_come_back(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"), config_map("b", "1h"))
    for name in ("a", "b"):
        memory.delete("configmaps", name)
    memory.holding(config_map("a", data={"mine": "1"}))
    found = restored(memory, "configmaps", "-n", "shop", code=LEFTOVERS)
    assert outcomes(found) == {"a": "exists", "b": "restored"}
    now = memory.find(CONFIG_MAPS, "a")
    assert now is not None
    assert now["data"] == {"mine": "1"}


def test_of_several_deletions_of_a_name_the_newest_comes_back(memory: Memory) -> None:
    memory.holding(config_map("a", "1h", data={"v": "1"}))
    memory.delete("configmaps", "a")
    memory.holding(config_map("a", "1h", data={"v": "2"}))
    memory.delete("configmaps", "a")
    said = memory("restore", "cm/a", "-n", "shop", "--yes")
    assert said.code == DONE
    assert "1 older" in said.err
    found = memory.find(CONFIG_MAPS, "a")
    assert found is not None
    assert found["data"] == {"v": "2"}


def test_with_ids_the_namespace_is_where_it_goes_and_with_filters_where_it_was(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"), obj("Namespace", "lab"), config_map("b", "1h", namespace="lab"))
    entry_id = memory.delete("configmaps", "a")
    memory.delete("configmaps", "b", namespace="lab")
    restored(memory, entry_id, "-n", "lab")
    assert memory.find(CONFIG_MAPS, "a", "lab") is not None
    assert memory.find(CONFIG_MAPS, "a") is None
    assert outcomes(restored(memory, "configmaps", "-n", "lab")) == {"b": "restored"}
    assert memory.find(CONFIG_MAPS, "b", "lab") is not None


def test_what_went_along_comes_back_only_when_asked_and_finds_its_new_owner(memory: Memory) -> None:
    uid = "00000000-0000-0000-0000-000000000001"
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "owner", "uid": uid}
    pod = obj("Pod", "owner", namespace="shop", labels={TTL: "1h"}, uid=uid, spec={"containers": []})
    memory.holding(pod, config_map("child", owners=[owner]))
    entry_id = memory.delete("pods", "owner")
    child = memory.find(CONFIG_MAPS, "child")
    assert child is not None
    # The cluster stands still, so its collector does not run.
    memory.delete("configmaps", "child")
    said = memory("restore", entry_id, "--dry-run")
    assert "1 object that went along is kept too" in said.err
    assert outcomes(restored(memory, entry_id, "--with-dependents")) == {
        "owner": "restored",
        "child": "restored",
    }
    [link] = memory.metadata("child")["ownerReferences"]
    came = memory.find(PODS, "owner")
    assert came is not None
    assert link["uid"] == came["metadata"]["uid"] != uid


def test_without_its_owner_it_comes_back_alone_and_says_so(memory: Memory) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "u-gone"}
    memory.holding(config_map("child", "1h", owners=[owner]))
    [item] = restored(memory, memory.delete("configmaps", "child"))
    assert any("without its owner ConfigMap owner" in said for said in item["differs"])
    assert "ownerReferences" not in memory.metadata("child")


def test_a_namespace_that_is_not_there_is_told(memory: Memory) -> None:
    memory.holding(obj("Namespace", "lab"), config_map("a", "1h", namespace="lab"))
    entry_id = memory.delete("configmaps", "a", namespace="lab")
    lab = memory.find(NAMESPACES, "lab")
    assert lab is not None
    [item] = restored(memory, entry_id, "--into", "nowhere", code=LEFTOVERS)
    assert item["outcome"]["what"] == "refused"
    assert "no namespace nowhere" in item["outcome"]["text"]


def test_secret_values_are_nowhere_without_a_key(memory: Memory) -> None:
    memory.holding(
        obj("Secret", "login", namespace="shop", labels={TTL: "1h"}, data={"password": VALUE}, type="Opaque")
    )
    entry_id = memory.delete("secrets", "login")
    said = [memory("history", "show", entry_id), memory("restore", entry_id, "--yes", "-o", "json")]
    [item] = json.loads(said[1].out)["items"]
    assert any("password" in text for text in item["differs"])
    written = b"".join(file.read_bytes() for file in memory.path.parent.iterdir())
    for spelt in ("hunter2-and-more", VALUE):
        assert spelt.encode() not in written
        assert all(spelt not in one.out + one.err for one in said)


def test_with_a_key_values_come_back_and_with_another_nothing_does(memory: Memory, tmp_path: Path) -> None:
    memory.holding(
        obj("Secret", "login", namespace="shop", labels={TTL: "1h"}, data={"password": VALUE}, type="Opaque")
    )
    memory.keys = (Key(b"k" * 32),)
    entry_id = memory.delete("secrets", "login")
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text((b"k" * 32).hex())
    wrong.write_text((b"w" * 32).hex())
    said = memory("restore", entry_id, "--yes", "--key-file", str(wrong))
    assert said.code == USAGE
    assert "encrypted with the key" in said.sentence
    shown = memory("history", "show", entry_id)
    assert shown.code == DONE
    assert "Secret shop/login" in shown.out
    assert "--key-file" in shown.err
    assert outcomes(restored(memory, entry_id, "--key-file", str(right))) == {"login": "restored"}
    from tests.unit.trash.keeping import KINDS

    found = memory.find(KINDS["secrets"], "login")
    assert found is not None
    assert found["data"] == {"password": VALUE}


def test_what_is_sealed_with_a_lost_key_is_told_row_by_row_and_the_others_come_back(
    memory: Memory, tmp_path: Path
) -> None:
    lost, new = Key(b"k" * 32), Key(b"n" * 32)
    for name in ("s2", "s3", "s5"):
        memory.holding(obj("Secret", name, namespace="shop", labels={TTL: "1h"}, data={"password": VALUE}))
    memory.keys = (lost,)
    shut = {name: memory.delete("secrets", name) for name in ("s2", "s3")}
    memory.keys = (new,)
    memory.delete("secrets", "s5")
    file = tmp_path / "k2"
    file.write_text(new.secret.hex())
    asked = ("secrets", "-n", "shop", "--since", "1h", "--key-file", str(file))
    found = restored(memory, *asked, code=LEFTOVERS)
    assert outcomes(found) == {"s2": "not-kept", "s3": "not-kept", "s5": "restored"}
    for item in found:
        if item["name"] in shut:
            assert item["id"] == shut[item["name"]]
            assert f"{item['id']} can't be opened: " in item["outcome"]["text"]
            assert f"encrypted with the key {lost.fingerprint}" in item["outcome"]["text"]
    said = memory("restore", *asked, "--with-dependents", "--yes")
    assert said.code == LEFTOVERS
    assert "what went along with Secret shop/s2 can't be opened either" in said.err


def test_purge_erases_what_is_kept_and_the_row_stays(memory: Memory) -> None:
    memory.holding(config_map("a", "1h", data={"k": "needle-in-it"}))
    entry_id = memory.delete("configmaps", "a")
    assert memory("trash", "purge", entry_id).code == REFUSED
    assert memory("trash", "purge", entry_id, "000000000000000", "--yes").code == USAGE
    assert memory.row(entry_id).kept > 0
    assert memory("trash", "purge", entry_id, "--yes").code == DONE
    [item] = items(memory, "history", "-n", "shop")
    assert item["trash"]["state"] == "purged"
    [item] = restored(memory, entry_id, code=LEFTOVERS)
    assert (item["outcome"]["what"], item["outcome"]["text"]) == ("not-kept", "it was purged from the trash")


def test_purge_says_what_to_do_where_somebody_still_reads_it_and_can_be_repeated(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = SqliteStore.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "busy_seconds", 0.1)
    memory.holding(config_map("a", "1h"), config_map("b", "1h"))
    ids = [memory.delete("configmaps", name) for name in ("a", "b")]
    other = sqlite3.connect(memory.path)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM skoupa_entries").fetchall()
    said = memory("trash", "purge", *ids, "--yes")
    assert said.code == LEFTOVERS
    assert "0 of 2 purged" in said.out
    for entry_id in ids:
        assert f"what is kept of {entry_id} is out of the trash, but its bytes are still in" in said.err
    assert "purge it once more" in said.err
    # They are out of the trash by now, and that alone is not enough.
    assert memory("trash", "purge", *ids, "--yes").code == LEFTOVERS
    other.close()
    again = memory("trash", "purge", *ids)
    assert again.code == DONE
    assert "purged already" in again.out
    assert memory("trash", "purge", *ids).code == DONE


def test_a_ledger_has_to_be_named_and_to_be_there(memory: Memory) -> None:
    for place in ("none", str(memory.path.parent / "nowhere.db")):
        said = memory("history", "-A", "--ledger", place)
        assert said.code != DONE
        assert "Traceback" not in said.err
    assert not (memory.path.parent / "nowhere.db").exists()


def test_a_ledger_of_several_clusters_asks_whose_rows_are_meant(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"))
    memory.delete("configmaps", "a")

    async def another() -> None:
        store = SqliteStore(memory.path, cluster="west")
        await store.open()
        await store.close()

    asyncio.run(another())
    said = memory("history", "-A")
    assert said.code == USAGE
    assert "east, west" in said.sentence
    assert "--cluster" in said.sentence
    assert len(items(memory, "history", "-A", "--cluster", "east")) == 1
    assert items(memory, "history", "-A", "--cluster", "west") == []
    said = memory("history", "-A", "--cluster", "nope")
    assert said.code == USAGE
    assert 'no rows of a cluster "nope"' in said.sentence
    assert "east, west" in said.sentence
    gone = memory("explain", "cm/a", "-n", "shop", "--cluster", "east")
    assert gone.code == DONE
    assert "Deleted" in gone.out


def asked(memory: Memory, name: str) -> None:
    explain.run(
        connecting=Connecting(namespace="shop"),
        targets=(f"cm/{name}",),
        tz="UTC",
        form="text",
        config=None,
        ledger={"ledger": str(memory.path)},
    )


def test_explain_of_what_is_gone_answers_from_the_ledger(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    memory.holding(config_map("a", "1h"))
    memory.delete("configmaps", "a")
    asked(memory, "a")
    assert "Deleted" in capsys.readouterr().out
    with pytest.raises(UsageError, match="not by Skoupa, as far as is known here"):
        asked(memory, "never")


def test_explain_of_what_went_along_opens_a_sealed_trash_with_its_key(memory: Memory, tmp_path: Path) -> None:
    memory.keys = (Key(b"k" * 32),)
    entry_id = take_along(memory, "deployments")
    shut = memory("explain", "cm/x", "-n", "shop")
    assert shut.code == USAGE
    assert "without the key of the trash" in shut.sentence
    assert "--key-file" in shut.sentence
    file = tmp_path / "key"
    file.write_text(memory.keys[0].secret.hex())
    opened = memory("explain", "cm/x", "-n", "shop", "--key-file", str(file))
    assert opened.code == DONE, opened.err
    assert "Went along with Deployment" in opened.out
    assert entry_id in opened.out


def take_along(memory: Memory, by: str) -> str:
    """A ConfigMap `x` that goes with its owner or its Namespace; the id of their row."""
    memory.holding(
        obj("Namespace", "shop"), deployment("shop", OWNER_UID), owned("x", data={"k": "v"}), config_map("y")
    )
    entry_id = (
        memory.delete("namespaces", "shop") if by == "namespace" else memory.delete("deployments", "web")
    )
    memory.remove(CONFIG_MAPS, "x")
    return entry_id


@pytest.mark.parametrize("by", ["namespace", "owner"])
def test_what_went_along_is_told_by_the_row_of_what_took_it(
    memory: Memory, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    entry_id = take_along(memory, by)
    asked(memory, "x")
    told = capsys.readouterr().out
    took = "Namespace shop" if by == "namespace" else "Deployment web"
    assert told.startswith(f"ConfigMap shop/x\n  Went along with {took}:\n")
    assert f"id {entry_id}" in told
    said = memory("history", "cm/x", "-n", "shop")
    assert said.code == DONE
    assert "ConfigMap x went along with" in said.err
    assert entry_id in said.err
    with pytest.raises(UsageError, match="not by Skoupa"):
        asked(memory, "never")


def test_what_went_along_comes_back_alone_by_its_name(memory: Memory) -> None:
    take_along(memory, "owner")
    [item] = restored(memory, "cm/x", "-n", "shop")
    assert item["outcome"]["what"] == "restored"
    assert item["wentAlong"]
    assert "without its owner Deployment web, which is not there any more" in item["differs"]
    found = memory.find(CONFIG_MAPS, "x")
    assert found is not None
    assert found["data"] == {"k": "v"}


def test_without_the_key_it_is_said_that_nobody_can_see_what_went_along(memory: Memory) -> None:
    memory.keys = (Key(b"k" * 32),)
    take_along(memory, "owner")
    said = memory("history", "cm/x", "-n", "shop")
    assert said.code == DONE
    assert "can't be seen without the key" in said.err
    with pytest.raises(UsageError, match="can't be seen without the key"):
        asked(memory, "x")


def test_what_was_forgotten_says_until_when_it_was_kept_and_does_not_come_back(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"))
    entry_id = memory.delete("configmaps", "a")

    async def forget() -> None:
        store = SqliteStore(memory.path, cluster="east")
        try:
            assert await store.forget_bodies(before=2e9, most_bytes=1, now=1_790_000_000.5) == 1
        finally:
            await store.close()

    asyncio.run(forget())
    [item] = items(memory, "history", "-A")
    assert item["trash"] == {
        "state": "forgotten",
        "bytes": 0,
        "until": "2026-09-21T14:13:20Z",
        "why": "",
        "partly": None,
    }
    shown = memory("history", "show", entry_id)
    assert "nothing any more, it was kept until 2026-09-21T14:13:20Z" in shown.out
    [item] = restored(memory, entry_id, code=LEFTOVERS)
    assert item["outcome"]["what"] == "not-kept"
    assert "until 2026-09-21T14:13:20Z" in item["outcome"]["text"]
    assert "forgotten already" in memory("trash", "purge", entry_id).out


OWNER_UID, STRANGER_UID = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"


def in_lab(memory: Memory, name: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = [
        one["metadata"] for one in memory.cluster.objects(CONFIG_MAPS, namespace="lab")
    ]
    return next(one for one in found if one["name"] == name)


def deployment(namespace: str, uid: str) -> dict[str, Any]:
    return obj("Deployment", "web", namespace=namespace, api="apps/v1", uid=uid, spec={})


def owned(name: str, **rest: Any) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": OWNER_UID}
    return config_map(name, "1h", owners=[owner], **rest)


def test_in_another_namespace_nothing_hangs_on_a_stranger_of_its_owners_name(memory: Memory) -> None:
    memory.holding(
        obj("Namespace", "shop"),
        obj("Namespace", "lab"),
        deployment("shop", OWNER_UID),
        deployment("lab", STRANGER_UID),
        owned("settings"),
    )
    entry_id = memory.delete("configmaps", "settings")
    [item] = restored(memory, entry_id, "--into", "lab")
    assert item["outcome"]["what"] == "restored"
    assert "without its owner Deployment web, which did not come along" in item["differs"]
    assert "ownerReferences" not in in_lab(memory, "settings")


def test_in_another_namespace_what_hangs_on_who_comes_along_is_linked_to_that(memory: Memory) -> None:
    memory.holding(
        obj("Namespace", "shop"), obj("Namespace", "lab"), deployment("shop", OWNER_UID), owned("settings")
    )
    entry_id = memory.delete("deployments", "web")
    [own, along] = restored(memory, entry_id, "--with-dependents", "--into", "lab")
    [link] = in_lab(memory, "settings")["ownerReferences"]
    assert link["uid"] == own["newUid"]
    assert along["outcome"]["what"] == "restored"


def test_in_another_namespace_a_stranger_that_has_the_owners_name_gets_nothing(memory: Memory) -> None:
    memory.holding(
        obj("Namespace", "shop"),
        obj("Namespace", "lab"),
        deployment("shop", OWNER_UID),
        deployment("lab", STRANGER_UID),
        owned("settings"),
    )
    entry_id = memory.delete("deployments", "web")
    found = restored(memory, entry_id, "--with-dependents", "--into", "lab", code=LEFTOVERS)
    assert outcomes(found) == {"web": "exists", "settings": "skipped"}


def test_what_went_without_being_kept_is_told_as_such_everywhere(memory: Memory) -> None:
    memory.keeping = Keeping(object_bytes=100)
    memory.holding(obj("Service", "web", namespace="shop", spec={"ports": [{"port": 80}]}))
    entry_id = memory.delete("services", "web")
    [item] = items(memory, "history", "-n", "shop")
    assert (item["trash"]["state"], item["trash"]["bytes"]) == ("none", 0)
    assert "trash.maxObjectBytes" in item["trash"]["why"]
    shown = memory("history", "show", entry_id).out
    assert "in the trash: nothing: it has" in shown
    assert "brings it back" not in shown
    [piece] = restored(memory, entry_id, code=LEFTOVERS)
    assert piece["outcome"]["what"] == "not-kept"
    assert "trash.maxObjectBytes" in piece["outcome"]["text"]


def test_what_went_along_and_may_not_be_read_is_missing_and_that_is_said(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.holding(obj("Namespace", "shop"), config_map("a", "1h"))
    entry_id = memory.delete("configmaps", "a")
    whole = LedgerSource.kept

    async def as_the_controller_shows_it(
        source: LedgerSource, entries: Sequence[Entry], *, sealed: Sealed | None = None
    ) -> Mapping[str, tuple[Kept, ...]]:
        hidden = "2 objects that went along, of kinds that you may not read"
        return {
            one: (msgspec.structs.replace(own, unseen=2, gaps=(hidden,)), *rest)
            for one, (own, *rest) in (await whole(source, entries, sealed=sealed)).items()
        }

    monkeypatch.setattr(LedgerSource, "kept", as_the_controller_shows_it)
    said = memory("restore", entry_id, "--with-dependents", "--dry-run")
    assert said.code == LEFTOVERS
    assert "1 of 3 would come back" in said.out
    assert memory("restore", entry_id, "--yes").code == DONE
    said = memory("restore", entry_id, "--with-dependents", "--yes")
    assert said.code == LEFTOVERS
    assert "0 of 3 restored." in said.out
    assert "not known: 2 objects that went along" in said.out
    assert "2 objects that went along can't come back: you may not read such objects" in said.err


ANOTHER_CLUSTER = "00000000-0000-0000-0000-00000000000e"


@pytest.mark.parametrize("also", ["--yes", "--dry-run"])
def test_what_was_of_another_cluster_does_not_come_here_by_mistake(memory: Memory, also: str) -> None:
    memory.holding(config_map("a", "1h"))
    entry_id = memory.delete("configmaps", "a")
    memory.used_by(kube_system=ANOTHER_CLUSTER)
    said = memory("restore", entry_id, also, "--cluster", "east")
    assert said.code == USAGE
    assert 'another cluster "east"' in said.sentence
    assert "--into-other-cluster" in said.sentence
    assert memory.find(CONFIG_MAPS, "a") is None
    assert memory.row(entry_id).restored_as == ""


def test_what_was_of_another_cluster_comes_here_on_purpose_and_its_row_does_not_say_that_it_is_back(
    memory: Memory,
) -> None:
    memory.holding(config_map("a", "1h"))
    entry_id = memory.delete("configmaps", "a")
    memory.used_by(kube_system=ANOTHER_CLUSTER)
    document = memory.document("restore", entry_id, "--dry-run", "--into-other-cluster")
    assert any("of the cluster east" in line for line in document["warnings"])
    assert outcomes(restored(memory, entry_id, "--into-other-cluster")) == {"a": "restored"}
    assert memory.metadata("a")
    assert memory.row(entry_id).restored_as == ""


def test_what_was_of_this_cluster_comes_back_whatever_is_allowed(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"), config_map("b", "1h"))
    first, second = memory.delete("configmaps", "a"), memory.delete("configmaps", "b")
    memory.used_by(kube_system=memory.own_uid)
    document = memory.document("restore", first, "--yes")
    assert document["warnings"] == []
    restored(memory, second, "--into-other-cluster")
    assert memory.row(first).restored_as
    assert memory.row(second).restored_as, "it is back where it was"


def test_where_nobody_can_tell_whose_rows_they_are_that_is_said(memory: Memory) -> None:
    memory.holding(config_map("a", "1h"))
    entry_id = memory.delete("configmaps", "a")
    memory.used_by(skoupa_of_theirs=ANOTHER_CLUSTER)
    document = memory.document("restore", entry_id, "--yes")
    assert any("is not known: no permission to read the Namespace" in one for one in document["warnings"])
    assert memory.row(entry_id).restored_as


def test_into_another_cluster_goes_with_a_ledger(memory: Memory) -> None:
    said = memory._skoupa("restore", "cm/a", "-n", "shop", "--yes", "--into-other-cluster", env={"TZ": "UTC"})
    assert said.code == USAGE
    assert "goes with --ledger" in said.sentence
