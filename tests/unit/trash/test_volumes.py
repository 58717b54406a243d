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
from tests.unit.trash.test_commands import ANOTHER_CLUSTER, LEFTOVERS, restored

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
    memory.holding(obj("Namespace", "lab"), the_claim(OWN))
    entry_id = memory.delete("persistentvolumeclaims", "data")
    unused(memory)
    return entry_id


def the_claim(uid: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "manual", "volumeName": "disk-1"}
    return obj("PersistentVolumeClaim", "data", namespace="shop", labels={TTL: "1h"}, uid=uid, spec=spec)


def unused(memory: Memory, *, namespace: str = "shop") -> None:
    """The cluster stands still: who would see that no Pod uses it does not run."""
    client = Client(memory.cluster, memory.clock)
    asyncio.run(client.merge_patch(CLAIMS, "data", {"metadata": {"finalizers": None}}, namespace=namespace))
    assert memory.find(CLAIMS, "data", namespace) is None


def deleted_by_hand(memory: Memory, *, namespace: str = "shop") -> str:
    """Its uid."""
    found = memory.find(CLAIMS, "data", namespace)
    assert found is not None
    memory.remove(CLAIMS, "data", namespace=namespace)
    unused(memory, namespace=namespace)
    return str(found["metadata"]["uid"])


def releases(said: str, uid: str) -> bool:
    """Whether the command does it, as long as the volume is that of this claim."""
    own = [
        {"op": "test", "path": "/spec/claimRef/uid", "value": uid},
        {"op": "remove", "path": "/spec/claimRef/uid"},
    ]
    return "is there with its data" in said and patch(said) == own


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
    memory.used_by(kube_system=ANOTHER_CLUSTER)
    said, asked = came(memory, entry_id, "--into-other-cluster")
    assert "stays in the other cluster, and the data with it: it gets a new, empty one" in said
    assert "kubectl" not in said
    assert asked is None


def test_restored_and_deleted_by_mistake_it_gets_its_data_again(memory: Memory) -> None:
    entry_id = a_claim_went(memory)
    restored(memory, entry_id)
    uid = deleted_by_hand(memory)
    # Meanwhile the command was run, and the volume was bound to what came back.
    memory.holding(volume(namespace="shop", name="data", uid=uid))
    said, asked = came(memory, "pvc/data", "-n", "shop")
    assert asked == "disk-1"
    assert releases(said, uid)


def test_restored_and_gone_again_before_the_command_was_run_it_gets_its_data_again(memory: Memory) -> None:
    entry_id = a_claim_went(memory)
    memory.holding(volume(namespace="shop", name="data", uid=OWN))
    restored(memory, entry_id, "--keep-for", "1h")
    memory.delete("persistentvolumeclaims", "data")
    unused(memory)
    said, asked = came(memory, "pvc/data", "-n", "shop")
    assert asked == "disk-1"
    assert releases(said, OWN)


def test_a_claim_that_is_gone_has_no_volume_whatever_that_says_yet(memory: Memory) -> None:
    """A moment after its deletion the volume is still said to be bound to it."""
    entry_id = a_claim_went(memory)
    memory.holding(volume(phase="Bound", namespace="shop", name="data", uid=OTHER))
    said, asked = came(memory, entry_id)
    assert asked == "disk-1"
    assert releases(said, OTHER)


def test_a_claim_of_that_name_that_is_there_keeps_its_volume(memory: Memory) -> None:
    entry_id = a_claim_went(memory)
    memory.holding(the_claim(OTHER), volume(phase="Bound", namespace="shop", name="data", uid=OTHER))
    [item] = restored(memory, entry_id, code=LEFTOVERS)
    assert item["outcome"]["what"] == "exists"
    assert not any("volume" in said for said in item["differs"])


def test_a_claim_that_was_restored_and_is_there_keeps_its_volume(memory: Memory) -> None:
    entry_id = a_claim_went(memory)
    [item] = restored(memory, entry_id)
    memory.holding(volume(phase="Bound", namespace="shop", name="data", uid=item["newUid"]))
    [again] = restored(memory, entry_id, code=LEFTOVERS)
    assert again["outcome"] == {"what": "exists", "text": "it is back already: it was restored before"}
    assert not any("volume" in said for said in again["differs"])
    said, asked = came(memory, entry_id, "--into", "lab", namespace="lab")
    assert said == "its volume disk-1 is that of the claim shop/data now: it gets a new, empty one"
    assert asked is None


def test_restored_into_another_namespace_and_deleted_there_it_gets_its_data_again(memory: Memory) -> None:
    entry_id = a_claim_went(memory)
    restored(memory, entry_id, "--into", "lab")
    uid = deleted_by_hand(memory, namespace="lab")
    memory.holding(volume(namespace="lab", name="data", uid=uid))
    said, asked = came(memory, entry_id, "--into", "lab", namespace="lab")
    assert asked == "disk-1"
    assert releases(said, uid)


@pytest.mark.parametrize(("phase", "is_free"), [("Released", True), ("Bound", False)])
def test_restored_into_another_namespace_its_volume_comes_home_only_from_a_claim_that_is_gone(
    memory: Memory, phase: str, *, is_free: bool
) -> None:
    entry_id = a_claim_went(memory)
    [item] = restored(memory, entry_id, "--into", "lab")
    uid = item["newUid"]
    memory.holding(volume(phase=phase, namespace="lab", name="data", uid=uid))
    said, asked = came(memory, entry_id)
    assert asked == ("disk-1" if is_free else None)
    if is_free:
        home = {"namespace": "shop", "name": "data"}
        assert patch(said) == [
            {"op": "test", "path": "/spec/claimRef/uid", "value": uid},
            {"op": "replace", "path": "/spec/claimRef", "value": home},
        ]
    else:
        assert said == "its volume disk-1 is that of the claim lab/data now: it gets a new, empty one"


def test_a_volume_that_a_stranger_had_last_is_not_said_to_be_his_now(memory: Memory) -> None:
    entry_id = a_claim_went(memory)
    memory.holding(volume(namespace="shop", name="stranger", uid=OTHER))
    said, asked = came(memory, entry_id)
    assert said == "its volume disk-1 was that of the claim shop/stranger last: it gets a new, empty one"
    assert asked is None


@pytest.mark.parametrize("args", [(), ("--into", "lab")])
def test_a_volume_that_is_being_deleted_is_no_place_for_data(memory: Memory, args: tuple[str, ...]) -> None:
    entry_id = a_claim_went(memory)
    memory.holding(volume(namespace="shop", name="data", uid=OWN))
    memory.remove(KINDS["persistentvolumes"], "disk-1", namespace="")
    found = memory.find(KINDS["persistentvolumes"], "disk-1")
    assert found is not None
    assert found["metadata"]["deletionTimestamp"]
    said, asked = came(memory, entry_id, *args, namespace="lab" if args else "shop")
    assert said == "its volume disk-1 is being deleted, and its data may go with it: it gets a new, empty one"
    assert asked is None
