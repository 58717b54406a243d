"""Allowances: the same released twice is allowed once, and every part of it is forgotten at its own time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.sweep.allowances import Allowance

pytestmark = pytest.mark.unit


def test_what_is_released_again_is_allowed_once() -> None:
    allowance = Allowance()
    allowance.grant(200, until=100.0, now=0.0)
    for _ in range(5):
        assert allowance.take(1, 1.0)
    allowance.grant(195, until=110.0, now=1.0)
    assert allowance.left(1.0) == 195
    assert allowance.parts == [(195, 110.0)]


def test_a_later_release_of_less_does_not_prolong_the_rest() -> None:
    allowance = Allowance()
    allowance.grant(180, until=100.0, now=0.0)
    allowance.grant(1, until=150.0, now=50.0)
    assert allowance.left(99.0) == 180
    assert allowance.left(100.0) == 1
    assert allowance.left(150.0) == 0


def test_more_than_one_part_may_pass_at_once() -> None:
    allowance = Allowance([(3, 10.0), (4, 20.0)])
    assert not allowance.take(8, 0.0)
    assert allowance.take(5, 0.0)
    assert allowance.parts == [(2, 20.0)]


def test_only_the_part_that_ends_then_is_prolonged() -> None:
    allowance = Allowance([(3, 10.0), (5, 20.0)])
    allowance.prolong(10.0, until=40.0)
    assert (allowance.left(15.0), allowance.left(30.0), allowance.left(40.0)) == (8, 3, 0)


def test_what_is_given_back_lasts_no_longer_than_before() -> None:
    allowance = Allowance([(1, 10.0), (1, 20.0)])
    assert allowance.take(1, 0.0)
    allowance.give_back(1, 0.0)
    allowance.grant(1, until=5.0, now=0.0)
    assert allowance.left(10.0) == 1
    allowance.give_back(3, 30.0)
    assert allowance.left(30.0) == 0


@given(
    grants=st.lists(st.tuples(st.integers(0, 50), st.floats(1, 100), st.floats(0, 100)), max_size=10),
    now=st.floats(0, 200),
)
def test_never_more_than_the_largest_release(grants: list[tuple[int, float, float]], now: float) -> None:
    allowance = Allowance()
    for number, length, at in sorted(grants, key=lambda one: one[2]):
        allowance.grant(number, until=at + length, now=at)
    if now >= max((at for _, _, at in grants), default=0.0):
        fresh = [number for number, length, at in grants if at + length > now]
        assert max(fresh, default=0) <= allowance.left(now) <= sum(fresh)
        assert allowance.left(now) <= max((number for number, _, _ in grants), default=0)
