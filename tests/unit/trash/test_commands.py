"""`history`, `restore`, `trash purge`, and `explain` of what is gone, on a cluster in memory."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from skoupa.cli.looking import explain
from skoupa.cli.options import Connecting
from skoupa.errors import UsageError
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, PODS
from skoupa.ledger.sqlite import SqliteStore
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
    assert "1 objects that went along" in said.err
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


def test_explain_of_what_is_gone_answers_from_the_ledger(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    memory.holding(config_map("a", "1h"))
    memory.delete("configmaps", "a")

    def ask(name: str) -> None:
        explain.run(
            connecting=Connecting(namespace="shop"),
            targets=(f"cm/{name}",),
            tz="UTC",
            form="text",
            config=None,
            ledger={"ledger": str(memory.path)},
        )

    ask("a")
    assert "Deleted" in capsys.readouterr().out
    with pytest.raises(UsageError, match="not by Skoupa, as far as is known here"):
        ask("never")


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
    assert item["trash"] == {"state": "forgotten", "bytes": 0, "until": "2026-09-21T14:13:20Z"}
    shown = memory("history", "show", entry_id)
    assert "nothing any more, it was kept until 2026-09-21T14:13:20Z" in shown.out
    [item] = restored(memory, entry_id, code=LEFTOVERS)
    assert item["outcome"]["what"] == "not-kept"
    assert "until 2026-09-21T14:13:20Z" in item["outcome"]["text"]
    assert "forgotten already" in memory("trash", "purge", entry_id).out
