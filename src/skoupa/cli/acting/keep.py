"""`skoupa keep`: the label `skoupa.dev/keep` on objects, for good or until a date."""

from __future__ import annotations

from typing import Final

from skoupa import names
from skoupa.cli.acting.changing import Changing, Decide, Decision, Edit, change_all
from skoupa.cli.options import Connecting
from skoupa.cli.terminal.times import zone_of
from skoupa.controller.survey import Finding, Survey
from skoupa.errors import UsageError
from skoupa.expr.instants import parse_label_time, render_label_time
from skoupa.expr.ttl import KEPT_FOR_GOOD, keep_until
from skoupa.expr.typed_times import read_time

_DAY: Final = 24 * 3600


def run(*, connecting: Connecting, common: dict[str, object], until: str | None, remove: bool) -> None:
    if remove and until is not None:
        raise UsageError("--remove and --until can't go together", advice="give one of them")
    changing = Changing(**common)  # type: ignore[arg-type] # the names are those of the options
    decide = _let_go if remove else _keeping(until, tz=changing.tz)
    change_all(changing, connecting=connecting, decide=decide)


def _keeping(until: str | None, *, tz: str | None) -> Decide:
    def decide(found: Finding, _: Survey, now: float) -> Decision:
        wanted = "true" if until is None else keep_value(until, now=now, tz=tz)
        written = found.row.label(names.KEEP_LABEL)
        if written is not None and (
            written == wanted or (until is None and keep_until(written) is KEPT_FOR_GOOD)
        ):
            return Decision(why=f"{names.KEEP_LABEL}={written} is there already")
        return Decision((Edit(field="label", key=names.KEEP_LABEL, value=wanted),))

    return decide


def keep_value(until: str, *, now: float, tz: str | None) -> str:
    """A date goes into the label as it was typed; other times become a time in UTC, which is all that a label can say."""
    literal = parse_label_time(until)
    moment = (
        literal
        if isinstance(literal, int)
        else read_time(until, option="--until", now=now, zone=zone_of(tz), later=True)
    )
    if moment <= now:
        raise UsageError(
            f"--until {until} is past", advice=f"give a date to come, such as {_next_month(now)}"
        )
    return until if isinstance(literal, int) else render_label_time(moment)


def _next_month(now: float) -> str:
    today = int(now) // _DAY
    return render_label_time((today + 30) * _DAY)


def _let_go(found: Finding, _: Survey, now: float) -> Decision:  # noqa: ARG001 - the shape of a Decide
    if found.row.label(names.KEEP_LABEL) is None:
        return Decision(why=f"it has no label {names.KEEP_LABEL}")
    return Decision((Edit(field="label", key=names.KEEP_LABEL, value=None),))
