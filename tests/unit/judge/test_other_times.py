"""Every time that is written on an object holds whatever else would have it go, until it has come."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.judge.other_times import LabelTimeGuard
from skoupa.judge.policies import NAME as POLICIES
from skoupa.judge.retention import NAME, RetentionMechanism
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import reason, render
from skoupa.model.verdicts import Claim
from skoupa.usage.finishing import Ends, Outcome
from tests.unit.judge.rows import CREATED, row
from tests.unit.judge.test_retention import FREE, HOUR, OWNED, UNREAD, USED, Known, finished

pytestmark = pytest.mark.unit

TTL = Claim(
    mechanism="ttl",
    rule="cleanup.kyverno.io/ttl=1h",
    due=0.0,
    reason=reason("policy-matched", rule="x", tick="y"),
)
POLICY = Claim(mechanism=POLICIES, rule="CleanupPolicy/shop/tidy", due=0.0, reason=TTL.reason)
LIMIT = Claim(mechanism=NAME, rule="RetentionPolicy/shop/few", due=0.0, reason=TTL.reason)


def held(
    value: str, known: Known, claim: Claim, *, at: int = 2 * HOUR, mark: int | None = 0, **more: Any
) -> str:
    annotations = {} if mark is None else {names.UNNEEDED_SINCE_ANNOTATION: whole_seconds(CREATED + mark)}
    labelled = row(labels={names.TTL_AFTER_LABEL: value}, annotations=annotations)
    guard = LabelTimeGuard(RetentionMechanism(known), **more)
    return "; ".join(render(hold.reason) for hold in guard.holds(labelled, claim, CREATED + at))


@pytest.mark.parametrize("claim", [TTL, POLICY, LIMIT])
def test_it_holds_until_it_has_come_and_no_longer(claim: Claim) -> None:
    known = Known(finish=finished(0))
    assert "skoupa.dev/ttl-after=finished-3h lets it stay until" in held("finished-3h", known, claim)
    assert not held("finished-3h", known, claim, at=3 * HOUR)


@pytest.mark.parametrize(
    ("known", "mark", "why"),
    [
        (Known(finish=None), 0, "it has not finished"),
        (Known(finish=finished(0), needs=USED), 0, "Deployment shop/web uses it"),
        (Known(finish=finished(0), needs=OWNED), None, "CronJob shop/nightly is alive"),
        (Known(finish=finished(0), needs=UNREAD), 0, "widgets.example.com can't be read"),
        (Known(finish=finished(0), needs=None), 0, "who uses it is being read"),
        (Known(finish=finished(0)), None, "not marked yet"),
    ],
)
def test_a_time_that_has_not_begun_has_not_come(known: Known, mark: int | None, why: str) -> None:
    assert why in held("finished-1h", known, TTL, at=9 * HOUR, mark=mark)


def test_what_never_comes_for_it_holds_nothing() -> None:
    assert not held("failed-7d", Known(finish=finished(0, Outcome.SUCCEEDED)), TTL)
    assert not held("finished-7d", Known(ends=Ends.NEVER), TTL)


def test_its_own_claim_is_not_held_by_itself() -> None:
    own = Claim(mechanism=NAME, rule=f"{names.TTL_AFTER_LABEL}=finished-3h", due=0.0, reason=TTL.reason)
    assert not held("finished-3h", Known(finish=finished(0)), own)


def test_who_need_not_heed_it_is_not_held() -> None:
    known = Known(finish=finished(0))
    assert not held("finished-3h", known, POLICY, heedless=(POLICIES,))
    assert held("finished-3h", known, TTL, heedless=(POLICIES,))


def test_a_value_that_is_not_understood_does_nothing_but_against_a_limit() -> None:
    known = Known(finish=finished(0), needs=FREE)
    assert not held("completed-1h", known, TTL)
    assert "write finished-1h" in held("completed-1h", known, LIMIT)
