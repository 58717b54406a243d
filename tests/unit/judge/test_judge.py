"""The Judge: one Claim against all Holds; and a mechanism from outside the tree that joins it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from skoupa.facts.rows import Row
from skoupa.judge.circumstances import Circumstances
from skoupa.judge.judge import Judge
from skoupa.judge.mechanism import Answer, Interest
from skoupa.judge.protection import Protection
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.resources import NAMESPACES
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold
from skoupa.settings import Protect, Settings
from tests.unit.judge.rows import CREATED, row

pytestmark = pytest.mark.unit


class Nameless:
    """An example of a mechanism: objects called tmp-… go an hour after their creation."""

    name = "temporary"

    def interests(self) -> Iterator[Interest]:
        yield Interest(kinds=("configmaps",), verbs=("list", "watch", "delete"))

    def due(self, row: Row, now: float) -> float | None:
        return row.created + 3600.0 if row.name.startswith("tmp-") else None

    def answer(self, row: Row, now: float) -> Answer:
        due = self.due(row, now)
        if due is None:
            return Answer()
        why = reason("ttl-date", key="name", value=row.name)
        claim = Claim(mechanism=self.name, rule="tmp-*", due=due, reason=why, on_labels_alone=True)
        return Answer((claim,))


class Weekend:
    """An example of a guard."""

    def holds(self, row: Row, claim: Claim, now: float) -> Iterator[Hold]:
        if claim.mechanism == "temporary" and now < CREATED + 7200:
            yield Hold(reason=reason("kept", value="weekend"), until=CREATED + 7200.0)


def test_a_mechanism_from_outside_joins_by_its_protocol() -> None:
    judge = Judge([TtlMechanism(Settings()), Nameless()], [Weekend()])
    assert judge.due(row("web"), CREATED) is None
    assert judge.due(row("tmp-1"), CREATED) == CREATED + 3600
    assert judge.due(row("tmp-1", "10m"), CREATED) == CREATED + 600
    early = judge.verdict(row("tmp-1"), CREATED + 3600)
    assert early.claim(CREATED + 3600) is None
    assert early.look_again(CREATED + 3600) == CREATED + 7200
    late = judge.verdict(row("tmp-1"), CREATED + 7200)
    claim = late.claim(CREATED + 7200)
    assert claim is not None
    assert claim.mechanism == "temporary"


def test_the_earliest_claim_is_acted_on() -> None:
    judge = Judge([TtlMechanism(Settings()), Nameless()], [])
    verdict = judge.verdict(row("tmp-1", "10m"), CREATED)
    assert [claim.mechanism for claim in verdict.claims] == ["ttl", "temporary"]
    assert verdict.due == CREATED + 600
    assert verdict.claim(CREATED + 599) is None
    assert verdict.claim(CREATED + 600) == verdict.claims[0]


def test_judging_is_pure() -> None:
    judge = Judge([TtlMechanism(Settings())], [Protection(Protect(), namespace_label=lambda _: None)])
    found = row("web", "1h", keep="2026-01-02")
    assert judge.verdict(found, CREATED) == judge.verdict(found, CREATED)


@pytest.mark.parametrize("skew", [2.0, -2.0, 3600.0])
def test_clocks_that_differ_hold_everything(skew: float) -> None:
    judge = Judge([TtlMechanism(Settings())], [Circumstances(skew=lambda: skew)])
    (hold,) = judge.verdict(row(ttl="0"), CREATED).holds
    assert hold.reason.code == "clock-skew"


@pytest.mark.parametrize("skew", [0.0, 1.999, -1.999])
def test_clocks_that_hardly_differ_hold_nothing(skew: float) -> None:
    judge = Judge([TtlMechanism(Settings())], [Circumstances(skew=lambda: skew)])
    assert judge.verdict(row(ttl="0"), CREATED).claim(CREATED) is not None


def test_who_is_going_already_is_held_with_what_it_waits_for() -> None:
    judge = Judge([TtlMechanism(Settings())], [Circumstances()])
    found = row(ttl="0", deleted_at=CREATED + 5, finalizers=("a.example/b",))
    (hold,) = judge.verdict(found, CREATED + 9).holds
    assert "2026-01-01T00:00:05Z; waiting for a.example/b" in str(hold.reason)


def test_a_protected_namespace_itself_stays_too() -> None:
    guard = Protection(Protect(namespaces=("team-*",)), namespace_label=lambda _: None)
    judge = Judge([TtlMechanism(Settings())], [guard])
    for name, stays in (("team-a", True), ("kube-system", True), ("teams", False)):
        found = row(name, "0", resource=NAMESPACES)
        assert (judge.verdict(found, CREATED).claim(CREATED) is None) is stays


class Claiming:
    """Makes these Claims on everything."""

    name = "policies"

    def __init__(self, *claims: Claim) -> None:
        self._claims = claims

    def interests(self) -> Iterator[Interest]:
        yield Interest()

    def due(self, row: Row, now: float) -> float | None:
        return min(claim.due for claim in self._claims)

    def answer(self, row: Row, now: float) -> Answer:
        return Answer(self._claims)


class Against:
    """Holds what these rules claim."""

    def __init__(self, **rules: str) -> None:
        self._rules = rules

    def holds(self, row: Row, claim: Claim, now: float) -> Iterator[Hold]:
        if claim.rule in self._rules:
            code = self._rules[claim.rule]
            facts = {"name": claim.rule, "why": "x"} if code == "brake" else {"rule": claim.rule}
            yield Hold(reason=reason(code, **facts))


def claimed(rule: str, *, ago: float = 0.0, observed: bool = False) -> Claim:
    why = reason("ttl-date", key="rule", value=rule)
    return Claim(mechanism="policies", rule=rule, due=CREATED - ago, reason=why, observed=observed)


def test_what_a_rule_would_take_and_may_not_is_held_although_another_only_reports_it() -> None:
    new, old = claimed("new", ago=9.0, observed=True), claimed("old")
    verdict = Judge([Claiming(new, old)], [Against(old="brake")]).verdict(row("web"), CREATED)
    assert (verdict.claims, [hold.reason.code for hold in verdict.holds]) == ((old, new), ["brake"])
    assert verdict.claim(CREATED) is None
    assert verdict.reported(CREATED) is None
    assert list(verdict.told_beside()) == [new]
    assert [held.claims[0] for held in verdict.held()] == [old]
    assert (verdict.of("new").claims[0], verdict.of("new").holds) == (new, ())


def test_one_that_only_reports_is_not_told_beside_what_holds_for_moments_or_when_it_is_held_itself() -> None:
    new, old = claimed("new", observed=True), claimed("old")
    passing = Judge([Claiming(new, old)], [Against(old="being-weighed")]).verdict(row("web"), CREATED)
    assert passing.claims[0] == old
    assert not list(passing.told_beside())
    both = Judge([Claiming(new, old)], [Against(old="brake", new="brake")]).verdict(row("web"), CREATED)
    assert both.claims[0] == old
    assert not list(both.told_beside())


def test_one_that_only_reports_decides_where_no_other_is_due() -> None:
    new, old = claimed("new", observed=True), claimed("old", ago=-60.0)
    verdict = Judge([Claiming(old, new)], [Against(old="brake")]).verdict(row("web"), CREATED)
    assert verdict.reported(CREATED) == new
    assert verdict.claim(CREATED) is None


def test_of_two_rules_that_are_held_each_is_known_with_what_holds_it() -> None:
    one, two, three = claimed("one", ago=2.0), claimed("two", ago=1.0), claimed("three", observed=True)
    judge = Judge([Claiming(three, two, one)], [Against(one="brake", two="brake")])
    verdict = judge.verdict(row("web"), CREATED)
    assert [held.claims[0] for held in verdict.held()] == [one, two]
    assert [(claim, len(holds)) for claim, holds in judge.each(row("web"), CREATED)] == [(one, 1), (two, 1)]
    free = Judge([Claiming(three, two, one)], [Against(one="brake")]).verdict(row("web"), CREATED)
    assert free.claim(CREATED) == two
    assert not list(free.held())
