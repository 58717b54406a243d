"""Skoupa's own label on what belongs to a tenant: written by the rule, read by the server, and believed by nobody."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from tests.unit.controller.stage import HOUR, MINUTE, PRIORITIES, Play, Stage, story
from tests.unit.controller.tenancy.town import (
    BINDINGS,
    CITIES,
    CLASSES,
    HOOKS,
    KINDS,
    LISTED,
    ON,
    ROLES,
    SERVICES,
    city,
    foos,
    leave,
    lives,
    make,
    things_of,
)

pytestmark = pytest.mark.unit

LABEL = names.TENANT_LABEL
SET: dict[str, Any] = {"label": LABEL}
NEVER = (ROLES, BINDINGS, HOOKS, SERVICES)
EVERY = (*LISTED, foos("111111"), foos("222222"))


def labelled(stage: Stage) -> dict[str, str]:
    """By KIND/NAME what the label says."""
    served = {one.resource.qualified for one in stage.cluster.plane.catalogue.served()}
    return {
        f"{kind.kind}/{one['metadata']['name']}": str(one["metadata"]["labels"][LABEL])
        for kind in EVERY
        if kind.qualified in served
        for one in stage.cluster.objects(kind)
        if LABEL in one["metadata"].get("labels", {})
    }


async def put(stage: Stage, resource: Resource, name: str, value: str | None) -> None:
    """Somebody else writes it."""
    await stage.people.merge_patch(resource, name, {"metadata": {"labels": {LABEL: value}}})


def lists(play: Play, began: int, plural: str) -> list[str]:
    """The selectors by which a kind was listed, empty where all of it was."""
    return [
        dict(request.query).get("labelSelector", "")
        for _, request in play.wire.seen[began:]
        if request.verb == "list"
        and request.path.endswith(f"/{plural}")
        and "fieldSelector" not in dict(request.query)
    ]


@story(also=KINDS, features=ON, tenants=SET)
async def test_what_belongs_to_a_tenant_gets_the_label_and_nothing_else(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    for kind in (PRIORITIES, CLASSES):
        await make(stage, kind, "1111112-theirs", value=1, provisioner="x")
    await stage.play()
    await stage.later(2 * MINUTE)
    for one in ("111111", "222222"):
        mine = {name for name in things_of(stage, one) if name.partition("/")[0] not in _kinds(NEVER)}
        assert {name for name, said in labelled(stage).items() if said == one} == mine | {f"Foo/{one}-foo"}
    assert set(labelled(stage).values()) == {"111111", "222222"}


def _kinds(resources: tuple[Resource, ...]) -> set[str]:
    return {one.kind for one in resources}


@story(also=KINDS, features=ON, tenants=SET, mode="observe")
async def test_who_only_observes_writes_none(stage: Stage) -> None:
    await city(stage, "111111")
    await stage.play()
    await stage.later(HOUR)
    assert labelled(stage) == {}


@story(also=KINDS, features=ON, tenants=SET)
async def test_what_comes_later_gets_it_and_only_what_has_none_is_read_for_that(stage: Stage) -> None:
    await city(stage, "111111")
    play = await stage.play()
    await stage.later(2 * MINUTE)
    began = len(play.wire.seen)
    await make(stage, CITIES, "111111-sparta")
    await stage.later(20 * MINUTE)
    assert labelled(stage)["City/111111-sparta"] == "111111"
    assert lists(play, began, "cities") == [f"!{LABEL}"]
    assert lists(play, began, "clusterroles") == []
    assert lists(play, began, "namespaces") == [""]


@story(also=KINDS, features=ON, tenants=SET)
async def test_the_first_reading_selects_and_the_last_is_whole(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    play = await stage.play()
    await stage.later(2 * MINUTE)
    theirs = things_of(stage, "222222")
    began = len(play.wire.seen)
    await leave(stage, "111111")
    await stage.later(5 * MINUTE)
    assert things_of(stage, "111111") == set()
    assert not lives(stage, "111111")
    assert things_of(stage, "222222") == theirs
    assert lists(play, began, "cities") == [f"{LABEL} in (111111)", ""]
    assert lists(play, began, "priorityclasses") == [f"{LABEL} in (111111)", ""]
    # Whose they are decides about what is in them, and nobody labels a role.
    for plural in ("clusterroles", "validatingwebhookconfigurations"):
        assert lists(play, began, plural) == ["", ""]
    assert set(lists(play, began, "namespaces")) == {""}


@story(also=KINDS, features=ON, tenants=SET)
async def test_whoever_writes_or_removes_the_label_neither_gives_nor_keeps_anything(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    await make(stage, CLASSES, "shared-by-all", provisioner="x")
    await make(stage, PRIORITIES, "1111112-theirs", value=1)
    await stage.play()
    await stage.later(2 * MINUTE)
    theirs = things_of(stage, "222222")
    for kind, name in (
        (CLASSES, "shared-by-all"),
        (PRIORITIES, "1111112-theirs"),
        (CLASSES, "222222-fast"),
        (NAMESPACES, "222222-default"),
        (CITIES, "222222-athens"),
        (NAMESPACES, "kube-system"),
        (CUSTOM_RESOURCE_DEFINITIONS, foos("222222").qualified),
        (ROLES, "222222-admin"),
    ):
        await put(stage, kind, name, "111111")
    for kind, name, value in (
        (CLASSES, "111111-fast", None),
        (PRIORITIES, "111111-high", "222222"),
        (NAMESPACES, "111111-default", "nobody"),
        (CUSTOM_RESOURCE_DEFINITIONS, foos("111111").qualified, None),
        (foos("111111"), "111111-foo", None),
    ):
        await put(stage, kind, name, value)
    await leave(stage, "111111")
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == set()
    assert not lives(stage, "111111")
    assert things_of(stage, "222222") == theirs
    assert stage.there("shared-by-all", CLASSES, "")
    assert stage.there("1111112-theirs", PRIORITIES, "")
    assert stage.there("kube-system", NAMESPACES, "")


@story(also=KINDS, features=ON, tenants=SET)
async def test_where_nothing_has_the_label_yet_all_is_read_and_goes(stage: Stage) -> None:
    await city(stage, "111111")
    play = await stage.play()
    await stage.later(2 * MINUTE)
    for name in labelled(stage):
        kind = next(one for one in EVERY if one.kind == name.partition("/")[0])
        await put(stage, kind, name.partition("/")[2], None)
    assert labelled(stage) == {}
    began = len(play.wire.seen)
    await leave(stage, "111111")
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == set()
    assert not lives(stage, "111111")
    assert lists(play, began, "cities")[0] != ""
    assert lists(play, began, "cities")[-1] == ""


@story(also=KINDS, features=ON, tenants=SET)
async def test_without_the_right_to_write_it_that_is_told_once_and_all_goes_the_same(stage: Stage) -> None:
    await city(stage, "111111")
    stage.cluster.faults.answer(
        403,
        when=lambda asked: asked.method == "PATCH" and "/cities/" in asked.path,
        times=None,
    )
    play = await stage.play()
    await stage.later(HOUR)
    told = [said for said in play.engine.outlook.degraded if "tenants.label" in said]
    assert len(told) == 1
    assert "no permission to patch cities.geo.example" in told[0]
    assert "City/111111-athens" not in labelled(stage)
    assert labelled(stage)["StorageClass/111111-fast"] == "111111"
    await leave(stage, "111111")
    await stage.later(5 * MINUTE)
    assert things_of(stage, "111111") == set()
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON, tenants=SET)
async def test_who_takes_over_half_way_writes_the_rest(stage: Stage) -> None:
    await city(stage, "111111", "222222", "333333")
    first, second = await stage.play(), await stage.play()
    second.standing_by = True
    await stage.later(0.5)
    half = labelled(stage)
    first.standing_by, second.standing_by = True, False
    await stage.later(2 * MINUTE)
    assert len(half) < len(labelled(stage))
    assert set(labelled(stage).values()) == {"111111", "222222", "333333"}
    assert len(set(map(tuple, _patched(first))) & set(map(tuple, _patched(second)))) == 0


def _patched(play: Play) -> list[str]:
    return [request.path for _, request in play.sent("PATCH") if LABEL.encode() in (request.body or b"")]


@story(also=KINDS, features=ON, tenants=SET)
async def test_of_one_that_is_refused_nothing_is_labelled(stage: Stage) -> None:
    await city(stage, "team-a", "team-a-one")
    await stage.play()
    await stage.later(HOUR)
    assert labelled(stage) == {}
