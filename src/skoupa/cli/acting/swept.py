"""What became of a sweep: told in words or as a document, and said with the exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

import msgspec
import typer

from skoupa.cli import exits
from skoupa.cli.acting.brake_watch import MAY_NOT_WATCH
from skoupa.cli.looking.planning import Plan
from skoupa.cli.options import SweepForm
from skoupa.cli.terminal import output
from skoupa.cli.terminal.items import Document, Outcome
from skoupa.cli.terminal.saying import say
from skoupa.cli.terminal.tables import printable
from skoupa.controller.braking.listing import INSTALL_AGAIN
from skoupa.controller.braking.look import NO_RIGHT
from skoupa.controller.survey import Finding
from skoupa.errors import Forbidden, SkoupaError, Withdrawn
from skoupa.install.roles import SWEEP_ROLE, SWEEP_VERBS
from skoupa.judge.brakes import holding
from skoupa.judge.cascade import called
from skoupa.model.verdicts import Verdict

# Brakes are in no namespace, so no Role can grant them.
GRANT: Final = (
    f"let somebody grant you that: kubectl create clusterrolebinding {SWEEP_ROLE}-YOU --clusterrole={SWEEP_ROLE} "
    f"--user=YOU ({INSTALL_AGAIN} brings that ClusterRole: {', '.join(SWEEP_VERBS)} of brakes.skoupa.dev, "
    "and get and list of the settings)"
)
_WENT: Final = frozenset({"deleted", "terminating", "gone"})

Done = tuple[Finding, Outcome, SkoupaError | None]


class Swept(msgspec.Struct, frozen=True, kw_only=True):
    """What was planned last, and what became of each object in it; `error` is what stood in the way.

    `broken_off`: what is kept could not be read any more, so the rest was not tried. `full` says which ceiling had no
    room, `ledger` where it was written down.
    """

    plan: Plan
    done: list[Done]
    interrupted: bool = False
    broken_off: bool = False
    full: str = ""
    ledger: str = ""

    @property
    def something_went(self) -> bool:
        return any(outcome.what in _WENT for _, outcome, _ in self.done)


def not_tried(findings: list[Finding], why: str) -> list[Done]:
    return [(found, Outcome(what="not-tried", text=why), None) for found in findings]


def broken_off_after(what: str, error: SkoupaError, *, done: int, of: int) -> str:
    return (
        f"broken off after {done} of {of}: {what} can't be read any more ({error.message}), "
        "so nothing more was deleted; run it again to go on"
    )


def is_overtaken(done: Done) -> bool:
    """By something that was kept a moment ago, whose owners are not known yet, or on its way by any other news."""
    found, outcome, error = done
    unread = all(hold.reason.code == "owners-unread" for hold in found.verdict.holds)
    return isinstance(error, Withdrawn) or (outcome.what == "stays" and bool(found.verdict.holds) and unread)


def tell_end(swept: Swept, *, form: SweepForm, dry_run: bool) -> None:
    try:
        if form == "table":
            sys.stdout.writelines(f"{printable(line)}\n" for line in _in_words(swept, dry_run=dry_run))
        else:
            output.write(_document(swept, dry_run=dry_run), form)
        sys.stdout.flush()
    except OSError:
        # Nobody else knows what went.
        for line in _in_words(swept, dry_run=dry_run) if swept.done else ():
            say(printable(line))
        raise


def news(plan: Plan, *, told: Plan) -> Plan:
    """What was told once is not told again."""
    return msgspec.structs.replace(
        plan,
        gaps=[gap for gap in plan.gaps if gap not in told.gaps],
        warnings=[warning for warning in plan.warnings if warning not in told.warnings],
    )


def leave(swept: Swept) -> None:
    if swept.ledger and swept.something_went:
        say(f"written to {swept.ledger}: `skoupa history` and `skoupa restore` find it there with --ledger")
    unknown = swept.plan.survey.knowledge.brakes.unknown
    if unknown:
        advice = f"; {GRANT}" if unknown in {NO_RIGHT, MAY_NOT_WATCH} else ""
        say(f"which Brakes there are is not known, so nothing goes: {unknown}{advice}")
    if swept.full:
        say(f"{'not all' if swept.something_went else 'nothing'} was deleted: {swept.full}")
    code = _exit_code(swept)
    if code:
        raise typer.Exit(code)


def _in_words(swept: Swept, *, dry_run: bool) -> Iterator[str]:
    for found, outcome, _ in swept.done:
        yield f"{outcome.what} {called(found.row)}" + (f": {outcome.text}" if outcome.text else "")
    if dry_run:
        yield "Nothing was deleted: this is a dry run."
    elif swept.done:
        gone = sum(outcome.what in _WENT for _, outcome, _ in swept.done)
        yield f"{gone} of {len(swept.done)} gone or on their way."


def _document(swept: Swept, *, dry_run: bool) -> Document:
    items = [
        msgspec.structs.replace(swept.plan.item(found), outcome=outcome) for found, outcome, _ in swept.done
    ]
    acted_on = {found.row.uid for found, _, _ in swept.done}
    items += (swept.plan.item(found) for found in swept.plan.findings if found.row.uid not in acted_on)
    return msgspec.structs.replace(
        swept.plan.document("Sweep"),
        items=tuple(items),
        dry_run=dry_run,
        ledger=swept.ledger or msgspec.UNSET,
    )


def _exit_code(swept: Swept) -> int:
    if swept.interrupted:
        return exits.INTERRUPTED
    if swept.plan.survey.knowledge.brakes.unknown or swept.full:
        return exits.REFUSED
    refused = [error for _, _, error in swept.done if isinstance(error, Forbidden)]
    failed = [error for _, _, error in swept.done if error is not None]
    denied = [found for found in swept.plan.findings if _lacks_right(found.verdict)]
    if (refused or denied) and not swept.something_went and len(failed) == len(refused):
        return exits.DENIED
    stopped = any(outcome.what == "stays" and _is_braked(found.verdict) for found, outcome, _ in swept.done)
    left = failed or denied or stopped or swept.plan.gaps or swept.broken_off
    return exits.LEFTOVERS if left else exits.DONE


def _lacks_right(verdict: Verdict) -> bool:
    return any(hold.reason.code == "no-permission" for hold in verdict.holds)


def _is_braked(verdict: Verdict) -> bool:
    """A Brake came in between: what had been shown as due waits for somebody."""
    return any(hold.reason.code == "brakes-unknown" or holding(hold) for hold in verdict.holds)
