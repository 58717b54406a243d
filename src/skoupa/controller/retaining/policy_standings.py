"""The retention policies of a running controller as they are shown: what each says, and what its status tells of it.

The status is counted now and then and not for every look; while observing none is written, so that there is nothing to show of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from skoupa.controller.retaining.policy_book import Entry
from skoupa.expr.durations import render_duration
from skoupa.kinds.conditions import READY
from skoupa.report.opinions import PolicyStanding, Retained


def standings_of(entries: Iterable[Entry]) -> list[PolicyStanding]:
    return [_standing(entry) for entry in sorted(entries, key=lambda one: one.called)]


def _standing(entry: Entry) -> PolicyStanding:
    policy, status = entry.policy, entry.status
    after = policy.after.items() if policy is not None else ()
    number = {
        name: value if isinstance(value := status.get(name), int) else 0
        for name in ("matched", "waiting", "held")
    }
    deleted, next_time = status.get("deleted"), status.get("nextTime")
    return PolicyStanding(
        resource=entry.kind.qualified,
        kind=entry.kind.kind,
        namespace=entry.namespace,
        name=entry.name,
        suspended=policy is not None and policy.suspended,
        problems=tuple(map(str, entry.reading.problems)),
        cautions=tuple(map(str, entry.reading.warnings)),
        retained=Retained(
            says=", ".join(f"{moment} {render_duration(seconds)}" for moment, seconds in after),
            **number,
            deleted=deleted if isinstance(deleted, int) else None,
            next_time=next_time if isinstance(next_time, str) else None,
            told=_ready(status) if policy is not None else "",
        ),
    )


def _ready(status: Mapping[str, object]) -> str:
    conditions = status.get("conditions")
    for one in conditions if isinstance(conditions, list) else ():
        if isinstance(one, Mapping) and one.get("type") == READY:
            return str(one.get("message") or "")
    return ""
