"""What a Brake covers, and when it holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skoupa.controller.braking.ends import ended_at
from skoupa.kinds.brake import EVERYTHING, Scope
from skoupa.kinds.brake_effect import active, covers, missing_kind, next_change, scope_text
from skoupa.kinds.brake_reading import Brake, parse_brake
from skoupa.kube.kinds import Discovery, Gap
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS, Resource

pytestmark = pytest.mark.unit

DEPLOYMENTS = Resource(
    group="apps",
    version="v1",
    plural="deployments",
    kind="Deployment",
    namespaced=True,
    short_names=("deploy",),
)
ATHENS = ZoneInfo("Europe/Athens")


def held(
    scope: Scope, resource: Resource = PODS, namespace: str = "shop", name: str = "web", **more: str
) -> bool:
    cause = {"mechanism": "policies", "rule": "CleanupPolicy/shop/old-pods", **more}
    return covers(scope, resource=resource, namespace=namespace, name=name, **cause)


def test_everything_is_everything() -> None:
    assert held(EVERYTHING)
    assert held(EVERYTHING, NAMESPACES, namespace="", name="shop", mechanism="", rule="")


def test_a_namespace_is_what_is_in_it_and_itself() -> None:
    scope = Scope(namespace="shop")
    assert held(scope)
    assert held(scope, NAMESPACES, namespace="", name="shop")
    assert not held(scope, namespace="shop-2")
    assert not held(scope, NAMESPACES, namespace="", name="shop-2")
    assert not held(scope, CUSTOM_RESOURCE_DEFINITIONS, namespace="", name="shop")


@pytest.mark.parametrize(
    "kind", ["deployments", "Deployment", "deploy", "deployments.apps", "DEPLOYMENTS.apps", "deployments.v1.apps",
             "apps/v1/Deployment", "apps/Deployment", "deploy*", "*.apps", "*"]
)  # fmt: skip
def test_a_kind_may_be_written_in_each_way_that_kubectl_understands(kind: str) -> None:
    assert held(Scope(kind=kind), DEPLOYMENTS)


@pytest.mark.parametrize(
    "kind", ["pods", "deployments.extensions", "v1/Deployment", "deployment.", "deploymen", "rep*"]
)
def test_another_kind_goes_on(kind: str) -> None:
    assert not held(Scope(kind=kind), DEPLOYMENTS)


def test_the_core_group_has_no_name() -> None:
    assert held(Scope(kind="v1/Pod"))
    assert not held(Scope(kind="v1/Pod"), DEPLOYMENTS)


@pytest.mark.parametrize(
    "kind", ["widgets", "Widget", "widgets.example.com", "example.com/v1/Widget", "widg*"]
)
def test_the_definition_of_a_kind_stands_still_with_it(kind: str) -> None:
    def of(name: str) -> bool:
        return held(Scope(kind=kind), CUSTOM_RESOURCE_DEFINITIONS, namespace="", name=name)

    assert of("widgets.example.com")
    assert not of("gadgets.example.com")
    assert not held(Scope(kind=kind), PODS, name="widgets.example.com")


@pytest.mark.parametrize(
    "policy", ["old-pods", "shop/old-pods", "CleanupPolicy/shop/old-pods", "cleanuppolicy/shop/old-pods"]
)
def test_a_policy_is_named_by_as_much_as_tells_it_apart(policy: str) -> None:
    assert held(Scope(policy=policy))
    assert not held(Scope(policy=policy), rule="CleanupPolicy/shop/very-old-pods")


def test_a_policy_of_another_namespace_goes_on() -> None:
    assert not held(Scope(policy="bank/old-pods"))


def test_a_mechanism_is_what_it_would_delete() -> None:
    assert held(Scope(mechanism="ttl"), mechanism="ttl")
    assert not held(Scope(mechanism="ttl"), mechanism="policies")


PARTS: dict[str, tuple[str, str]] = {
    "namespace": ("shop", "bank"),
    "kind": ("pods", "jobs"),
    "mechanism": ("policies", "ttl"),
    "policy": ("old-pods", "new-pods"),
}


@given(st.dictionaries(st.sampled_from(sorted(PARTS)), st.booleans(), min_size=1))
def test_what_is_named_together_must_all_fit(chosen: dict[str, bool]) -> None:
    named: dict[str, Any] = {part: PARTS[part][0 if fits else 1] for part, fits in chosen.items()}
    assert held(Scope(**named)) is all(chosen.values())


def test_a_scope_is_told_in_the_words_of_pause() -> None:
    assert scope_text(EVERYTHING) == "all"
    assert scope_text(Scope(kind="pods", namespace="shop")) == "ns/shop kind/pods"
    assert scope_text(Scope(policy="a/b", mechanism="ttl")) == "policy/a/b mechanism/ttl"


def brake(*, until: str = "", **schedule: str) -> Brake:
    spec: dict[str, Any] = {"scope": {"all": True}}
    if until:
        spec["until"] = until
    if schedule:
        spec["schedule"] = {
            "from": schedule["begins"],
            "to": schedule["ends"],
            "timeZone": schedule.get("zone", "UTC"),
        }
    return parse_brake({"metadata": {"name": "one"}, "spec": spec})


def at(text: str, zone: ZoneInfo | None = None) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone or UTC).timestamp()


WEEKEND = brake(begins="0 16 * * 5", ends="0 8 * * 1", zone="Europe/Athens")


def test_without_an_end_it_holds_until_it_is_deleted() -> None:
    assert active(brake(), at("2026-11-18"))
    assert next_change(brake(), at("2026-11-18")) is None


def test_it_ends_at_its_end() -> None:
    ending = brake(until="2026-11-20T00:00:00Z")
    end = at("2026-11-20")
    assert active(ending, end - 0.001)
    assert not active(ending, end)
    assert next_change(ending, end - 5) == end
    assert next_change(ending, end) is None


@pytest.mark.parametrize(
    ("now", "holds", "changes"),
    [
        ("2026-11-20T15:59:59", False, "2026-11-20T16:00:00"),
        ("2026-11-20T16:00:00", True, "2026-11-23T08:00:00"),
        ("2026-11-22T03:00:00", True, "2026-11-23T08:00:00"),
        ("2026-11-23T07:59:59", True, "2026-11-23T08:00:00"),
        ("2026-11-23T08:00:00", False, "2026-11-27T16:00:00"),
        # The clocks go back on this Sunday, and forward on that one.
        ("2026-10-24T12:00:00", True, "2026-10-26T08:00:00"),
        ("2026-03-28T12:00:00", True, "2026-03-30T08:00:00"),
    ],
)
def test_a_change_freeze_holds_from_friday_to_monday_by_the_clock_on_the_wall(
    now: str, *, holds: bool, changes: str
) -> None:
    assert active(WEEKEND, at(now, ATHENS)) is holds
    assert next_change(WEEKEND, at(now, ATHENS)) == at(changes, ATHENS)


# The clocks show half past three at 00:30 and at 01:30 UTC.
@pytest.mark.parametrize(
    ("now", "holds", "changes"),
    [
        ("2026-10-25T00:29:59", True, "2026-10-25T01:30:00"),
        ("2026-10-25T00:30:00", True, "2026-10-25T01:30:00"),
        ("2026-10-25T01:29:59", True, "2026-10-25T01:30:00"),
        ("2026-10-25T01:30:00", False, "2026-10-25T20:00:00"),
    ],
)
def test_a_window_ends_where_the_clocks_show_its_end_for_the_last_time(
    now: str, *, holds: bool, changes: str
) -> None:
    nightly = brake(begins="0 22 * * *", ends="30 3 * * *", zone="Europe/Athens")
    assert active(nightly, at(now)) is holds
    assert next_change(nightly, at(now)) == at(changes)
    assert ended_at(nightly, at("2026-10-25T05:00:00")) == at("2026-10-25T01:30:00")


def test_a_window_that_begins_again_in_the_hour_that_comes_twice_is_not_open_for_a_day() -> None:
    """Nearly always closed: deletions go from a quarter past three to half past alone."""
    nearly = brake(begins="30 3 * * *", ends="15 3 * * *", zone="Europe/Athens")
    for now in ("2026-10-25T00:30:00", "2026-10-25T01:20:00", "2026-10-25T02:00:00", "2026-10-25T12:00:00"):
        assert active(nearly, at(now)), now
    assert not active(nearly, at("2026-10-26T01:20:00"))


def test_an_end_cuts_a_window_short_and_lets_none_open_after_it() -> None:
    cut = brake(begins="0 16 * * 5", ends="0 8 * * 1", until="2026-11-21T00:00:00Z")
    assert next_change(cut, at("2026-11-18")) == at("2026-11-20T16:00:00")
    assert next_change(cut, at("2026-11-20T20:00:00")) == at("2026-11-21")
    early = brake(begins="0 16 * * 5", ends="0 8 * * 1", until="2026-11-20T00:00:00Z")
    assert not active(early, at("2026-11-18"))
    assert next_change(early, at("2026-11-18")) is None


def test_where_begin_and_end_fall_together_it_goes_on_holding() -> None:
    nightly = brake(begins="0 0 * * *", ends="0 0 * * 1")
    monday = at("2026-11-23")
    assert active(nightly, monday)
    assert next_change(nightly, monday) is None


ZONES = [
    "Europe/Athens",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "UTC",
]
CLOCK = st.tuples(st.integers(0, 59), st.integers(0, 23), st.sampled_from(["*", "0", "1", "5", "6"]))


@given(
    begins=CLOCK,
    ends=CLOCK,
    zone=st.sampled_from(ZONES),
    now=st.datetimes(datetime(2008, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - of UTC
)
def test_the_next_change_is_a_change_and_nothing_changes_before_it(
    begins: tuple[int, int, str], ends: tuple[int, int, str], zone: str, now: datetime
) -> None:
    assume(begins != ends)
    told = ["{} {} * * {}".format(*part) for part in (begins, ends)]
    window = brake(begins=told[0], ends=told[1], zone=zone)
    holds, change = active(window, now.timestamp()), next_change(window, now.timestamp())
    end = now + timedelta(days=8)
    if change is not None:
        assert change > now.timestamp()
        assert active(window, change) is not holds
        assert active(window, change - 1) is holds
        end = min(end, datetime.fromtimestamp(change, UTC) - timedelta(seconds=1))
    step = now
    while step < end:
        assert active(window, step.timestamp()) is holds
        step += timedelta(hours=5, minutes=7)


@given(
    now=st.datetimes(datetime(2008, 1, 1), datetime(2035, 1, 1)),  # noqa: DTZ001 - times on the wall
    zone=st.sampled_from(ZONES),
)
def test_a_nightly_window_is_open_whenever_the_wall_says_so(now: datetime, zone: str) -> None:
    """Also on nights whose hours come twice or never, as long as the ends of the window are not among those."""
    place = ZoneInfo(zone)
    moment = now.replace(tzinfo=place).astimezone(UTC)
    wall = moment.astimezone(place)
    around = {(moment + timedelta(hours=hours)).astimezone(place).utcoffset() for hours in (-48, 48)}
    # Samoa left out a whole day: its windows began and ended within nothing.
    assume(zone != "Pacific/Apia" or len(around) == 1)
    window = brake(begins="0 20 * * *", ends="30 5 * * *", zone=zone)
    assert active(window, moment.timestamp()) is (wall.hour >= 20 or (wall.hour, wall.minute) < (5, 30))


KINDS = Discovery(resources=(PODS, DEPLOYMENTS))
GAP = Gap(group="shop.example", version="v1", why="no answer")


@pytest.mark.parametrize("kind", ["pods", "Pod", "deploy", "apps/v1/Deployment", "dep*", None])
def test_a_kind_that_is_there_is_not_missing(kind: str | None) -> None:
    assert missing_kind(Scope(kind=kind, mechanism="ttl"), KINDS) == ""


@pytest.mark.parametrize("kind", ["Deploymnt", "deploymnts.apps", "apps/v1/Deploymnt"])
def test_a_kind_that_is_not_there_is_told_with_the_nearest(kind: str) -> None:
    told = missing_kind(Scope(kind=kind), KINDS)
    assert told.startswith(f"there is no kind {kind} in this cluster: did you mean deployment")


def test_a_kind_that_nobody_can_look_up_is_not_called_missing() -> None:
    assert missing_kind(Scope(kind="gadgets"), Discovery(resources=(PODS,), gaps=(GAP,))) == ""
    assert missing_kind(Scope(kind="gadgets"), Discovery(resources=())) == ""


def test_a_kind_of_which_no_version_is_served_is_there_as_long_as_its_definition_is() -> None:
    assert missing_kind(Scope(kind="gadgets"), KINDS)
    assert missing_kind(Scope(kind="gadgets"), KINDS, defined=("gadgets.shop.example",)) == ""
