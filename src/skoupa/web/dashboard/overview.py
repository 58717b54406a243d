"""The first page and the lists behind it: what is due, what comes next, what is held and why.

Pure functions of a `Look`, made in steps where others have to go on in between. Every list is bounded here: a cluster with 10,000
overdue objects makes a page as short as one with ten, with the numbers of the rest.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from typing import Final

from skoupa.controller.survey import Finding
from skoupa.facts.naming import name_of
from skoupa.facts.rows import uid_text
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import Reason, said
from skoupa.model.verdicts import Hold
from skoupa.web.dashboard.look import Look, Typed
from skoupa.web.dashboard.pieces import AT_ONCE, First, Steps, at_once
from skoupa.web.dashboard.questions import MOST_OBJECTS, Which
from skoupa.web.dashboard.sentences import missing, standing
from skoupa.web.dashboard.shapes import (
    Counts,
    HoldLot,
    Lot,
    Objects,
    Overview,
    Said,
    ShownGap,
    ShownHold,
    ShownObject,
    State,
)

_DAY: Final = 86_400.0
_LOTS: Final = 40
_FIRST: Final = 5
_NEXT: Final = 6
_HOLD_LOTS: Final = 10
_TEXTS: Final = 3
_REMARKS: Final = 8


def overview(look: Look) -> Overview:
    return at_once(overview_steps(look))


def objects(look: Look, which: Which) -> Objects:
    return at_once(objects_steps(look, which))


def overview_steps(look: Look) -> Steps[Overview]:
    counts: Counter[State] = Counter()
    soon = overdue = 0
    coming = First(_NEXT, key=_goes)
    lots: dict[tuple[str, str, str], _Due] = {}
    holds = _Holds()
    for number, found in enumerate(look.findings):
        if not number % AT_ONCE:
            yield
        state, verdict = state_of(found, look.now), found.verdict
        counts[state] += 1
        if state == "due":
            claim = verdict.claims[0]
            lot = (found.row.namespace, claim.mechanism, claim.rule)
            lots.setdefault(lot, _Due()).add(found)
        else:
            overdue += verdict.due is not None and verdict.due <= look.now
        if state == "later":
            coming.add(found)
            soon += _goes(found) <= look.now + _DAY
        holds.add(found)
    yield
    told = Counts(due=counts["due"], soon=soon, later=counts["later"], held=counts["held"])
    largest = sorted(lots, key=lambda lot: (-lots[lot].first.count, lot))
    return Overview(
        now=whole_seconds(look.now),
        made=look.made,
        trouble=look.trouble,
        place=look.place,
        namespace=look.namespace,
        announced=tuple(look.announced),
        standing=standing(look, told, overdue=overdue),
        counts=told,
        complete=look.is_complete,
        due=tuple(lots[lot].shown(look) for lot in largest[:_LOTS]),
        due_lots=len(lots),
        next=tuple(shown(found, look.now, typed=look.typed) for found in coming.found()),
        holds=tuple(holds.lots()),
        remarks=tuple(shown(found, look.now, typed=look.typed) for found in look.remarks[:_REMARKS]),
        remarks_count=len(look.remarks),
        gaps=tuple(ShownGap(what=gap.what, why=gap.why) for gap in look.gaps),
        warnings=(*look.warnings, *look.left_out),
        command=look.typed(_plan(look.namespace)),
    )


def objects_steps(look: Look, which: Which) -> Steps[Objects]:
    """In the order in which they go, and what is held by when it was due."""
    pieces: list[list[Finding]] = []
    for start in range(0, len(look.findings), AT_ONCE):
        yield
        piece = [one for one in look.findings[start : start + AT_ONCE] if _is_meant(one, which, look.now)]
        pieces.append(sorted(piece, key=_order))
    some: list[Finding] = []
    # Lazily, piece by piece: one sort of everything would hold up others.
    for number, one in enumerate(heapq.merge(*pieces, key=_order)):
        if number >= which.offset + MOST_OBJECTS:
            break
        if not number % AT_ONCE:
            yield
        if number >= which.offset:
            some.append(one)
    place = which.namespace or look.namespace
    return Objects(
        now=whole_seconds(look.now),
        made=look.made,
        trouble=look.trouble,
        items=tuple(shown(one, look.now, typed=look.typed) for one in some),
        total=sum(map(len, pieces)),
        offset=which.offset,
        command=look.typed(_plan(place)),
        notes=(*look.left_out, *missing(look.gaps)),
    )


def state_of(found: Finding, now: float) -> State:
    goes = found.verdict.goes
    return "held" if goes is None else "due" if goes <= now else "later"


def shown(found: Finding, now: float, *, typed: Typed) -> ShownObject:
    row, verdict = found.row, found.verdict
    claim = verdict.claims[0] if verdict.claims else None
    target = name_of(row, with_namespace=True)
    words = ["explain", "keep"] if claim is not None else ["explain"]
    return ShownObject(
        kind=row.resource.kind,
        namespace=row.namespace,
        name=row.name,
        uid=uid_text(row.uid),
        state=state_of(found, now),
        due=None if verdict.due is None else whole_seconds(verdict.due),
        goes_at=None if verdict.goes is None else whole_seconds(verdict.goes),
        mechanism=claim.mechanism if claim is not None else "",
        rule=claim.rule if claim is not None else "",
        why=tuple(said(one.reason) for one in verdict.claims),
        holds=tuple(_hold(hold) for hold in verdict.holds),
        notes=tuple(map(said, verdict.notes)),
        # Where a command would act on something else than what is shown, there is none.
        commands=tuple(command for word in words if (command := typed((word, target)))),
    )


def _hold(hold: Hold) -> ShownHold:
    until = None if hold.until is None else whole_seconds(hold.until)
    return ShownHold(code=hold.reason.code, text=said(hold.reason), until=until)


def _plan(namespace: str) -> tuple[str, ...]:
    return ("plan", "-n", namespace) if namespace else ("plan", "-A")


def _goes(found: Finding) -> float:
    goes = found.verdict.goes
    return goes if goes is not None else found.verdict.due or 0.0


def _is_meant(found: Finding, which: Which, now: float) -> bool:
    row, claims = found.row, found.verdict.claims
    return (
        (which.state is None or which.state == state_of(found, now))
        and (which.namespace is None or which.namespace == row.namespace)
        and (which.rule is None or which.rule == claims[0].rule)
        and (which.policy is None or any(claim.rule == which.policy for claim in claims))
        and (which.reason is None or any(hold.reason.code == which.reason for hold in found.verdict.holds))
    )


def _order(found: Finding) -> tuple[float, str, str, str]:
    return _goes(found), found.row.namespace, found.row.resource.kind, found.row.name


class _Due:
    """What is due in one namespace by one rule."""

    def __init__(self) -> None:
        self.first = First(_FIRST, key=_order)

    def add(self, found: Finding) -> None:
        self.first.add(found)

    def shown(self, look: Look) -> Lot:
        first = self.first.found()
        claim = first[0].verdict.claims[0]
        return Lot(
            namespace=first[0].row.namespace,
            mechanism=claim.mechanism,
            rule=claim.rule,
            count=self.first.count,
            since=whole_seconds(_goes(first[0])),
            first=tuple(shown(one, look.now, typed=look.typed) for one in first),
        )


class _Holds:
    """The sorts of reasons that hold the most. An object that is held for two of them counts for both."""

    def __init__(self) -> None:
        self._objects: Counter[str] = Counter()
        self._reasons: dict[str, Counter[Reason]] = {}

    def add(self, found: Finding) -> None:
        holds = found.verdict.holds
        if not holds:
            return
        self._objects.update({hold.reason.code for hold in holds})
        for hold in holds:
            self._reasons.setdefault(hold.reason.code, Counter())[hold.reason] += 1

    def lots(self) -> Iterator[HoldLot]:
        most = sorted(self._objects.items(), key=lambda item: (-item[1], item[0]))
        for code, count in most[:_HOLD_LOTS]:
            found = self._reasons[code]
            often = heapq.nsmallest(_TEXTS, found.items(), key=lambda item: (-item[1], item[0].facts))
            yield HoldLot(
                code=code,
                count=count,
                texts=tuple(Said(text=said(told), count=number) for told, number in often),
                other_texts=len(found) - len(often),
            )
