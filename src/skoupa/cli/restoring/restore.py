"""`skoupa restore`: shows what would come back and what will differ, asks, then creates it with the caller's rights.

The controller has no part in it. What is there is never overwritten, and what does not come back is told with its
reason: the exit code is then 4. What came back is written to the ledger.
"""

from __future__ import annotations

import sys
from datetime import tzinfo
from itertools import chain
from typing import Any

import msgspec
import typer

from skoupa.cli import exits
from skoupa.cli.options import Connecting, SweepForm
from skoupa.cli.remembering.carried import Company, carried_along, is_meant
from skoupa.cli.remembering.ledgers import HistorySource, LedgerChoice, Sealed, opened
from skoupa.cli.remembering.recalling import Filters, namespace_of, recall, refuse_filters, wishes_of
from skoupa.cli.remembering.remembered import RestoreDocument
from skoupa.cli.restoring.came_back import CameBack, came_back
from skoupa.cli.restoring.newer import Newer, newer_ones
from skoupa.cli.restoring.pieces import Piece
from skoupa.cli.restoring.restoring import Restoring
from skoupa.cli.restoring.rules import Rules
from skoupa.cli.restoring.selecting import WENT, Choice, Selection, select
from skoupa.cli.restoring.telling import item_of, remarks, summary, table
from skoupa.cli.restoring.tenants import refuse_what_tenants_take
from skoupa.cli.restoring.whose import whose_rows
from skoupa.cli.terminal import output
from skoupa.cli.terminal.confirming import confirm
from skoupa.cli.terminal.orderly_end import stop_on_signal
from skoupa.cli.terminal.saying import progress, say
from skoupa.cli.terminal.tables import Screen, screen_of
from skoupa.cli.terminal.times import zone_of
from skoupa.cli.worlds import World, in_cluster
from skoupa.errors import SkoupaError, UsageError
from skoupa.expr.durations import parse_duration
from skoupa.expr.instants import render_label_time
from skoupa.expr.readings import Problem
from skoupa.expr.typed_times import read_time
from skoupa.kube.discovery import discover
from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.rows import Entry
from skoupa.ledger.trash.contents import Kept


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What the options of `restore` say, beside the filters."""

    with_dependents: bool = False
    dry_run: bool = False
    into: str | None = None
    keep_for: str | None = None
    into_other_cluster: bool = False
    yes: bool = False


class Restored(msgspec.Struct, kw_only=True):
    now: float
    selection: Selection
    warnings: list[str] = msgspec.field(default_factory=list)
    # How many of them were said already.
    said: int = 0
    # Their rows are those of another cluster, where nothing came back.
    elsewhere: bool = False
    came_back: CameBack = msgspec.field(default_factory=dict)
    interrupted: bool = False
    unwritten: bool = False

    @property
    def pieces(self) -> list[Piece]:
        return self.selection.pieces


def run(
    *,
    connecting: Connecting,
    ledger: dict[str, Any],
    filters: dict[str, Any],
    wishes: dict[str, Any],
    all_namespaces: bool,
    tz: str | None,
    form: SweepForm,
    no_color: bool,
) -> None:
    zone = zone_of(tz)
    asked, wished = Filters(**filters), Wishes(**wishes)
    into = wished.into
    if asked.ids:
        # With ids there is nothing to filter: -n says where to.
        refuse_filters(asked)
        into = into or connecting.namespace
    else:
        where = namespace_of(connecting, all_namespaces=all_namespaces)
        asked = msgspec.structs.replace(asked, namespace=where)
        if not (asked.words or asked.since or asked.by_policy or asked.run):
            raise UsageError(
                "restore has to be told what to bring back",
                advice="give ids, KIND/NAME, a kind, --since, --by-policy or --run; `skoupa history` shows them",
            )
    asked = msgspec.structs.replace(asked, outcomes=asked.outcomes or WENT, ends=True)
    job = _Job(LedgerChoice(**ledger), asked, wished, connecting=connecting, into=into or "", zone=zone)
    found = in_cluster(job.plan, connecting=connecting)
    screen = screen_of(no_color=no_color)
    possible = sum(piece.possible for piece in found.pieces)
    refused = bool(found.selection.by_rule)
    if wished.dry_run or not possible or refused:
        _end(found, form=form, screen=screen, dry_run=wished.dry_run)
        if refused:
            _tell_rules(found.selection)
            raise typer.Exit(exits.REFUSED)
        _leave(found)
        return
    if not wished.yes and form == "table":
        sys.stdout.write(table(found.pieces, screen))
    _warn(found)
    if not wished.yes:
        number = len(found.pieces)
        question = f"Restore {possible} of {number} object{'s' * (number != 1)}?"
        confirm(question, done="restored", command="restore", for_programs=form != "table")
    found = in_cluster(lambda world: job.act(world, found), connecting=connecting)
    _end(found, form=form, screen=screen, dry_run=False)
    _leave(found)


class _Job:
    """The same question asked before and after the answer of a person: what was checked is not checked again."""

    def __init__(
        self,
        ledger: LedgerChoice,
        filters: Filters,
        wishes: Wishes,
        *,
        connecting: Connecting,
        into: str,
        zone: tzinfo,
    ) -> None:
        self._ledger = ledger
        self._filters = filters
        self._wishes = wishes
        self._connecting = connecting
        self._into = into
        self._zone = zone

    async def plan(self, world: World) -> Restored:
        now = world.now()
        async with opened(self._ledger, connecting=self._connecting, world=world) as source:
            whose = await whose_rows(
                source, world, named=self._ledger, allowed=self._wishes.into_other_cluster
            )
            entries, more = await recall(source, self._filters, now=now, zone=self._zone)
            in_trash = [entry for entry in entries if entry.kept > 0]
            sealed: Sealed = {}
            trash = await source.kept(in_trash, sealed=sealed)
            if sealed and not trash:
                # Not one that has lost its key among others, but the wrong keys.
                raise next(iter(sealed.values()))
            company = await carried_along(source, self._filters, entries, now=now, zone=self._zone)
            later = Newer(source, entries, trash)
            newer = await later.look(self._filters, now=now, zone=self._zone)
            company.sealed = company.sealed or bool(later.sealed)
            carried = (*company.carried, *newer)
            parts = (*chain(*trash.values()), *(one.kept for one in carried))
            owners = await came_back(source, entries, parts)
            absent = self._absent(entries, company, now)
            left_out = source.left_out.remarks(absent=bool(absent))
        choice = Choice(
            with_dependents=self._wishes.with_dependents,
            into=self._into,
            foreign=whose.another,
            keep=self._keep(now),
            now=now,
        )
        found = Restored(
            now=now, selection=select(entries, trash, choice=choice, carried=carried, sealed=sealed)
        )
        found.selection.absent += absent
        found.elsewhere, found.came_back = whose.another, owners
        if entries:
            found.warnings += whose.remarks(entries[0].cluster, world.cluster)
        found.warnings += remarks(found.selection, more=more, limit=self._filters.limit)
        found.warnings += (*newer_ones(newer), *company.remarks(), *left_out)
        discovery = await discover(world.client)
        restoring = Restoring(
            world.client, discovery=discovery, remember=_nobody, came_back=owners, progress=progress
        )
        found.warnings += await refuse_what_tenants_take(world, discovery, found.pieces)
        await restoring.check([piece for piece in found.pieces if piece.possible])
        await restoring.foresee(found.pieces)
        if not choice.keep:
            taken = await Rules(world.client, discovery, now=now).ask(found.pieces)
            found.selection.match(taken.by)
            found.warnings += taken.doubts
        return found

    async def act(self, world: World, found: Restored) -> Restored:
        there = opened(self._ledger, connecting=self._connecting, world=world, writable=True)
        async with there as source, stop_on_signal() as stop:
            restoring = Restoring(
                world.client,
                discovery=await discover(world.client),
                remember=_nobody if found.elsewhere else lambda uids: _remember(source, uids, found),
                came_back=found.came_back,
                progress=progress,
                stop=stop,
            )
            await restoring.create(found.pieces)
            found.interrupted = stop.is_set()
        return found

    def _absent(self, entries: list[Entry], company: Company, now: float) -> list[str]:
        """Objects that were named and of which no row tells that they went."""
        if self._filters.ids:
            return []
        there: tuple[Entry | Kept, ...] = (*entries, *(one.kept for one in company.carried))
        named = [
            wish
            for wish in wishes_of(self._filters, now=now, zone=self._zone)
            if wish.name is not None and not any(is_meant(wish, one) for one in there)
        ]
        return list(dict.fromkeys(f"{wish.kind}/{wish.name}" for wish in named))

    def _keep(self, now: float) -> str:
        text = self._wishes.keep_for
        if text is None:
            return ""
        try:
            until = read_time(text, option="--keep-for", now=now, zone=self._zone, later=True)
        except UsageError as error:
            raise UsageError(error.message, advice=_how_long(text, error)) from None
        if until <= now:
            raise UsageError(f"--keep-for {text} is past", advice="give a time to come, such as 7d")
        return render_label_time(until)


def _how_long(text: str, error: UsageError) -> str:
    """What begins with a number was meant to be a duration, as often as not."""
    duration = parse_duration(text)
    if isinstance(duration, Problem) and text[:1].isdecimal() and text.replace(" ", "").isalnum():
        return duration.instead
    return f"give how long, such as 7d, or until when: {error.advice}"


async def _nobody(uids: dict[str, str]) -> None:
    """A check brings nothing back; and what comes to another cluster is still gone from its own."""


async def _remember(source: HistorySource, uids: dict[str, str], found: Restored) -> None:
    try:
        await source.restored(uids)
    except SkoupaError as error:
        found.unwritten = True
        found.warnings.append(f"that {len(uids)} came back is not written down: {error}")


def _tell_rules(selection: Selection) -> None:
    for rule in sorted(selection.by_rule):
        say(f"nothing was restored: {rule} may take it again at once; give --keep-for, such as --keep-for 7d")


def _end(found: Restored, *, form: SweepForm, screen: Screen, dry_run: bool) -> None:
    if form == "table":
        sys.stdout.write(table(found.pieces, screen))
        sys.stdout.write(f"{summary(found.selection, dry_run=dry_run)}\n")
    else:
        document = RestoreDocument(
            now=whole_seconds(found.now),
            dry_run=dry_run,
            items=tuple(item_of(piece) for piece in found.pieces),
            warnings=tuple(found.warnings),
        )
        output.write(msgspec.to_builtins(document), form)
    _warn(found)


def _warn(found: Restored) -> None:
    """Of what is known before anything is done: before the question, while it can still be answered with no."""
    sys.stdout.flush()
    for warning in found.warnings[found.said :]:
        say(warning)
    found.said = len(found.warnings)


def _leave(found: Restored) -> None:
    selection = found.selection
    wanted = [piece for piece in found.pieces if not piece.spare]
    left = [piece for piece in wanted if piece.outcome.what not in {"restored", "would-restore"}]
    if found.interrupted:
        raise typer.Exit(exits.INTERRUPTED)
    if left and all(piece.denied for piece in wanted):
        raise typer.Exit(exits.DENIED)
    missing = selection.unseen or selection.uncertain or selection.absent
    if left or missing or found.unwritten or (selection.left_homes and not wanted):
        raise typer.Exit(exits.LEFTOVERS)
