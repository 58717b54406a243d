"""A Verdict is the sum of its answers: goes when a Claim is due and nothing holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.model.reasons import reason
from skoupa.model.verdicts import NOTHING, Claim, Hold, Verdict

pytestmark = pytest.mark.unit

TIMES = st.integers(0, 100).map(float)
CLAIMS = st.builds(
    lambda due: Claim(mechanism="m", rule="r", due=due, reason=reason("ttl-date", key="k", value="v")), TIMES
)
HOLDS = st.builds(lambda until: Hold(reason=reason("kept", value="x"), until=until), st.none() | TIMES)


def verdict(claims: list[Claim], holds: list[Hold]) -> Verdict:
    return Verdict(claims=tuple(sorted(claims, key=lambda claim: claim.due)), holds=tuple(holds))


VERDICTS = st.builds(verdict, st.lists(CLAIMS, max_size=3), st.lists(HOLDS, max_size=3))


@given(VERDICTS, TIMES)
def test_it_goes_when_a_claim_is_due_and_nothing_holds(found: Verdict, now: float) -> None:
    due = any(claim.due <= now for claim in found.claims)
    claim = found.claim(now)
    assert (claim is not None) is (due and not found.holds)
    if claim is not None:
        assert claim.due == found.due


@given(VERDICTS, TIMES)
def test_it_is_looked_at_again_no_later_than_when_time_alone_changes_the_answer(
    found: Verdict, now: float
) -> None:
    again = found.look_again(now)
    moments = [claim.due for claim in found.claims]
    if found.claims:
        moments += [hold.until for hold in found.holds if hold.until is not None]
    later = [moment for moment in moments if moment > now]
    assert again == (min(later) if later else None)


@given(VERDICTS)
def test_when_it_goes_is_after_its_due_time_and_after_every_hold(found: Verdict) -> None:
    goes = found.goes
    if not found.claims or any(hold.until is None for hold in found.holds):
        assert goes is None
        return
    assert goes is not None
    assert goes >= found.claims[0].due
    assert all(hold.until is not None and goes >= hold.until for hold in found.holds)


def test_nothing_says_nothing() -> None:
    assert (NOTHING.due, NOTHING.claim(1e12), NOTHING.look_again(0), NOTHING.goes) == (None,) * 4
