"""What would go again at once does not come back without a word: a policy wants it, or its owner has made another one."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kinds.policies import policy_definitions
from skoupa.kube.resources import CONFIG_MAPS, PODS
from skoupa.sim.state.access import Rule
from tests.unit.cli.policies import STATE_IS_OLD, cleaning, deleting
from tests.unit.cli.worlds import ASKING, KEEP, config_map, obj
from tests.unit.trash.remembering import Memory
from tests.unit.trash.test_commands import DONE, LEFTOVERS, REFUSED, outcomes, restored
from tests.unit.trash.test_company import a_namespace_went, into_lab

pytestmark = pytest.mark.unit

EVERY_MINUTE = "* * * * *"
SET_UID = "00000000-0000-4000-8000-00000000000c"


def with_policies(memory: Memory, *policies: dict[str, Any]) -> None:
    memory.holding(*policy_definitions())
    memory.holding(*policies)


def gone_by_its_label(memory: Memory, **rest: Any) -> str:
    memory.holding(config_map("a", "1h", **rest))
    return memory.delete("configmaps", "a")


def wanting(**rest: Any) -> dict[str, Any]:
    return cleaning("every", schedule=EVERY_MINUTE, where={"namespaces": ["shop"]}, **rest)


def test_what_a_policy_would_take_again_needs_a_time_to_be_kept_for(memory: Memory) -> None:
    with_policies(memory, wanting())
    entry_id = gone_by_its_label(memory)
    said = memory("restore", entry_id, "--yes")
    assert said.code == REFUSED
    assert (
        "nothing was restored: ClusterCleanupPolicy/every, which matches ConfigMap a, may take it again at once; "
        "give --keep-for, such as --keep-for 7d"
    ) in said.err
    assert memory.find(CONFIG_MAPS, "a") is None
    assert memory("restore", entry_id, "--dry-run").code == REFUSED
    assert outcomes(restored(memory, entry_id, "--keep-for", "1h")) == {"a": "restored"}


def test_a_condition_in_cel_counts_too(memory: Memory) -> None:
    with_policies(memory, deleting("object.data.state == 'old'", schedule=EVERY_MINUTE))
    old = gone_by_its_label(memory, data={"state": "old"})
    assert memory("restore", old, "--yes").code == REFUSED
    new = gone_by_its_label(memory, data={"state": "new"})
    assert memory("restore", new, "--yes").code == DONE


@pytest.mark.parametrize(
    "policy",
    [
        cleaning("elsewhere", schedule=EVERY_MINUTE, where={"namespaces": ["lab"]}),
        cleaning("own", schedule=EVERY_MINUTE, namespace="lab"),
        wanting(conditions=STATE_IS_OLD),
        wanting(annotations={"skoupa.dev/suspend": "true"}),
    ],
    ids=["of another namespace", "in another namespace", "on a condition", "suspended"],
)
def test_a_policy_that_does_not_want_it_is_no_obstacle(memory: Memory, policy: dict[str, Any]) -> None:
    with_policies(memory, policy)
    said = memory("restore", gone_by_its_label(memory), "--yes")
    assert (said.code, said.err) == (DONE, "")


def test_it_is_as_new_as_it_comes_back(memory: Memory) -> None:
    """What is deleted for its age is not old any more."""
    age = {
        "key": "{{ time_since('', '{{ target.metadata.creationTimestamp }}', '') }}",
        "operator": "GreaterThan",
        "value": "1h",
    }
    with_policies(memory, wanting(conditions={"all": [age]}))
    said = memory("restore", gone_by_its_label(memory), "--yes")
    assert (said.code, said.err) == (DONE, "")


def test_what_comes_into_another_namespace_is_asked_about_there(memory: Memory) -> None:
    with_policies(memory, wanting())
    entry_id = gone_by_its_label(memory)
    assert memory("restore", entry_id, *into_lab(memory), "--yes").code == DONE


def test_what_went_along_is_asked_about_too(memory: Memory) -> None:
    with_policies(memory, cleaning("every", schedule=EVERY_MINUTE, where={"names": ["small"]}))
    entry_id = a_namespace_went(memory)
    into = into_lab(memory)
    assert memory("restore", entry_id, "--with-dependents", *into, "--yes").code == REFUSED
    assert memory("restore", entry_id, "--with-dependents", *into, "--keep-for", "1h", "--yes").code == DONE


def test_what_is_kept_anyway_comes_back(memory: Memory) -> None:
    with_policies(memory, wanting())
    assert memory("restore", gone_by_its_label(memory, labels={KEEP: ""}), "--yes").code == DONE


def test_who_may_not_read_policies_is_told_that_it_is_not_known(memory: Memory) -> None:
    with_policies(memory, wanting())
    entry_id = gone_by_its_label(memory)
    memory.cluster.allow_only("ann", [ASKING, Rule(verbs=("*",), resources=("configmaps",))])
    memory.user = "ann"
    said = memory("restore", entry_id, "--yes")
    assert said.code == DONE
    assert "whether a policy would take it again is not known: " in said.err


def replica_set() -> dict[str, Any]:
    return obj("ReplicaSet", "web-1", namespace="shop", api="apps/v1", uid=SET_UID, spec={"replicas": 1})


def pod(name: str) -> dict[str, Any]:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "web-1",
        "uid": SET_UID,
        "controller": True,
    }
    return obj("Pod", name, namespace="shop", owners=[owner], spec={"containers": []})


def test_a_pod_whose_owner_has_made_another_one_is_refused_with_what_to_do(memory: Memory) -> None:
    memory.holding(replica_set(), pod("web-1-x"))
    entry_id = memory.delete("pods", "web-1-x")
    said = memory("restore", entry_id, "--yes")
    assert said.code == LEFTOVERS
    assert "0 of 1 restored." in said.out
    assert "its ReplicaSet web-1 is there, makes its own and would delete this one again" in " ".join(
        said.out.split()
    )
    assert memory.find(PODS, "web-1-x") is None
    # Keeping it is no use: it is not we who delete it.
    assert memory("restore", entry_id, "--keep-for", "1h", "--yes").code == LEFTOVERS
    found = restored(memory, entry_id, *into_lab(memory))
    assert outcomes(found) == {"web-1-x": "restored"}


def test_a_pod_whose_owner_is_gone_comes_back_alone(memory: Memory) -> None:
    memory.holding(pod("web-1-x"))
    found = restored(memory, memory.delete("pods", "web-1-x"))
    assert outcomes(found) == {"web-1-x": "restored"}


def test_a_pod_whose_owner_comes_back_with_it_is_left_to_that(memory: Memory) -> None:
    memory.holding(replica_set(), pod("web-1-x"))
    ids = memory.delete("pods", "web-1-x"), memory.delete("replicasets.apps", "web-1")
    found = restored(memory, *ids)
    assert outcomes(found) == {"web-1-x": "skipped", "web-1": "restored"}
