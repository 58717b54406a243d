"""The guard of Brakes: what it holds, with which words, and until when."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.expr.instants import parse_rfc3339
from skoupa.judge.brakes import NO_BRAKES, BrakeGuard, Pulled, holding
from skoupa.kinds.brake import Scope
from skoupa.kinds.brake_reading import Brake, read_brake
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, PODS
from skoupa.model.reasons import reason, render
from skoupa.model.verdicts import Claim, Hold
from tests.unit.judge.rows import row

pytestmark = pytest.mark.unit

NOW = 1_790_000_000.0


def claim(*, due: float = NOW, mechanism: str = "ttl", rule: str = "x") -> Claim:
    return Claim(mechanism=mechanism, rule=rule, due=due, reason=reason("ttl-date", key="k", value="v"))


def asked(*brakes: Brake, due: float = NOW, unknown: str = "", **of: Any) -> list[Hold]:
    guard = BrakeGuard(lambda: Pulled(brakes=brakes, unknown=unknown))
    return list(guard.holds(row("web", **of), claim(due=due), NOW))


def test_without_brakes_nothing_is_held() -> None:
    assert list(BrakeGuard(lambda: NO_BRAKES).holds(row(), claim(), NOW)) == []


def test_each_active_brake_that_covers_the_object_is_a_hold_with_its_name_and_reason() -> None:
    stop = Brake(name="stop", scope=Scope(namespace="shop"), reason="the audit")
    other = Brake(name="other", scope=Scope(kind="pods"))
    everything = Brake(name="all", scope=Scope(all=True))
    holds = asked(stop, other, everything)
    assert [render(hold.reason) for hold in holds] == ["brake stop: the audit", "brake all: the Brake of all"]
    assert [holding(hold) for hold in holds] == ["stop", "all"]
    assert [hold.until for hold in holds] == [None, None]
    assert [holding(hold) for hold in asked(stop, other, resource=PODS)] == ["stop", "other"]


def test_while_brakes_are_unknown_one_hold_stands_against_everything() -> None:
    for resource in (CONFIG_MAPS, NAMESPACES):
        (hold,) = asked(Brake(name="stop"), unknown="the watch is cut", resource=resource)
        assert hold.reason.code == "brakes-unknown"
        assert "the watch is cut" in render(hold.reason)
        assert holding(hold) == ""


def test_a_brake_with_an_end_holds_until_then_and_no_longer() -> None:
    stop = Brake(name="stop", until=NOW + 60)
    assert [hold.until for hold in asked(stop)] == [NOW + 60]
    assert asked(Brake(name="stop", until=NOW)) == []


def test_what_goes_only_after_the_end_of_a_brake_is_not_held_by_it() -> None:
    assert asked(Brake(name="stop", until=NOW + 60), due=NOW + 61) == []


def test_what_becomes_due_within_a_change_freeze_that_is_to_come_is_held_until_its_end() -> None:
    schedule = {"from": "0 16 * * 5", "to": "0 8 * * 1"}
    brake = read_brake(
        {"metadata": {"name": "weekend"}, "spec": {"scope": {"all": True}, "schedule": schedule}}
    )
    guard = BrakeGuard(lambda: Pulled(brakes=(brake,)))
    thursday, saturday = _moment("2026-04-30T12:00:00Z"), _moment("2026-05-02T12:00:00Z")
    assert list(guard.holds(row(), claim(due=thursday), thursday)) == []
    (hold,) = guard.holds(row(), claim(due=saturday), thursday)
    assert hold.until == _moment("2026-05-04T08:00:00Z")
    assert list(guard.holds(row(), claim(due=thursday), thursday)) == []


def test_new_brakes_count_at_once_though_the_old_ones_were_remembered() -> None:
    pulled = [Pulled(brakes=(Brake(name="stop", until=NOW - 1),))]
    guard = BrakeGuard(lambda: pulled[0])
    assert list(guard.holds(row(), claim(), NOW)) == []
    pulled[0] = Pulled(brakes=(Brake(name="stop"),))
    assert list(guard.holds(row(), claim(), NOW))


def _moment(text: str) -> float:
    found = parse_rfc3339(text)
    assert isinstance(found, int)
    return float(found)
