"""A backlog is told when it is found, the second as well as the first, and not again at each restart."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.controller.braking import brake, bring_kind, release
from tests.unit.controller.stage import DAY, MINUTE, Play, Stage, story
from tests.unit.controller.test_backlog import many, restart
from tests.unit.controller.test_backlog_watched import of_labelled

pytestmark = pytest.mark.unit

JANITOR: dict[str, Any] = {"compat": {"janitor": True}}


def pulled(play: Play) -> list[str]:
    return [line["why"] for line in play.told("brake pulled", "first-start")]


@story()
async def test_a_second_backlog_is_told_although_the_brake_of_the_first_is_still_there(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(110), "1h", age=DAY)
    play = await stage.play()
    await stage.later(MINUTE)
    assert len(pulled(play)) == 1
    play = await restart(stage, play, acceptBacklog=True)
    await stage.later(5 * MINUTE)
    assert not stage.found()
    ended = await brake(stage, "first-start")
    assert not ended["status"]["active"]
    assert not pulled(play)
    stage.old(many(120, "other"), age=DAY, annotations={"janitor/ttl": "1h"})
    play = await restart(stage, play, **JANITOR)
    await stage.later(5 * MINUTE)
    assert (await brake(stage, "first-start"))["status"]["held"] == 120
    (why,) = pulled(play)
    assert why.startswith("120 objects were overdue")
    assert play.value("skoupa_trips_total", span="backlog") == 1
    notes = [event["note"] for event in stage.events("SkoupaBraked", "first-start")]
    assert [note.split()[0] for note in notes] == ["110", "120"]
    play = await restart(stage, play, **JANITOR)
    await stage.later(5 * MINUTE)
    assert not pulled(play), "what was told before a restart is not told again"
    assert len(stage.events("SkoupaBraked", "first-start")) == 2


@story()
async def test_its_brake_stands_while_a_start_waits_for_what_it_can_not_read(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(110), "1h", age=DAY)
    play = await stage.play()
    await stage.later(MINUTE)
    await play.stop()
    stage.cluster.faults.answer(500, when=of_labelled, times=None, seconds=30)
    play = await stage.play()
    for _ in range(30):
        await stage.later(2)
        assert (await brake(stage, "first-start"))["status"]["active"]
    assert not pulled(play)
    assert not play.told("brake ended")
    assert (await brake(stage, "first-start"))["status"]["held"] == 110


@story()
async def test_who_releases_it_while_a_start_waits_for_what_it_can_not_read_has_released_it(
    stage: Stage,
) -> None:
    await bring_kind(stage)
    stage.old(many(110), "1h", age=DAY)
    play = await stage.play()
    await stage.later(MINUTE)
    await play.stop()
    stage.cluster.faults.answer(500, when=of_labelled, times=None, seconds=30)
    play = await stage.play()
    await stage.later(10)
    await release(stage, "first-start")
    await stage.later(5 * MINUTE)
    assert not stage.found()
    assert not pulled(play)
