"""`skoupa sweep`: plan, show, ask, then do it once with the caller's rights.

Only what was shown goes: after the question everything is read and judged anew, and what became due meanwhile, or is
held by now, stays. Where the ceilings have no room for all of it, nothing goes. What goes is written to the ledger. While
it goes on, kept objects and Namespaces are watched and looked at again and again, and Brakes are watched; when that can't be,
nothing more goes. The deleter is the controller's, with all its preconditions. Ctrl-C lets what is under way finish.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from skoupa.cli.acting.brake_watch import BrakeWatch
from skoupa.cli.acting.guards import Guards
from skoupa.cli.acting.last_look import LastLook
from skoupa.cli.acting.recording import close_open, close_open_if_any, recording
from skoupa.cli.acting.room import Room
from skoupa.cli.acting.swept import (
    Done,
    Swept,
    broken_off_after,
    is_overtaken,
    leave,
    news,
    not_tried,
    tell_end,
)
from skoupa.cli.looking.plan import table, tell_limits
from skoupa.cli.looking.planning import Plan, Wishes, make_plan
from skoupa.cli.looking.waiting import awaited
from skoupa.cli.options import Connecting, SweepForm
from skoupa.cli.terminal.confirming import confirm
from skoupa.cli.terminal.items import Outcome
from skoupa.cli.terminal.orderly_end import stop_on_signal
from skoupa.cli.terminal.saying import progress, say
from skoupa.cli.terminal.tables import screen_of
from skoupa.cli.terminal.times import full_time, zone_of
from skoupa.cli.worlds import World, in_cluster
from skoupa.controller.records.trash import use_trash
from skoupa.controller.survey import Finding, Survey
from skoupa.errors import SkoupaError
from skoupa.expr.windows import Window, within_window
from skoupa.facts.rows import Row, Uid
from skoupa.kube.flow import RateCeiling
from skoupa.model.reasons import render
from skoupa.model.verdicts import Verdict
from skoupa.settings import Settings
from skoupa.sweep.deleter import Deleter
from skoupa.sweep.failures import is_sure
from skoupa.sweep.hanging import Hanging
from skoupa.sweep.record import Record

AT_A_TIME: Final = 16
_TRIES: Final = 5
_FULL: Final = "the ceilings have no room for all of it"


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
    zone = zone_of(tz)
    guards = Guards(config, ledger=ledger, needed=not dry_run)
    sweeping = Sweeping(guards.settings, kinds=kinds, all_namespaces=all_namespaces)
    plan, full = in_cluster(sweeping.look, connecting=connecting)
    if form == "table":
        sys.stdout.write(f"Due now, {full_time(plan.now, zone)}\n")
        sys.stdout.write(table(plan, zone=zone, screen=screen_of(no_color=no_color)))
        # What can't be shown is not shown, and then nothing goes.
        sys.stdout.flush()
    due = plan.going()
    if dry_run or not due or full:
        if not dry_run:
            in_cluster(lambda world: sweeping.close_open(world, plan), connecting=connecting)
        refused = [] if dry_run else not_tried(due, _FULL)
        swept = Swept(plan=plan, done=refused, full="" if dry_run else full)
        tell_end(swept, form=form, dry_run=dry_run)
        tell_limits(plan)
        if dry_run and full:
            say(f"a sweep of all this is refused: {full}")
        leave(swept)
        return
    # Before the question: a protection that protects nothing is part of what is decided on.
    tell_limits(plan)
    if not yes:
        question = f"Delete {len(due)} object{'s' * (len(due) != 1)}?"
        confirm(question, done="deleted", command="sweep", for_programs=form != "table")
    swept = in_cluster(lambda world: sweeping.act(world, due), connecting=connecting)
    tell_end(swept, form=form, dry_run=False)
    tell_limits(news(swept.plan, told=plan))
    leave(swept)


class Sweeping:
    """One sweep: the same question asked of the cluster before and after the answer; `guards` are the settings each time."""

    def __init__(
        self, guards: Callable[[World], Awaitable[Settings]], *, kinds: tuple[str, ...], all_namespaces: bool
    ) -> None:
        self._guards = guards
        self._settings = Settings()
        self._kinds = kinds
        self._all_namespaces = all_namespaces

    async def look(self, world: World) -> tuple[Plan, str]:
        """The plan, and why all of it at once is too much, whatever else went; empty: it is not."""
        self._settings = await self._guards(world)
        plan = await self.plan(world)
        room = Room(world.client, self._settings, plan)
        await room.takes(plan.going())
        return plan, room.why

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

    async def close_open(self, world: World, plan: Plan) -> None:
        """Where nothing goes this time."""
        await close_open_if_any(
            self._settings,
            client=world.client,
            discovery=plan.survey.knowledge.discovery,
            cluster=world.cluster,
        )

    async def act(self, world: World, shown: list[Finding]) -> Swept:
        self._settings = await self._guards(world)
        async with recording(self._settings, world.client, cluster=world.cluster) as record:
            swept = await self._act(world, shown, record)
        return msgspec.structs.replace(swept, ledger=record.store.where if record.kept else "")

    async def _act(self, world: World, shown: list[Finding], record: Record) -> Swept:
        clock = world.client.clock
        began = clock.monotonic()
        plan = await self.plan(world)
        survey = plan.survey
        brakes = BrakeWatch(world.client, survey)
        last = LastLook(world.client, survey, began=began)
        deleter = Deleter(
            world.client,
            judge=survey.knowledge.verdict,
            extraction=survey.knowledge.extraction,
            on_fresh=survey.refresh,
            look_around=last.look,
            intend=record.intend,
            known=survey.knowledge.store.get,
            keep_changes=lambda: survey.knowledge.keep_changes,
            hanging=Hanging(clock, most=AT_A_TIME, there=lambda _: False),
            epoch=lambda: brakes.epoch,
        )
        use_trash(record, world.client, knowledge=survey.knowledge)
        room = Room(world.client, self._settings, plan)
        await close_open(record, self._settings, client=world.client, discovery=survey.knowledge.discovery)
        await room.learn(record.store)
        record.weight = room.gate.weight
        rate = RateCeiling(clock, per_second=self._settings.rate.deletions_per_second)
        fresh = {found.row.uid: found for found in plan.findings}
        findings = [fresh[found.row.uid] for found in shown if found.row.uid in fresh]
        if not await room.takes(findings):
            return Swept(plan=plan, done=not_tried(shown, _FULL), full=room.why)
        done: dict[Uid, Done] = {}
        ahead = iter(findings)

        async with stop_on_signal() as stop:

            async def work() -> None:
                for found in ahead:
                    # What a change of the Brakes, or of what is kept, overtook is judged anew.
                    for _ in range(_TRIES):
                        await rate.pass_one()
                        if not await brakes.known() or not await last.may_go_on() or stop.is_set():
                            return
                        now = clock.now()
                        again = _judged_again(found, survey, now)
                        tried = await _delete(deleter, again, now, record=record, room=room, survey=survey)
                        if not is_overtaken(tried):
                            break
                    done[found.row.uid] = tried
                    progress(f"{len(done)} of {len(findings)}")

            async with asyncio.TaskGroup() as watching:
                following = watching.create_task(_follow(brakes, last, at_once=len(findings) > AT_A_TIME))
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(AT_A_TIME, self._settings.rate.in_flight)):
                        group.create_task(work())
                following.cancel()
            interrupted = stop.is_set()
        progress("")
        error = last.error or brakes.error
        if error is not None:
            what = "what is kept" if last.error is not None else "which Brakes there are"
            plan.warnings.append(broken_off_after(what, error, done=len(done), of=len(findings)))
        why = "interrupted" if interrupted else "broken off"
        missed = not_tried(findings, f"{why} before its turn")
        results = [done.get(one[0].row.uid, one) for one in missed]
        lost = Outcome(what="stays", text="it is gone by now, or nothing wants it to go any more")
        results += ((found, lost, None) for found in shown if found.row.uid not in fresh)
        broken_off = error is not None
        return Swept(plan=plan, done=results, interrupted=interrupted, broken_off=broken_off, full=room.why)


async def _follow(brakes: BrakeWatch, last: LastLook, *, at_once: bool) -> None:
    """`at_once`: also what is kept; else once it has to be read again, since few are gone before that."""
    if at_once:
        last.watch.begin()
    async with asyncio.TaskGroup() as group:
        group.create_task(brakes.follow())
        group.create_task(last.watch.follow())


def _judged_again(found: Finding, survey: Survey, now: float) -> Finding:
    """On what is known by now; what held it when it was looked into still does."""
    if found.verdict.holds:
        return found
    return survey.finding(survey.knowledge.store.get(found.row.uid) or found.row, now)


async def _delete(
    deleter: Deleter, found: Finding, now: float, *, record: Record, room: Room, survey: Survey
) -> Done:
    claim = found.verdict.claim(now)
    if claim is None:
        return found, Outcome(what="stays", text=_holding(found.verdict)), None

    def still_wanted() -> bool:
        return _judged_again(found, survey, now).verdict.claim(now) is not None

    try:
        if not await room.admits(found.row, claim, still_wanted=still_wanted):
            again = _judged_again(found, survey, now).verdict
            why = _holding(again) if again.claim(now) is None else f"no room: {room.why}"
            return _now(found, again), Outcome(what="stays", text=why), None
        result = await deleter.delete(found.row, claim)
    except SkoupaError as error:
        room.gate.failed(found.row, error)
        if not is_sure(error) and await _is_gone(deleter, found.row):
            record.gone_unanswered(found.row)
            return found, Outcome(what="deleted"), None
        # Where nobody can tell the row stays open: whoever leads next finds out.
        (record.failed if is_sure(error) else record.unanswered)(found.row, error.message)
        return found, Outcome(what="failed", text=str(error)), error
    room.gate.left(found.row, result.what if result.answered else "deleted")
    if result.what == "stays":
        assert result.verdict is not None
        record.failed(result.row, f"it stays: {_holding(result.verdict)}")
        return _now(found, result.verdict), Outcome(what="stays", text=_holding(result.verdict)), None
    if not result.answered:
        record.gone_unanswered(result.row)
        return found, Outcome(what="deleted"), None
    record.finished(result.row, result.what)
    if result.what == "terminating":
        return found, Outcome(what="terminating", text=f"waiting for {awaited(result.row, claim)}"), None
    return found, Outcome(what=result.what), None


def _now(found: Finding, verdict: Verdict) -> Finding:
    return msgspec.structs.replace(found, verdict=verdict)


async def _is_gone(deleter: Deleter, row: Row) -> bool:
    try:
        return await deleter.fresh(row) is None
    except SkoupaError:
        return False


def _holding(verdict: Verdict) -> str:
    return "; ".join(render(hold.reason) for hold in verdict.holds) or "it is not due any more"
