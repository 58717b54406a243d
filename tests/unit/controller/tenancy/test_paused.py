"""A tenant's deletion and Brakes on everything: what is let go of a tenant is counted nowhere, so its release allows nothing to others."""

from __future__ import annotations

import pytest

from tests.unit.controller.braking import brakes, bring_kind, many, pull, release
from tests.unit.controller.stage import MINUTE, Stage, story
from tests.unit.controller.tenancy.town import KINDS, ON, city, leave, lives, things_of

pytestmark = pytest.mark.unit


@story(also=KINDS, features=ON, brakes={"perMinute": 20, "perHour": 1000})
async def test_what_a_pause_held_of_a_tenant_lets_nothing_else_go_uncounted(stage: Stage) -> None:
    await city(stage, "111111")
    await bring_kind(stage)
    for name in many(50):
        await stage.make(name, namespace="111111-default")
    play = await stage.play()
    await stage.later(10)
    await pull(stage, "pause", all=True)
    await leave(stage, "111111")
    await stage.later(5 * MINUTE)
    assert lives(stage, "111111")
    await release(stage, "pause")
    await stage.later(2 * MINUTE)
    assert things_of(stage, "111111") == set()
    ceilings = play.engine.braking.ceilings
    assert {whose: left for whose in ceilings.allowances if (left := ceilings.allowed(whose))} == {}
    for name in many(60, "other"):
        await stage.make(name, ttl="1m")
    await stage.later(10 * MINUTE)
    assert len(stage.found()) == 40, "nobody has released these"
    assert await brakes(stage) == {"ceiling-all-per-minute"}
