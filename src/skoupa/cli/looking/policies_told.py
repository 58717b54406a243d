"""The policies of a plan in words: when each runs, what it matches, and what would stop it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Final

from skoupa.cli.terminal.items import ItemPolicy, PolicyRun
from skoupa.cli.terminal.tables import Screen, printable
from skoupa.cli.terminal.times import distance, full_time
from skoupa.errors import UsageError
from skoupa.expr.instants import parse_rfc3339

if TYPE_CHECKING:
    from skoupa.cli.checking.company import Companion
    from skoupa.cli.checking.findings import Finding

_ANSWERS: Final = {"matches": "matches it", "spares": "spares it", "unclear": "may match it"}
_MOST_LEFT: Final = 10


class InvalidPolicies(UsageError):
    """Policies in files that would not run: `told` has a sentence for everything that is wrong."""

    def __init__(self, findings: Sequence[Finding], besides: Sequence[Companion] = ()) -> None:
        self.told = [
            f"{one.manifest.kind} {_called(one)} ({one.manifest.file}, document {one.manifest.document}) "
            f"would not {verb}: {problem}"
            for verb, many in (("run", findings), ("count as it is meant", besides))
            for one in many
            for problem in one.problems
        ]
        super().__init__("; ".join(self.told), advice="`skoupa check` tells more of them")


def in_words(runs: Sequence[PolicyRun], now: float, *, zone: tzinfo, screen: Screen) -> str:
    """Of those that were looked at or do not run; of the others how many there are."""
    told = [run for run in runs if run.looked_at or run.problems or run.file]
    lines = [line for run in told for line in _lines(run, now, zone, screen)]
    later = [run for run in runs if run not in told]
    suspended = sum(run.suspended for run in later)
    if len(later) > suspended:
        lines.append(
            f"{_count(len(later) - suspended, 'more policy runs', 'more policies run')} at another time."
        )
    if suspended:
        lines.append(f"{_count(suspended, 'policy is', 'policies are')} suspended.")
    return "".join(f"{line}\n" for line in lines)


def about_one(policies: Sequence[ItemPolicy], now: float, zone: tzinfo) -> Iterator[str]:
    """What policies say of a single object, those that take it first; of those that leave it not more than fit on a page."""
    told = [one for one in policies if one.answer != "leaves"]
    for one in told:
        why = f": {one.why}" if one.why else ""
        yield f"policy: {_full_name(one)} {_ANSWERS[one.answer]}{why}"
        yield f"        runs {one.words}; {_next(one, now, zone)}"
        if one.observed_until is not None:
            yield f"        only reports until {_time(one.observed_until, now, zone)}"
    others = [one for one in policies if one.answer == "leaves"]
    for one in others[:_MOST_LEFT]:
        yield f"not by: {_full_name(one)}: {one.why or 'it does not match'}"
    if len(others) > _MOST_LEFT:
        more = len(others) - _MOST_LEFT
        yield f"not by: {_count(more, 'more policy', 'more policies')} that may mean its kind (-o json has all)"


def _full_name(run: PolicyRun | ItemPolicy) -> str:
    return "/".join(part for part in (run.kind, run.namespace, run.name) if part)


def _lines(run: PolicyRun, now: float, zone: tzinfo, screen: Screen) -> Iterator[str]:
    where = f" ({run.file}, document {run.document})" if run.file else ""
    yield printable(f"{_full_name(run)}{where}")
    if run.words:
        yield f"  runs {run.words}; {_next(run, now, zone)}"
    if run.observed_until is not None:
        yield f"  only reports until {_time(run.observed_until, now, zone)}"
    if run.looked_at:
        counts = [f"{run.would_go} would go", f"{run.held} held", f"{run.unclear} unclear"]
        kept = ", ".join(text for text in counts if not text.startswith("0 ")) or "nothing would go"
        yield f"  matches {_count(run.matched, 'object', 'objects')}" + (f": {kept}" if run.matched else "")
    for why in run.would_brake:
        yield screen.paint(f"  a Brake would stop the whole run: {printable(why)}", "yellow")
    for problem in run.problems:
        yield screen.paint(f"  problem: {printable(problem)}", "red")
    if run.file:
        for caution in run.cautions:
            yield screen.paint(f"  caution: {printable(caution)}", "yellow")


def _next(run: PolicyRun | ItemPolicy, now: float, zone: tzinfo) -> str:
    if run.suspended:
        return "it is suspended, so it does not"
    if run.next_run is None:
        return "that never comes"
    return f"next {_time(run.next_run, now, zone)}"


def _time(text: str, now: float, zone: tzinfo) -> str:
    moment = parse_rfc3339(text)
    return f"{full_time(moment, zone)}, {distance(moment, now)}" if isinstance(moment, int) else text


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _called(one: Finding | Companion) -> str:
    return "/".join(part for part in (one.namespace, one.name) if part)
