"""Brakes hold: what a Brake covers stays while it is active, and everything stays while nobody knows the Brakes.

Asked for the moment at which the object would go: a change freeze that begins before that holds it already, and one that
is over by then does not. Where there are no Brakes this costs one look at an empty tuple.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from skoupa.facts.rows import Row
from skoupa.kinds.brake_effect import active, covers, next_change, scope_text
from skoupa.kinds.brake_reading import Brake
from skoupa.model.reasons import Reason, reason, render
from skoupa.model.verdicts import Claim, Hold


class Pulled(msgspec.Struct, frozen=True, kw_only=True):
    """All Brakes that are known; `unknown` says why that may not be all of them, and then everything is held."""

    brakes: tuple[Brake, ...] = ()
    unknown: str = ""


NO_BRAKES = Pulled()


class _Span(msgspec.Struct, frozen=True):
    """From `start` up to `end` this Brake does not change."""

    start: float
    end: float
    active: bool


class BrakeGuard:
    """`pulled` gives the Brakes as they are known now."""

    def __init__(self, pulled: Callable[[], Pulled]) -> None:
        self._pulled = pulled
        self._seen = NO_BRAKES
        # Cron expressions are not cheap, and most objects are asked about within the same span.
        self._spans: dict[str, _Span] = {}

    def holds(self, row: Row, claim: Claim, now: float) -> list[Hold]:
        pulled = self._pulled()
        if pulled.unknown:
            return [Hold(reason=reason("brakes-unknown", why=pulled.unknown))]
        moment = max(now, claim.due)
        found: list[Hold] = []
        for brake in pulled.brakes:
            if not concerns(brake, row, claim):
                continue
            span = self._span(brake, moment, pulled)
            if span.active:
                until = span.end if math.isfinite(span.end) else None
                found.append(Hold(reason=told(brake), until=until))
        return found

    def namespaces(self, claim: Claim, now: float) -> set[str]:
        """Those in which something stands still now."""
        pulled, moment = self._pulled(), max(now, claim.due)
        return {
            brake.scope.namespace
            for brake in pulled.brakes
            if brake.scope.namespace is not None and self._span(brake, moment, pulled).active
        }

    def _span(self, brake: Brake, moment: float, pulled: Pulled) -> _Span:
        if pulled is not self._seen:
            self._seen, self._spans = pulled, {}
        span = self._spans.get(brake.name)
        if span is None or not span.start <= moment < span.end:
            end = next_change(brake, moment)
            span = _Span(moment, math.inf if end is None else end, active(brake, moment))
            self._spans[brake.name] = span
        return span


def concerns(brake: Brake, row: Row, claim: Claim) -> bool:
    """Whether the object stands still while the Brake is active."""
    return covers(
        brake.scope,
        resource=row.resource,
        namespace=row.namespace,
        name=row.name,
        mechanism=claim.mechanism,
        rule=claim.rule,
    )


def told(brake: Brake) -> Reason:
    return reason("brake", name=brake.name, why=brake.reason or f"the Brake of {scope_text(brake.scope)}")


def braked_inside(hold: Hold, what: str) -> Hold:
    """A Hold on `what`, as one on what would take it along."""
    if is_brake(hold):
        why = reason("brake-inside", object=what, **dict(hold.reason.facts))
    else:
        why = reason("protects-inside", object=what, why=render(hold.reason))
    return Hold(reason=why, until=hold.until)


def holding(hold: Hold) -> str:
    """The name of the Brake behind a Hold, also where it is on something that would go along; empty: it is none."""
    if hold.reason.code not in {"brake", "brake-inside"}:
        return ""
    return next((value for key, value in hold.reason.facts if key == "name"), "")


def is_brake(hold: Hold) -> bool:
    return hold.reason.code == "brake"
