"""What people hear of a deleted tenant as a whole: each thing once."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.resources import EVENTS
from tests.unit.controller.stage import HOUR, MINUTE, Stage, story
from tests.unit.controller.tenancy.town import (
    CITIES,
    CLASSES,
    KINDS,
    ON,
    SHARED,
    VOLUMES,
    city,
    leave,
    lives,
    make,
    status,
    tenant,
)

pytestmark = pytest.mark.unit


def told(stage: Stage, name: str = "111111") -> list[tuple[str, str]]:
    """Events on the Tenant, reason and note, in their order."""
    found = [
        (str(one["eventTime"]), str(one["reason"]), str(one["note"]))
        for one in stage.cluster.objects(EVENTS)
        if one["regarding"]["kind"] == "Tenant" and one["regarding"]["name"] == name
    ]
    return [(reason, note) for _, reason, note in sorted(found)]


async def retained(stage: Stage, name: str) -> None:
    spec: dict[str, Any] = {
        "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": "disks.example", "volumeHandle": "vol-1"},
    }
    await make(stage, VOLUMES, name, spec=spec)


@story(also=KINDS, features=ON)
async def test_that_it_begins_and_is_gone_with_what_stays_and_nothing_between(stage: Stage) -> None:
    await city(stage, "111111")
    await make(stage, CLASSES, "111111-lent", metadata={"labels": SHARED}, provisioner="x")
    await retained(stage, "111111-disk")
    await stage.play()
    await stage.later(10)
    await leave(stage, "111111")
    await stage.later(5 * MINUTE)
    assert not lives(stage, "111111")
    (began, _), (ended, said) = told(stage)
    assert (began, ended) == ("SkoupaTenantDeleting", "SkoupaTenantGone")
    assert "1 object stays: StorageClass 111111-lent (it has the label skoupa.dev/shared)" in said
    assert "111111-disk at disks.example vol-1" in said


@story(also=KINDS, features=ON)
async def test_what_it_waits_for_is_told_once_and_again_when_that_changes(stage: Stage) -> None:
    await city(stage, "111111")
    await make(stage, CITIES, "111111-sparta", metadata={"finalizers": ["example.com/walls"]})
    await stage.play()
    await stage.later(10)
    await leave(stage, "111111")
    await stage.later(20 * MINUTE)
    waits = [note for reason, note in told(stage) if reason == "SkoupaTenantWaiting"]
    assert len(waits) == 1
    assert "City 111111-sparta waits for example.com/walls" in waits[0]
    await make(stage, CITIES, "111111-corinth", metadata={"finalizers": ["example.com/walls"]})
    await stage.later(20 * MINUTE)
    waits = [note for reason, note in told(stage) if reason == "SkoupaTenantWaiting"]
    assert len(waits) == 2
    assert "111111-corinth" in waits[1]
    for name in ("sparta", "corinth"):
        await stage.people.merge_patch(CITIES, f"111111-{name}", {"metadata": {"finalizers": None}})
    await stage.later(5 * MINUTE)
    assert [reason for reason, _ in told(stage)][-1] == "SkoupaTenantGone"
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_what_hangs_in_a_namespace_is_told_with_the_rights_of_an_installation_which_has_no_get(
    stage: Stage,
) -> None:
    await city(stage, "111111")
    await stage.make("stuck", namespace="111111-default", finalizers=["example.com/never"])
    stage.cluster.deny(user="installed", verbs=("get",), resources=("namespaces",))
    await stage.play(user="installed")
    await stage.later(10)
    await leave(stage, "111111")
    await stage.later(20 * MINUTE)
    waits = [note for reason, note in told(stage) if reason == "SkoupaTenantWaiting"]
    assert "Namespace 111111-default waits for " in waits[-1]
    assert "example.com/never in 1 resource instances" in waits[-1]


@story(also=KINDS, features=ON, tenants={"grace": "1h"})
async def test_a_grace_is_told_and_then_that_it_begins(stage: Stage) -> None:
    await city(stage, "111111")
    await stage.play()
    await stage.later(10)
    await leave(stage, "111111")
    await stage.later(30 * MINUTE)
    ((reason, note),) = told(stage)
    assert reason == "SkoupaTenantWaiting"
    assert "tenants.grace" in note
    # An Event lives for an hour.
    await stage.later(29 * MINUTE)
    heard = told(stage)
    await stage.later(5 * MINUTE)
    assert [reason for reason, _ in heard + [one for one in told(stage) if one not in heard]] == [
        "SkoupaTenantWaiting",
        "SkoupaTenantDeleting",
        "SkoupaTenantGone",
    ]


@story(also=KINDS, features=ON)
async def test_one_that_is_refused_is_told_why_and_nothing_begins(stage: Stage) -> None:
    await city(stage, "team-a")
    await tenant(stage, "team-a-one")
    await stage.play()
    await stage.later(10)
    await leave(stage, "team-a")
    await stage.later(HOUR)
    ((reason, note),) = told(stage, "team-a")
    assert reason == "SkoupaTenantWaiting"
    assert "Tenant team-a-one" in note


@story(also=KINDS, features=ON)
async def test_who_takes_over_tells_nothing_twice_and_still_knows_where_data_is(stage: Stage) -> None:
    await city(stage, "111111")
    await retained(stage, "111111-disk")
    await make(stage, CITIES, "111111-sparta", metadata={"finalizers": ["example.com/walls"]})
    first, second = await stage.play(), await stage.play()
    second.standing_by = True
    await stage.later(10)
    await leave(stage, "111111")
    await stage.later(10 * MINUTE)
    assert not stage.there("111111-disk", VOLUMES, "")
    first.standing_by, second.standing_by = True, False
    await stage.later(10 * MINUTE)
    assert [one["name"] for one in status(stage, "111111")["volumes"]] == ["111111-disk"]
    await stage.people.merge_patch(CITIES, "111111-sparta", {"metadata": {"finalizers": None}})
    await stage.later(5 * MINUTE)
    assert not lives(stage, "111111")
    assert [reason for reason, _ in told(stage)] == [
        "SkoupaTenantDeleting",
        "SkoupaTenantWaiting",
        "SkoupaTenantGone",
    ]
    assert "vol-1" in told(stage)[-1][1]


@story(also=KINDS, features=ON, mode="observe")
async def test_who_only_observes_tells_nothing_on_it(stage: Stage) -> None:
    await city(stage, "111111")
    await stage.play()
    await stage.later(10)
    await leave(stage, "111111")
    await stage.later(HOUR)
    assert told(stage) == []
