"""Claims and volumes: what a protection finalizer holds, and for how long."""

from __future__ import annotations

from skoupa.kube.resources import PODS
from tests.contract.arena import Arena, Object
from tests.contract.kinds import CLAIMS, VOLUMES, claim, pod, volume
from tests.contract.registry import rule
from tests.contract.sabotage import always


async def delete(arena: Arena, made: Object) -> bool:
    metadata = made["metadata"]
    done = await arena.client.delete(
        CLAIMS,
        metadata["name"],
        namespace=arena.namespace,
        uid=metadata["uid"],
        propagation="Background",
    )
    return done.gone


@rule(broken_by=always("controllers.protection._in_use", True))
async def an_unused_claim_goes(arena: Arena) -> None:
    """A new claim has a finalizer, and goes soon after its deletion when no Pod uses it."""
    made = await arena.create(CLAIMS, claim("data"))
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert not await delete(arena, made)
    await arena.gone(CLAIMS, "data")


@rule(broken_by=always("controllers.protection._in_use", False))
async def a_used_claim_waits_for_its_pod(arena: Arena) -> None:
    """A deleted claim that a Pod on a node uses stays until the Pod is gone; a Pod without a node is no user."""
    made = await arena.create(CLAIMS, claim("data"))
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    user = await arena.create_pod(pod("user", nodeName="nowhere", volumes=volumes))
    other = await arena.create(CLAIMS, claim("other"))
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "other"}}]
    await arena.create_pod(pod("waiting", volumes=volumes))
    await delete(arena, made)
    await delete(arena, other)
    await arena.gone(CLAIMS, "other")
    assert "deletionTimestamp" in (await arena.get(CLAIMS, "data"))["metadata"]
    path = PODS.path(namespace=arena.namespace, name=user["metadata"]["name"])
    assert (await arena.ask("DELETE", path, body={"gracePeriodSeconds": 0})).status == 200
    await arena.gone(CLAIMS, "data")


@rule(broken_by=always("controllers.protection._in_use", True))
async def an_unbound_volume_goes(arena: Arena) -> None:
    """A new volume has a finalizer, and goes soon after its deletion when no claim is bound to it."""
    made = await arena.create(VOLUMES, volume(arena.unique("volume")))
    name = made["metadata"]["name"]
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
    await arena.client.delete(VOLUMES, name, uid=made["metadata"]["uid"], propagation="Background")
    await arena.gone(VOLUMES, name)
