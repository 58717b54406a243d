"""Ceilings: nothing overshoots, what did not go gives its place back, and a restart does not multiply them."""

from __future__ import annotations

import math
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.sweep.allowances import Grant
from skoupa.sweep.ceilings import HOUR, MINUTE, By, Ceiling, Ceilings, Going, Reservation, Trip

pytestmark = pytest.mark.unit

PER_MINUTE = Ceiling(span="all", seconds=MINUTE, most=5)
PER_NAMESPACE = Ceiling(span="namespace", seconds=MINUTE, most=3)
PER_RULE = Ceiling(span="rule", seconds=HOUR, most=4)


class Hands:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.time = 1_790_000_000.0

    def now(self) -> float:
        return self.time


def ceilings(*which: Ceiling) -> tuple[Ceilings, Hands]:
    hands = Hands()
    return Ceilings(hands, which), hands  # type: ignore[arg-type]  # all that it needs of a clock


def granted(number: int, *, kind: str = "", mechanism: str = "") -> Grant:
    return Grant(
        span="namespace", name="a", kind=kind, mechanism=mechanism, number=number, at=0.0, until=math.inf
    )


def taken(found: Ceilings, number: int, going: Going) -> list[Trip]:
    return [trip for _ in range(number) if isinstance(trip := found.reserve(going), Trip)]


def test_as_many_as_the_ceiling_says_pass_and_no_more() -> None:
    found, _ = ceilings(PER_MINUTE)
    trips = taken(found, 7, Going(namespace="a"))
    assert trips == [Trip(ceiling=PER_MINUTE, name="", gone=5, weight=1)] * 2


def test_the_window_slides() -> None:
    found, hands = ceilings(PER_MINUTE)
    assert not taken(found, 3, Going())
    hands.time += 30
    assert len(taken(found, 3, Going())) == 1
    hands.time += 30
    assert not taken(found, 3, Going())
    assert taken(found, 1, Going())


def test_each_namespace_and_each_rule_has_its_own() -> None:
    found, _ = ceilings(PER_NAMESPACE, PER_RULE)
    assert not taken(found, 3, Going(namespace="a"))
    (trip,) = taken(found, 1, Going(namespace="a"))
    assert (trip.ceiling, trip.name) == (PER_NAMESPACE, "a")
    assert not taken(found, 3, Going(namespace="b", rule="nightly"))
    assert not taken(found, 1, Going(namespace="c", rule="nightly"))
    (trip,) = taken(found, 1, Going(namespace="c", rule="nightly"))
    assert (trip.ceiling, trip.name) == (PER_RULE, "nightly")


def test_a_namespace_counts_as_what_is_in_it() -> None:
    found, _ = ceilings(PER_MINUTE)
    (trip,) = taken(found, 1, Going(weight=6))
    assert trip.weight == 6
    assert not taken(found, 1, Going(weight=5))


def test_what_trips_one_ceiling_takes_nothing_from_the_others() -> None:
    found, _ = ceilings(PER_MINUTE, PER_NAMESPACE)
    taken(found, 100, Going(namespace="a"))
    assert not taken(found, 2, Going(namespace="b"))
    assert taken(found, 1, Going(namespace="b"))


def test_what_did_not_go_gives_its_place_back() -> None:
    found, hands = ceilings(PER_MINUTE)
    places = [found.reserve(Going()) for _ in range(5)]
    hands.time += 7
    for place in places[:2]:
        assert isinstance(place, Reservation)
        found.give_back(place)
    assert len(taken(found, 3, Going())) == 1


def test_what_went_before_a_restart_counts() -> None:
    found, hands = ceilings(PER_MINUTE)
    found.rebuild((hands.time - age, Going()) for age in (1, 2, 30, 59, 61, 3000))
    assert len(taken(found, 2, Going())) == 1


def test_an_allowance_lets_as_much_pass_and_does_not_count() -> None:
    found, _ = ceilings(PER_NAMESPACE)
    taken(found, 3, Going(namespace="a"))
    found.grant(granted(10))
    assert not taken(found, 10, Going(namespace="a"))
    assert taken(found, 1, Going(namespace="a"))


