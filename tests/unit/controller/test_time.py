"""Clocks that differ or jump, and objects that come back: nothing goes too early, nothing is lost."""

from __future__ import annotations

import pytest

from skoupa import names
from skoupa.controller.recreation.loops import FREE_ROUNDS
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.sim.faults import asking
from tests.unit.controller.jumping import Jumping
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Stage, story

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("skew", [30.0, -30.0, 3600.0, -3.5])
@story()
async def test_a_clock_that_differs_from_the_servers_holds_until_it_does_not(
    stage: Stage, skew: float
) -> None:
    stage.cluster.skew = skew
    play = await stage.play()
    await stage.make("web", "1m")
    await stage.until(2 * MINUTE)
    assert stage.there("web")
    assert "correct the clock" in play.why_held("web")
    stage.cluster.skew = 0.0
    await stage.later(90)
    assert not stage.there("web")


@pytest.mark.parametrize("skew", [0.9, 1.9, -0.9, -1.9])
@story()
async def test_a_difference_below_two_seconds_is_none(stage: Stage, skew: float) -> None:
    """The server's Date header has whole seconds."""
    stage.cluster.skew = skew
    await stage.play()
    await stage.make("web", "1m")
    await stage.until(61)
    assert not stage.there("web")


@story()
async def test_a_clock_that_jumps_ahead_deletes_nothing_early_not_even_before_the_next_answer(
    stage: Stage,
) -> None:
    jumping = Jumping(stage.clock)
    stage.cluster.clock = stage.clock
    play = await stage.play()
    await stage.make("web", "30m")
    await stage.later(MINUTE)
    stage.cluster.skew = -3600.0
    jumping.by = 3600.0
    await stage.later(10 * MINUTE)
    assert stage.there("web")
    assert not play.sent("DELETE")
    jumping.by = 0.0
    stage.cluster.skew = 0.0
    await stage.later(18 * MINUTE)
    assert stage.there("web")
    await stage.later(2 * MINUTE)
    assert not stage.there("web")


@story()
async def test_a_clock_that_jumps_back_and_forth_loses_nothing(stage: Stage) -> None:
    jumping = Jumping(stage.clock)
    await stage.play()
    await stage.make("web", "10m")
    await stage.later(9 * MINUTE)
    jumping.by, stage.cluster.skew = -7200.0, 7200.0
    await stage.later(5 * MINUTE)
    assert stage.there("web")
    jumping.by, stage.cluster.skew = 0.0, 0.0
    await stage.later(2 * MINUTE)
    assert not stage.there("web")


async def round_of(stage: Stage, name: str = "web") -> None:
    await stage.make(name, "1m")
    await stage.later(61)


@pytest.mark.parametrize("written", ["label", "annotation"])
@story()
async def test_what_is_written_on_an_object_right_after_the_clock_was_set_right_does_not_lose_it(
    stage: Stage, written: str
) -> None:
    jumping = Jumping(stage.clock)
    await stage.play()
    await stage.make("web", "30m")
    await stage.later(MINUTE)
    stage.cluster.skew, jumping.by = -3600.0, 3600.0
    await stage.later(10 * MINUTE + 1.5)
    assert stage.there("web")
    jumping.by, stage.cluster.skew = 0.0, 0.0
    await stage.later(0.5)
    if written == "label":
        await stage.label("web", app="x")
    else:
        await stage.annotate("web", names.NOTIFY_ANNOTATION, "team")
    await stage.until(29 * MINUTE)
    assert stage.there("web")
    await stage.until(31 * MINUTE)
    assert not stage.there("web")


@story()
async def test_objects_that_get_an_earlier_time_together_all_go_at_it(stage: Stage) -> None:
    """More than an hour ahead, but within an hour whose exact times are known already."""
    await stage.play()
    for name in ("a", "b", "c"):
        await stage.make(name, "170m")
    await stage.until(HOUR + 10)
    stage.cluster.faults.answer(503, when=asking(verb="watch", kind="configmaps"), seconds=20)
    stage.cluster.restart()
    await stage.later(1)
    for name in ("a", "b", "c"):
        await stage.label(name, ttl="125m")
    await stage.until(124 * MINUTE)
    assert stage.found() == {"a", "b", "c"}
    await stage.until(126 * MINUTE)
    assert not stage.found()


@story()
async def test_what_keeps_coming_back_is_backed_off_and_shown(stage: Stage) -> None:
    play = await stage.play()
    for _ in range(FREE_ROUNDS):
        await round_of(stage)
        assert not stage.there("web")
    await stage.make("web", "0")
    await stage.later(30)
    assert stage.there("web")
    assert f"it came back {FREE_ROUNDS} times" in play.why_held("web")
    assert stage.events("SkoupaHeld", "web")
    await stage.later(35)
    assert not stage.there("web")
    await stage.make("web", "0")
    await stage.later(110)
    assert stage.there("web"), "each time it waits twice as long"
    await stage.later(20)
    assert not stage.there("web")


@story()
async def test_a_loop_never_waits_longer_than_an_hour(stage: Stage) -> None:
    await stage.play()
    gone_at = []
    for _ in range(12):
        await stage.make("web", "0")
        made = stage.now
        while stage.there("web"):
            await stage.later(MINUTE)
            assert stage.now - made < HOUR + 2 * MINUTE
        gone_at.append(stage.now - made)
    assert max(gone_at) > HOUR - MINUTE


@story()
async def test_another_object_of_that_kind_is_not_backed_off(stage: Stage) -> None:
    await stage.play()
    for _ in range(FREE_ROUNDS + 1):
        await round_of(stage)
    await round_of(stage, "api")
    assert not stage.there("api")


@story()
async def test_an_object_whose_controller_lives_goes_and_its_people_are_told_that_it_comes_back(
    stage: Stage,
) -> None:
    play = await stage.play()
    owner = await stage.make("parent")
    await stage.make("child", "1m", owner=owner)
    await stage.until(65)
    assert not stage.there("child")
    assert play.told("deleted", "child")[0]["note"] == "ConfigMap parent will create it again"
    (event,) = stage.events("SkoupaDeleted", "child")
    assert event["note"].endswith("ConfigMap parent will create it again")


@story()
async def test_re_created_under_its_name_it_lives_its_own_time(stage: Stage) -> None:
    await stage.play()
    first = await stage.make("web", "10m")
    await stage.until(9 * MINUTE)
    await stage.people.delete(
        CONFIG_MAPS, "web", namespace=SHOP, uid=first["metadata"]["uid"], propagation="Background"
    )
    await stage.make("web", "10m")
    await stage.until(18.9 * MINUTE)
    assert stage.there("web")
    await stage.until(19 * MINUTE + 0.1)
    assert not stage.there("web")
