"""When an object goes: at creation plus its TTL, at its date, counted anew from a refresh, and never for a bad value."""

from __future__ import annotations

import pytest

from skoupa import names
from skoupa.kube.resources import NAMESPACES, PODS
from tests.unit.controller.stage import HOUR, MINUTE, PRIORITIES, SECRETS, Stage, story

pytestmark = pytest.mark.unit


@story()
async def test_an_object_goes_at_creation_plus_its_ttl_and_not_before(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "10m")
    await stage.until(10 * MINUTE - 0.5)
    assert stage.there("web")
    await stage.until(10 * MINUTE + 0.1)
    assert not stage.there("web")
    assert play.told("deleted", "web")[0]["lag"] == "0.000"


@story()
async def test_a_ttl_that_is_further_away_than_an_hour_is_kept_to_the_second(stage: Stage) -> None:
    await stage.play()
    await stage.make("web", "3h30m")
    await stage.until(3.5 * HOUR - 0.5)
    assert stage.there("web")
    await stage.until(3.5 * HOUR + 0.1)
    assert not stage.there("web")


@story()
async def test_an_object_that_was_there_before_the_start_is_counted_from_its_creation(stage: Stage) -> None:
    stage.old(["web"], "3h", age=2 * HOUR)
    await stage.play()
    await stage.until(HOUR - 0.5)
    assert stage.there("web")
    await stage.until(HOUR + 0.1)
    assert not stage.there("web")


@story()
async def test_what_became_due_while_nobody_looked_goes_at_the_start(stage: Stage) -> None:
    stage.old(["web"], "1h", age=5 * HOUR)
    await stage.play()
    await stage.later(0.1)
    assert not stage.there("web")


@pytest.mark.parametrize(
    ("value", "due"),
    [("2026-01-01T003000Z", 30 * MINUTE), ("2026-01-01T023000Z", 2.5 * HOUR), ("2026-01-01T0030Z", None)],
)
@story()
async def test_an_object_goes_at_its_date_in_utc(stage: Stage, value: str, due: float | None) -> None:
    play = await stage.play()
    await stage.make("web", value)
    if due is None:
        await stage.until(2 * HOUR)
        assert stage.there("web")
        assert play.told("label problem", "web")
        return
    await stage.until(due - 0.5)
    assert stage.there("web")
    await stage.until(due + 0.1)
    assert not stage.there("web")


@pytest.mark.parametrize("value", ["0", "0s", "2020-02-02"])
@story()
async def test_zero_and_the_past_go_at_once(stage: Stage, value: str) -> None:
    await stage.play()
    await stage.make("web", value)
    await stage.later(0.1)
    assert not stage.there("web")


@story()
async def test_a_refresh_counts_as_creation(stage: Stage) -> None:
    await stage.play()
    await stage.make("web", "10m")
    await stage.until(8 * MINUTE)
    await stage.annotate("web", names.REFRESHED_AT_ANNOTATION, stage.time())
    await stage.until(18 * MINUTE - 0.5)
    assert stage.there("web")
    await stage.until(18 * MINUTE + 0.1)
    assert not stage.there("web")


@story()
async def test_refreshing_again_and_again_keeps_an_object_for_as_long(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "90m")
    for _ in range(12):
        await stage.annotate("web", names.REFRESHED_AT_ANNOTATION, stage.time())
        await stage.later(0.5 * HOUR)
    assert stage.there("web")
    assert len(play.engine.sweeper.agenda) < 5
    await stage.later(HOUR + 1)
    assert not stage.there("web")


@story()
async def test_a_refresh_does_not_move_a_date(stage: Stage) -> None:
    await stage.play()
    await stage.make("web", "2026-01-01T003000Z")
    await stage.until(29 * MINUTE)
    await stage.annotate("web", names.REFRESHED_AT_ANNOTATION, stage.time())
    await stage.until(30 * MINUTE + 0.1)
    assert not stage.there("web")


@pytest.mark.parametrize("ttl", ["10m", "3h"])
@story()
async def test_a_refresh_in_the_future_is_taken_as_now_with_a_warning(stage: Stage, ttl: str) -> None:
    play = await stage.play()
    await stage.make("web", ttl)
    await stage.until(5 * MINUTE)
    await stage.annotate("web", names.REFRESHED_AT_ANNOTATION, "2099-01-01T00:00:00Z")
    await stage.later(1)
    (warned,) = play.told("label problem", "web")
    assert "is in the future: the time counts from when it was written instead" in warned["why"]
    await stage.until(5 * MINUTE + (10 * MINUTE if ttl == "10m" else 3 * HOUR) - 1)
    assert stage.there("web")
    await stage.later(1.1)
    assert not stage.there("web")


@story()
async def test_a_refresh_from_before_the_creation_ends_nothing_and_is_told(stage: Stage) -> None:
    """A copied or restored manifest brings it along."""
    play = await stage.play()
    await stage.make("web", "10m", annotations={names.REFRESHED_AT_ANNOTATION: "2020-01-01T00:00:00Z"})
    await stage.until(10 * MINUTE - 0.5)
    assert stage.there("web")
    (warned,) = play.told("label problem", "web")
    assert "is before its creation and does nothing" in warned["why"]
    await stage.until(10 * MINUTE + 0.1)
    assert not stage.there("web")


