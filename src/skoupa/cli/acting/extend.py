"""`skoupa extend --by 7d`: the object stays that much longer than it would.

Written as `skoupa.dev/keep` with a time, not as another TTL: what the owner of the object wrote stays, a tool that
applies the manifest again does not take it back, and it works whatever the claim came from. Counted from the moment
at which it would go, or from now where that is past. Never shortens.
"""

from __future__ import annotations

import math

from skoupa import names
from skoupa.cli.acting.changing import Changing, Decision, Edit, change_all, unasked
from skoupa.cli.options import Connecting
from skoupa.controller.survey import Finding, Survey
from skoupa.errors import UsageError
from skoupa.expr.durations import parse_duration
from skoupa.expr.instants import LAST_SECOND, render_label_time
from skoupa.expr.readings import Problem
from skoupa.judge.protection import kept_until


def run(*, connecting: Connecting, common: dict[str, object], by: str) -> None:
    seconds = parse_duration(by)
    if isinstance(seconds, Problem):
        raise UsageError(f"--by: {seconds.what}", advice=seconds.instead)
    if not seconds:
        raise UsageError("--by 0 changes nothing", advice="write how much longer, such as 7d")

    def decide(found: Finding, survey: Survey, now: float) -> Decision:
        return _later(found, seconds, now, not_asked=unasked(found.row, survey.knowledge.settings))

    changing = Changing(**common)  # type: ignore[arg-type] # the names are those of the options
    change_all(changing, connecting=connecting, decide=decide)


def _later(found: Finding, seconds: int, now: float, *, not_asked: str) -> Decision:
    label, due = found.row.label(names.KEEP_LABEL), found.verdict.due
    kept = kept_until(label, now)
    if kept == math.inf:
        return Decision(why=f"{names.KEEP_LABEL}={label} keeps it for good")
    if due is None:
        nobody = f"no label wants it to go ({not_asked})" if not_asked else "nothing wants it to go"
        raise UsageError(
            f"{nobody}, so there is nothing to extend",
            advice="`skoupa keep --until` keeps it in any case",
        )
    until = math.ceil(max(now, due, kept or 0.0)) + seconds
    if until > LAST_SECOND:
        raise UsageError("that is beyond the year 9999", advice="`skoupa keep` keeps it for good")
    return Decision((Edit(field="label", key=names.KEEP_LABEL, value=render_label_time(until)),))
