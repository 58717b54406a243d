"""Events that go by a retention policy are bounded as everything else is: the clock, the ceilings, what went before a restart."""

from __future__ import annotations

import pytest

from skoupa.controller.braking.swept import Swept
from skoupa.controller.state import State
from skoupa.kinds.brake import BRAKES
from skoupa.kube.timestamps import whole_seconds
from skoupa.policy.retention.policies import EVENTS
from skoupa.sim.faults import asking
from tests.unit.controller.braking import brake, bring_kind, pull, release, state
from tests.unit.controller.retaining.scene import ON
from tests.unit.controller.retaining.test_policies import ALSO, defined, event, kinds, policy
from tests.unit.controller.stage import HOME, HOUR, MINUTE, SHOP, Stage, story

pytestmark = pytest.mark.unit

MANY = [f"old-{number}" for number in range(6)]


def left(stage: Stage) -> set[str]:
    """Of those that the test made."""
    return {one["metadata"]["name"] for one in stage.cluster.objects(EVENTS, namespace=SHOP)} & set(MANY)


def pulled(stage: Stage) -> set[str]:
    return {one["metadata"]["name"] for one in stage.cluster.objects(BRAKES)}


def written(stage: Stage, where: State) -> Swept:
    swept = Swept(where, clock=stage.clock, epoch=lambda: 1)
    swept.remember()
    return swept


async def begun(stage: Stage) -> None:
    await bring_kind(stage)
    await defined(stage)


async def make_many(stage: Stage) -> None:
    await policy(stage, "events", match=kinds("Event", names=["old-*"]), after={"created": "10m"})
    for name in MANY:
        await event(stage, name)


@pytest.mark.parametrize("skew", [30.0, -30.0])
@story(also=(*ALSO, EVENTS), features=ON)
async def test_while_the_clocks_differ_no_event_goes(stage: Stage, skew: float) -> None:
    await begun(stage)
    await stage.play()
    await make_many(stage)
    stage.cluster.skew = skew
    await stage.later(15 * MINUTE)
    assert left(stage) == set(MANY)
    stage.cluster.skew = 0.0
    await stage.later(10 * MINUTE)
    assert not left(stage)


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("rulePerMinute", "ceiling-rule-retentionpolicy-shop-events-per-minute"),
        ("namespacePerMinute", "ceiling-namespace-shop-per-minute"),
        ("perMinute", "ceiling-all-per-minute"),
        ("rulePerHour", "ceiling-rule-retentionpolicy-shop-events-per-hour"),
        ("namespacePerHour", "ceiling-namespace-shop-per-hour"),
        ("perHour", "ceiling-all-per-hour"),
    ],
)
def test_events_beyond_a_ceiling_stay_and_a_brake_tells(setting: str, name: str) -> None:
    @story(also=(*ALSO, EVENTS), features=ON, brakes={setting: 4})
    async def told(stage: Stage) -> None:
        await begun(stage)
        await stage.play()
        await make_many(stage)
        await stage.later(20 * MINUTE)
        assert len(left(stage)) == 2
        (brake,) = pulled(stage)
        assert brake.startswith(name)

    told()


@story(also=(*ALSO, EVENTS), features=ON, brakes={"namespacePerHour": 4})
async def test_events_take_places_that_what_goes_by_labels_has_not_any_more(stage: Stage) -> None:
    await begun(stage)
    play = await stage.play()
    await make_many(stage)
    for name in MANY[3:]:
        await stage.people.merge_patch(
            EVENTS, name, {"metadata": {"labels": {"skoupa.dev/keep": "true"}}}, namespace=SHOP
        )
    await stage.later(13 * MINUTE)
    assert left(stage) == set(MANY[3:])
    await stage.make("first", "1m")
    await stage.make("second", "2m")
    await stage.later(5 * MINUTE)
    assert stage.found() == {"second"}
    assert "4 deletions in the namespace shop within an hour" in play.why_held("second")


@story(also=(*ALSO, EVENTS), features=ON, brakes={"rulePerHour": 4})
async def test_a_crash_loop_does_not_let_more_events_go_within_an_hour(stage: Stage) -> None:
    await begun(stage)
    await make_many(stage)
    await stage.people.merge_patch(
        EVENTS, MANY[5], {"metadata": {"labels": {"skoupa.dev/keep": "true"}}}, namespace=SHOP
    )
    await stage.people.merge_patch(
        EVENTS, MANY[4], {"metadata": {"labels": {"skoupa.dev/keep": "true"}}}, namespace=SHOP
    )
    play = await stage.play()
    await stage.later(13 * MINUTE)
    assert left(stage) == set(MANY[4:])
    await play.kill()
    stage.plays.remove(play)
    for name in MANY[4:]:
        await stage.people.merge_patch(
            EVENTS, name, {"metadata": {"labels": {"skoupa.dev/keep": None}}}, namespace=SHOP
        )
    await stage.play()
    await stage.later(10 * MINUTE)
    assert left(stage) == set(MANY[4:])
    (brake,) = pulled(stage)
    assert brake.startswith("ceiling-rule-")


@story(also=(*ALSO, EVENTS), features=ON, brakes={"rulePerHour": 4})
async def test_tries_without_an_answer_do_not_fill_the_ceilings(stage: Stage) -> None:
    await begun(stage)
    await stage.play()
    await make_many(stage)
    fails = asking(method="DELETE", path=f"/api/v1/namespaces/{SHOP}/events/")
    stage.cluster.faults.answer(500, when=fails, seconds=30 * MINUTE)
    await stage.later(25 * MINUTE)
    assert left(stage) == set(MANY)
    assert not pulled(stage)
    await stage.later(10 * MINUTE)
    assert len(left(stage)) == 2


