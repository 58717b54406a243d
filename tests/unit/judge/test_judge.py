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