@story()
async def test_a_refresh_that_is_no_time_holds_and_is_told(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "10m", annotations={names.REFRESHED_AT_ANNOTATION: "yesterday"})
    await stage.later(2)
    (warned,) = play.told("label problem", "web")
    assert "is not an RFC 3339 time" in warned["why"]
    (event,) = stage.events("SkoupaLabelProblem", "web")
    assert event["type"] == "Warning"
    await stage.until(20 * MINUTE)
    assert stage.there("web")
    assert play.overdue == {"refresh-unclear": 1}
    await stage.annotate("web", names.REFRESHED_AT_ANNOTATION, None)
    await stage.later(2)
    assert not stage.there("web")


@story()
async def test_a_label_that_comes_earlier_brings_the_time_forward(stage: Stage) -> None:
    await stage.play()
    await stage.make("web", "5h")
    await stage.until(MINUTE)
    await stage.label("web", ttl="5m")
    await stage.until(5 * MINUTE + 0.1)
    assert not stage.there("web")


@pytest.mark.parametrize("first", ["10m", "3h"])
@story()
async def test_a_label_that_comes_later_puts_the_time_off(stage: Stage, first: str) -> None:
    await stage.play()
    await stage.make("web", first)
    await stage.until(9 * MINUTE)
    await stage.label("web", ttl="4h")
    await stage.until(4 * HOUR - 0.5)
    assert stage.there("web")
    await stage.until(4 * HOUR + 0.1)
    assert not stage.there("web")


@story()
async def test_removing_the_label_cancels(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "10m")
    await stage.until(10 * MINUTE - 1)
    await stage.label("web", ttl=None)
    await stage.until(2 * HOUR)
    assert stage.there("web")
    assert not play.sent("DELETE")


@story()
async def test_a_cancelled_object_that_is_labelled_again_goes(stage: Stage) -> None:
    await stage.play()
    await stage.make("web", "10m")
    await stage.label("web", ttl=None)
    await stage.until(5 * MINUTE)
    await stage.label("web", ttl="20m")
    await stage.until(20 * MINUTE + 0.1)
    assert not stage.there("web")


@story(also=(SECRETS, PRIORITIES))
async def test_kinds_of_every_scope_go(stage: Stage) -> None:
    await stage.play()
    await stage.make("pod", "1m", resource=PODS)
    await stage.make("secret", "1m", resource=SECRETS)
    await stage.make("priority", "1m", resource=PRIORITIES)
    await stage.namespace("preview", labels={names.TTL_LABEL: "1m"})
    await stage.until(2 * MINUTE)
    assert not stage.found(SECRETS)
    assert not stage.there("pod", PODS)
    assert not stage.there("priority", PRIORITIES)
    assert not stage.there("preview", NAMESPACES)


@story(ttl={"maximumLifetime": "6h"})
async def test_no_refresh_reaches_beyond_the_maximum_lifetime(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "3h")
    await stage.make("dated", "2026-06-01")
    await stage.make("short", "2h")
    await stage.make("unlabelled")
    for hour in range(6):
        await stage.until(hour * HOUR)
        await stage.annotate("web", names.REFRESHED_AT_ANNOTATION, stage.time())
    assert stage.found() == {"web", "dated", "unlabelled"}
    await stage.until(6 * HOUR - 0.5)
    assert stage.there("web")
    await stage.until(6 * HOUR + 0.1)
    assert stage.found() == {"unlabelled"}
    assert "ttl.maximumLifetime" in play.told("deleted", "web")[0]["why"]


@pytest.mark.parametrize(
    ("wish", "sent"),
    [(None, "Background"), ("Foreground", "Foreground"), ("Background", "Background"), ("Orphan", "Orphan")],
)
@story()
async def test_propagation_is_always_said_and_as_the_annotation_wishes(
    stage: Stage, wish: str | None, sent: str
) -> None:
    play = await stage.play()
    annotations = {names.PROPAGATION_POLICY_ANNOTATION: wish} if wish else {}
    await stage.make("web", "1m", annotations=annotations)
    await stage.until(61)
    ((_, request),) = play.sent("DELETE")
    assert f'"propagationPolicy":"{sent}"' in request.body.decode()


@pytest.mark.parametrize("wish", ["foreground", "Delete", "Backgroundd"])
@story()
async def test_a_propagation_that_is_not_understood_holds_until_it_is_mended(stage: Stage, wish: str) -> None:
    play = await stage.play()
    await stage.make("web", "1m", annotations={names.PROPAGATION_POLICY_ANNOTATION: wish})
    await stage.until(HOUR)
    assert stage.there("web")
    assert "none of Foreground, Background, Orphan" in play.why_held("web")
    (event,) = stage.events("SkoupaHeld", "web")
    assert wish in event["note"]
    await stage.annotate("web", names.PROPAGATION_POLICY_ANNOTATION, "Orphan")
    await stage.later(1.1)
    assert not stage.there("web")
