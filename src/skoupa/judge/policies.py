"""Policies: what their runs chose may go from the tick on (seed 004, second half).

A run gathers evidence beforehand: which objects the policy matched, each in the very state that was looked at. Here it is only
looked up. An object in another state than that is not claimed until it was looked at anew; a policy that ran again claims what
its newest run chose, and nothing else. What a policy looks at beside the object changes too: evidence is good for a minute, and
not for what was held or failed meanwhile. A time written on the object that is still to come holds against every policy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from skoupa.facts.rows import Row, Uid
from skoupa.judge.mechanism import NO_ANSWER, NO_WORD, Answer, Interest, LastWord, Run
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import REASONS, reason
from skoupa.model.verdicts import Claim, Hold, Propagation, Question

NAME: Final = "policies"
# So old may be what a policy looked at when something goes by it.
GOOD_SECONDS: Final = 60.0


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What one run chose: each object with the version that was looked at. `observed`: it only reports.

    `foreseen`: it is still to come, or only supposed. `author` wrote the policy, where that is known. `looked` is when the
    evidence was complete, and `took` how long it took to gather it.
    """

    run: Run
    due: float
    author: str = ""
    propagation: Propagation = "Background"
    observed: bool = False
    foreseen: bool = False
    versions: Mapping[Uid, int | str] = {}
    looked: float = 0.0
    took: float = 0.0

    @property
    def good_for(self) -> float:
        """What takes longer to gather than it is good for would never be good."""
        return max(GOOD_SECONDS, self.took)


class PolicyMechanism:
    name = NAME

    def __init__(self) -> None:
        self._chosen: dict[str, Chosen] = {}
        self._versions: dict[str, dict[Uid, int | str]] = {}
        self._rules: dict[Uid, tuple[str, ...]] = {}
        # By rule: what has to be asked again before it goes, and what was looked at by itself since the run, and when.
        self._stale: dict[str, set[Uid]] = {}
        self._looked: dict[str, dict[Uid, float]] = {}

    def __len__(self) -> int:
        """How many objects some policy has chosen."""
        return len(self._rules)

    def interests(self) -> Iterator[Interest]:
        """None: a run reads for itself what it needs."""
        return iter(())

    def runs(self, now: float) -> Iterable[Run]:  # noqa: ARG002 - others begin by time alone
        return [chosen.run for chosen in self._chosen.values()]

    def chosen(self, run: Run) -> Collection[Uid]:
        return tuple(self._versions.get(run.rule, ()))

    def due(self, row: Row, now: float) -> float | None:  # noqa: ARG002 - what a run chose is due
        rules = self._rules.get(row.uid)
        if rules is None:
            return None
        return min((self._chosen[rule].due for rule in self._claiming(row, rules)), default=None)

    def answer(self, row: Row, now: float) -> Answer:  # noqa: ARG002 - the same
        rules = self._rules.get(row.uid)
        if rules is None:
            return NO_ANSWER
        return Answer(tuple(_claim(self._chosen[rule]) for rule in self._claiming(row, rules)))

    def _claiming(self, row: Row, rules: Iterable[str]) -> Iterator[str]:
        for rule in rules:
            # What is on its way out does not come back, whatever is written on it.
            if row.deleted_at or self._versions[rule].get(row.uid) == row.version:
                yield rule

    def rules_of(self, uid: Uid) -> tuple[str, ...]:
        return self._rules.get(uid, ())

    def of(self, rule: str) -> Chosen | None:
        """The evidence of its last run; another one as soon as it ran or was looked over again."""
        return self._chosen.get(rule)

    def late(self, claim: Claim, uid: Uid, now: float, *, ages: bool) -> bool:
        """Whether its policy has to be asked again before it goes. What is only told of does not age."""
        chosen = self._chosen.get(claim.rule)
        if chosen is None or chosen.foreseen or chosen.run.name != claim.run:
            return False
        if uid in self._stale.get(claim.rule, ()):
            return True
        looked = self._looked.get(claim.rule, {}).get(uid, chosen.looked)
        # A clock that was set back makes nothing young.
        return ages and abs(now - looked) > chosen.good_for

    def distrust(self, rule: str, uid: Uid) -> None:
        """It did not go when it could have gone: before it does its policy is asked again."""
        if uid in self._versions.get(rule, ()):
            self._stale.setdefault(rule, set()).add(uid)

    def outdated(self, row: Row) -> list[str]:
        """The rules that looked at another state of it than this one."""
        rules = self._rules.get(row.uid, ())
        return [] if row.deleted_at else [r for r in rules if self._versions[r].get(row.uid) != row.version]

    def put(self, chosen: Chosen) -> list[Uid]:
        """In the place of what its rule chose before; what no rule chooses any more."""
        left = self.drop(chosen.run.rule)
        rule = chosen.run.rule
        self._chosen[rule] = chosen
        self._versions[rule] = dict(chosen.versions)
        for uid in chosen.versions:
            self._rules[uid] = (*self._rules.get(uid, ()), rule)
        return [uid for uid in left if uid not in self._rules]

    def drop(self, rule: str) -> list[Uid]:
        """The rule is gone, or not the same any more; what no rule chooses any more."""
        for known in (self._chosen, self._stale, self._looked):
            known.pop(rule, None)
        uids = self._versions.pop(rule, {})
        return [uid for uid in uids if not self._without(uid, rule)]

    def looked_anew(self, rule: str, uid: Uid, version: int | str, *, at: float) -> None:
        """The rule chooses it in that state as well."""
        if uid in self._versions.get(rule, ()):
            self._versions[rule][uid] = version
            self._looked.setdefault(rule, {})[uid] = at
            self._stale.get(rule, set()).discard(uid)

    def looked_over(self, chosen: Chosen, asked: Collection[Uid]) -> None:
        """All that the run chose was looked at again: `chosen` are those that it chooses still.

        Those that were `asked` about may go by that. What is held stays to be asked again, for it goes nobody knows when.
        """
        rule = chosen.run.rule
        known, stale = self._versions[rule], self._stale.setdefault(rule, set())
        self._chosen[rule] = chosen
        self._looked.pop(rule, None)
        for uid in known:
            version = chosen.versions.get(uid)
            if version is None:
                stale.add(uid)
                continue
            known[uid] = version
            if uid in asked:
                stale.discard(uid)

    def doubt(self, rule: str) -> list[Uid]:
        """All that it chose has to be looked at anew before it goes."""
        versions = self._versions.get(rule, {})
        for uid in versions:
            versions[uid] = ""
            self.distrust(rule, uid)
        return list(versions)

    def leave(self, uid: Uid, rules: Iterable[str]) -> bool:
        """These do not choose it any more; whether another does."""
        for rule in rules:
            if self._versions.get(rule, {}).pop(uid, None) is not None:
                self._stale.get(rule, set()).discard(uid)
                self._looked.get(rule, {}).pop(uid, None)
                self._without(uid, rule)
        return uid in self._rules

    def _without(self, uid: Uid, rule: str) -> bool:
        left = tuple(other for other in self._rules.get(uid, ()) if other != rule)
        if left:
            self._rules[uid] = left
        else:
            self._rules.pop(uid, None)
        return bool(left)


