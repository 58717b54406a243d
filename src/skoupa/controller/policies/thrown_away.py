"""Runs that do not take place because their policy changed: who changed it is told, for the objects stay until the next one.

Nothing is decided here; which ticks those are is for `runs/ticks.py`.
"""

from __future__ import annotations

from skoupa.controller.policies.settling import Ran
from skoupa.kube.timestamps import whole_seconds
from skoupa.policy.policies import Policy
from skoupa.runs.book import Book
from skoupa.runs.ticks import Tick, Ticks
from skoupa.sweep.reporting import Report


def thrown_away(policy: Policy, tick: Tick, *, next_run: float | None) -> str:
    """In words, for a run that had begun or was waiting to."""
    rest = "what was left of " if tick.only else ""
    run = f"{rest}its run of {whole_seconds(tick.moment)} was thrown away"
    if policy.options.suspended:
        return f"{run}, for it was suspended meanwhile"
    return f"{run}, for it changed meanwhile; {_next(next_run)}"


def told_already(ran: Ran | None, tick: Tick) -> bool:
    """Whether some of that run had been read and chosen: then how far it came is told, and why the rest stays."""
    return ran is not None and ran.stopped is not None and ran.run.name.endswith(whole_seconds(tick.moment))


def tell_left_out(ticks: Ticks, book: Book, report: Report, *, now: float) -> None:
    """Of policies that were changed after a tick which nobody was there to run, or were suspended before it."""
    changed, resumed = ticks.left_out(), ticks.slept_through()
    for uid, moment in (changed | resumed).items():
        entry = book.get(uid)
        if entry is not None:
            why = (
                "it was changed since, while nobody led"
                if uid in changed
                else "it was suspended when somebody led last"
            )
            missed = f"its run of {whole_seconds(moment)} was missed, and {why}; {_next(ticks.next(uid))}"
            report.policy_left_out(entry.called, why=missed, at=now)


def _next(moment: float | None) -> str:
    if moment is None:
        return "its schedule has no time to come"
    return f"it runs next at {whole_seconds(moment)}"
