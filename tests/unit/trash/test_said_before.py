"""What is known before anything is created is said before the question, and whose rows a ledger has is known without a name."""

from __future__ import annotations

import sys

import pytest

from skoupa.kube.resources import CONFIG_MAPS
from skoupa.sim.cluster import EmbeddedCluster
from tests.unit.cli.worlds import TTL, config_map, obj
from tests.unit.trash.remembering import Memory
from tests.unit.trash.test_commands import (
    DONE,
    LEFTOVERS,
    OWNER_UID,
    REFUSED,
    USAGE,
    deployment,
    items,
    owned,
    restored,
)
from tests.unit.trash.test_company import a_namespace_went, with_more_than_is_kept
from tests.unit.trash.test_strangers import IN_NONE, IN_SHOP, OWNER, made_again

pytestmark = pytest.mark.unit

HERE, THERE = "https://b.example", "https://a.example"


class Reader:
    """Somebody at the terminal, who reads what was said up to the question and answers it."""

    def __init__(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: str
    ) -> None:
        self._capsys = capsys
        self._answer = answer
        self.out = self.err = ""
        monkeypatch.setattr(sys, "stdin", self)

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        read = self._capsys.readouterr()
        self.out += read.out
        self.err += read.err
        return f"{self._answer}\n"


@pytest.fixture
def reader(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Reader:
    return Reader(capsys, monkeypatch, "no")


def moved_to_another_cluster(memory: Memory) -> None:
    """The ledger stays; the context is that of another cluster."""
    memory.cluster = EmbeddedCluster(clock=memory.clock, seed=7)
    memory.holding(obj("Namespace", "shop"))


def test_a_ledger_that_says_nothing_of_its_cluster_is_doubted_before_the_question(
    memory: Memory, reader: Reader
) -> None:
    memory.called, memory.address = THERE, HERE
    memory.holding(config_map("kid", "1h"))
    memory.delete("configmaps", "kid")
    memory.used_by()
    moved_to_another_cluster(memory)
    said = memory("restore", "cm/kid", "-n", "shop")
    assert said.code == REFUSED
    doubt = f"these objects were of {THERE}; they come back to {HERE}, and whether that is the same cluster is not known"
    assert doubt in reader.err
    assert doubt in memory("restore", "cm/kid", "-n", "shop", "--dry-run").err
    assert memory.find(CONFIG_MAPS, "kid") is None


def test_what_was_said_before_the_question_is_not_said_again(
    memory: Memory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in "12":
        memory.holding(config_map("a", "1h", data={"v": number}))
        memory.delete("configmaps", "a")
    reader = Reader(capsys, monkeypatch, "yes")
    said = memory("restore", "cm/a", "-n", "shop")
    assert said.code == DONE
    assert "1 older ones of the same names are left out" in reader.err
    assert "older" not in said.err
    assert "1 of 1 restored." in said.out


def test_that_more_went_along_is_said_before_the_question(memory: Memory, reader: Reader) -> None:
    entry_id = with_more_than_is_kept(memory)
    assert memory("restore", entry_id, "--with-dependents").code == REFUSED
    assert "not all that went along is known" in reader.err


@pytest.mark.parametrize("address", [THERE, HERE])
def test_without_a_name_objects_of_another_cluster_do_not_come_here_by_mistake(
    memory: Memory, address: str
) -> None:
    """Rows carry the server's address then, and two clusters may have one."""
    memory.address = HERE
    memory.holding(obj("Namespace", "shop"), config_map("kid", "1h"))
    assert memory("sweep", "-A", "--yes").code == DONE
    moved_to_another_cluster(memory)
    memory.address = address
    for also in ("--yes", "--dry-run"):
        said = memory("restore", "cm/kid", "-n", "shop", also)
        assert said.code == USAGE
        assert "are those of another cluster than" in said.sentence
        assert "--into-other-cluster" in said.sentence
    assert memory.find(CONFIG_MAPS, "kid") is None
    assert memory("restore", "cm/kid", "-n", "shop", "--yes", "--into-other-cluster").code == DONE


def test_the_same_cluster_at_another_address_is_no_reason_for_a_warning(memory: Memory) -> None:
    """In the cluster the server has another address than outside."""
    memory.called, memory.address = "https://10.96.0.1:443", HERE
    memory.holding(config_map("kid", "1h"))
    memory.delete("configmaps", "kid")
    said = memory("restore", "cm/kid", "-n", "shop", "--yes")
    assert (said.code, said.err) == (DONE, "")


def test_a_ledger_that_several_clusters_used_at_one_address_says_so(memory: Memory) -> None:
    memory.holding(obj("Namespace", "shop"), config_map("kid", "1h"))
    assert memory("sweep", "-A", "--yes").code == DONE
    moved_to_another_cluster(memory)
    memory.holding(config_map("other", "1h"))
    assert memory("sweep", "-A", "--yes").code == DONE, "an address keeps nobody out"
    said = memory("restore", "cm/other", "-n", "shop", "--yes")
    assert said.code == DONE
    assert "is not known: several clusters used the ledger at the same address" in said.err


def before(memory: Memory, *args: str) -> dict[str, list[str]]:
    """What will differ, by name, as a dry run says it."""
    found = items(memory, "restore", *args, "--dry-run")
    return {item["name"]: item["differs"] for item in found}


def test_that_its_owner_is_gone_is_shown_before_the_question(memory: Memory, reader: Reader) -> None:
    memory.holding(config_map("child", "1h", owners=[IN_SHOP]))
    entry_id = memory.delete("configmaps", "child")
    gone = "without its owner ConfigMap owner, which is not there any more"
    assert memory("restore", entry_id).code == REFUSED
    assert gone in " ".join(reader.out.split())
    assert before(memory, entry_id)["child"].count(gone) == 1
    [item] = restored(memory, entry_id)
    assert item["differs"].count(gone) == 1, "said once, not once more as it comes"


@pytest.mark.parametrize("owner", [IN_SHOP, IN_NONE])
def test_that_its_owner_is_another_one_is_shown_before_the_question(
    memory: Memory, owner: dict[str, str]
) -> None:
    memory.holding(config_map("child", "1h", owners=[owner]))
    entry_id = memory.delete("configmaps", "child")
    memory.holding(made_again(owner))
    said = f"its owner {owner['kind']} owner is another one of that name, made since"
    assert said in before(memory, entry_id)["child"]


def test_of_an_owner_that_comes_along_nothing_is_said_before(memory: Memory) -> None:
    memory.holding(config_map("owner", "1h", uid=OWNER), config_map("child", "1h", owners=[IN_SHOP]))
    ids = [memory.delete("configmaps", name) for name in ("child", "owner")]
    assert not any("owner" in said for said in before(memory, *ids)["child"])


def a_tree_went(memory: Memory) -> str:
    """A Deployment, what it owned, and what that owned; the id of its row, which is the only one."""
    memory.holding(
        obj("Namespace", "shop"),
        deployment("shop", OWNER_UID),
        owned("owner", uid=OWNER),
        config_map("child", owners=[IN_SHOP]),
    )
    entry_id = memory.delete("deployments", "web")
    for name in ("owner", "child"):
        memory.remove(CONFIG_MAPS, name)
    return entry_id


def test_what_an_earlier_restore_brought_along_is_not_told_as_made_by_somebody(memory: Memory) -> None:
    entry_id = a_tree_went(memory)
    restored(memory, entry_id, "--with-dependents")
    memory.remove(CONFIG_MAPS, "child")
    [child] = [
        item
        for item in restored(memory, entry_id, "--with-dependents", code=LEFTOVERS)
        if item["name"] == "child"
    ]
    assert child["outcome"]["what"] == "restored"
    assert not any("owner" in said for said in child["differs"])
    memory.remove(CONFIG_MAPS, "child")
    [alone] = restored(memory, "cm/child", "-n", "shop")
    [said] = [said for said in alone["differs"] if "owner" in said]
    assert said == "its owner ConfigMap owner has another uid by now, maybe since an earlier restore"


def test_that_a_volume_is_gone_is_shown_before_its_namespace_is_back(memory: Memory) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "manual", "volumeName": "disk-1"}
    claim = obj("PersistentVolumeClaim", "data", namespace="shop", labels={TTL: "1h"}, spec=spec)
    entry_id = a_namespace_went(memory, claim)
    [said] = [said for said in before(memory, entry_id, "--with-dependents")["data"] if "volume" in said]
    assert said == "its volume disk-1 is gone, and the data with it: it gets a new, empty one"
