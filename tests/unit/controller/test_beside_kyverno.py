"""Beside a living Kyverno nothing goes, until somebody says that it may; and a Kyverno that comes back is noticed."""

from __future__ import annotations

import pytest

from skoupa import names
from skoupa.controller.kyverno.beside import BRAKE_NAME, DENIED
from skoupa.kinds.brake import BRAKES
from skoupa.kube.resources import LEASES
from skoupa.sim.faults import asking
from tests.unit.controller.braking import brake, brakes, bring_kind, release, state
from tests.unit.controller.kyverno import Kyverno, living
from tests.unit.controller.replicas import replicas
from tests.unit.controller.stage import HOUR, MINUTE, Play, Stage, story

pytestmark = pytest.mark.unit


def looks(play: Play) -> list[float]:
    """When it asked for the Leases of Kyverno."""
    return [
        at
        for at, request in play.sent("GET", path=LEASES.path())
        if names.KYVERNO_CLEANUP_LEASE in str(request.query)
    ]


def news(play: Play) -> list[tuple[str, dict[str, str]]]:
    return play.engine.braking.beside_kyverno.news()


@story()
async def test_beside_a_living_kyverno_everything_is_held_by_a_brake_from_the_start(stage: Stage) -> None:
    await bring_kind(stage)
    await living(stage)
    await stage.make("web", "0")
    await stage.later(3)
    play = await stage.play()
    await stage.later(5 * MINUTE)
    assert stage.there("web")
    assert not play.sent("DELETE")
    made = await brake(stage, BRAKE_NAME)
    assert made["spec"]["scope"] == {"all": True}
    said = made["spec"]["reason"]
    assert said.startswith(
        "a Kyverno cleanup controller is alive (Lease kyverno/kyverno-cleanup-controller, renewed 3 s ago)"
    )
    assert "delete this Brake" in said
    assert made["metadata"]["finalizers"] == [names.BRAKE_FINALIZER]
    assert play.why_held("web").startswith(f"brake {BRAKE_NAME}: a Kyverno cleanup controller is alive")
    assert play.value("skoupa_trips_total", span="kyverno") == 1
    assert play.engine.braking.beside_kyverno.statistics() == {"alive": 1, "accepted": 0, "unknown": 0}
    ((event, facts),) = news(play)
    assert (event, facts["lease"]) == ("kyverno is alive", "kyverno/kyverno-cleanup-controller")
    assert facts["means"] == "nothing goes: the Brake kyverno-alive holds everything"


@story()
async def test_who_releases_that_brake_lets_both_delete_also_after_a_restart(stage: Stage) -> None:
    await bring_kind(stage)
    await living(stage)
    await stage.make("web", "0")
    play = await stage.play()
    await stage.later(MINUTE)
    await release(stage, BRAKE_NAME, by="kim")
    await stage.later(5)
    assert not stage.there("web")
    await stage.later(30 * MINUTE)
    assert not await brakes(stage)
    assert play.engine.braking.beside_kyverno.statistics() == {"alive": 1, "accepted": 1, "unknown": 0}
    await play.stop()

    again = await stage.play()
    await stage.make("late", "0")
    await stage.later(5 * MINUTE)
    assert not stage.there("late")
    assert not await brakes(stage)
    assert not again.told("brake pulled")


@story()
async def test_a_kyverno_that_comes_later_makes_a_brake_within_a_minute(stage: Stage) -> None:
    await bring_kind(stage)
    play = await stage.play()
    await stage.make("early", "1m")
    await stage.later(10 * MINUTE)
    assert not stage.there("early")
    assert not await brakes(stage)
    await living(stage)
    await stage.later(61)
    assert await brakes(stage) == {BRAKE_NAME}
    await stage.make("late", "1m")
    await stage.later(10 * MINUTE)
    assert stage.there("late")
    assert len(play.told("brake pulled")) == 1


