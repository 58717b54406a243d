"""What policies have chosen, as the judge hears it: only in the state that was looked at, and only the newest run."""

from __future__ import annotations

import msgspec
import pytest

from skoupa import names
from skoupa.facts.rows import Row, Uid
from skoupa.judge.mechanism import Run
from skoupa.judge.policies import NAME, Chosen, LateGuard, PolicyGuard, PolicyMechanism
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold
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
    mechanism.looked_anew(RULE, "a", 8, at=0.0)
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


def test_what_is_doubted_while_all_is_looked_over_is_not_answered_for_by_that_look() -> None:
    mechanism = PolicyMechanism()
    mechanism.put(chosen(row("a"), row("b")))
    mechanism.doubt(RULE)
    mechanism.looked_over(chosen(row("a"), row("b")), {"a"})
    (ours,), (others,) = (mechanism.answer(row(uid), NOW).claims for uid in ("a", "b"))
    assert not mechanism.late(ours, "a", NOW, ages=False)
    assert mechanism.late(others, "b", NOW, ages=False)


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


class _Asked:
    """Who acts on what the guard says: hears that a policy has to be asked again, and may say why that fails."""

    def __init__(self, mechanism: PolicyMechanism, *, observing: bool = False) -> None:
        self.wanted: list[tuple[str, Uid]] = []
        self.why = ""
        self._mechanism = mechanism
        self._guard = LateGuard(mechanism, trouble=lambda _rule, _uid: self.why, observing=observing)

    def holds(self, one: Row, now: float, *others: Hold) -> list[str]:
        (claim,) = self._mechanism.answer(one, now).claims
        word = self._guard.last_word(one, claim, now, others=others)
        assert self._guard.last_word(one, claim, now, others=others) == word, "judging changes nothing"
        for question in word.questions:
            if question.now:
                self.wanted.append((question.rule, one.uid))
            else:
                self._mechanism.distrust(question.rule, one.uid)
        return [hold.reason.code for hold in word.holds]


KEPT = Hold(reason=reason("kept", value="true"))
WEIGHED = Hold(reason=reason("being-weighed", rule=RULE))


def looked(*rows: Row, took: float = 0.0) -> Chosen:
    return msgspec.structs.replace(chosen(*rows), looked=NOW, took=took)


def test_what_was_looked_at_is_good_for_a_minute_or_as_long_as_the_look_took() -> None:
    mechanism = PolicyMechanism()
    asked = _Asked(mechanism)
    mechanism.put(looked(row()))
    assert asked.holds(row(), NOW + 60) == []
    assert asked.wanted == []
    assert asked.holds(row(), NOW + 61) == ["asked-again"]
    # A clock that was set back makes nothing young.
    assert asked.holds(row(), NOW - 61) == ["asked-again"]
    assert asked.wanted == [(RULE, "a")] * 2
    asked.why = "the server is away"
    assert asked.holds(row(), NOW + 61) == ["not-asked-again"]
    mechanism.put(looked(row(), took=300.0))
    assert asked.holds(row(), NOW + 299) == []


def test_what_something_lasting_held_is_asked_about_when_that_ends_and_no_sooner() -> None:
    mechanism = PolicyMechanism()
    asked = _Asked(mechanism)
    mechanism.put(looked(row("a"), row("b")))
    assert asked.holds(row("a"), NOW + 1, KEPT) == []
    assert asked.holds(row("b"), NOW + 1, WEIGHED) == []
    assert asked.wanted == []
    assert asked.holds(row("a"), NOW + 2) == ["asked-again"]
    assert asked.holds(row("b"), NOW + 2) == []
    mechanism.looked_anew(RULE, "a", 7, at=NOW + 3)
    assert asked.holds(row("a"), NOW + 3) == []


def test_who_looks_at_all_again_may_go_by_it_only_with_what_was_asked_about() -> None:
    mechanism = PolicyMechanism()
    asked = _Asked(mechanism)
    rows = [row(uid) for uid in "abc"]
    mechanism.put(looked(*rows))
    for one in rows:
        mechanism.distrust(RULE, one.uid)
    again = msgspec.structs.replace(looked(row("a", 8), row("b")), looked=NOW + 100)
    mechanism.looked_over(again, {"a", "c"})
    assert asked.holds(row("a", 8), NOW + 101) == []
    assert asked.holds(row("b"), NOW + 101) == ["asked-again"]
    assert asked.holds(row("c"), NOW + 101) == ["asked-again"]


def test_what_is_only_told_of_does_not_age() -> None:
    mechanism = PolicyMechanism()
    asked = _Asked(mechanism, observing=True)
    mechanism.put(looked(row()))
    assert asked.holds(row(), NOW + 1000) == []
    mechanism.distrust(RULE, "a")
    assert asked.holds(row(), NOW + 1000) == ["asked-again"]


def test_a_run_that_is_still_to_come_is_not_asked_about() -> None:
    mechanism = PolicyMechanism()
    asked = _Asked(mechanism)
    mechanism.put(msgspec.structs.replace(chosen(row()), foreseen=True))
    assert asked.holds(row(), NOW + 1000) == []
