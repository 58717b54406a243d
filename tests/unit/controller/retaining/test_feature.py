"""The feature `retention`: off nothing is read, marked or deleted, and switching loses nothing."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.kube.timestamps import whole_seconds
from tests.unit.controller.retaining.scene import KINDS, ON, after, job, mark_of, patches
from tests.unit.controller.stage import DAY, MINUTE, Stage, story

pytestmark = pytest.mark.unit


@story(also=KINDS)
async def test_off_means_that_nothing_is_marked_and_nothing_goes(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("config", labels=after("unused-0"))
    await job(stage, "job", "finished-0")
    await stage.later(10 * MINUTE)
    assert stage.there("config")
    assert not patches(play, "config")
    assert not [one for _, one in play.wire.seen if "ttl-after" in str(one.query)]


@story(also=KINDS)
async def test_on_off_and_on_again_loses_nothing_and_a_mark_does_no_harm_meanwhile(stage: Stage) -> None:
    settings: dict[str, Any] = {"features": ON}
    on = await stage.play(**settings)
    await stage.make("config", labels=after("unused-20m"))
    await stage.later(5 * MINUTE)
    marked = mark_of(stage, "config")
    await on.stop()
    off = await stage.play()
    await stage.later(30 * MINUTE)
    assert stage.there("config")
    assert mark_of(stage, "config") == marked
    await off.stop()
    again = await stage.play(**settings)
    await stage.later(MINUTE)
    assert not stage.there("config")
    assert not patches(again, "config")


@story(also=KINDS, features=ON, brakes={"perMinute": 5})
async def test_ceilings_count_what_goes_by_it(stage: Stage) -> None:
    play = await stage.play()
    for number in range(12):
        await stage.make(f"config-{number}", labels=after("unused-5m"))
    await stage.later(8 * MINUTE)
    assert len(stage.found()) == 7
    assert play.overdue.get("brake") == 7


@story(also=KINDS)
async def test_switched_on_again_after_long_many_old_marks_wait_for_somebody_to_look(stage: Stage) -> None:
    await (await stage.play()).stop()
    since = {names.UNNEEDED_SINCE_ANNOTATION: whole_seconds(stage.clock.now() - DAY)}
    stage.old(
        [f"config-{number}" for number in range(120)],
        age=2 * DAY,
        labels=after("unused-1h"),
        annotations=since,
    )
    settings: dict[str, Any] = {"features": ON}
    play = await stage.play(**settings)
    await stage.later(2 * MINUTE)
    assert len(stage.found()) == 120
    assert "overdue when Skoupa first looked" in play.why_held("config-1")
