"""Only a label that a watch brought is known to be of no earlier labelling: what a list brings may be of any."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from skoupa import names
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.kube.transport import Request
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Stage, story
from tests.unit.controller.test_backlog import label_all, many

pytestmark = pytest.mark.unit


async def write_something_else(stage: Stage, wanted: Iterable[str], value: str) -> None:
    """As the manager that wrote the label."""
    patch = {"metadata": {"annotations": {"beat": value}}}
    for name in wanted:
        await stage.people.merge_patch(CONFIG_MAPS, name, patch, namespace=SHOP)
    await stage.settle()


def of_labelled(request: Request) -> bool:
    return request.kind == "configmaps" and ("labelSelector", names.TTL_LABEL) in request.query


@story()
async def test_what_a_late_first_list_brings_is_not_taken_for_freshly_labelled(stage: Stage) -> None:
    stage.old(many(60))
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(HOUR)
    await play.stop()
    stage.cluster.faults.answer(500, when=of_labelled, times=None, seconds=240)
    play = await stage.play()
    for number in range(20):
        await stage.later(20)
        if not play.overdue:
            await write_something_else(stage, many(20), str(number))
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    assert play.overdue == {"retroactive-label": 60}


@story()
async def test_what_is_read_once_the_right_comes_back_is_not_taken_for_freshly_labelled(stage: Stage) -> None:
    stage.old(many(60))
    play = await stage.play(user="sweeper")
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(HOUR)
    await play.stop()
    stage.cluster.deny(user="sweeper", verbs=("list", "watch"), resources=("configmaps",))
    play = await stage.play(user="sweeper")
    await stage.later(10 * MINUTE)
    stage.cluster.plane.access.clear()
    for number in range(12):
        await write_something_else(stage, stage.found() & set(many(20)), str(number))
        await stage.later(20)
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    assert play.overdue == {"retroactive-label": 60}


@story()
async def test_a_keep_label_that_is_seen_first_does_not_tell_when_the_other_was_written(stage: Stage) -> None:
    """Kept objects are followed by themselves, and their list may be read long before the other."""
    stage.old(many(60))
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(HOUR)
    await play.stop()
    stage.cluster.faults.answer(500, when=of_labelled, times=None, seconds=240)
    await stage.play()
    await stage.later(MINUTE)
    keep = {"metadata": {"labels": {names.KEEP_LABEL: "true"}}}
    for name in many(20):
        await stage.people.merge_patch(CONFIG_MAPS, name, keep, namespace=SHOP)
    await stage.later(10 * MINUTE)
    for name in many(20):
        await stage.label(name, keep=None)
    await stage.later(HOUR)
    assert len(stage.found()) == 60


@story()
async def test_a_label_that_came_during_a_gap_is_held_with_the_others_and_one_after_it_is_a_wish(
    stage: Stage,
) -> None:
    stage.old([*many(60), "during", "after"])
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(HOUR)
    stage.cluster.faults.answer(500, when=of_labelled, times=None)
    stage.cluster.restart()
    await stage.later(5)
    await label_all(stage, ["during"])
    stage.cluster.faults.clear()
    await stage.later(HOUR)
    assert stage.there("during"), "a list brought it"
    await label_all(stage, ["after"])
    await stage.later(MINUTE)
    assert stage.found() == {*many(60), "during"}
    assert play.overdue == {"retroactive-label": 61}
