"""What policies have chosen, as the judge hears it: only in the state that was looked at, and only the newest run."""

from __future__ import annotations

import msgspec
import pytest

from skoupa import names
from skoupa.facts.rows import Row
from skoupa.judge.mechanism import Run
from skoupa.judge.policies import NAME, Chosen, PolicyGuard, PolicyMechanism
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.settings import Settings

pytestmark = pytest.mark.unit

RULE = "ClusterCleanupPolicy/tidy"
NOW = 1_767_225_600.0


def row(uid: str = "a", version: int = 7, **fields: object) -> Row:
    made = Row(
        resource=CONFIG_MAPS,
        namespace="shop",
        name="web",
        uid=uid,
        version=version,
        created=int(NOW) - 100,
        deleted_at=0,
        labels=(),
        annotations=(),
        owners=(),
    )
    return msgspec.structs.replace(made, **fields)


def chosen(*rows: Row, rule: str = RULE, run: str = "1", due: float = NOW, observed: bool = False) -> Chosen:
    return Chosen(
        run=Run(mechanism=NAME, rule=rule, name=run),
        due=due,
        observed=observed,
        versions={one.uid: one.version for one in rows},
    )


def test_what_was_chosen_is_claimed_in_the_state_that_was_looked_at_alone() -> None:
    mechanism = PolicyMechanism()
    mechanism.put(chosen(row()))
    (claim,) = mechanism.answer(row(), NOW).claims
    assert (claim.rule, claim.run, claim.due, claim.on_labels_alone) == (RULE, "1", NOW, False)
    assert mechanism.due(row(), NOW) == NOW
    assert not mechanism.answer(row(version=8), NOW).claims
    assert mechanism.due(row(version=8), NOW) is None
    assert mechanism.outdated(row(version=8)) == [RULE]
    mechanism.looked_anew(RULE, "a", 8)
    assert mechanism.answer(row(version=8), NOW).claims
    assert not mechanism.answer(row("b"), NOW).claims


def test_what_is_on_its_way_out_is_still_claimed() -> None:
    mechanism = PolicyMechanism()
    mechanism.put(chosen(row()))
    assert mechanism.answer(row(version=9, deleted_at=int(NOW)), NOW).claims


def test_a_new_run_replaces_what_the_one_before_chose() -> None:
    mechanism = PolicyMechanism()
    mechanism.put(chosen(row("a"), row("b")))
    assert mechanism.put(chosen(row("b"), row("c"), run="2")) == ["a"]
    assert [run.name for run in mechanism.runs(NOW)] == ["2"]
    assert set(mechanism.chosen(next(iter(mechanism.runs(NOW))))) == {"b", "c"}
    assert mechanism.rules_of("a") == ()


def test_two_policies_claim_each_for_itself() -> None:
    mechanism = PolicyMechanism()
    mechanism.put(chosen(row("a"), row("b"), due=NOW))
    mechanism.put(chosen(row("a"), rule="CleanupPolicy/shop/own", due=NOW - 5))
    assert {claim.rule for claim in mechanism.answer(row(), NOW).claims} == {RULE, "CleanupPolicy/shop/own"}
    assert mechanism.due(row(), NOW) == NOW - 5
    assert mechanism.drop(RULE) == ["b"]
    assert mechanism.rules_of("a") == ("CleanupPolicy/shop/own",)
    assert not mechanism.leave("a", ["CleanupPolicy/shop/own"])
    assert len(mechanism) == 0


def test_what_is_doubted_claims_nothing_until_it_was_looked_at() -> None:
    mechanism = PolicyMechanism()
    mechanism.put(chosen(row()))
    assert mechanism.doubt(RULE) == ["a"]
    assert not mechanism.answer(row(), NOW).claims
    assert mechanism.outdated(row()) == [RULE]


def test_a_time_that_is_still_to_come_holds_against_policies_and_nothing_else() -> None:
    mechanism, ttl = PolicyMechanism(), TtlMechanism(Settings())
    mechanism.put(chosen(row()))
    guard = PolicyGuard(ttl, doubt=lambda _: "")
    (claim,) = mechanism.answer(row(), NOW).claims
    labelled = row(labels=((names.TTL_LABEL, "1h"),))
    (hold,) = guard.holds(labelled, claim, NOW)
    assert (hold.reason.code, hold.until) == ("ttl-ahead", NOW - 100 + 3600)
    assert not list(guard.holds(labelled, claim, NOW + 3600))
    assert not list(guard.holds(row(labels=((names.TTL_LABEL, "soon"),)), claim, NOW)), "it means nothing"
    assert not list(guard.holds(row(), claim, NOW))
    assert not list(guard.holds(labelled, ttl.answer(labelled, NOW).claims[0], NOW))
    assert not list(PolicyGuard(None, doubt=lambda _: "").holds(labelled, claim, NOW))


def test_while_nobody_knows_whether_a_policy_stands_it_is_held() -> None:
    mechanism = PolicyMechanism()
    mechanism.put(chosen(row()))
    guard = PolicyGuard(None, doubt=lambda rule: "the watch is behind" if rule == RULE else "")
    (hold,) = guard.holds(row(), mechanism.answer(row(), NOW).claims[0], NOW)
    assert hold.reason.code == "feed-behind"
