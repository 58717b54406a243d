"""Who has the name of an owner is not always the owner: in another cluster never, and here it is said."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.resources import PODS
from tests.unit.cli.worlds import config_map, obj
from tests.unit.trash.remembering import Memory
from tests.unit.trash.test_commands import ANOTHER_CLUSTER, LEFTOVERS, items, outcomes, restored
from tests.unit.trash.test_going_again import pod, replica_set

pytestmark = pytest.mark.unit

OWNER = "00000000-0000-4000-8000-0000000000a1"


def reference(kind: str, name: str, *, api: str = "v1") -> dict[str, str]:
    return {"apiVersion": api, "kind": kind, "name": name, "uid": OWNER}


IN_NONE = reference("ClusterRole", "owner", api="rbac.authorization.k8s.io/v1")
IN_SHOP = reference("ConfigMap", "owner")


def made_again(owner: dict[str, str]) -> dict[str, Any]:
    if owner is IN_NONE:
        return obj("ClusterRole", "owner", api=owner["apiVersion"], rules=[])
    return config_map("owner")


@pytest.mark.parametrize("owner", [IN_SHOP, IN_NONE])
def test_in_another_cluster_nobody_is_its_owner_by_name(memory: Memory, owner: dict[str, str]) -> None:
    memory.holding(config_map("child", "1h", owners=[owner]))
    entry_id = memory.delete("configmaps", "child")
    memory.holding(made_again(owner))
    memory.used_by(kube_system=ANOTHER_CLUSTER)
    [item] = restored(memory, entry_id, "--into-other-cluster")
    said = f"without its owner {owner['kind']} owner, which did not come along"
    assert said in item["differs"]
    assert "ownerReferences" not in memory.metadata("child")


def test_in_another_cluster_an_owner_that_was_to_come_is_not_replaced_by_who_has_its_name(
    memory: Memory,
) -> None:
    memory.holding(config_map("owner", "1h", uid=OWNER), config_map("child", "1h", owners=[IN_SHOP]))
    ids = [memory.delete("configmaps", name) for name in ("child", "owner")]
    memory.holding(config_map("owner"))
    memory.used_by(kube_system=ANOTHER_CLUSTER)
    found = restored(memory, *ids, "--into-other-cluster", code=LEFTOVERS)
    assert outcomes(found) == {"child": "skipped", "owner": "exists"}


def test_in_another_cluster_an_owner_that_comes_along_is_one(memory: Memory) -> None:
    memory.holding(config_map("owner", "1h", uid=OWNER), config_map("child", "1h", owners=[IN_SHOP]))
    ids = [memory.delete("configmaps", name) for name in ("child", "owner")]
    memory.used_by(kube_system=ANOTHER_CLUSTER)
    found = restored(memory, *ids, "--into-other-cluster")
    assert outcomes(found) == {"child": "restored", "owner": "restored"}
    [link] = memory.metadata("child")["ownerReferences"]
    assert link["uid"] == memory.metadata("owner")["uid"]
    assert not any("another one of that name" in said for item in found for said in item["differs"])


def test_in_another_cluster_a_pod_is_not_left_to_a_stranger_but_to_its_own_maker(memory: Memory) -> None:
    memory.holding(replica_set(), pod("web-1-x"))
    first = memory.delete("pods", "web-1-x")
    memory.used_by(kube_system=ANOTHER_CLUSTER)
    assert outcomes(restored(memory, first, "--into-other-cluster")) == {"web-1-x": "restored"}
    found = memory.find(PODS, "web-1-x")
    assert found is not None
    assert "ownerReferences" not in found["metadata"]
    memory.remove(PODS, "web-1-x")
    both = restored(memory, first, memory.delete("replicasets.apps", "web-1"), "--into-other-cluster")
    assert outcomes(both) == {"web-1-x": "skipped", "web-1": "restored"}


@pytest.mark.parametrize("owner", [IN_SHOP, IN_NONE])
def test_an_owner_that_somebody_made_again_gets_it_and_that_is_said(
    memory: Memory, owner: dict[str, str]
) -> None:
    memory.holding(config_map("child", "1h", owners=[owner]))
    entry_id = memory.delete("configmaps", "child")
    memory.holding(made_again(owner))
    [item] = restored(memory, entry_id)
    assert f"its owner {owner['kind']} owner is another one of that name, made since" in item["differs"]
    [link] = memory.metadata("child")["ownerReferences"]
    assert link["uid"] != OWNER


def test_an_owner_that_was_to_come_and_was_made_again_is_said_too(memory: Memory) -> None:
    memory.holding(config_map("owner", "1h", uid=OWNER), config_map("child", "1h", owners=[IN_SHOP]))
    ids = [memory.delete("configmaps", name) for name in ("child", "owner")]
    memory.holding(config_map("owner"))
    found = restored(memory, *ids, code=LEFTOVERS)
    assert outcomes(found) == {"child": "restored", "owner": "exists"}
    [child] = [item for item in found if item["name"] == "child"]
    assert "its owner ConfigMap owner is another one of that name, made since" in child["differs"]


def test_an_owner_that_never_went_is_no_other_one(memory: Memory) -> None:
    memory.holding(config_map("owner", uid=OWNER), config_map("child", "1h", owners=[IN_SHOP]))
    [item] = restored(memory, memory.delete("configmaps", "child"))
    assert not any("owner" in said for said in item["differs"])


def test_an_owner_that_an_earlier_restore_brought_back_is_no_other_one(memory: Memory) -> None:
    memory.holding(config_map("owner", "1h", uid=OWNER), config_map("child", "1h", owners=[IN_SHOP]))
    child, owner = (memory.delete("configmaps", name) for name in ("child", "owner"))
    restored(memory, owner)
    [shown] = items(memory, "restore", child, "--dry-run")
    [item] = restored(memory, child)
    for one in (shown, item):
        assert not any("owner" in said for said in one["differs"]), "the history knows that it came back"
    [link] = memory.metadata("child")["ownerReferences"]
    assert link["uid"] == memory.metadata("owner")["uid"]


def test_an_owner_that_came_back_twice_is_no_other_one_but_one_made_since_is(memory: Memory) -> None:
    memory.holding(config_map("owner", "1h", uid=OWNER), config_map("child", "1h", owners=[IN_SHOP]))
    child, owner = (memory.delete("configmaps", name) for name in ("child", "owner"))
    restored(memory, owner)
    again = memory.delete("configmaps", "owner")
    restored(memory, again)
    [shown] = items(memory, "restore", child, "--dry-run")
    assert not any("owner" in said for said in shown["differs"])
    memory.delete("configmaps", "owner")
    memory.holding(config_map("owner"))
    [item] = restored(memory, child)
    assert "its owner ConfigMap owner is another one of that name, made since" in item["differs"]