def test_an_allowance_that_was_not_used_is_given_back() -> None:
    found, _ = ceilings(PER_NAMESPACE)
    taken(found, 3, Going(namespace="a"))
    found.grant(granted(1))
    place = found.reserve(Going(namespace="a"))
    assert isinstance(place, Reservation)
    found.give_back(place)
    assert not taken(found, 1, Going(namespace="a"))


def test_an_allowance_for_a_kind_or_mechanism_is_for_nothing_else() -> None:
    found, _ = ceilings(PER_NAMESPACE)
    taken(found, 3, Going(namespace="a"))
    found.grant(granted(2, kind="pods", mechanism="ttl"))
    assert taken(found, 1, Going(namespace="a", kind="jobs.batch", mechanism="ttl"))
    assert taken(found, 1, Going(namespace="a", kind="pods", mechanism="policies"))
    assert taken(found, 1, Going(namespace="b", kind="pods", mechanism="ttl", weight=4))
    assert not taken(found, 2, Going(namespace="a", kind="pods", mechanism="ttl"))
    assert taken(found, 1, Going(namespace="a", kind="pods", mechanism="ttl"))


def test_what_let_a_run_pass_is_used_up_by_it_whatever_else_is_allowed() -> None:
    found, hands = ceilings(PER_MINUTE)
    whole = Grant(span="all", name="", number=40, at=hands.time, until=math.inf)
    place = Grant(span="namespace", name="a", number=40, at=hands.time, until=math.inf)
    of_rule = Grant(
        span="rule", name="P", kind="configmaps", edition="e", number=30, at=hands.time, until=math.inf
    )
    for grant in (whole, place, of_rule):
        found.grant(grant)
    run = [Going(namespace="a", rule="P", kind="configmaps", mechanism="policies")] * 30
    assert found.allow(run, edition="e")
    assert not taken(found, 30, run[0])
    assert found.allowed(of_rule.whose) == 0
    assert not found.allow(run, edition="e"), "nobody has approved of a second one"
    assert (found.allowed(place.whose), found.allowed(whole.whose)) == (40, 40)
    assert not taken(found, 40, Going(namespace="a"))
    assert (found.allowed(place.whose), found.allowed(whole.whose)) == (0, 40)


def test_a_restart_counts_just_what_was_counted_before_and_leaves_of_an_allowance_what_was_left() -> None:
    found, hands = ceilings(PER_NAMESPACE)
    went = []
    for step in range(9):
        hands.time += 1
        if step == 3:
            grant = Grant(span="namespace", name="a", number=4, at=hands.time, until=hands.time + 600)
            found.grant(grant)
        going = Going(namespace="a")
        if isinstance(found.reserve(going), Reservation):
            went.append((hands.time, going))
    assert len(went) == 7
    again = Ceilings(hands, (PER_NAMESPACE,))  # type: ignore[arg-type]  # all that it needs of a clock
    again.rebuild(went[:5], [grant])
    assert [left.left(hands.time) for left in again.allowances.values()] == [2]
    assert not taken(again, 2, Going(namespace="a"))
    assert taken(again, 1, Going(namespace="a"))


def test_a_clock_that_is_set_back_frees_nothing() -> None:
    found, hands = ceilings(PER_MINUTE)
    taken(found, 5, Going())
    hands.time -= 600
    assert taken(found, 1, Going())


def test_a_ceiling_of_zero_lets_nothing_pass() -> None:
    found, _ = ceilings(Ceiling(span="all", seconds=MINUTE, most=0))
    assert taken(found, 1, Going())


@given(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["", "a", "b"]), st.integers(1, 4)), max_size=120)
)
def test_no_window_ever_holds_more_than_its_ceiling(steps: list[tuple[int, str, int]]) -> None:
    limits = (PER_MINUTE, PER_NAMESPACE)
    found, hands = ceilings(*limits)
    went: deque[tuple[float, str, int]] = deque()
    for wait, namespace, weight in steps:
        hands.time += wait
        if isinstance(found.reserve(Going(namespace=namespace, weight=weight)), Reservation):
            went.append((hands.time, namespace, weight))
        for limit in limits:
            for name in {namespace for _, namespace, _ in went} if limit.span == "namespace" else {""}:
                within = sum(
                    weight
                    for at, where, weight in went
                    if at > hands.time - limit.seconds and name in {"", where}
                )
                assert within <= limit.most or (limit.span == "namespace" and not name)


