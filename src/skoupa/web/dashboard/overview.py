"""The first page and the lists behind it: what is due, what comes next, what is held and why.

Pure functions of a `Look`. Every list is bounded here: a cluster with 10,000 overdue objects makes a page as short as one
with ten, with the numbers of the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from skoupa.controller.survey import Finding
from skoupa.facts.naming import name_of
from skoupa.facts.rows import uid_text
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import said
from skoupa.model.verdicts import Hold
from skoupa.web.dashboard.look import Look, Typed
from skoupa.web.dashboard.questions import MOST_OBJECTS, Which
from skoupa.web.dashboard.sentences import standing
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
    by_state: dict[State, list[Finding]] = {"due": [], "later": [], "held": []}
    for found in look.findings:
        by_state[state_of(found, look.now)].append(found)
    later = sorted(by_state["later"], key=_goes)
    soon = sum(_goes(found) <= look.now + _DAY for found in later)
    counts = Counts(due=len(by_state["due"]), soon=soon, later=len(later), held=len(by_state["held"]))
    lots = _lots(by_state["due"])
    return Overview(
        now=whole_seconds(look.now),
        trouble=look.trouble,
        place=look.place,
        namespace=look.namespace,
        standing=standing(look, counts),
        counts=counts,
        due=tuple(_lot(lot, look) for lot in lots[:_LOTS]),
        due_lots=len(lots),
        next=tuple(shown(found, look.now, typed=look.typed) for found in later[:_NEXT]),
        holds=tuple(_hold_lots(found for kind in by_state.values() for found in kind)),
        remarks=tuple(shown(found, look.now, typed=look.typed) for found in look.remarks[:_REMARKS]),
        remarks_count=len(look.remarks),
        gaps=tuple(ShownGap(what=gap.what, why=gap.why) for gap in look.gaps),
        warnings=tuple(look.warnings),
        command=look.typed(_plan(look.namespace)),
    )


def objects(look: Look, which: Which) -> Objects:
    """In the order in which they go, and what is held by when it was due."""
    found = [one for one in look.findings if _is_meant(one, which, look.now)]
    found.sort(key=lambda one: (_goes(one), one.row.namespace, one.row.resource.kind, one.row.name))
    some = found[which.offset : which.offset + MOST_OBJECTS]
    place = which.namespace or look.namespace
    return Objects(
        now=whole_seconds(look.now),
        trouble=look.trouble,
        items=tuple(shown(one, look.now, typed=look.typed) for one in some),
        total=len(found),
        offset=which.offset,
        command=look.typed(_plan(place)),
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
        commands=tuple(typed((word, target)) for word in words),
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


def _lots(due: Iterable[Finding]) -> list[list[Finding]]:
    """By namespace and rule, the largest first."""
    found: dict[tuple[str, str, str], list[Finding]] = {}
    for one in due:
        claim = one.verdict.claims[0]
        found.setdefault((one.row.namespace, claim.mechanism, claim.rule), []).append(one)
    return [lot for _, lot in sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))]


def _lot(lot: list[Finding], look: Look) -> Lot:
    lot = sorted(lot, key=lambda one: (_goes(one), one.row.resource.kind, one.row.name))
    claim = lot[0].verdict.claims[0]
    return Lot(
        namespace=lot[0].row.namespace,
        mechanism=claim.mechanism,
        rule=claim.rule,
        count=len(lot),
        since=whole_seconds(_goes(lot[0])),
        first=tuple(shown(one, look.now, typed=look.typed) for one in lot[:_FIRST]),
    )


def _hold_lots(findings: Iterable[Finding]) -> Iterator[HoldLot]:
    """The sorts of reasons that hold the most. An object that is held for two of them counts for both."""
    objects: Counter[str] = Counter()
    texts: dict[str, Counter[str]] = {}
    for found in findings:
        objects.update({hold.reason.code for hold in found.verdict.holds})
        for hold in found.verdict.holds:
            texts.setdefault(hold.reason.code, Counter())[said(hold.reason)] += 1
    for code, count in sorted(objects.items(), key=lambda item: (-item[1], item[0]))[:_HOLD_LOTS]:
        often = sorted(texts[code].items(), key=lambda item: (-item[1], item[0]))
        yield HoldLot(
            code=code,
            count=count,
            texts=tuple(Said(text=text, count=number) for text, number in often[:_TEXTS]),
            other_texts=len(often[_TEXTS:]),
        )
