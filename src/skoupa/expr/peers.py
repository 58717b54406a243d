"""Lifetimes that other tools' annotations give, read as those tools read them; only for the compat switches.

kube-janitor: `janitor/ttl` is one number and one unit, or `forever`; `janitor/expires` is one of three forms of a time, UTC.
k8s-ttl-controller: Go durations with the units d and w besides. What the tool itself ignores is a Problem; so is
a negative duration, which k8s-ttl-controller would take as over.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from skoupa.expr.durations import MAXIMUM_SECONDS, UNITS, parse_duration, too_long
from skoupa.expr.golang import GO_UNITS_AND_DAYS, Overflow, go_duration, whole_seconds
from skoupa.expr.instants import parse_rfc3339
from skoupa.expr.readings import After, At, Never, Problem, ProblemCode, quoted
from skoupa.expr.ttl import zero_caution
from skoupa.kube import timestamps

_ONE_UNIT: Final = re.compile(r"([0-9]+)([smhdw])")
_EXPIRES_FORMS: Final = ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M", "%Y-%m-%d")
_LONGEST: Final = 100


def janitor_ttl(text: str) -> After | Never | Problem:
    if text.lower() == "forever":
        return Never()
    match = _ONE_UNIT.fullmatch(text) if len(text) <= _LONGEST else None
    if match is not None:
        seconds = int(match[1]) * UNITS[match[2]]
        return After(seconds, zero_caution(seconds)) if seconds <= MAXIMUM_SECONDS else too_long(text)
    suggestion = _with_one_unit(text)
    return Problem(
        code=ProblemCode.UNIT_ORDER if suggestion else ProblemCode.NOT_UNDERSTOOD,
        what=f"kube-janitor takes one number and one unit (s, m, h, d or w), not {quoted(text)}",
        instead=f"write {suggestion or '30m, 36h, 7d or forever'}",
        suggestion=suggestion,
    )


def janitor_expires(text: str) -> At | Problem:
    for form in _EXPIRES_FORMS:
        try:
            when = datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        if when.year < 1970:
            break
        return At(int(when.timestamp()))
    read = parse_rfc3339(text)
    suggestion = read.suggestion if isinstance(read, Problem) else timestamps.whole_seconds(read)
    return Problem(
        code=read.code if isinstance(read, Problem) else ProblemCode.TIME_FORMAT,
        what=f"kube-janitor takes a time in UTC such as 2026-08-04T00:30:00Z, not {quoted(text)}",
        instead=f"write {suggestion or '2026-08-04T00:30:00Z, 2026-08-04T00:30 or 2026-08-04'}",
        suggestion=suggestion,
    )


def ttl_controller_ttl(text: str) -> After | Problem:
    nanoseconds = go_duration(text, GO_UNITS_AND_DAYS)
    if isinstance(nanoseconds, Overflow):
        return too_long(text)
    if nanoseconds is not None and nanoseconds >= 0:
        seconds = whole_seconds(nanoseconds)
        return After(seconds, zero_caution(seconds))
    read = parse_duration(text)
    suggestion = read.suggestion if isinstance(read, Problem) else ""
    return Problem(
        code=read.code if isinstance(read, Problem) else ProblemCode.NOT_UNDERSTOOD,
        what=f"k8s-ttl-controller takes a duration such as 30m, 24h or 7d, not {quoted(text)}",
        instead=f"write {suggestion or '30m, 24h or 7d'}",
        suggestion=suggestion,
    )


def _with_one_unit(text: str) -> str:
    """The same time in the largest unit that divides it, where the text is understood at all."""
    seconds = parse_duration(text)
    if isinstance(seconds, Problem):
        seconds = parse_duration(seconds.suggestion)
    if isinstance(seconds, Problem):
        return ""
    unit = next((unit for unit, size in UNITS.items() if unit != "w" and seconds % size == 0), "s")
    return f"{seconds // UNITS[unit]}{unit}"
