"""Times that are written on an object itself hold whatever else would have it go, until they have come.

With several times written all have to be over. A label that says nothing of how the object ended, or of objects of its kind, never
comes and holds nothing. One that is not understood does nothing, but that there are too many is no reason to guess what it meant.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from skoupa import names
from skoupa.expr.readings import Problem
from skoupa.facts.rows import Row
from skoupa.judge.protection import own
from skoupa.judge.retention import NAME, RetentionMechanism, marked_going, needed_for, written
from skoupa.judge.ttl import TtlMechanism
from skoupa.judge.ttl_after import Cause, Waits
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold
from skoupa.usage.needs import Unneeded

_OWN: Final = f"{names.TTL_AFTER_LABEL}="
_NEVER_COMES: Final = frozenset({Cause.NEVER_FINISHES, Cause.OTHER_OUTCOME})


class OtherTimeGuard:
    """The TTL label holds against retention while its own time is still to come."""

    def __init__(self, ttl: TtlMechanism) -> None:
        self._ttl = ttl

    def holds(self, row: Row, claim: Claim, now: float) -> list[Hold]:
        due = self._ttl.due(row, now) if claim.mechanism == NAME else None
        if due is None or due <= now:
            return []
        (written,) = self._ttl.answer(row, now).claims
        return [_ahead(written.rule, due)]


class LabelTimeGuard:
    """The label `skoupa.dev/ttl-after` holds against every Claim but its own; `heedless` are mechanisms that need not heed it."""

    def __init__(self, mechanism: RetentionMechanism, *, heedless: Collection[str] = ()) -> None:
        self._mechanism = mechanism
        self._heedless = frozenset(heedless)

    def holds(self, row: Row, claim: Claim, now: float) -> list[Hold]:
        after = written(row)
        if after is None or claim.rule.startswith(_OWN) or claim.mechanism in self._heedless or own(row):
            return []
        label = f"{_OWN}{row.label(names.TTL_AFTER_LABEL)}"
        if isinstance(after, Problem):
            if claim.mechanism != NAME:
                return []
            return [Hold(reason=reason("label-waits", written=label, what=f"{after.what}; {after.instead}"))]
        evidence = self._mechanism.evidence
        need, found = evidence.needs(row), marked_going(evidence, row, after, now)
        if isinstance(found, Waits) and any(wait.cause in _NEVER_COMES for wait in found.waits):
            return []
        if need is None:
            return [Hold(reason=reason("needs-unread"))]
        if not isinstance(need, Unneeded):
            whats = [str(one) for one in needed_for(need)]
        elif isinstance(found, Waits):
            whats = [wait.text for wait in found.waits]
        else:
            return [_ahead(label, found.at)] if found.at > now else []
        return [Hold(reason=reason("label-waits", written=label, what="; ".join(whats)))]


def _ahead(written: str, until: float) -> Hold:
    return Hold(reason=reason("other-ttl-ahead", written=written, until=whole_seconds(until)), until=until)
