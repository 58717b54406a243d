"""Volumes that go with their claim: their drivers take the data away, and nobody deletes the object before."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kinds.tenant import TENANTS
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import NAMESPACES
from tests.unit.controller.stage import MINUTE, PRIORITIES, Play, Stage, story
from tests.unit.controller.tenancy.town import (
    KINDS,
    ON,
    VOLUMES,
    city,
    deleted,
    leave,
    lives,
    status,
    things_of,
)

pytestmark = pytest.mark.unit

VOLUME = "PersistentVolume pvc-1"


async def volume(stage: Stage, *, bound: bool = True) -> None:
    """Of a claim of the tenant; an embedded cluster has nobody who would take it away."""
    claim = {"namespace": "111111-default", "name": "data", "uid": "uid-claim"}
    spec: dict[str, Any] = {
        "persistentVolumeReclaimPolicy": "Delete",
        "csi": {"driver": "disks.example", "volumeHandle": "vol-1"},
    }
    name = "pvc-1" if bound else "111111-free"
    body = {"metadata": {"name": name}, "spec": {**spec, **({"claimRef": claim} if bound else {})}}
    await stage.people.create(VOLUMES, body)


async def taken_by_its_driver(stage: Stage) -> None:
    found = await stage.people.get(VOLUMES, "pvc-1", view=WHOLE)
    uid = found["metadata"]["uid"]
    await stage.people.delete(VOLUMES, "pvc-1", uid=uid, propagation="Background")


async def left(stage: Stage) -> Play:
    play = await stage.play()
    await stage.later(10)
    await leave(stage, "111111")
    await stage.later(MINUTE)
    return play


def asked_for(play: Play) -> bool:
    return any(one.startswith("persistentvolumes/") for one in deleted(play))


@story(also=KINDS, features=ON)
async def test_a_volume_that_goes_with_its_claim_is_left_to_its_driver(stage: Stage) -> None:
    await city(stage, "111111")
    await volume(stage)
    play = await left(stage)
    assert things_of(stage, "111111") == set(), "roles went too"
    assert lives(stage, "111111")
    (told,) = status(stage, "111111")["blockers"]
    assert told.startswith(f"{VOLUME}: ")
    assert "its driver takes its data away" in told
    assert "volumes" not in status(stage, "111111")
    await taken_by_its_driver(stage)
    await stage.later(MINUTE)
    assert not lives(stage, "111111")
    assert not asked_for(play)


@story(also=KINDS, features=ON)
async def test_one_that_no_driver_takes_away_goes_all_the_same_and_its_data_is_named(stage: Stage) -> None:
    await city(stage, "111111")
    await volume(stage)
    stuck = {"metadata": {"finalizers": ["example.com/never"]}}
    await stage.people.merge_patch(PRIORITIES, "111111-high", stuck)
    play = await left(stage)
    assert not asked_for(play)
    await stage.later(16 * MINUTE)
    assert asked_for(play)
    assert stage.found(VOLUMES) == set()
    volume_ = {"name": "pvc-1", "handle": "disks.example vol-1", "claim": "111111-default/data"}
    assert status(stage, "111111")["volumes"] == [volume_]
    (said,) = play.told("deleted", "pvc-1")
    assert "its driver has not taken its data away for 15 minutes: disks.example vol-1" in said["why"]


@story(also=KINDS, features=ON)
async def test_why_its_driver_can_not_take_it_away_is_told(stage: Stage) -> None:
    await city(stage, "111111")
    await volume(stage)
    await left(stage)
    failed = {"status": {"phase": "Failed", "message": "the disk is attached to node-7"}}
    await stage.people.merge_patch(VOLUMES, "pvc-1", failed, subresource="status")
    await stage.later(2 * MINUTE)
    (told,) = status(stage, "111111")["blockers"]
    assert told.endswith("That fails: the disk is attached to node-7")


@story(also=KINDS, features=ON)
async def test_while_the_namespace_of_the_claim_is_there_it_is_waited_for_however_long(stage: Stage) -> None:
    await city(stage, "111111")
    await volume(stage)
    hanging = {"metadata": {"finalizers": ["example.com/never"]}}
    await stage.people.merge_patch(NAMESPACES, "111111-default", hanging)
    play = await left(stage)
    await stage.later(30 * MINUTE)
    assert not asked_for(play)
    assert things_of(stage, "111111") == {"Namespace/111111-default"}
    await stage.people.merge_patch(NAMESPACES, "111111-default", {"metadata": {"finalizers": None}})
    await stage.later(MINUTE)
    await taken_by_its_driver(stage)
    await stage.later(2 * MINUTE)
    assert not lives(stage, "111111")
    assert not asked_for(play)


@story(also=KINDS, features=ON)
async def test_one_that_no_claim_was_bound_to_goes_at_once(stage: Stage) -> None:
    await city(stage, "111111")
    await volume(stage, bound=False)
    play = await left(stage)
    assert asked_for(play)
    assert not lives(stage, "111111")
    assert "111111" not in stage.found(TENANTS)
