"""Objects that several rules claim: what a Brake holds of one is held, counted and recorded, whatever another would do."""

from __future__ import annotations

from pathlib import Path

import pytest

from skoupa import names
from skoupa.kinds.brake import BRAKES
from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES
from skoupa.kube.transport import Request
from skoupa.sim.faults import asking
from tests.unit.controller.braking import brake, brakes, many, pull, release, state
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, matching, read
from tests.unit.controller.stage import DAY, HOUR, MINUTE, SHOP, Play, Stage, story
from tests.unit.controller.test_brakes_pulled import make_all
from tests.unit.controller.test_brakes_released import allowed
from tests.unit.controller.test_trash import ledger

pytestmark = pytest.mark.unit

OLD, NEW = "ClusterCleanupPolicy/old", "ClusterCleanupPolicy/new"


async def run_brakes(stage: Stage) -> dict[str, str]:
    """The names of the Brakes on runs, by the name of the policy."""
    found = [await brake(stage, name) for name in await brakes(stage)]
    return {
        one["spec"]["scope"]["policy"].rpartition("/")[2]: one["metadata"]["name"]
        for one in found
        if one["metadata"]["name"].startswith("share-")
    }


@story(brakes={"shareOver": 5})
async def test_what_the_brake_of_a_run_holds_is_so_also_where_another_policy_only_observes_it(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_policies(stage)
        stage.old(many(40))
        play = await stage.play(record=book.record)
        await cleanup(stage, "new", schedule=HOURLY, annotations={"observe": "24h"})
        await cleanup(stage, "old", schedule=HOURLY)
        await stage.until(HOUR + MINUTE)
        name = (await run_brakes(stage))["old"]
        assert (await brake(stage, name))["status"]["held"] == 40
        rows = await book.record.store.find()
        assert {(row.outcome, row.rule) for row in rows} == {("braked", OLD)}
        assert {claim.rule for claim in rows[0].claims} == {OLD, NEW}
        # What the other would do is told all the same, once for each object.
        assert len(play.told("would delete")) == 40
        assert "held=0" in (await counts(stage, "new"))
        assert "held=40" in (await counts(stage, "old"))
        await stage.later(10 * MINUTE)
        assert len(play.told("would delete")) == 40
        await release(stage, name)
        assert [line["held"] for line in play.told("brake released")] == ["40"]
        await stage.later(MINUTE)
        assert not stage.found()
        assert await brakes(stage) == set()
        assert {(row.outcome, row.rule) for row in await book.record.store.find()} == {("deleted", OLD)}
        assert allowed(play) == {}


async def counts(stage: Stage, name: str) -> str:
    last = (await read(stage, name))["status"]["lastRun"]
    return " ".join(f"{key}={last.get(key, 0)}" for key in ("matched", "deleted", "held", "failed"))


@story(brakes={"perMinute": 60, "namespacePerMinute": 1000})
async def test_what_a_pause_holds_is_counted_also_where_a_policy_observes_it(stage: Stage) -> None:
    await bring_policies(stage)
    await pull(stage, "pause", mechanism="ttl")
    await make_all(stage, many(70))
    play = await stage.play()
    await stage.later(2 * MINUTE)
    assert (await brake(stage, "pause"))["status"]["held"] == 70
    await cleanup(stage, "new", annotations={"observe": "24h"})
    await stage.later(3 * MINUTE)
    assert (await brake(stage, "pause"))["status"]["held"] == 70
    assert play.overdue == {"brake": 70}
    await release(stage, "pause")
    await stage.later(MINUTE)
    assert not stage.found()
    assert await brakes(stage) == set()
    assert allowed(play) == {}


@story()
async def test_a_backlog_that_a_policy_observes_is_held_and_goes_when_it_is_accepted(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(150), "1h", age=DAY)
    play = await stage.play()
    await cleanup(stage, "new", annotations={"observe": "24h"})
    await stage.later(3 * MINUTE)
    assert (await brake(stage, "first-start"))["status"]["held"] == 150
    await release(stage, "first-start")
    assert [line["held"] for line in play.told("brake released")] == ["150"]
    await stage.later(MINUTE)
    assert not stage.found()
    assert allowed(play) == {}


@story()
async def test_a_mass_of_late_labels_that_a_policy_observes_is_held_and_goes_when_it_is_accepted(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(many(150), age=DAY)
    play = await stage.play()
    await stage.later(MINUTE)
    await cleanup(stage, "new", annotations={"observe": "24h"})
    for name in many(150):
        await stage.label(name, ttl="1h")
    await stage.later(3 * MINUTE)
    (name,) = [one for one in await brakes(stage) if one.startswith("mass-labels")]
    assert (await brake(stage, name))["status"]["held"] == 150
    await release(stage, name)
    await stage.later(MINUTE)
    assert not stage.found()
    assert allowed(play) == {}


@story()
async def test_nothing_goes_by_a_policy_that_only_observes_when_the_other_lets_go(stage: Stage) -> None:
    await bring_policies(stage)
    await pull(stage, "pause", mechanism="ttl")
    await stage.make("web-1", "5m")
    play = await stage.play()
    await cleanup(stage, "new", annotations={"observe": "24h"})
    await stage.later(10 * MINUTE)
    await stage.label("web-1", ttl=None)
    await stage.later(MINUTE)
    await release(stage, "pause")
    await stage.later(10 * MINUTE)
    assert stage.there("web-1")
    assert not play.sent("DELETE", path="configmaps")


@story(brakes={"shareOver": 5})
async def test_each_brake_of_two_runs_counts_what_it_holds_and_both_have_to_be_released(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    stage.old(many(20, "other"))
    play = await stage.play()
    await cleanup(stage, "old", schedule=HOURLY)
    await cleanup(
        stage, "all", schedule=HOURLY, match=matching(names=["web-*", "other-*"], namespaces=[SHOP])
    )
    await stage.until(HOUR + MINUTE)
    found = await run_brakes(stage)
    held = {key: (await brake(stage, name))["status"]["held"] for key, name in found.items()}
    assert held == {"old": 40, "all": 60}
    await release(stage, found["old"])
    await stage.later(MINUTE)
    assert stage.found() == set(many(20, "other"))
    assert (await brake(stage, found["all"]))["status"]["held"] == 20
    await release(stage, found["all"])
    await stage.later(MINUTE)
    assert not stage.found()
    assert [line["held"] for line in play.told("brake released")] == ["40", "20"]
    assert allowed(play) == {}
    assert await brakes(stage) == set()


DELETES = asking(method="DELETE", kind="configmaps")
JUNK = {"any": [{"resources": {"kinds": ["ConfigMap"], "selector": {"matchLabels": {"junk": "yes"}}}}]}


async def claimed_by_both(stage: Stage) -> None:
    """Its TTL is over and held by a Brake; a policy that nothing holds takes it at the next hour."""
    await bring_policies(stage)
    await pull(stage, "stop-ttl", mechanism="ttl", reason="by hand")
    await stage.make("web-1", "5m", labels={"junk": "yes"})
    await cleanup(stage, "old", schedule=HOURLY, match=JUNK)


@story()
async def test_a_delete_that_is_refused_does_not_turn_into_one_by_a_rule_that_a_brake_holds(
    stage: Stage,
) -> None:
    await claimed_by_both(stage)
    play = await stage.play()
    await stage.until(HOUR - 1)
    stage.cluster.faults.delay(0.5, when=DELETES, times=1)
    await stage.until(HOUR + 0.4)
    assert len(play.sent("DELETE", path="configmaps")) == 1
    await stage.label("web-1", junk="no")
    await stage.later(10 * MINUTE)
    assert stage.there("web-1")
    assert play.overdue == {"brake": 1}
    await release(stage, "stop-ttl")
    await stage.later(MINUTE)
    assert not stage.there("web-1")


@story()
async def test_a_delete_that_waits_does_not_turn_into_one_by_a_rule_that_a_brake_holds(stage: Stage) -> None:
    await claimed_by_both(stage)
    play = await stage.play()
    await stage.until(HOUR - 1)
    stage.cluster.faults.answer(429, when=DELETES, times=1, seconds=5, retry_after=20)
    await stage.until(HOUR + 5)
    await stage.label("web-1", junk="no")
    await stage.later(10 * MINUTE)
    assert len(play.sent("DELETE", path="configmaps")) == 1
    assert stage.there("web-1")


@story()
async def test_a_delete_whose_policy_went_meanwhile_is_not_sent_for_one_that_a_brake_holds(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(["web-1"])
    play = await stage.play()
    for name in ("old", "new"):
        await cleanup(stage, name, schedule=HOURLY)
    await pull(stage, "stop-new", policy=NEW, reason="by hand")
    await stage.until(HOUR - 1)
    stage.cluster.faults.answer(429, when=DELETES, times=1, seconds=5, retry_after=20)
    await stage.until(HOUR + 5)
    found = await stage.people.get(CLUSTER_CLEANUP_POLICIES, "old", view=METADATA)
    await stage.people.delete(
        CLUSTER_CLEANUP_POLICIES, "old", uid=found.metadata.uid, propagation="Background"
    )
    await stage.later(10 * MINUTE)
    assert len(play.sent("DELETE", path="configmaps")) == 1
    assert stage.there("web-1")


@story()
async def test_a_brake_released_while_somebody_looks_what_a_policy_would_do_lets_go_at_once(
    stage: Stage,
) -> None:
    """To tell what an observing policy would do takes a look around, and that may take long."""
    await bring_policies(stage)
    await pull(stage, "pause", mechanism="ttl")
    await stage.namespace("web-1", labels={names.TTL_LABEL: "5m"})
    play = await stage.play()
    match = {"any": [{"resources": {"kinds": ["Namespace"], "names": ["web-*"]}}]}
    await cleanup(stage, "new", schedule=HOURLY, annotations={"observe": "24h"}, match=match)
    await stage.until(HOUR - 10)
    stage.cluster.faults.delay(20, when=asking(verb="list", path="/api/v1/namespaces/web-1/"), times=1)
    await stage.until(HOUR + 5)
    assert stage.there("web-1", NAMESPACES)
    await release(stage, "pause")
    await stage.later(MINUTE)
    assert not stage.there("web-1", NAMESPACES)
    assert play.overdue == {}


async def all_went_and_nothing_is_left_over(stage: Stage, play: Play) -> None:
    """What comes after the release is held as before it."""
    assert not stage.found()
    assert allowed(play) == {}
    stage.old(many(40, "web-more"))
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 40, "nobody has released these"


async def two_runs_that_hold_the_same(stage: Stage) -> dict[str, str]:
    """The names of their Brakes, by the name of the policy."""
    for name in ("old", "new"):
        await cleanup(stage, name)
    await stage.later(2 * MINUTE)
    found = await run_brakes(stage)
    assert {(await brake(stage, name))["status"]["held"] for name in found.values()} == {40}
    return found


async def let_go(stage: Stage, *names_: str) -> None:
    """All of them at once, as `kubectl delete brake A B` does it."""
    for name in names_:
        found = await stage.people.get(BRAKES, name, view=METADATA)
        await stage.people.delete(BRAKES, name, uid=found.metadata.uid, propagation="Background")
    await stage.settle()


@story(brakes={"shareOver": 5})
async def test_two_runs_that_are_released_together_let_go_what_both_held_and_nothing_else(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    play = await stage.play()
    found = await two_runs_that_hold_the_same(stage)
    await let_go(stage, found["old"], found["new"])
    await stage.later(10)
    assert not stage.found()
    assert [line["held"] for line in play.told("brake released")] == ["40", "40"]
    assert allowed(play) == {}
    assert await brakes(stage) == set()
    stage.old(many(40, "web-more"))
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 40, "nobody has released these"
    assert set(await run_brakes(stage)) == {"old", "new"}


@story(brakes={"shareOver": 5})
async def test_two_runs_whose_brakes_end_together_let_go_what_both_held_and_nothing_else(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    play = await stage.play()
    found = await two_runs_that_hold_the_same(stage)
    for name in found.values():
        await stage.people.merge_patch(BRAKES, name, {"spec": {"until": stage.time(5)}})
    await stage.later(15)
    await all_went_and_nothing_is_left_over(stage, play)


@story(brakes={"shareOver": 5})
async def test_what_goes_by_its_label_uses_what_was_released_of_the_policy_that_claims_it_too(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    await pull(stage, "stop-ttl", mechanism="ttl")
    await make_all(stage, many(40), ttl="1m")
    play = await stage.play()
    await stage.later(2 * MINUTE)
    await cleanup(stage, "old")
    await stage.later(2 * MINUTE)
    name = (await run_brakes(stage))["old"]
    await pull(stage, "freeze", all=True)
    await let_go(stage, name, "stop-ttl")
    await stage.later(10)
    assert len(stage.found()) == 40
    await let_go(stage, "freeze")
    await stage.later(10)
    await all_went_and_nothing_is_left_over(stage, play)


@story(brakes={"shareOver": 5})
async def test_a_policy_that_only_observes_by_then_has_nothing_left_of_its_release_either(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    play = await stage.play()
    found = await two_runs_that_hold_the_same(stage)
    await pull(stage, "freeze", all=True)
    await let_go(stage, found["old"], found["new"])
    await stage.later(10)
    annotations = {f"{names.SKOUPA_GROUP}/observe": "10m"}
    await stage.people.merge_patch(
        CLUSTER_CLEANUP_POLICIES, "new", {"metadata": {"annotations": annotations}}
    )
    await stage.later(2 * MINUTE)
    await let_go(stage, "freeze")
    await stage.later(MINUTE)
    assert not stage.found()
    assert allowed(play) == {}


@story(brakes={"shareOver": 5}, rate={"deletionsPerSecond": 10})
async def test_after_a_kill_the_ledger_tells_what_was_used_of_each_release(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_policies(stage)
        stage.old(many(40))
        play = await stage.play(record=book.record)
        found = await two_runs_that_hold_the_same(stage)
        await let_go(stage, found["old"], found["new"])
        while len(stage.found()) > 20:
            await stage.later(0.1)
            assert stage.now < HOUR
        await play.kill()
        left = len(stage.found())
        written = state(stage)["allowances"]["left"]
        assert {one["number"] for one in written} == {40}, "that some went is not written down yet"
        again = await stage.play(record=book.record)
        await stage.later(0.2)
        assert all(number <= left for number in allowed(again).values())
        await stage.later(MINUTE)
        assert not stage.found()
        assert allowed(again) == {}
        assert await brakes(stage) == set()


@story(brakes={"shareOver": 5}, rate={"deletionsPerSecond": 10})
async def test_a_run_is_not_stopped_because_another_takes_what_was_released_of_both_meanwhile(
    stage: Stage,
) -> None:
    """To count what there is of a kind takes a while, and objects go on going by the other rule."""
    await bring_policies(stage)
    stage.old(many(40))
    play = await stage.play()
    found = await two_runs_that_hold_the_same(stage)
    pulled = len(play.told("brake pulled"))
    counting, counted = asking(verb="list", path="/api/v1/configmaps"), 0

    def of_the_second(request: Request) -> bool:
        nonlocal counted
        counted += counting(request)
        return counted == 2

    stage.cluster.faults.delay(2, when=of_the_second, times=1)
    await let_go(stage, found["old"], found["new"])
    await stage.later(20)
    assert not stage.found()
    assert len(play.told("brake pulled")) == pulled
    assert allowed(play) == {}


@story(brakes={"shareOver": 5})
async def test_what_is_refused_gives_back_to_each_release_what_it_took(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    play = await stage.play()
    found = await two_runs_that_hold_the_same(stage)
    stage.cluster.faults.answer(403, when=DELETES, seconds=30)
    await let_go(stage, found["old"], found["new"])
    await stage.later(20)
    assert len(stage.found()) == 40
    assert set(allowed(play).values()) == {40}
    await stage.later(2 * MINUTE)
    assert not stage.found()
    assert allowed(play) == {}
    assert await brakes(stage) == set()
