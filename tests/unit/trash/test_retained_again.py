"""What a retention policy or its own `skoupa.dev/ttl-after` would take again at once does not come back without a word."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kinds.definition import document
from skoupa.kinds.retention.policy import CLUSTER_RETENTION_POLICY, RETENTION_POLICY
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.sim.state.access import Rule
from tests.unit.cli.worlds import ASKING, KEEP, config_map
from tests.unit.trash.remembering import Memory
from tests.unit.trash.test_commands import DONE, REFUSED, outcomes, restored

pytestmark = pytest.mark.unit


def with_policies(memory: Memory, *policies: dict[str, Any]) -> None:
    memory.holding(document(RETENTION_POLICY), document(CLUSTER_RETENTION_POLICY))
    memory.holding(*policies)


def retaining(
    name: str = "configs", *, namespace: str = "shop", kind: str = "ConfigMap", **spec: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "skoupa.dev/v1alpha1",
        "kind": "RetentionPolicy" if namespace else "ClusterRetentionPolicy",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "spec": {"match": {"any": [{"resources": {"kinds": [kind]}}]}, **spec},
    }


def gone(memory: Memory, *names: str, **rest: Any) -> list[str]:
    names = names or ("a",)
    memory.holding(*(config_map(name, "1h", **rest) for name in names))
    return [memory.delete("configmaps", name) for name in names]


AT_ONCE = {"unused": "0s"}


@pytest.mark.parametrize("namespace", ["shop", ""])
def test_what_a_retention_policy_would_take_at_once_needs_a_time_to_be_kept_for(
    memory: Memory, namespace: str
) -> None:
    with_policies(memory, retaining(namespace=namespace, after=AT_ONCE))
    ids = gone(memory)
    said = memory("restore", *ids, "--yes")
    assert said.code == REFUSED
    assert "RetentionPolicy/" in said.err
    assert "which matches ConfigMap a, may take it again at once; give --keep-for" in said.err
    assert memory.find(CONFIG_MAPS, "a") is None
    assert outcomes(restored(memory, *ids, "--keep-for", "1h")) == {"a": "restored"}


def test_what_several_that_come_back_are_too_many_for_is_refused(memory: Memory) -> None:
    with_policies(memory, retaining(capacity={"atMost": 1}))
    ids = gone(memory, "a", "b")
    said = memory("restore", *ids, "--yes")
    assert (said.code, "RetentionPolicy/shop/configs" in said.err) == (REFUSED, True)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"capacity": {"atMost": 5}}, "no more than 5 stay"),
        ({"capacity": {"fromQuota": "count/configmaps"}}, "as many stay as count/configmaps allows"),
        ({"after": AT_ONCE, "keepNewest": {"count": 2}}, "the newest 2 stay"),
    ],
    ids=["limit", "quota", "newest"],
)
def test_what_hangs_on_others_is_said_and_not_guessed(memory: Memory, spec: dict[str, Any], why: str) -> None:
    with_policies(memory, retaining(**spec))
    said = memory("restore", *gone(memory), "--yes")
    assert said.code == DONE
    assert (
        "whether RetentionPolicy/shop/configs would take ConfigMap a again at once is not known" in said.err
    )
    assert why in said.err


def test_more_than_the_newest_that_stay_are_refused(memory: Memory) -> None:
    with_policies(memory, retaining(after=AT_ONCE, keepNewest={"count": 1}))
    assert memory("restore", *gone(memory, "a", "b"), "--yes").code == REFUSED


def test_a_time_that_begins_anew_is_said(memory: Memory) -> None:
    with_policies(memory, retaining(after={"unused": "30m"}))
    said = memory("restore", *gone(memory), "--yes")
    assert said.code == DONE
    assert "RetentionPolicy/shop/configs is about ConfigMap a, whose time begins anew: unused 30m" in said.err


@pytest.mark.parametrize(
    "policies",
    [
        [retaining(namespace="lab", after=AT_ONCE)],
        [retaining(kind="Secret", after=AT_ONCE)],
        [retaining(after=AT_ONCE, suspend=True)],
        [retaining(after={"finished": "0s"})],
    ],
    ids=["elsewhere", "another kind", "suspended", "what never finishes"],
)
def test_a_policy_that_does_not_want_it_is_no_obstacle(
    memory: Memory, policies: list[dict[str, Any]]
) -> None:
    with_policies(memory, *policies)
    said = memory("restore", *gone(memory), "--yes")
    assert (said.code, said.err) == (DONE, "")


def test_the_policy_that_counts_is_asked_and_not_one_that_is_beaten(memory: Memory) -> None:
    wide = retaining("wide", namespace="", after=AT_ONCE)
    with_policies(memory, wide, retaining(after={"unused": "30m"}))
    said = memory("restore", *gone(memory), "--yes")
    assert (said.code, "unused 30m" in said.err) == (DONE, True)


def test_a_time_on_the_object_counts_instead_of_that_of_the_policy(memory: Memory) -> None:
    with_policies(memory, retaining(after=AT_ONCE))
    ids = gone(memory, labels={"skoupa.dev/ttl-after": "unused-2h"})
    assert memory("restore", *ids, "--yes").code == DONE


def test_a_label_by_which_it_goes_as_soon_as_nothing_uses_it_needs_a_time_to_be_kept_for(
    memory: Memory,
) -> None:
    ids = gone(memory, labels={"skoupa.dev/ttl-after": "unused-0s"})
    said = memory("restore", *ids, "--yes")
    assert said.code == REFUSED
    assert "skoupa.dev/ttl-after=unused-0s" in said.err
    assert memory("restore", *ids, "--keep-for", "7d", "--yes").code == DONE


def test_what_is_kept_anyway_comes_back(memory: Memory) -> None:
    with_policies(memory, retaining(after=AT_ONCE))
    assert memory("restore", *gone(memory, labels={KEEP: ""}), "--yes").code == DONE


def test_a_policy_that_is_not_understood_or_may_not_be_read_is_said(memory: Memory) -> None:
    with_policies(memory, retaining(after={"unused": "soon"}))
    said = memory("restore", *gone(memory), "--dry-run")
    assert "RetentionPolicy/shop/configs" in said.err
    assert "it is not understood" in said.err
    memory.cluster.allow_only("ann", [ASKING, Rule(verbs=("*",), resources=("configmaps",))])
    memory.user = "ann"
    said = memory("restore", *gone(memory, "b"), "--yes")
    assert said.code == DONE
    assert "whether a RetentionPolicy would take it again is not known" in said.err
