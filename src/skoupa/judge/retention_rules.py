"""Retention policies: what they are about goes by their times, or because there are too many (seed 003, namespace-wide policy).

Rules that choose by themselves, so what they choose is weighed before it goes: all that one policy takes within an hour is a run of
it. What has finished is weighed apart from what nobody needs, since it is the way of such kinds that most of them end. A label on an
object replaces the times of policies, but not that the newest stay. What policies say together, and what many objects decide
together, is worked out by others and only looked up here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, Protocol

import msgspec

from skoupa.expr.durations import render_duration
from skoupa.expr.ttl_after import TtlAfter
from skoupa.facts.rows import Row, Uid
from skoupa.judge.mechanism import NO_ANSWER, Answer, Interest, Run
from skoupa.judge.protection import own
from skoupa.judge.retention import NAME, Evidence, NothingRead, marked_going, native, waiting, written
from skoupa.judge.ttl_after import Goes, Waits
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import Reason, reason
from skoupa.model.verdicts import Claim, Hold, Propagation
from skoupa.usage.finishing import Ends

RUN_SECONDS: Final = 3600.0
# What is made before its first user: whoever wants it is on the way. Only a time that somebody wrote is shorter.
FRESH_SECONDS: Final = 600
_FINISHED: Final = "finished"
_UNUSED: Final = "unused"


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What the policies that count for an object say of it; `rule` speaks for all, `by` names them.

    `after` None: no time lets it go, only that there are too many. `rests` says why nothing goes by any of them, where that is so.
    `floor` is when the youngest of them was made: no time counts from before, whatever somebody marked then.
    """

    rule: str
    by: tuple[str, ...]
    uid: str = ""
    generation: int = 0
    after: TtlAfter | None = None
    owners_hold: bool = True
    propagation: Propagation = "Background"
    rests: tuple[Reason, ...] = ()
    author: str = ""
    floor: float = 0.0


class Surplus(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """It goes because there are more than there may be: `limit` of them, `place` says where, `at` since when that is so."""

    rule: str
    limit: int
    place: str
    at: float


class Rules(Protocol):
    """What is known of policies. Nothing is guessed: what is not known yet wishes for nothing."""

    def wish(self, row: Row) -> Wish | None: ...

    def surplus(self, row: Row) -> Surplus | None: ...

    def newest_by(self, row: Row) -> str:
        """The policy that keeps it as one of the newest; empty: none does."""

    def undecided(self, row: Row) -> str:
        """Why it is not known yet what objects decide together; empty: it is, or they decide nothing."""

    def chosen(self, rule: str) -> Collection[Uid]:
        """All objects that this policy speaks for."""

    def wishes(self) -> Iterable[Wish]:
        """One for each policy that speaks for some object."""

    def given(self, row: Row) -> float:
        """The longest time that policies give an object; of one that has just gone, too."""


class NoRules:
    """Where nobody follows policies."""

    def wish(self, row: Row) -> Wish | None:  # noqa: ARG002 - whatever it is
        return None

    def surplus(self, row: Row) -> Surplus | None:  # noqa: ARG002 - the same
        return None

    def newest_by(self, row: Row) -> str:  # noqa: ARG002 - the same
        return ""

    def undecided(self, row: Row) -> str:  # noqa: ARG002 - the same
        return ""

    def chosen(self, rule: str) -> Collection[Uid]:  # noqa: ARG002 - the same
        return ()

    def wishes(self) -> Iterable[Wish]:
        return ()

    def given(self, row: Row) -> float:  # noqa: ARG002 - the same
        return 0.0


class RetentionRules:
    """`rules` and `evidence` are handed in by who keeps them true."""

    name = NAME

    def __init__(self) -> None:
        self.rules: Rules = NoRules()
        self.evidence: Evidence = NothingRead()

    def interests(self) -> Iterator[Interest]:
        """None: who follows policies reads what they are about."""
        return iter(())

    def runs(self, now: float) -> list[Run]:
        return [_run(wish, kind, now) for wish in self.rules.wishes() for kind in (_FINISHED, _UNUSED)]

    def chosen(self, run: Run) -> Collection[Uid]:
        return self.rules.chosen(run.rule)

    def due(self, row: Row, now: float) -> float | None:
        wish = self.rules.wish(row)
        if wish is None or wish.rests or own(row):
            return None
        surplus = self.rules.surplus(row)
        if surplus is not None:
            return min(surplus.at, now)
        found = self._going(row, wish, now)
        return found.at if isinstance(found, Goes) else None

    def answer(self, row: Row, now: float) -> Answer:
        wish = self.rules.wish(row)
        if wish is None or own(row):
            return NO_ANSWER
        if wish.rests:
            return Answer(notes=wish.rests)
        surplus = self.rules.surplus(row)
        found = self._going(row, wish, now)
        if surplus is not None:
            told = reason("over-capacity", rule=surplus.rule, limit=surplus.limit, place=surplus.place)
            return Answer((self._claim(row, wish, min(surplus.at, now), told, now),))
        if found is None:
            return NO_ANSWER
        if isinstance(found, Waits):
            need = self.evidence.needs(row)
            return Answer(notes=tuple(waiting(found, need, key=wish.rule, value="")))
        told = reason(
            "after-policy",
            rule=wish.rule,
            time=render_duration(found.seconds),
            since=whole_seconds(int(found.since)),
            last=found.last,
        )
        if found.own is not None and found.own.later:
            told = reason("after-policy-own-time", rule=wish.rule, path=found.own.path)
        return Answer((self._claim(row, wish, found.at, told, now),), notes=tuple(native(found)))

    def _going(self, row: Row, wish: Wish, now: float) -> Goes | Waits | None:
        """None: no time lets it go. A time that is written on the object replaces those of policies."""
        if wish.after is None or written(row) is not None:
            return None
        return marked_going(self.evidence, row, wish.after, now, floor=wish.floor)

    def _claim(self, row: Row, wish: Wish, due: float, told: Reason, now: float) -> Claim:
        kind = _FINISHED if self.evidence.ends(row) is Ends.BY_RULE else _UNUSED
        return Claim(
            mechanism=NAME,
            rule=wish.rule,
            due=due,
            reason=told,
            propagation=wish.propagation,
            run=_run(wish, kind, now).name,
            author=wish.author,
        )


class RulesGuard:
    """Against what retention claims: that it is one of the newest, and that what is known of policies may be old.

    `doubt` says why; somebody may have taken a policy back, or may want something to stay.
    """

    def __init__(self, mechanism: RetentionRules, *, doubt: Callable[[], str]) -> None:
        self._mechanism = mechanism
        self._doubt = doubt

    def holds(self, row: Row, claim: Claim, now: float) -> Iterator[Hold]:  # noqa: ARG002 - ends by news alone
        if claim.mechanism != NAME:
            return
        why = self._doubt()
        if why:
            yield Hold(reason=reason("feed-behind", kind="retention policies", why=why))
        rule = self._mechanism.rules.newest_by(row)
        if rule:
            yield Hold(reason=reason("among-newest", rule=rule))
        open_ = self._mechanism.rules.undecided(row)
        if open_:
            yield Hold(reason=reason("group-undecided", why=open_))


def _run(wish: Wish, kind: str, now: float) -> Run:
    hour = whole_seconds(now // RUN_SECONDS * RUN_SECONDS)
    return Run(
        mechanism=NAME,
        rule=wish.rule,
        name=f"{wish.rule}@{hour} {kind}",
        generation=wish.generation,
        uid=wish.uid,
        usual=kind == _FINISHED,
    )
