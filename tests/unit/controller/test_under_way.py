"""What is written to an object while its delete is under way counts at the end, although nobody could look then."""

from __future__ import annotations

import pytest

from skoupa.sim.faults import Fault, asking
from tests.unit.controller.stage import DAY, MINUTE, SECRETS, SHOP, Stage, story
from tests.unit.controller.test_carried import ACCOUNTS

pytestmark = pytest.mark.unit


async def looking_around(stage: Stage) -> Fault:
    """An account that is due, whose tokens are being asked for: no answer will come, and that holds it."""
    tokens = asking(method="GET", path=f"/api/v1/namespaces/{SHOP}/secrets")
    silence = stage.cluster.faults.delay(100_000.0, when=tokens, times=None)
    await stage.make("robot", "1m", resource=ACCOUNTS)
    await stage.until(MINUTE + 3)
    return silence


@story(also=(SECRETS,))
async def test_what_is_kept_until_a_day_while_something_else_holds_it_goes_then(stage: Stage) -> None:
    play = await stage.play()
    silence = await looking_around(stage)
    await stage.label("robot", resource=ACCOUNTS, keep=stage.time(DAY)[:10])
    await stage.later(30)
    assert "did not answer within 10 seconds" in play.told("held", "robot")[0]["why"]
    assert "kept" in play.why_held("robot")
    stage.cluster.faults.remove(silence)
    await stage.later(DAY + MINUTE)
    assert not stage.there("robot", ACCOUNTS)


@pytest.mark.parametrize("ttl", ["2h", None], ids=["put off", "cancelled"])
@story(also=(SECRETS,))
async def test_what_has_another_time_while_something_holds_it_is_not_overdue(
    stage: Stage, *, ttl: str | None
) -> None:
    play = await stage.play()
    await looking_around(stage)
    await stage.label("robot", resource=ACCOUNTS, ttl=ttl)
    await stage.later(MINUTE)
    assert stage.there("robot", ACCOUNTS)
    assert play.overdue == {}