@story(also=(*ALSO, EVENTS), features=ON)
async def test_what_went_of_events_is_written_down_in_few_words_and_forgotten_after_an_hour(
    stage: Stage,
) -> None:
    await begun(stage)
    await stage.play()
    await make_many(stage)
    await stage.later(13 * MINUTE)
    assert not left(stage)
    swept = state(stage)["eventsSwept"]
    assert [(one["rule"], one["namespace"], one["number"]) for one in swept] == [
        ("RetentionPolicy/shop/events", SHOP, 6)
    ]
    await stage.later(2 * HOUR)
    await event(stage, "old-0")
    await stage.later(13 * MINUTE)
    assert [one["number"] for one in state(stage)["eventsSwept"]] == [1]


@story()
async def test_too_much_to_tell_apart_counts_as_much_and_for_longer(stage: Stage) -> None:
    found = State(stage.people, namespace=HOME)
    swept = written(stage, found)
    for minute in range(3):
        await swept.intend({("rule", f"ns-{number}"): 2 for number in range(200)})
        await stage.later(MINUTE if minute < 2 else 0)
    # What is left of each namespace counts as of the newest minute.
    assert len(state(stage)["eventsSwept"]) == 200
    again = written(stage, found)
    assert sum(going.weight for _, going in again.goings()) == 1200
    assert {int(stage.clock.now() - at) for at, _ in again.goings()} == {0}
    await again.intend({("rule", f"other-{number}"): 1 for number in range(400)})
    ((_, going),) = again.goings()
    assert (going.rule, going.namespace, going.weight) == ("rule", "", 1600)


@story()
async def test_what_did_not_go_is_taken_back_however_long_it_took(stage: Stage) -> None:
    swept = written(stage, State(stage.people, namespace=HOME))
    planned = {("rule", "shop"): 500}
    at = await swept.intend(planned)
    await stage.later(3 * MINUTE)
    await swept.done(planned, {("rule", "shop"): 20}, at=at)
    assert [going.weight for _, going in swept.goings()] == [20]
    await stage.later(HOUR)
    assert not swept.goings()


@story(also=(*ALSO, EVENTS), features=ON, brakes={"rulePerHour": 4})
async def test_events_are_among_what_a_brake_holds_and_its_release_lets_them_go(stage: Stage) -> None:
    await begun(stage)
    await stage.play()
    await make_many(stage)
    await stage.later(13 * MINUTE)
    (name,) = pulled(stage)
    status = (await brake(stage, name))["status"]
    assert status["held"] == 2
    assert set(status["sample"]) == {f"Event/{SHOP}/{one}" for one in left(stage)}
    await release(stage, name)
    await event(stage, "old-of-nobody")
    await stage.later(2 * MINUTE)
    assert not left(stage)
    assert not pulled(stage)
    await stage.later(12 * MINUTE)
    # What nobody has seen when it was released is bounded as before.
    assert pulled(stage) == {name}
    assert (await brake(stage, name))["status"]["held"] == 1


@story(also=(*ALSO, EVENTS), features=ON, brakes={"rulePerHour": 4})
async def test_a_release_while_no_controller_runs_lets_as_many_events_go_as_waited(stage: Stage) -> None:
    await begun(stage)
    play = await stage.play()
    await make_many(stage)
    await stage.later(13 * MINUTE)
    (name,) = pulled(stage)
    await play.kill()
    stage.plays.remove(play)
    await release(stage, name)
    play = await stage.play()
    await stage.later(5 * MINUTE)
    assert [line["held"] for line in play.told("brake released")] == ["2"]
    assert not left(stage)
    assert not pulled(stage)


@story(also=(*ALSO, EVENTS), features=ON, brakes={"rulePerHour": 4})
async def test_events_wait_for_each_brake_and_the_last_end_lets_them_go(stage: Stage) -> None:
    await begun(stage)
    play = await stage.play()
    await make_many(stage)
    until = stage.clock.now() + 20 * MINUTE
    await pull(stage, "stop", namespace=SHOP)
    await pull(stage, "freeze", until=whole_seconds(until), kind="Event")
    await stage.later(13 * MINUTE)
    assert [(await brake(stage, one))["status"]["held"] for one in ("stop", "freeze")] == [6, 6]
    await release(stage, "stop")
    assert [line["held"] for line in play.told("brake released")] == ["0"]
    await stage.later(9 * MINUTE)
    assert not left(stage)
    assert pulled(stage) == {"freeze"}
    assert (await brake(stage, "freeze"))["status"]["held"] == 0


@story(also=(*ALSO, EVENTS), features=ON)
async def test_a_time_that_is_written_on_an_event_holds_it_against_policies(stage: Stage) -> None:
    await begun(stage)
    await stage.play()
    await make_many(stage)
    labels = {"metadata": {"labels": {"cleanup.kyverno.io/ttl": "1h"}}}
    await stage.people.merge_patch(EVENTS, MANY[0], labels, namespace=SHOP)
    await stage.later(20 * MINUTE)
    assert left(stage) == {MANY[0]}
    await stage.later(HOUR)
    assert not left(stage)


@story(also=(*ALSO, EVENTS), features=ON, mode="observe")
async def test_while_observing_each_event_is_told_once(stage: Stage) -> None:
    await begun(stage)
    play = await stage.play(mode="observe")
    await make_many(stage)
    await stage.later(30 * MINUTE)
    assert left(stage) == set(MANY)
    assert [line["number"] for line in play.told("would sweep")] == ["6"]
    await event(stage, "old-too")
    await stage.later(15 * MINUTE)
    assert [line["number"] for line in play.told("would sweep")] == ["6", "1"]
