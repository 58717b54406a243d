"""Another tool's annotation on everything old is held as a label is, also over a restart, and for who sweeps by hand."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.cli.acting.sweep import Sweeping
from skoupa.cli.worlds import World
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.settings import Settings, decode
from tests.unit.controller.stage import DAY, HOUR, MINUTE, SHOP, Stage, story
from tests.unit.controller.test_backlog import label_all, many, restart, state

pytestmark = pytest.mark.unit

BOTH: dict[str, Any] = {"compat": {"janitor": True, "ttlController": True}}
JANITOR = "janitor/ttl"


async def annotate_all(
    stage: Stage, wanted: list[str], *, key: str = JANITOR, value: str | None = "1h"
) -> None:
    patch = {"metadata": {"annotations": {key: value}}}
    for name in wanted:
        await stage.people.merge_patch(CONFIG_MAPS, name, patch, namespace=SHOP)
    await stage.settle()


async def to_sweep(stage: Stage) -> set[str]:
    """What a sweep by hand would let go."""

    async def guards(_: World) -> Settings:
        return decode(BOTH, source="the test")

    world = World(client=stage.people, namespace=SHOP)
    plan, _ = await Sweeping(guards, kinds=(), all_namespaces=False).look(world)
    return {found.row.name for found in plan.going()}


@pytest.mark.parametrize("managed", [True, False], ids=["the server tells when", "nobody knows when"])
@pytest.mark.parametrize(
    ("key", "value"),
    [(JANITOR, "1h"), ("janitor/expires", "2020-01-01"), ("k8s-ttl-controller.twin.sh/ttl", "1h")],
)
@story(**BOTH)
async def test_an_annotation_on_more_than_fifty_old_objects_is_held_also_after_a_restart(
    stage: Stage, key: str, value: str, *, managed: bool
) -> None:
    stage.old(many(60), age=DAY, managed=managed)
    play = await stage.play()
    await stage.later(MINUTE)
    await annotate_all(stage, many(60), key=key, value=value)
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    assert play.overdue == {"retroactive-label": 60}
    await play.stop()
    assert not await to_sweep(stage)
    for name in many(60)[20:]:
        found = next(
            one
            for one in stage.cluster.objects(CONFIG_MAPS, namespace=SHOP)
            if one["metadata"]["name"] == name
        )
        await stage.people.delete(
            CONFIG_MAPS, name, namespace=SHOP, uid=found["metadata"]["uid"], propagation="Background"
        )
    await stage.later(HOUR)
    play = await stage.play()
    await stage.later(HOUR)
    assert stage.found() == set(many(20)), "twenty are not many, but they are of the sixty"
    await restart(stage, play, acceptBacklog=True)
    await stage.later(MINUTE)
    assert not stage.found()


@pytest.mark.parametrize("managed", [True, False])
@story(**BOTH)
async def test_an_annotation_on_fifty_old_objects_is_a_wish(stage: Stage, *, managed: bool) -> None:
    stage.old(many(50), age=DAY, managed=managed)
    await stage.play()
    await stage.later(MINUTE)
    await annotate_all(stage, many(50))
    await stage.later(5)
    assert len(stage.found()) == 50
    await stage.later(10)
    assert not stage.found()


@story(**BOTH)
async def test_annotations_that_were_written_while_nobody_watched_are_held(stage: Stage) -> None:
    stage.old(many(60), age=DAY)
    play = await stage.play()
    await stage.later(1)
    await play.stop()
    await annotate_all(stage, many(60))
    await stage.later(50 * MINUTE)
    play = await stage.play()
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    assert play.overdue == {"retroactive-label": 60}


@story(**BOTH)
async def test_an_annotation_that_is_taken_off_everything_and_leaves_an_old_label_is_held(
    stage: Stage,
) -> None:
    stage.old(many(60), "1h", age=DAY, annotations={JANITOR: "30d"})
    await stage.play()
    await stage.later(MINUTE)
    await annotate_all(stage, many(60), value=None)
    await stage.later(HOUR)
    assert len(stage.found()) == 60


@pytest.mark.parametrize("managed", [True, False])
@story(**BOTH)
async def test_more_time_by_the_annotation_ends_it(stage: Stage, *, managed: bool) -> None:
    stage.old([*many(60), "other"], age=DAY, managed=managed)
    await stage.play()
    await stage.later(MINUTE)
    await annotate_all(stage, many(60))
    await stage.later(MINUTE)
    await annotate_all(stage, many(60), value="30d")
    await stage.later(MINUTE)
    assert state(stage)["massLabellings"] == "[]"
    await annotate_all(stage, ["other"])
    await stage.later(MINUTE)
    assert stage.found() == set(many(60))


@story(**BOTH)
async def test_annotations_that_came_with_their_objects_are_no_labelling_after_a_long_absence(
    stage: Stage,
) -> None:
    play = await stage.play()
    for name in many(60):
        await stage.make(name, annotations={JANITOR: "2h"})
    await play.stop()
    await stage.later(DAY)
    await stage.play()
    await stage.later(MINUTE)
    assert not stage.found()


@story(**BOTH)
async def test_a_label_and_an_annotation_make_one_labelling(stage: Stage) -> None:
    stage.old(many(60), age=DAY)
    await stage.play()
    await stage.later(MINUTE)
    await label_all(stage, many(60)[:30])
    await annotate_all(stage, many(60)[30:])
    await stage.later(HOUR)
    assert len(stage.found()) == 60


@story()
async def test_an_annotation_that_nobody_heeds_holds_nothing(stage: Stage) -> None:
    stage.old(many(60), age=DAY)
    stage.old(["other"], age=DAY)
    await stage.play()
    await stage.later(MINUTE)
    await annotate_all(stage, many(60))
    await label_all(stage, ["other"])
    await stage.later(MINUTE)
    assert stage.found() == set(many(60))