class PolicyGuard:
    """`ttl` reads the time that stands on an object, None where policies need not heed it: one still to come holds.

    That is our reading of seed 004, 2.f. `doubt` says why what is known of a policy may be old: somebody may have stopped it.
    """

    def __init__(self, ttl: TtlMechanism | None, *, doubt: Callable[[str], str]) -> None:
        self._ttl = ttl
        self._doubt = doubt

    def holds(self, row: Row, claim: Claim, now: float) -> Iterator[Hold]:
        if claim.mechanism != NAME:
            return
        why = self._doubt(claim.rule)
        if why:
            yield Hold(reason=reason("feed-behind", kind="policies", why=why))
        due = self._ttl.due(row, now) if self._ttl is not None else None
        if due is not None and due > now and self._ttl is not None:
            (written,) = self._ttl.answer(row, now).claims
            told = reason("ttl-ahead", written=written.rule, until=whole_seconds(due))
            yield Hold(reason=told, until=due)


class LateGuard:
    """What a policy chose and what did not go within moments stays until the policy was asked again.

    Each that waits for nothing else is a Question, and `trouble` says why asking fails. What something lasting holds is asked
    about when that ends, and no sooner. An `observing` process tells what would go, and that is asked again only after a Hold.
    """

    def __init__(
        self, mechanism: PolicyMechanism, *, trouble: Callable[[str, Uid], str], observing: bool
    ) -> None:
        self._mechanism = mechanism
        self._trouble = trouble
        self._observing = observing

    def last_word(self, row: Row, claim: Claim, now: float, *, others: Collection[Hold]) -> LastWord:
        if claim.mechanism != NAME or row.deleted_at:
            return NO_WORD
        if others:
            chosen = self._mechanism.of(claim.rule)
            lasting = any(not REASONS[hold.reason.code].passing for hold in others)
            if lasting and chosen is not None and chosen.run.name == claim.run:
                return LastWord(questions=(Question(rule=claim.rule, now=False),))
            return NO_WORD
        ages = not self._observing and not claim.observed
        if not self._mechanism.late(claim, row.uid, now, ages=ages):
            return NO_WORD
        why = self._trouble(claim.rule, row.uid)
        told = (
            reason("not-asked-again", rule=claim.rule, why=why)
            if why
            else reason("asked-again", rule=claim.rule)
        )
        return LastWord((Hold(reason=told),), (Question(rule=claim.rule, now=True),))


def _claim(chosen: Chosen) -> Claim:
    run = chosen.run
    return Claim(
        mechanism=NAME,
        rule=run.rule,
        due=chosen.due,
        reason=reason(
            "policy-matches" if chosen.foreseen else "policy-matched",
            rule=run.rule,
            tick=whole_seconds(chosen.due),
        ),
        author=chosen.author,
        propagation=chosen.propagation,
        run=run.name,
        observed=chosen.observed,
    )
