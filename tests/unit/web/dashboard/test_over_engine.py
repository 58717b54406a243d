"""The pages of a running controller over a real engine: they count as that engine decides, and say what it does not know."""

from __future__ import annotations

import pytest

from skoupa.controller.opinions import EngineOpinions
from skoupa.errors import TimedOut
from skoupa.kube.reviews import Caller
from skoupa.sim.faults import asking
from skoupa.sweep.deleter import Deleter
from skoupa.web.dashboard.engine_board import EngineBoard, EngineBoards
from skoupa.web.mentions import Kinds
from skoupa.web.permissions import Permissions
from tests.unit.controller.stage import HOME, MINUTE, SECRETS, Play, Stage, story

pytestmark = pytest.mark.unit

ADMIN = Caller(username="admin")


def board(stage: Stage, play: Play, *, caller: Caller = ADMIN) -> EngineBoard:
    insight = EngineOpinions(play.engine, clock=play.client.clock, observing=play.settings.mode == "observe")
    boards = EngineBoards(
        play.client,
        insight,
        permissions=Permissions(stage.people),
        kinds=Kinds(stage.people),
        history=None,
        home=HOME,
    )
    return boards.of(caller)


@pytest.mark.parametrize("mode", ["observe", "enforce"])
@story(also=[SECRETS], protect={"kinds": ["secrets"]})
async def test_what_only_a_look_around_finds_to_be_held_is_held_whoever_looks(
    stage: Stage, mode: str
) -> None:
    """A protected kind is in no feed: only the look before a delete finds what is of it."""
    play = await stage.play(mode=mode)
    await stage.namespace("lab", labels={"cleanup.kyverno.io/ttl": "1m"})
    await stage.make("login", resource=SECRETS, namespace="lab")
    await stage.make("web", "1m" if mode == "observe" else "1h")
    await stage.later(5 * MINUTE)
    assert play.told("held", "lab")
    assert not play.told("would delete", "lab")
    page = await board(stage, play).overview()
    assert page.counts.held == 1
    assert page.counts.due == (1 if mode == "observe" else 0)
    (lot,) = page.holds
    assert "Secret lab/login" in lot.texts[0].text
    if mode == "observe":
        assert page.standing.headline == "1 object would have gone by now"
        # And when nothing holds it any more.
        found = stage.cluster.objects(SECRETS, namespace="lab")[0]
        await stage.people.delete(
            SECRETS, "login", namespace="lab", uid=found["metadata"]["uid"], propagation="Background"
        )
        await stage.later(10 * MINUTE)
        assert play.told("would delete", "lab")
        page = await board(stage, play).overview()
        assert (page.counts.due, page.counts.held) == (2, 0)


@story(mode="observe")
async def test_what_could_not_be_looked_at_would_not_have_gone(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = await stage.play()

    async def silent(*_: object) -> None:
        raise TimedOut("nobody answers")

    monkeypatch.setattr(Deleter, "around", silent)
    await stage.make("web", "1m")
    await stage.later(5 * MINUTE)
    assert not play.told("would delete", "web")
    page = await board(stage, play).overview()
    assert (page.counts.due, page.counts.held) == (0, 1)
    assert page.standing.headline == "1 object is overdue and held"
    (lot,) = page.holds
    assert "can't be looked at, which is tried again: nobody answers" in lot.texts[0].text
    monkeypatch.undo()
    await stage.later(5 * MINUTE)
    page = await board(stage, play).overview()
    assert (page.counts.due, page.counts.held) == (1, 0)


@story()
async def test_a_delete_that_fails_again_and_again_is_not_said_to_go_now(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1m")
    stage.cluster.faults.answer(422, message="a policy of the shop", when=asking(method="DELETE"), times=None)
    await stage.later(5 * MINUTE)
    page = await board(stage, play).overview()
    assert (page.counts.due, page.counts.held) == (0, 1)
    assert "its delete fails and is tried again: a policy of the shop" in page.holds[0].texts[0].text