@story()
async def test_what_waits_for_a_busy_webhook_when_a_kyverno_comes_is_not_sent_any_more(stage: Stage) -> None:
    await bring_kind(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    looked = looks(play)[-1]
    await living(stage)
    deletes = asking(method="DELETE", path="/api/v1/namespaces/shop/configmaps")
    busy = "admission webhook busy.example denied the request: too many"
    stage.cluster.faults.answer(429, when=deletes, times=1, retry_after=5, message=busy)
    await stage.make("web", f"{int(looked + MINUTE - 2 - stage.clock.now())}s")
    await stage.later(MINUTE + 1)
    assert await brakes(stage) == {BRAKE_NAME}
    assert len(play.sent("DELETE")) == 1, "and was told to come back later"
    await stage.later(HOUR)
    assert stage.there("web")
    assert len(play.sent("DELETE")) == 1


@story()
async def test_the_brake_stays_when_kyverno_is_gone_until_somebody_releases_it(stage: Stage) -> None:
    await bring_kind(stage)
    kyverno = await living(stage)
    await stage.make("web", "0")
    play = await stage.play()
    await stage.later(MINUTE)
    await kyverno.stop()
    await stage.later(HOUR)
    assert stage.there("web")
    assert await brakes(stage) == {BRAKE_NAME}
    assert [event for event, _ in news(play)] == ["kyverno is alive", "kyverno is gone"]
    await release(stage, BRAKE_NAME)
    await stage.later(5)
    assert not stage.there("web")
    await stage.later(10 * MINUTE)
    assert not await brakes(stage)


@story()
async def test_a_release_counts_until_that_kyverno_was_gone_for_a_while(stage: Stage) -> None:
    await bring_kind(stage)
    kyverno = await living(stage)
    await stage.play()
    await stage.later(MINUTE)
    await release(stage, BRAKE_NAME)
    await kyverno.stop()
    await stage.later(5 * MINUTE)
    await kyverno.start()
    await stage.later(5 * MINUTE)
    assert not await brakes(stage), "an upgrade is no other Kyverno"
    assert len(state(stage)["kyvernoAccepted"]) == 1
    await kyverno.stop()
    await stage.later(15 * MINUTE)
    assert state(stage)["kyvernoAccepted"] == []
    await kyverno.start()
    await stage.later(61)
    assert await brakes(stage) == {BRAKE_NAME}


@story()
async def test_who_stops_kyverno_first_and_then_releases_has_not_accepted_its_return(stage: Stage) -> None:
    await bring_kind(stage)
    kyverno = await living(stage)
    await stage.make("web", "0")
    await stage.play()
    await stage.later(MINUTE)
    await kyverno.stop()
    await stage.later(2 * MINUTE)
    await release(stage, BRAKE_NAME)
    await stage.later(5)
    assert not stage.there("web")
    await kyverno.start()
    await stage.later(61)
    assert await brakes(stage) == {BRAKE_NAME}


@story()
async def test_another_kyverno_is_not_accepted_with_the_first(stage: Stage) -> None:
    await bring_kind(stage)
    kyverno = await living(stage)
    await stage.play()
    await stage.later(MINUTE)
    await release(stage, BRAKE_NAME)
    await stage.later(MINUTE)
    await kyverno.remove()
    await living(stage, namespace="policies")
    await stage.later(61)
    assert "Lease policies/" in (await brake(stage, BRAKE_NAME))["spec"]["reason"]


@story()
async def test_an_end_that_somebody_gave_the_brake_counts_as_its_release(stage: Stage) -> None:
    await bring_kind(stage)
    await living(stage)
    await stage.make("web", "0")
    await stage.play()
    await stage.later(MINUTE)
    await stage.people.merge_patch(BRAKES, BRAKE_NAME, {"spec": {"until": stage.time(5 * MINUTE)}})
    await stage.later(4 * MINUTE)
    assert stage.there("web")
    await stage.later(30 * MINUTE)
    assert not stage.there("web")
    assert (await brake(stage, BRAKE_NAME))["status"]["active"] is False


@story(besideKyverno="enforce")
async def test_who_is_told_to_acts_beside_kyverno_from_the_start(stage: Stage) -> None:
    await bring_kind(stage)
    await living(stage)
    await stage.make("web", "0")
    play = await stage.play()
    await stage.later(5 * MINUTE)
    assert not stage.there("web")
    assert not await brakes(stage)
    assert play.engine.braking.beside_kyverno.statistics() == {"alive": 1, "accepted": 1, "unknown": 0}


@story()
async def test_the_setting_ends_a_brake_that_is_there(stage: Stage) -> None:
    await bring_kind(stage)
    await living(stage)
    await stage.make("web", "0")
    play = await stage.play()
    await stage.later(MINUTE)
    await play.stop()
    play = await stage.play(besideKyverno="enforce")
    await stage.later(MINUTE)
    assert not stage.there("web")
    await play.stop()
    await stage.play()
    await stage.later(MINUTE)
    assert (await brake(stage, BRAKE_NAME))["status"]["active"] is True, "nobody has released it"


@story(mode="observe")
async def test_an_observer_tells_of_kyverno_and_writes_nothing(stage: Stage) -> None:
    await bring_kind(stage)
    kyverno = await living(stage)
    await stage.make("web", "0")
    play = await stage.play()
    await stage.later(5 * MINUTE)
    assert play.told("would delete", "web")
    assert {request.method for _, request in play.wire.seen if "selfsubject" not in request.path} == {"GET"}
    assert not await brakes(stage)
    await kyverno.remove()
    await stage.later(2 * MINUTE)
    told = news(play)
    assert [event for event, _ in told] == ["kyverno is alive", "kyverno is gone"]
    assert told[0][1]["means"] == "nothing: this controller only observes"


@story()
async def test_one_request_a_minute_is_asked_for_it(stage: Stage) -> None:
    play = await stage.play()
    await stage.later(30 * MINUTE)
    asked = looks(play)
    assert 30 <= len(asked) <= 31
    assert asked[0] < asked[1]


@story()
async def test_a_lease_that_nobody_renews_or_holds_is_nobody(stage: Stage) -> None:
    kyverno = Kyverno(stage)
    await kyverno.install()
    await kyverno.renew(holderIdentity="")
    await stage.make("web", "0")
    await stage.play()
    await stage.later(MINUTE)
    assert not stage.there("web"), "released by its holder"
    await kyverno.renew(renewTime="2025-01-01T00:00:00.000000Z")
    play = await stage.play()
    await stage.later(5 * MINUTE)
    assert not play.told("brake pulled"), "left behind"


@story()
async def test_a_kyverno_whose_clock_is_wrong_is_noticed_by_its_renewals(stage: Stage) -> None:
    await bring_kind(stage)
    kyverno = Kyverno(stage)
    await kyverno.install()
    await kyverno.renew(renewTime="2025-01-01T00:00:00.000000Z")
    await stage.play()
    await stage.later(90)
    assert not await brakes(stage)
    await kyverno.renew(renewTime="2025-01-01T00:01:00.000000Z")
    await stage.later(60)
    assert await brakes(stage) == {BRAKE_NAME}


@story()
async def test_a_kyverno_that_renews_seldom_by_its_settings_is_alive_in_between(stage: Stage) -> None:
    await bring_kind(stage)
    kyverno = Kyverno(stage)
    await kyverno.install()
    await kyverno.renew(leaseDurationSeconds=180)
    await stage.later(100)
    await stage.play()
    await stage.later(1)
    assert await brakes(stage) == {BRAKE_NAME}


@story()
async def test_without_the_right_to_list_leases_nothing_is_held_and_that_is_told_once(stage: Stage) -> None:
    await living(stage)
    stage.cluster.deny(user="sweeper", verbs=("list",), resources=(LEASES.qualified,))
    play = await stage.play(user="sweeper")
    await stage.make("web", "1m")
    await stage.later(HOUR)
    assert not stage.there("web")
    assert DENIED in play.engine.outlook.degraded
    assert play.engine.last_error is None
    assert not looks(play), "what is not granted is not tried"
    assert play.engine.braking.beside_kyverno.statistics()["unknown"] == 1


@story()
async def test_nothing_goes_before_it_is_known_whether_kyverno_lives(stage: Stage) -> None:
    await bring_kind(stage)
    await living(stage)
    await stage.make("web", "0")
    asked = asking(method="GET", path=LEASES.path())
    stage.cluster.faults.answer(500, when=asked, times=None, seconds=10 * MINUTE)
    play = await stage.play()
    await stage.later(9 * MINUTE)
    assert stage.there("web")
    assert play.engine.last_error is not None
    await stage.later(5 * MINUTE)
    assert stage.there("web")
    assert await brakes(stage) == {BRAKE_NAME}
    assert play.engine.last_error is None


@story()
async def test_without_the_kind_brake_it_holds_until_the_process_ends(stage: Stage) -> None:
    kyverno = await living(stage)
    await stage.make("web", "0")
    play = await stage.play()
    await stage.later(MINUTE)
    assert stage.there("web")
    await kyverno.remove()
    await play.stop()
    await stage.play()
    await stage.later(5)
    assert not stage.there("web")


@story()
async def test_a_replica_that_takes_over_looks_first_and_knows_of_the_release(stage: Stage) -> None:
    await bring_kind(stage)
    await living(stage)
    async with replicas(stage, 2) as (first, second):
        await stage.later(MINUTE)
        lead, other = (first, second) if first.leads else (second, first)
        assert await brakes(stage) == {BRAKE_NAME}
        await release(stage, BRAKE_NAME)
        await stage.later(MINUTE)
        await lead.stop()
        await stage.later(MINUTE)
        assert other.leads
        await stage.make("web", "0")
        await stage.later(5 * MINUTE)
        assert not stage.there("web")
        assert not await brakes(stage)
        alive = [line for line in other.lines if line["event"] == "kyverno is alive"]
        assert [line["level"] for line in alive] == ["warning"]
        assert alive[0]["means"] == "both delete: the Brake kyverno-alive was released"
