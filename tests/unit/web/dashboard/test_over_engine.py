"""The pages of a running controller over a real engine: they count as that engine decides, and say what it does not know."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from skoupa.controller.opinions import EngineOpinions
from skoupa.errors import TimedOut
from skoupa.kinds.definition import document
from skoupa.kinds.retention.policy import CLUSTER_RETENTION_POLICY, RETENTION_POLICY
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from skoupa.kube.reviews import Caller
from skoupa.kube.transport import Request
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule
from skoupa.sweep.deleter import Deleter
from skoupa.web.dashboard.engine_board import EngineBoard, EngineBoards
from skoupa.web.dashboard.pieces import Turns
from skoupa.web.dashboard.questions import Which
from skoupa.web.dashboard.shapes import Overview
from skoupa.web.mentions import Kinds
from skoupa.web.permissions import Permissions
from skoupa.web.refusing import Refused
from tests.unit.controller import test_living as alive_story
from tests.unit.controller.braking import bring_kind, pull, take_kind_away
from tests.unit.controller.policies import bring_policies
from tests.unit.controller.retaining.scene import KINDS, ON
from tests.unit.controller.stage import HOME, HOUR, MINUTE, PRIORITIES, SECRETS, Play, Stage, story
from tests.unit.controller.tenancy import town as tenant_town
from tests.unit.controller.test_kinds_and_rights import OWN

pytestmark = pytest.mark.unit

ADMIN = Caller(username="admin")


@asynccontextmanager
async def pages(stage: Stage, play: Play, *, caller: Caller = ADMIN) -> AsyncIterator[EngineBoard]:
    observing = play.settings.mode == "observe"
    boards = EngineBoards(
        play.client,
        EngineOpinions(play.engine, clock=play.client.clock, observing=observing),
        permissions=Permissions(stage.people),
        kinds=Kinds(stage.people),
        history=None,
        home=HOME,
    )
    async with boards.working():
        yield boards.of(caller)


async def overview(stage: Stage, play: Play) -> Overview:
    """As of now."""
    async with pages(stage, play) as board:
        return await board.overview()


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
    page = await overview(stage, play)
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
        page = await overview(stage, play)
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
    page = await overview(stage, play)
    assert (page.counts.due, page.counts.held) == (0, 1)
    assert page.standing.headline == "1 object is overdue and held"
    (lot,) = page.holds
    assert "can't be looked at, which is tried again: nobody answers" in lot.texts[0].text
    monkeypatch.undo()
    await stage.later(5 * MINUTE)
    page = await overview(stage, play)
    assert (page.counts.due, page.counts.held) == (1, 0)


@story()
async def test_a_delete_that_fails_again_and_again_is_not_said_to_go_now(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1m")
    stage.cluster.faults.answer(422, message="a policy of the shop", when=asking(method="DELETE"), times=None)
    await stage.later(5 * MINUTE)
    page = await overview(stage, play)
    assert (page.counts.due, page.counts.held) == (0, 1)
    assert "its delete fails and is tried again: a policy of the shop" in page.holds[0].texts[0].text


@story(mode="observe", also=[SECRETS])
async def test_what_the_controller_can_not_read_is_said_and_nothing_is_called_complete(stage: Stage) -> None:
    readable = Rule(verbs=("list", "watch"), resources=("configmaps", "namespaces"))
    stage.cluster.allow_only("skoupa", [*OWN, readable])
    await stage.make("login", "1m", resource=SECRETS)
    play = await stage.play(user="skoupa")
    await stage.later(5 * MINUTE)
    async with pages(stage, play) as board:
        page = await board.overview()
        assert page.standing.headline == "Nothing of what is shown is to go"
        assert not page.complete
        (why,) = [gap.why for gap in page.gaps if gap.what == "secrets"]
        assert why == "no permission: list and watch"
        assert "configmaps" not in {gap.what for gap in page.gaps}
        listed = await board.objects(Which())
        assert "something may be missing here, since not all can be read" in listed.notes[0]
    stage.cluster.allow_only("skoupa", [*OWN, Rule(verbs=("*",), resources=("*",))])
    await stage.later(5 * MINUTE)
    page = await overview(stage, play)
    assert page.counts.due == 1
    assert (page.gaps, page.complete) == ((), True)


@story(mode="observe")
async def test_a_list_that_fails_and_a_watch_that_breaks_for_longer_than_a_moment_are_gaps(
    stage: Stage,
) -> None:
    stage.cluster.faults.answer(500, when=asking(kind="pods"), times=None)
    play = await stage.play()
    await stage.later(MINUTE)
    assert [gap.what for gap in (await overview(stage, play)).gaps] == ["pods"]
    stage.cluster.faults.clear()
    await stage.later(5 * MINUTE)
    assert (await overview(stage, play)).gaps == ()
    # Watches end by themselves now and then.
    stage.cluster.faults.answer(500, when=asking(kind="configmaps"), times=None)
    gaps: set[str] = set()
    while not gaps:
        await stage.later(1)
        gaps = {gap.what for gap in (await overview(stage, play)).gaps}
    assert gaps == {"configmaps"}
    behind = min(feed.health.behind_since or stage.clock.now() for feed in play.engine.feeds or ())
    assert stage.clock.now() - behind >= 10


@story(mode="observe", namespaces=["shop"])
async def test_a_controller_for_some_namespaces_says_so(stage: Stage) -> None:
    play = await stage.play()
    await stage.later(MINUTE)
    page = await overview(stage, play)
    assert "other namespaces, and what is in none" in {gap.what for gap in page.gaps}
    assert page.standing.headline == "Nothing of what is shown is to go"


@pytest.mark.parametrize("mode", ["observe", "enforce"])
@story()
async def test_brakes_whose_definition_is_gone_hold_everything_and_the_page_says_so(
    stage: Stage, mode: str
) -> None:
    await bring_kind(stage)
    play = await stage.play(mode=mode)
    await pull(stage, "freeze", namespace="elsewhere")
    async with pages(stage, play) as board:
        page = await board.brakes()
        assert [one.name for one in page.items] == ["freeze"]
        assert (page.unknown, page.all_held) == ("", False)
        await take_kind_away(stage)
        await stage.make("web", "1m")
        await stage.later(3 * MINUTE)
        assert stage.there("web")
        page = await board.brakes()
        assert page.all_held
        assert (
            "was here and is gone; bring it back with `skoupa install | kubectl apply -f -`" in page.unknown
        )
        # What is known of them all the same.
        assert [(one.name, one.release) for one in page.items] == [("freeze", "")]


@story(brakes={"namespacePerMinute": 2})
async def test_what_a_ceiling_stopped_without_the_kind_is_on_the_page(stage: Stage) -> None:
    play = await stage.play()
    for number in range(4):
        await stage.make(f"web-{number}", "1m")
    await stage.later(70)
    assert len(stage.found()) == 2
    async with pages(stage, play) as board:
        page = await board.brakes()
    (shown,) = page.items
    assert (shown.name, shown.holds, shown.release) == ("ceiling-namespace-shop-per-minute", True, "")
    assert "it holds until this controller ends" in shown.remarks[0]
    assert (
        "`skoupa install | kubectl apply -f -` (with the options of your installation) brings it"
        in page.notes[0]
    )


@story(mode="observe")
async def test_as_of_is_when_it_was_judged_and_time_goes_on_beside(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "2m")
    async with pages(stage, play) as board:
        first = await board.overview()
        assert first.made == first.now == stage.time()
        await stage.later(8)
        page = await board.overview()
        assert (page.made, page.now) == (first.made, stage.time())
        await stage.later(4)
        assert (await board.overview()).made > first.made


@story(mode="observe")
async def test_judging_that_takes_longer_than_an_answer_may_goes_on_and_is_told_then(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.old([f"web-{number}" for number in range(60)], "1h")
    play = await stage.play()
    await stage.later(MINUTE)

    async def slow(self: Turns) -> None:
        await stage.clock.sleep(1.0)

    monkeypatch.setattr(Turns, "pause", slow)
    async with pages(stage, play) as board:
        began = stage.time()
        with pytest.raises(
            Refused, match=r"the cluster is being judged: [0-9]+ of [0-9]+ objects"
        ) as refused:
            await board.overview()
        assert refused.value.status.reason == "Reading"
        await stage.later(MINUTE)
        page = await board.overview()
        assert page.counts.due + page.counts.held == 60
        assert page.made == began
        # Long after that nobody is told it as if it were new.
        await stage.later(3 * HOUR)
        page = await board.overview()
        assert page.trouble.startswith("the cluster is still being judged anew: ")
        assert page.made < stage.time(-2 * HOUR)
        await stage.later(2 * MINUTE)
        page = await board.overview()
        assert page.trouble == ""
        assert page.made > began


@story(also=KINDS, mode="observe", features=ON)
async def test_policies_that_can_not_be_followed_are_gaps_and_told_beside_the_others(stage: Stage) -> None:
    await bring_policies(stage)
    for definition in (RETENTION_POLICY, CLUSTER_RETENTION_POLICY):
        await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, document(definition))
    # By who follows policies: they are read whole.
    for name in ("cleanuppolicies.kyverno.io", RETENTION_POLICY.name):
        stage.cluster.faults.answer(500, when=whole(name), times=None)
    play = await stage.play()
    await stage.later(MINUTE)
    async with pages(stage, play) as board:
        assert [gap.what for gap in (await board.overview()).gaps] == [
            "cleanuppolicies.kyverno.io",
            RETENTION_POLICY.name,
        ]
        (note,) = (await board.policies()).notes
        assert "cleanuppolicies.kyverno.io" in note


def whole(kind: str) -> Callable[[Request], bool]:
    plural = kind.partition(".")[0]
    return lambda request: (
        request.path.endswith(f"/{plural}")
        and not any("PartialObjectMetadata" in value for _, value in request.headers)
    )


@story(features={"alive": True})
async def test_that_the_cluster_is_about_to_die_is_said_first_and_only_to_who_may_read_that(
    stage: Stage,
) -> None:
    await alive_story.bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    assert (await overview(stage, play)).announced == ()
    await alive_story.joined(stage, alive_story.DNS)
    await alive_story.signal(stage)
    await stage.later(MINUTE)
    (said,) = (await overview(stage, play)).announced
    assert said.startswith("This cluster is about to die")
    assert alive_story.DNS in said
    stage.cluster.allow_only("anna", [Rule(verbs=("get",), resources=("configmaps",))])
    async with pages(stage, play, caller=Caller(username="anna")) as board:
        assert (await board.overview()).announced == ()


@story(also=tenant_town.KINDS, features=tenant_town.ON)
async def test_tenants_that_are_being_deleted_are_told_to_who_may_list_tenants(stage: Stage) -> None:
    await tenant_town.city(stage, "111111", "222222")
    await tenant_town.make(
        stage, PRIORITIES, "111111-stuck", value=1, metadata={"finalizers": ["example.com/never"]}
    )
    play = await stage.play()
    await stage.later(MINUTE)
    assert (await overview(stage, play)).announced == ()
    await tenant_town.leave(stage, "111111")
    await stage.later(5 * MINUTE)
    (said,) = (await overview(stage, play)).announced
    assert said.startswith("The Tenant 111111 is being deleted since ")
    assert "1 object in no namespace is left" in said
    stage.cluster.allow_only("anna", [Rule(verbs=("get",), resources=("configmaps",))])
    async with pages(stage, play, caller=Caller(username="anna")) as board:
        assert (await board.overview()).announced == ()
