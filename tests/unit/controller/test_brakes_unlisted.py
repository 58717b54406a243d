"""More Brakes than are written down: where some went along with their definition and nobody knows which, everything holds."""

from __future__ import annotations

import pytest

from skoupa import names
from skoupa.controller.braking.look import look
from skoupa.kube.discovery import discover
from skoupa.kube.resources import CONFIG_MAPS
from tests.unit.controller.braking import brakes, bring_kind, pull, release, state, take_kind_away
from tests.unit.controller.stage import HOME, HOUR, MINUTE, Play, Stage, story

pytestmark = pytest.mark.unit

# As many as are written down.
MOST = 300


async def crowded(stage: Stage) -> Play:
    """One for each of many namespaces; the last by name and by age is the one that matters."""
    await bring_kind(stage)
    for number in range(MOST):
        await pull(stage, f"a-{number:04}", namespace=f"ns-{number}")
    await stage.namespace("frozen")
    await stage.later(2)
    await pull(stage, "z-frozen", namespace="frozen")
    await stage.make("web", "5m", namespace="frozen")
    play = await stage.play()
    await stage.later(10)
    return play


async def restarted(stage: Stage, play: Play) -> Play:
    await play.kill()
    stage.plays.remove(play)
    return await stage.play()


async def write(stage: Stage, **values: str | None) -> None:
    """Somebody changes the state by hand."""
    await stage.people.merge_patch(CONFIG_MAPS, names.STATE_CONFIG_MAP, {"data": values}, namespace=HOME)


@story()
async def test_where_a_brake_that_was_not_written_down_may_be_lost_everything_holds(stage: Stage) -> None:
    play = await crowded(stage)
    await take_kind_away(stage)
    await stage.later(MINUTE)
    play = await restarted(stage, play)
    await bring_kind(stage)
    await stage.make("other", "5m")
    await stage.later(HOUR)
    assert stage.there("web", namespace="frozen")
    assert stage.there("other")
    why = play.why_held("web")
    assert "1 of more than 300 Brakes" in why
    assert "brakesUnlisted" in why
    # Who acts by hand is held alike.
    seen = await look(stage.people, await discover(stage.people), home=HOME)
    assert seen.pulled.unknown in why
    assert seen.everybody
    # Those that were written down came back, and another restart knows no more.
    assert len(await brakes(stage)) == MOST
    play = await restarted(stage, play)
    await stage.later(HOUR)
    assert stage.there("web", namespace="frozen")
    # As it says: make what is missing again, take the note away, restart.
    await pull(stage, "z-frozen", namespace="frozen")
    await write(stage, brakesUnlisted=None)
    await restarted(stage, play)
    await stage.later(5 * MINUTE)
    assert stage.there("web", namespace="frozen")
    assert not stage.there("other")


@story()
async def test_more_brakes_than_are_written_down_hold_nothing_else_while_their_definition_stands(
    stage: Stage,
) -> None:
    play = await crowded(stage)
    number, _ = state(stage)["brakesUnlisted"]
    assert number == 1
    play = await restarted(stage, play)
    await stage.make("other", "1m")
    await stage.later(10 * MINUTE)
    assert stage.there("web", namespace="frozen")
    assert not stage.there("other")
    await release(stage, "z-frozen")
    await stage.later(10)
    assert not stage.there("web", namespace="frozen")
    assert state(stage)["brakesUnlisted"] == []


@story()
async def test_a_list_of_brakes_that_cannot_be_understood_is_not_an_empty_one(stage: Stage) -> None:
    await bring_kind(stage)
    await pull(stage, "hand", all=True)
    await stage.make("web", "5m")
    play = await stage.play()
    await stage.later(10)
    await take_kind_away(stage)
    await stage.later(MINUTE)
    await play.kill()
    stage.plays.remove(play)
    await write(stage, brakesKnown='[{"name": "ha')
    await bring_kind(stage)
    for _ in range(2):
        play = await stage.play()
        await stage.later(HOUR)
        assert stage.there("web")
        assert "brakesUnlisted" in play.why_held("web")
        await play.kill()
        stage.plays.remove(play)
