"""A claim that comes back asks for its volume only while that is its own: nobody is told to take it from another."""

from __future__ import annotations

import asyncio
import json
import shlex
from typing import Any

import pytest

from skoupa.kube.client import Client
from tests.unit.cli.worlds import TTL, obj
from tests.unit.trash.keeping import KINDS
from tests.unit.trash.remembering import Memory
from tests.unit.trash.test_commands import restored, used_by

pytestmark = pytest.mark.unit

OWN = "00000000-0000-4000-8000-0000000000d1"
OTHER = "00000000-0000-4000-8000-0000000000d2"
CLAIMS = KINDS["persistentvolumeclaims"]


def volume(*, phase: str = "Released", **claim: str) -> dict[str, Any]:
    spec: dict[str, Any] = {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/tmp/none"}}
    if claim:
        spec["claimRef"] = {"kind": "PersistentVolumeClaim", **claim}
    return obj("PersistentVolume", "disk-1", spec=spec, status={"phase": phase})


def a_claim_went(memory: Memory) -> str:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "manual", "volumeName": "disk-1"}
    memory.holding(
        obj("Namespace", "lab"),
        obj("PersistentVolumeClaim", "data", namespace="shop", labels={TTL: "1h"}, uid=OWN, spec=spec),
    )
    entry_id = memory.delete("persistentvolumeclaims", "data")
    # The cluster stands still: who would see that no Pod uses it does not run.
    client = Client(memory.cluster, memory.clock)
    asyncio.run(client.merge_patch(CLAIMS, "data", {"metadata": {"finalizers": None}}, namespace="shop"))
    assert memory.find(CLAIMS, "data") is None
    return entry_id


def came(memory: Memory, *args: str, namespace: str = "shop") -> tuple[str, str | None]:
    """What is said of its volume, and the one that it asks for."""
    [item] = restored(memory, *args)
    assert item["outcome"]["what"] == "restored"
    found = memory.find(CLAIMS, "data", namespace)
    assert found is not None
    [said] = [one for one in item["differs"] if "its volume" in one]
    return said, found["spec"].get("volumeName")


def patch(said: str) -> list[dict[str, Any]]:
    words = shlex.split(said[said.index("kubectl ") :])
    assert words[:4] == ["kubectl", "patch", "pv", "disk-1"]
    found: list[dict[str, Any]] = json.loads(words[-1])
    return found


def test_its_own_volume_is_released_by_a_command_that_touches_no_other_claim(memory: Memory) -> None:
    entry_id = a_claim_went(memory)
    memory.holding(volume(namespace="shop", name="data", uid=OWN))
    said, asked = came(memory, entry_id)
    assert asked == "disk-1"
    assert "is there with its data" in said
    assert patch(said) == [
        {"op": "test", "path": "/spec/claimRef/uid", "value": OWN},
        {"op": "remove", "path": "/spec/claimRef/uid"},
    ]


def test_into_another_namespace_the_command_gives_it_to_the_claim_there(memory: Memory) -> None:
    entry_id = a_claim_went(memory)
    memory.holding(volume(namespace="shop", name="data", uid=OWN))
    said, asked = came(memory, entry_id, "--into", "lab", namespace="lab")
    assert asked == "disk-1"
    assert patch(said) == [
        {"op": "test", "path": "/spec/claimRef/uid", "value": OWN},
        {"op": "replace", "path": "/spec/claimRef", "value": {"namespace": "lab", "name": "data"}},
    ]


@pytest.mark.parametrize(
    "claim",
    [
        {"namespace": "shop", "name": "stranger", "uid": OTHER},
        {"namespace": "lab", "name": "data", "uid": OTHER},
        {"namespace": "shop", "name": "data", "uid": OTHER},
        # Set aside for a claim that is still to come.
        {"namespace": "shop", "name": "stranger"},
    ],
)
def test_a_volume_that_another_claim_has_got_is_left_to_it(memory: Memory, claim: dict[str, str]) -> None:
    entry_id = a_claim_went(memory)
    memory.holding(volume(phase="Bound", **claim))
    said, asked = came(memory, entry_id)
    whose = f"{claim['namespace']}/{claim['name']}"
    assert said == f"its volume disk-1 is that of the claim {whose} now: it gets a new, empty one"
    assert asked is None


@pytest.mark.parametrize("claim", [{"uid": OWN}, {}])
def test_a_claim_that_never_went_keeps_its_volume_from_a_copy_elsewhere(
    memory: Memory, claim: dict[str, str]
) -> None:
    entry_id = a_claim_went(memory)
    memory.holding(volume(phase="Bound", namespace="shop", name="data", **claim))
    said, asked = came(memory, entry_id, "--into", "lab", namespace="lab")
    assert "kubectl" not in said
    assert "is that of the claim shop/data now" in said
    assert asked is None


@pytest.mark.parametrize("claim", [{}, {"namespace": "shop", "name": "data"}])
def test_a_volume_that_waits_for_it_is_bound_again(memory: Memory, claim: dict[str, str]) -> None:
    entry_id = a_claim_went(memory)
    memory.holding(volume(phase="Available", **claim))
    said, asked = came(memory, entry_id)
    assert said == "its volume disk-1 is there, and is bound again"
    assert asked == "disk-1"


@pytest.mark.parametrize(
    "claim",
    [
        {"namespace": "shop", "name": "stranger", "uid": OTHER},
        {"namespace": "shop", "name": "data", "uid": OWN},
        {},
    ],
)
def test_a_volume_of_that_name_in_another_cluster_is_somebody_elses(
    memory: Memory, claim: dict[str, str]
) -> None:
    entry_id = a_claim_went(memory)
    memory.holding(volume(phase="Bound", **claim))
    used_by(memory, "00000000-0000-0000-0000-00000000000e")
    said, asked = came(memory, entry_id, "--into-other-cluster")
    assert "stays in the other cluster, and the data with it: it gets a new, empty one" in said
    assert "kubectl" not in said
    assert asked is None
