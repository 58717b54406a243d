"""What a retention policy is about at a moment, counted for its status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from skoupa.controller.retaining.matched import Matched
from skoupa.controller.retaining.policy_book import Entry
from skoupa.controller.retaining.policy_status import Counts
from skoupa.facts.rows import Row
from skoupa.judge.retention import NAME, Evidence
from skoupa.model.verdicts import Verdict
from skoupa.usage.needs import Needed


def count(
    entry: Entry,
    matched: Matched,
    *,
    evidence: Evidence,
    verdict: Callable[[Row], Verdict],
    unread: tuple[str, ...],
    now: float,
) -> Counts:
    waiting = owned = held = 0
    coming: list[float] = []
    sooner: Counter[str] = Counter()
    ties: set[str] = set()
    rows = [row for row in matched.of_policy(entry.uid).values() if not row.deleted_at]
    for row in rows:
        terms = matched.terms(row.uid)
        ties.update(one.called for one in terms.by if one.uid != entry.uid) if terms is not None else None
        need = evidence.needs(row)
        if isinstance(need, Needed) and need.needs and need.needs[0].how == "owner":
            owned += 1
        found = verdict(row)
        sooner.update(dict(note.facts)["path"] for note in found.notes if note.code == "goes-sooner")
        claim = next((one for one in found.claims if one.mechanism == NAME), None)
        if claim is None:
            continue
        if claim.due > now:
            waiting += 1
            coming.append(claim.due)
        elif found.holds:
            held += 1
    return Counts(
        matched=len(rows),
        waiting=waiting,
        held_by_owners=owned,
        held=held,
        overridden=matched.overridden(entry.uid),
        next_time=min(coming, default=None),
        sooner=tuple(sorted(sooner.items())),
        ties=tuple(sorted(ties)),
        unread=unread,
    )
