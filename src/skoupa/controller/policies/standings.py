"""The policies of a running controller as they are shown: when each ran and runs next, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping

from skoupa.controller.policies.running import Policies
from skoupa.expr.instants import parse_rfc3339
from skoupa.expr.schedule_words import in_words
from skoupa.report.opinions import PolicyStanding
from skoupa.runs.book import Entry


def standings_of(policies: Policies, *, now: float) -> list[PolicyStanding]:
    return [
        _standing(policies, entry, now=now) for entry in sorted(policies.book, key=lambda one: one.called)
    ]


def _standing(policies: Policies, entry: Entry, *, now: float) -> PolicyStanding:
    policy = entry.policy
    last = parse_rfc3339(str(entry.status.get("lastExecutionTime") or ""))
    found = entry.status.get("lastRun")
    counts = found if isinstance(found, Mapping) else {}
    until = policies.runs.observed_until(policy) if policy is not None else 0.0
    return PolicyStanding(
        resource=entry.kind.qualified,
        kind=entry.kind.kind,
        namespace=entry.namespace,
        name=entry.name,
        schedule=policy.schedule.text if policy is not None else "",
        words=in_words(policy.schedule) if policy is not None else "",
        zone=(policy.schedule.zone_name or "UTC") if policy is not None else "",
        last=float(last) if isinstance(last, int) else None,
        matched=_number(counts, "matched"),
        deleted=_number(counts, "deleted"),
        held=_number(counts, "held"),
        failed=_number(counts, "failed"),
        next_run=policies.ticks.next(entry.uid),
        suspended=policy is not None and policy.options.suspended,
        observed_until=until if until > now else None,
        problems=tuple(map(str, entry.reading.problems)),
        cautions=tuple(map(str, entry.reading.warnings)),
    )


def _number(counts: Mapping[str, object], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) else 0
