"""`explain` of an object whose Namespace or owner a policy takes: it goes along, and by whom is said."""

from __future__ import annotations

import re
from typing import Any

import pytest

from skoupa import names
from skoupa.kinds.policies import policy_definitions
from tests.unit.cli.policies import cleaning
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import KEEP, Town, config_map, obj

pytestmark = pytest.mark.unit

UID = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def town(skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town(skoupa, monkeypatch).holding(*policy_definitions())


def shop_goes(**policy: Any) -> dict[str, Any]:
    return cleaning(kinds=("Namespace",), where={"names": ["shop"]}, **policy)


def test_what_goes_with_a_namespace_that_a_policy_takes_is_told(town: Town) -> None:
    town.holding(shop_goes(), obj("Namespace", "shop"), config_map("a"))
    lines = town("explain", "cm/a", "-n", "shop").out.splitlines()
    assert lines[1:3] == [
        "  Nothing wants it to go.",
        "  Goes along with its Namespace shop, which ClusterCleanupPolicy/old takes: Sun 2026-05-03 07:00 UTC, in 1d19h.",
    ]
    (told,) = town.document("explain", "cm/a", "-n", "shop")["items"]
    assert told["claims"] == []
    assert told["policies"] == [], "none means its kind"
    (parent,) = told["parents"]
    assert (parent["mechanism"], parent["rule"]) == ("policies", "ClusterCleanupPolicy/old")
    assert parent["goesAt"] == "2026-05-03T07:00:00Z"


def test_what_holds_the_namespace_against_the_policy_holds_what_is_in_it(town: Town) -> None:
    town.holding(shop_goes(), obj("Namespace", "shop", labels={KEEP: "true"}), config_map("a"))
    told = town("explain", "cm/a", "-n", "shop").out
    assert "Goes along" not in told
    assert (
        "  namespace: Namespace shop, lives, due 2026-05-03T07:00:00Z by ClusterCleanupPolicy/old, but held"
        in told
    )


def test_its_own_time_is_told_where_that_comes_before_the_policy_of_its_namespace(town: Town) -> None:
    town.holding(shop_goes(), obj("Namespace", "shop"), config_map("a", "1d"))
    assert "Goes along" not in town("explain", "cm/a", "-n", "shop").out


def deployment(name: str, uid: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """It, and how others name it as their owner."""
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": uid}
    return obj("Deployment", name, api="apps/v1", namespace="shop", uid=uid), owner


@pytest.mark.parametrize(
    ("matched", "spec", "goes"),
    [
        (["web"], {}, ""),
        (["web", "too"], {}, "web too"),
        (["web"], {"deletionPropagationPolicy": "Orphan"}, ""),
    ],
    ids=["another-stays", "all-go", "orphans"],
)
def test_an_owner_that_a_policy_takes_takes_along_what_nobody_else_owns(
    town: Town, matched: list[str], spec: dict[str, Any], goes: str
) -> None:
    (web, by_web), (too, by_too) = deployment("web", UID), deployment("too", UID.replace("1", "2"))
    owners = [by_web] if spec else [by_web, by_too]
    town.holding(
        cleaning(kinds=("Deployment",), where={"names": matched}, **spec),
        web,
        too,
        config_map("a", owners=owners),
    )
    told = town("explain", "cm/a", "-n", "shop").out
    found = re.findall(
        r"Goes along with its owner Deployment shop/(\w+), which ClusterCleanupPolicy/old takes", told
    )
    assert " ".join(found) == goes


def test_the_owner_of_an_owner_takes_along_too(town: Town) -> None:
    web, by_web = deployment("web", UID)
    under = UID.replace("1", "2")
    by_set = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": under}
    town.holding(
        cleaning(kinds=("Deployment",)),
        web,
        obj("ReplicaSet", "web-1", api="apps/v1", namespace="shop", uid=under, owners=[by_web]),
        obj("Pod", "web-1-x", namespace="shop", owners=[by_set]),
    )
    told = town("explain", "po/web-1-x", "-n", "shop").out
    assert "Goes along with its owner Deployment shop/web, which ClusterCleanupPolicy/old takes" in told


def test_an_owner_with_a_ttl_takes_along_what_nobody_else_owns(town: Town) -> None:
    (web, by_web), (too, by_too) = deployment("web", UID), deployment("too", UID.replace("1", "2"))
    web["metadata"]["labels"] = {names.TTL_LABEL: "2026-05-02"}
    town.holding(web, too, config_map("a", owners=[by_web]), config_map("b", owners=[by_web, by_too]))
    alone, shared = (town("explain", f"cm/{name}", "-n", "shop").out for name in "ab")
    assert "Goes along with its owner Deployment shop/web: Sat 2026-05-02 00:00 UTC" in alone
    assert "Goes along" not in shared
    assert "owner: Deployment shop/web, lives, due 2026-05-02T00:00:00Z" in shared
