"""Of several that had a name the newest comes back and is told of, also where it went along with something else."""

from __future__ import annotations

import pytest

from skoupa.kube.resources import CONFIG_MAPS
from skoupa.ledger.rows import Entry
from tests.unit.cli.worlds import config_map, obj
from tests.unit.trash.remembering import Memory
from tests.unit.trash.test_commands import DONE, asked, items, outcomes, restored
from tests.unit.trash.test_company import a_namespace_went, into_lab

pytestmark = pytest.mark.unit

DEPLOYMENT = obj("Deployment", "web", namespace="shop", api="apps/v1", uid="d-1")


def first_one(memory: Memory, name: str = "x", *, mechanism: str = "ttl") -> str:
    memory.holding(config_map(name, "1h", data={"v": "ONE"}))
    return memory.delete("configmaps", name, mechanism=mechanism)


def then_with_the_namespace(memory: Memory) -> tuple[str, str]:
    """The ids of the rows of ConfigMap x (ONE) and of its Namespace, with which another x (TWO) went."""
    old = first_one(memory)
    return old, a_namespace_went(memory, config_map("x", data={"v": "TWO"}))


def then_with_its_owner(memory: Memory) -> tuple[str, str]:
    old = first_one(memory)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d-1"}
    memory.holding(obj("Namespace", "shop"), DEPLOYMENT, config_map("x", owners=[owner], data={"v": "TWO"}))
    taken = memory.delete("deployments.apps", "web")
    memory.remove(CONFIG_MAPS, "x")
    return old, taken


def value(memory: Memory, namespace: str = "lab") -> str:
    found = memory.find(CONFIG_MAPS, "x", namespace=namespace)
    assert found is not None
    return str(found["data"]["v"])


@pytest.mark.parametrize(
    "filters",
    [
        ("-A", "--since", "1h", "--with-dependents"),
        ("-A", "--since", "1h"),
        ("cm/x", "-n", "shop"),
        ("configmaps", "-n", "shop"),
    ],
)
def test_what_went_along_with_its_namespace_later_is_what_comes_back(
    memory: Memory, filters: tuple[str, ...]
) -> None:
    then_with_the_namespace(memory)
    said = memory("restore", *filters, *into_lab(memory), "--yes")
    assert said.code == DONE, said.err
    assert value(memory) == "TWO"
    assert "ConfigMap x went along with Namespace shop" in said.err
    assert "1 older ones of the same names are left out; restore them by their ids" in said.err


@pytest.mark.parametrize("filters", [("cm/x", "-n", "shop"), ("configmaps", "-n", "shop")])
def test_what_went_along_with_its_owner_later_is_what_comes_back(
    memory: Memory, filters: tuple[str, ...]
) -> None:
    then_with_its_owner(memory)
    restored(memory, *filters)
    assert value(memory, "shop") == "TWO"


def test_by_its_id_the_older_one_comes_back(memory: Memory) -> None:
    old, _ = then_with_the_namespace(memory)
    restored(memory, old, *into_lab(memory))
    assert value(memory) == "ONE"


def test_what_went_by_itself_later_than_along_is_what_comes_back(memory: Memory) -> None:
    a_namespace_went(memory, config_map("x", data={"v": "TWO"}))
    memory.holding(obj("Namespace", "shop"))
    first_one(memory)
    restored(memory, "cm/x", "-n", "shop")
    assert value(memory, "shop") == "ONE"
    restored(memory, "-A", "--since", "1h", "--with-dependents", *into_lab(memory))
    assert value(memory) == "ONE"


def test_of_two_deletions_that_took_it_along_the_newer_one_counts(memory: Memory) -> None:
    a_namespace_went(memory, config_map("x", data={"v": "ZERO"}))
    _, taken = then_with_its_owner(memory)
    [item] = restored(memory, "cm/x", "-n", "shop")
    assert (item["id"], item["wentAlong"]) == (taken, True)
    assert value(memory, "shop") == "TWO"


