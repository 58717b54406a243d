"""`skoupa sweep`: plan, show, ask, then do it once with the caller's rights.

Only what was shown goes: after the question everything is read and judged anew, and what became due meanwhile, or is
held by now, stays. What goes is written to the ledger. While it goes on, kept objects and Namespaces are looked at again and again; when they can't be,
nothing more goes. The deleter is the controller's, with all its preconditions. Ctrl-C lets what is under way finish.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from typing import Final

import msgspec
import typer

from skoupa import settings as configuration
from skoupa.cli import exits
from skoupa.cli.acting.recording import recording
from skoupa.cli.looking.plan import table, tell_limits
from skoupa.cli.looking.planning import Plan, Wishes, make_plan
from skoupa.cli.looking.waiting import awaited
from skoupa.cli.options import Connecting, SweepForm
from skoupa.cli.terminal import output
from skoupa.cli.terminal.items import Document, Outcome
from skoupa.cli.terminal.orderly_end import stop_on_signal
from skoupa.cli.terminal.saying import progress, say
from skoupa.cli.terminal.tables import printable, screen_of
from skoupa.cli.terminal.times import full_time, zone_of
from skoupa.cli.worlds import World, in_cluster
from skoupa.controller.freshness import Freshness
from skoupa.controller.surroundings import Surroundings
from skoupa.controller.survey import Finding, Survey
from skoupa.controller.trash import use_trash
from skoupa.errors import Forbidden, SkoupaError
from skoupa.expr.windows import Window, within_window
from skoupa.facts.rows import Uid
from skoupa.judge.cascade import called
from skoupa.kube.flow import RateCeiling
from skoupa.model.reasons import render
from skoupa.model.verdicts import Verdict
from skoupa.settings import Settings
from skoupa.sweep.deleter import Deleter
from skoupa.sweep.hanging import Hanging
from skoupa.sweep.record import Record

AT_A_TIME: Final = 16


class Swept(msgspec.Struct, frozen=True, kw_only=True):
    """What was planned last, and what became of each object in it; `error` is what stood in the way.

    `broken_off`: what is kept could not be read any more, so the rest was not tried.
    """

    plan: Plan
    done: list[tuple[Finding, Outcome, SkoupaError | None]]
    interrupted: bool = False
    broken_off: bool = False


def run(
    *,
    connecting: Connecting,
    kinds: tuple[str, ...],
    all_namespaces: bool,
    yes: bool,
    dry_run: bool,
    tz: str | None,
    form: SweepForm,
    no_color: bool,
    config: str | None,
    ledger: str | None,
) -> None:
    settings = configuration.load(config, flags={"ledger.dsn": ledger} if ledger else {})
    zone = zone_of(tz)
    sweeping = Sweeping(settings, kinds=kinds, all_namespaces=all_namespaces)
    plan = in_cluster(sweeping.plan, connecting=connecting)
    if form == "table":
        sys.stdout.write(f"Due now, {full_time(plan.now, zone)}\n")
        sys.stdout.write(table(plan, zone=zone, screen=screen_of(no_color=no_color)))
        # What can't be shown is not shown, and then nothing goes.
        sys.stdout.flush()
    due = plan.going()
    if dry_run or not due:
        _end(Swept(plan=plan, done=[]), form=form, dry_run=dry_run)
        tell_limits(plan)
        _leave(Swept(plan=plan, done=[]))
        return
    # Before the question: a protection that protects nothing is part of what is decided on.
    tell_limits(plan)
    if not yes:
        _ask(len(due), form=form)
    swept = in_cluster(lambda world: sweeping.act(world, due), connecting=connecting)
    _end(swept, form=form, dry_run=False)
    tell_limits(_news(swept.plan, told=plan))
    _leave(swept)


def _ask(number: int, *, form: SweepForm) -> None:
    """Outside of the event loop, where Ctrl-C ends the question at once."""
    if not sys.stdin.isatty():
        say("nothing was deleted: without a terminal to ask on, sweep needs --yes")
        raise typer.Exit(exits.REFUSED)
    out = sys.stdout if form == "table" else sys.stderr
    out.write(f"Delete {number} object{'s' * (number != 1)}? [y/N] ")
    out.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        say("nothing was deleted")
        raise typer.Exit(exits.REFUSED)


class Sweeping:
    """One sweep: the same question asked of the cluster before and after the answer."""

    def __init__(self, settings: Settings, *, kinds: tuple[str, ...], all_namespaces: bool) -> None:
        self._settings = settings
        self._kinds = kinds
        self._all_namespaces = all_namespaces

    async def plan(self, world: World) -> Plan:
        def window(now: float) -> Window:
            return within_window("0", now=now, zone=zone_of("UTC"))

        return await make_plan(
            world,
            settings=self._settings,
            wishes=Wishes(kinds=self._kinds, namespace="" if self._all_namespaces else world.namespace),
            window=window,
            progress=progress,
            acting=True,
            trash_known=True,
        )

    async def act(self, world: World, shown: list[Finding]) -> Swept:
        async with recording(self._settings, world.client.clock, cluster=world.cluster) as record:
            return await self._act(world, shown, record)

    async def _act(self, world: World, shown: list[Finding], record: Record) -> Swept:
        clock = world.client.clock
        began = clock.monotonic()
        plan = await self.plan(world)
        survey = plan.survey
        deleter = Deleter(
            world.client,
            judge=survey.knowledge.verdict,
            extraction=survey.knowledge.extraction,
            on_fresh=survey.refresh,
            look_around=Surroundings(world.client, survey.knowledge).look,
            intend=record.intend,
            known=survey.knowledge.store.get,
            keep_changes=lambda: survey.knowledge.keep_changes,
            hanging=Hanging(most=AT_A_TIME),
        )
        use_trash(record, world.client, knowledge=survey.knowledge)
        rate = RateCeiling(clock, per_second=self._settings.rate.deletions_per_second)
        freshness = Freshness(survey.read_again, clock, read_at=began)
        fresh = {found.row.uid: found for found in plan.findings}
        findings = [fresh[found.row.uid] for found in shown if found.row.uid in fresh]
        done: dict[Uid, tuple[Finding, Outcome, SkoupaError | None]] = {}
        ahead = iter(findings)

        async with stop_on_signal() as stop:

            async def work() -> None:
                for found in ahead:
                    await rate.pass_one()
                    if not await freshness.ensured() or stop.is_set():
                        return
                    now = clock.now()
                    again = _judged_again(found, survey, now)
                    done[found.row.uid] = await _delete(deleter, again, now, record=record)
                    progress(f"{len(done)} of {len(findings)}")

            async with asyncio.TaskGroup() as group:
                for _ in range(min(AT_A_TIME, self._settings.rate.in_flight)):
                    group.create_task(work())
            interrupted = stop.is_set()
        progress("")
        if freshness.error is not None:
            plan.warnings.append(_broken_off(freshness.error, done=len(done), of=len(findings)))
        why = "interrupted" if interrupted else "broken off"
        not_tried = Outcome(what="not-tried", text=f"{why} before its turn")
        results = [done.get(found.row.uid, (found, not_tried, None)) for found in findings]
        lost = Outcome(what="stays", text="it is gone by now, or nothing wants it to go any more")
        results += ((found, lost, None) for found in shown if found.row.uid not in fresh)
        return Swept(plan=plan, done=results, interrupted=interrupted, broken_off=freshness.error is not None)


def _judged_again(found: Finding, survey: Survey, now: float) -> Finding:
    """On what is known by now; what held it when it was looked into still does."""
    if found.verdict.holds:
        return found
    return survey.finding(survey.knowledge.store.get(found.row.uid) or found.row, now)


def _broken_off(error: SkoupaError, *, done: int, of: int) -> str:
    return (
        f"broken off after {done} of {of}: what is kept can't be read any more ({error.message}), "
        "so nothing more was deleted; run it again to go on"
    )


async def _delete(
    deleter: Deleter, found: Finding, now: float, *, record: Record
) -> tuple[Finding, Outcome, SkoupaError | None]:
    claim = found.verdict.claim(now)
    if claim is None:
        return found, Outcome(what="stays", text=_holding(found.verdict)), None
    try:
        result = await deleter.delete(found.row, claim)
    except SkoupaError as error:
        record.failed(found.row, error)
        return found, Outcome(what="failed", text=str(error)), error
    if result.what == "stays":
        assert result.verdict is not None
        record.withdrawn(result.row, _holding(result.verdict))
        return found, Outcome(what="stays", text=_holding(result.verdict)), None
    record.finished(result.row, result.what)
    if result.what == "terminating":
        return found, Outcome(what="terminating", text=f"waiting for {awaited(result.row, claim)}"), None
    return found, Outcome(what=result.what), None


def _holding(verdict: Verdict) -> str:
    return "; ".join(render(hold.reason) for hold in verdict.holds) or "it is not due any more"


def _end(swept: Swept, *, form: SweepForm, dry_run: bool) -> None:
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


def _news(plan: Plan, *, told: Plan) -> Plan:
    """What was told once is not told again."""
    return msgspec.structs.replace(
        plan,
        gaps=[gap for gap in plan.gaps if gap not in told.gaps],
        warnings=[warning for warning in plan.warnings if warning not in told.warnings],
    )


def _leave(swept: Swept) -> None:
    unknown = swept.plan.survey.knowledge.brakes.unknown
    if unknown:
        say(f"which Brakes there are is not known, so nothing goes: {unknown}")
    code = _exit_code(swept)
    if code:
        raise typer.Exit(code)


def _in_words(swept: Swept, *, dry_run: bool) -> Iterator[str]:
    for found, outcome, _ in swept.done:
        yield f"{outcome.what} {called(found.row)}" + (f": {outcome.text}" if outcome.text else "")
    if dry_run:
        yield "Nothing was deleted: this is a dry run."
    elif swept.done:
        gone = sum(outcome.what in {"deleted", "terminating", "gone"} for _, outcome, _ in swept.done)
        yield f"{gone} of {len(swept.done)} gone or on their way."


def _document(swept: Swept, *, dry_run: bool) -> Document:
    items = [
        msgspec.structs.replace(swept.plan.item(found), outcome=outcome) for found, outcome, _ in swept.done
    ]
    acted_on = {found.row.uid for found, _, _ in swept.done}
    items += (swept.plan.item(found) for found in swept.plan.findings if found.row.uid not in acted_on)
    return msgspec.structs.replace(swept.plan.document("Sweep"), items=tuple(items), dry_run=dry_run)


def _exit_code(swept: Swept) -> int:
    if swept.interrupted:
        return exits.INTERRUPTED
    if swept.plan.survey.knowledge.brakes.unknown:
        return exits.REFUSED
    refused = [error for _, _, error in swept.done if isinstance(error, Forbidden)]
    failed = [error for _, _, error in swept.done if error is not None]
    denied = [found for found in swept.plan.findings if _lacks_right(found.verdict)]
    gone = any(outcome.what in {"deleted", "terminating", "gone"} for _, outcome, _ in swept.done)
    if (refused or denied) and not gone and len(failed) == len(refused):
        return exits.DENIED
    left = failed or denied or swept.plan.gaps or swept.broken_off
    return exits.LEFTOVERS if left else exits.DONE


def _lacks_right(verdict: Verdict) -> bool:
    return any(hold.reason.code == "no-permission" for hold in verdict.holds)
