"""What is said about the volume of a claim that comes back, and that the command which is shown does what it says."""

from __future__ import annotations

import json
import secrets
import shlex
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.cluster.reaching import eventually, new_namespace
from tests.cluster.trash.deleting import TTL, Bin

pytestmark = pytest.mark.cluster

_SIZE = {"storage": "1Gi"}
_CLAIMS = "persistentvolumeclaims"
_VOLUMES = "persistentvolumes"


@pytest.fixture
async def volume(trash: Bin) -> AsyncIterator[str]:
    name = f"v-{secrets.token_hex(4)}"
    spec = {
        "capacity": _SIZE,
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "manual",
        "hostPath": {"path": "/tmp/none"},
    }
    kind = await trash.kind(_VOLUMES)
    made = await trash.client.create(kind, {"metadata": {"name": name}, "spec": spec})
    yield name
    await trash.client.delete(kind, name, uid=made["metadata"]["uid"], propagation="Background")


async def claimed(trash: Bin, namespace: str, name: str, volume: str) -> None:
    body = {
        "metadata": {"name": name, "labels": {TTL: "1h"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": _SIZE},
            "storageClassName": "manual",
            "volumeName": volume,
        },
    }
    await trash.client.create(await trash.kind(_CLAIMS), body, namespace=namespace)
    await in_phase(trash, "Bound", _CLAIMS, name, namespace=namespace)


async def in_phase(trash: Bin, phase: str, kind: str, name: str, *, namespace: str = "") -> None:
    async def reached() -> bool:
        found = await trash.read(kind, name, namespace=namespace)
        return bool(found["status"].get("phase") == phase)

    await eventually(reached, what=f"{kind}/{name} to be {phase}", seconds=60)


def volume_said(done: dict[str, dict[str, Any]]) -> str:
    [said] = [one for one in done["PersistentVolumeClaim/data"]["differs"] if "its volume" in one]
    return str(said)


async def obey(trash: Bin, said: str) -> None:
    words = shlex.split(said[said.index("kubectl ") :])
    assert words[:3] == ["kubectl", "patch", "pv"]
    await trash.client.json_patch(await trash.kind(_VOLUMES), words[3], json.loads(words[-1]))


@pytest.mark.parametrize("moved", [False, True])
async def test_the_command_that_is_shown_binds_the_claim_to_its_volume_again(
    trash: Bin, namespace: str, volume: str, *, moved: bool
) -> None:
    await claimed(trash, namespace, "data", volume)
    entry_id = await trash.delete(_CLAIMS, "data", namespace=namespace)
    await in_phase(trash, "Released", _VOLUMES, volume)
    async with new_namespace(trash.client) as other:
        where = other if moved else namespace
        done = await trash.restore(entry_id, *(("--into", other) if moved else ()))
        await obey(trash, volume_said(done))
        await in_phase(trash, "Bound", _CLAIMS, "data", namespace=where)
        found = await trash.read(_CLAIMS, "data", namespace=where)
        assert found["spec"]["volumeName"] == volume


async def test_restored_and_deleted_by_mistake_it_is_bound_to_its_volume_again(
    trash: Bin, namespace: str, volume: str
) -> None:
    await claimed(trash, namespace, "data", volume)
    entry_id = await trash.delete(_CLAIMS, "data", namespace=namespace)
    await in_phase(trash, "Released", _VOLUMES, volume)
    await obey(trash, volume_said(await trash.restore(entry_id)))
    await in_phase(trash, "Bound", _CLAIMS, "data", namespace=namespace)
    kind = await trash.kind(_CLAIMS)
    uid = (await trash.read(_CLAIMS, "data", namespace=namespace))["metadata"]["uid"]
    await trash.client.delete(kind, "data", namespace=namespace, uid=uid, propagation="Background")
    await trash.gone(kind, "data", namespace=namespace)
    await obey(trash, volume_said(await trash.restore(entry_id)))
    await in_phase(trash, "Bound", _CLAIMS, "data", namespace=namespace)
    found = await trash.read(_CLAIMS, "data", namespace=namespace)
    assert found["spec"]["volumeName"] == volume


async def test_a_volume_that_another_claim_has_got_stays_with_it(
    trash: Bin, namespace: str, volume: str
) -> None:
    await claimed(trash, namespace, "data", volume)
    entry_id = await trash.delete(_CLAIMS, "data", namespace=namespace)
    await in_phase(trash, "Released", _VOLUMES, volume)
    given = [{"op": "remove", "path": "/spec/claimRef"}]
    await trash.client.json_patch(await trash.kind(_VOLUMES), volume, given)
    await claimed(trash, namespace, "stranger", volume)
    done = await trash.restore(entry_id)
    assert volume_said(done) == (
        f"its volume {volume} is that of the claim {namespace}/stranger now: it gets a new, empty one"
    )
    await in_phase(trash, "Bound", _CLAIMS, "stranger", namespace=namespace)
    found = await trash.read(_CLAIMS, "data", namespace=namespace)
    assert "volumeName" not in found["spec"]