def test_what_is_kept_of_the_very_object_elsewhere_is_nothing_newer(memory: Memory) -> None:
    """It was on its way, held by a finalizer, when its Namespace went."""
    lingering = {**config_map("x", "1h", uid="x-1", data={"v": "ONE"})}
    lingering["metadata"]["finalizers"] = ["example.com/slow"]
    memory.holding(obj("Namespace", "shop"), lingering)
    own = memory.delete("configmaps", "x")
    memory.delete("namespaces", "shop")
    for filters in (("cm/x", "-n", "shop"), ("configmaps", "-n", "shop")):
        [item] = items(memory, "restore", *filters, *into_lab(memory), "--dry-run")
        assert (item["id"], item["wentAlong"]) == (own, False)


def test_history_and_explain_tell_of_the_newest(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    then_with_the_namespace(memory)
    said = memory("history", "cm/x", "-n", "shop")
    assert "ConfigMap x went along with Namespace shop" in said.err
    asked(memory, "x")
    assert "Went along with Namespace shop" in capsys.readouterr().out


def by_rule(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, rule: str, name: str, *, mechanism: str = "policies"
) -> None:
    def ruled(**fields: object) -> Entry:
        return Entry(**{**fields, "rule": rule})  # type: ignore[arg-type]  # as the caller gives them

    with monkeypatch.context() as patched:
        patched.setattr("tests.unit.trash.remembering.Entry", ruled)
        first_one(memory, name, mechanism=mechanism)


def test_a_policy_is_meant_by_the_end_of_its_name_as_a_brake_means_it(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_rule(memory, monkeypatch, "ClusterCleanupPolicy/q", "a")
    by_rule(memory, monkeypatch, "CleanupPolicy/shop/q", "b")
    by_rule(memory, monkeypatch, "CleanupPolicy/shop/other-q", "c")

    def named(*filters: str) -> list[str]:
        return [item["name"] for item in items(memory, "history", "-A", *filters)]

    assert named("--by-policy", "q") == ["b", "a"]
    assert named("--by-policy", "Q", "--limit", "1") == ["b"]
    assert named("--by-policy", "shop/q") == ["b"]
    assert named("--by-policy", "ClusterCleanupPolicy/q") == ["a"]
    assert named("cm/a", "-n", "shop", "--by-policy", "q") == ["a"]
    assert named("--by-policy", "nosuch") == []
    found = restored(memory, "-A", "--by-policy", "q", "--keep-for", "1h")
    assert outcomes(found) == {"a": "restored", "b": "restored"}


def test_whatever_has_a_name_by_which_something_goes_is_meant_by_its_end(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rule, name, mechanism in (
        ("RetentionPolicy/shop/tidy", "a", "retention"),
        ("ClusterRetentionPolicy/tidy", "b", "retention"),
        ("Tenant/111111", "c", "tenants"),
        ("skoupa.dev/ttl-after=finished-1h", "d", "retention"),
        ("skoupa.dev/ttl-after=failed-7d", "e", "retention"),
    ):
        by_rule(memory, monkeypatch, rule, name, mechanism=mechanism)

    def named(wanted: str) -> list[str]:
        return [item["name"] for item in items(memory, "history", "-A", "--by-policy", wanted)]

    assert named("tidy") == ["b", "a"]
    assert named("shop/tidy") == ["a"]
    assert named("RetentionPolicy/shop/tidy") == ["a"]
    assert named("ClusterRetentionPolicy/tidy") == ["b"]
    assert named("111111") == named("Tenant/111111") == ["c"]
    assert named("skoupa.dev/ttl-after") == ["e", "d"]
    assert named("skoupa.dev/ttl-after=failed-7d") == ["e"]
    found = restored(memory, "-A", "--by-policy", "tidy", "--keep-for", "1h")
    assert outcomes(found) == {"a": "restored", "b": "restored"}