def released(number: int, rule: str = "", *, mechanism: str = "") -> Grant:
    """Of a rule, or of what a mechanism claims."""
    return Grant(
        span="rule" if rule else "all",
        name=rule,
        mechanism=mechanism,
        number=number,
        at=1_790_000_000.0,
        until=math.inf,
    )


def left(found: Ceilings) -> list[int]:
    return [found.allowed(whose) for whose in found.allowances]


BY_BOTH = Going(rule="P", mechanism="policies", also=(By("policies", "Q"), By("ttl", "")))


def test_what_several_claim_uses_what_was_released_of_each_and_gives_all_of_it_back() -> None:
    found, _ = ceilings(PER_MINUTE)
    for grant in (released(2, "P"), released(2, "Q"), released(2, mechanism="ttl"), released(2, "other")):
        found.grant(grant)
    place = found.reserve(BY_BOTH)
    assert isinstance(place, Reservation)
    assert left(found) == [1, 1, 1, 2]
    assert [place.has_used(rule) for rule in ("P", "Q", "other")] == [True, True, False]
    found.give_back(place)
    assert left(found) == [2, 2, 2, 2]


def test_what_counts_against_the_ceilings_uses_what_was_released_of_others_all_the_same() -> None:
    found, _ = ceilings(PER_MINUTE)
    found.grant(released(7, "Q"))
    assert len(taken(found, 7, BY_BOTH)) == 2
    assert left(found) == [2], "what found no place took nothing"


def test_an_allowance_that_is_for_all_who_claim_it_is_used_once() -> None:
    found, _ = ceilings(PER_MINUTE)
    found.grant(released(3))
    assert not taken(found, 1, BY_BOTH)
    assert left(found) == [2]


def test_two_who_claim_it_beside_use_once_what_is_for_both() -> None:
    found, _ = ceilings(PER_MINUTE)
    found.grant(released(3, mechanism="policies"))
    going = Going(mechanism="ttl", also=(By("policies", "P"), By("policies", "Q")))
    assert not taken(found, 1, going)
    assert left(found) == [2]


def test_no_more_is_given_back_than_was_left_to_be_taken() -> None:
    found, _ = ceilings(Ceiling(span="all", seconds=MINUTE, most=50))
    found.grant(released(3, "Q"))
    place = found.reserve(Going(rule="P", mechanism="policies", weight=10, also=(By("policies", "Q"),)))
    assert isinstance(place, Reservation)
    assert left(found) == [0]
    found.give_back(place)
    assert left(found) == [3]


def test_what_went_before_a_restart_has_used_what_was_released_of_each() -> None:
    found, hands = ceilings(PER_MINUTE)
    found.rebuild([(hands.time + 1, BY_BOTH)] * 2, [released(2, "P"), released(3, "Q")])
    assert [found.allowed(grant.whose) for grant in (released(2, "P"), released(3, "Q"))] == [0, 1]


OF_A_TENANT = Going(rule="Tenant/a", mechanism="tenants", weight=30, also=(By("ttl", ""),))


def test_what_goes_with_its_tenant_uses_nothing_but_what_was_released_of_who_else_claims_it() -> None:
    found, hands = ceilings(PER_MINUTE)
    found.grant(released(40))
    assert not taken(found, 3, Going(rule="Tenant/a", mechanism="tenants"))
    assert left(found) == [40]
    place = found.reserve(OF_A_TENANT)
    assert isinstance(place, Reservation)
    assert left(found) == [10]
    found.give_back(place)
    assert left(found) == [40]
    found.rebuild([(hands.time + 1, OF_A_TENANT)], [released(40)])
    assert left(found) == [10]
    assert len(taken(found, 17, Going())) == 2, "no window counts it"
