"""`skoupa plan`: what will go, when and why, what it takes along, and what holds it.

Decides nothing. Gaps are told on standard error and change the exit code, so that a list that may lack something never
looks complete.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import tzinfo
from typing import TYPE_CHECKING, Final

import msgspec
import typer

from skoupa.cli import exits
from skoupa.cli.installed import Installed, settings_before, settings_for
from skoupa.cli.looking.alive_part import first_words, last_words, with_alive
from skoupa.cli.looking.controller_holds import with_controllers_holds
from skoupa.cli.looking.planning import Plan, Wishes, make_plan
from skoupa.cli.looking.policies_part import PolicyPart, read_files
from skoupa.cli.looking.policies_told import InvalidPolicies, in_words
from skoupa.cli.looking.retention_told import in_words as retention_in_words
from skoupa.cli.looking.retention_told import most_waiting
from skoupa.cli.looking.tenants_part import first_words as tenants_in_words
from skoupa.cli.looking.tenants_part import with_tenants
from skoupa.cli.options import Connecting, TableForm
from skoupa.cli.terminal import output
from skoupa.cli.terminal.items import Item
from skoupa.cli.terminal.saying import progress, say
from skoupa.cli.terminal.tables import Line, Paint, Screen, printable, render, screen_of
from skoupa.cli.terminal.times import distance, full_time, short_time, zone_of
from skoupa.cli.worlds import World, in_cluster, in_files
from skoupa.controller.survey import Finding
from skoupa.errors import UsageError
from skoupa.expr.comparisons import Comparison, read_comparison
from skoupa.expr.typed_times import read_time
from skoupa.expr.windows import Window, read_window
from skoupa.facts.naming import name_of
from skoupa.model.reasons import render as say_reason
from skoupa.settings import Settings

if TYPE_CHECKING:
    from skoupa.cli.looking.policies_known import Written

TITLES: Final = ("DUE", "", "KIND", "NAMESPACE", "NAME", "WHY", "HELD BY")
WIDE_TITLES: Final = (*TITLES, "RULE", "UID", "PROPAGATION", "NOTES")
# Notes that belong to the decision itself, and are shown without asking for more.
_WEIGHTY: Final = frozenset(
    {
        "takes-along",
        "data-goes",
        "data-unknown",
        "never-in-trash",
        "values-go",
        "ttl-annotation",
        "keep-annotation",
        "keep-unclear",
        "refreshed-before",
        "will-return",
    }
)
_REFUSED: Final = "no permission to list them"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What the options of `plan` say."""

    kinds: tuple[str, ...] = ()
    all_namespaces: bool = False
    within: str | None = None
    by: str | None = None
    between: str | None = None
    during: str | None = None
    ttl: str | None = None
    tz: str | None = None
    sources: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    allow_calls: bool = False
    now: str | None = None
    fail_over: int | None = None
    detailed_exitcode: bool = False


def run(
    *,
    connecting: Connecting,
    question: dict[str, object],
    config: str | None,
    form: TableForm,
    no_color: bool,
) -> None:
    asked = Question(**question)  # type: ignore[arg-type] # the names are those of the options
    zone = zone_of(asked.tz)
    lifetime = read_comparison(asked.ttl) if asked.ttl is not None else None
    try:
        known = settings_before(config, connecting=connecting, sources=asked.sources) if asked.files else None
        written = _written(asked, known.settings) if known is not None else None
        plan = _ask(asked, connecting=connecting, config=config, zone=zone, known=known, written=written)
    except InvalidPolicies as error:
        for sentence in error.told:
            say(sentence)
        raise typer.Exit(error.exit_code) from None
    if form in {"json", "yaml"}:
        output.write(plan.document("Plan"), form)
    elif form == "name":
        everywhere = not plan.namespace
        output.write_lines(name_of(found.row, with_namespace=everywhere) for found in plan.findings)
    else:
        screen = screen_of(no_color=no_color)
        sys.stdout.write(f"{first_words(plan)}{tenants_in_words(plan)}{heading(plan, lifetime, zone)}\n")
        sys.stdout.write(table(plan, zone=zone, screen=screen, wide=form == "wide"))
        told = in_words(plan.policies or (), plan.now, zone=zone, screen=screen)
        told += retention_in_words(plan.retention, plan.now, zone=zone, screen=screen)
        sys.stdout.write(f"\n{told}" if told else "")
        sys.stdout.write(last_words(plan))
    if written is not None and written.remark:
        say(written.remark)
    tell_limits(plan)
    _leave(plan, asked)


def _written(asked: Question, settings: Settings) -> Written:
    options = {
        "--within": asked.within,
        "--by": asked.by,
        "--between": asked.between,
        "--during": asked.during,
    }
    given = [option for option, text in {**options, "--ttl": asked.ttl}.items() if text is not None]
    return read_files(asked.files, settings, sources=asked.sources, window=given)


def _policies(asked: Question, settings: Settings, written: Written | None) -> PolicyPart | None:
    """Those of files, else those of the cluster where the controller runs them."""
    if written is None and not settings.features.policies:
        return None
    return PolicyPart(settings, written=written, allow_calls=asked.allow_calls)


def _ask(
    asked: Question,
    *,
    connecting: Connecting,
    config: str | None,
    zone: tzinfo,
    known: Installed | None,
    written: Written | None,
) -> Plan:
    lifetime = read_comparison(asked.ttl) if asked.ttl is not None else None

    def window(now: float) -> Window | None:
        return read_window(
            within=asked.within,
            by=asked.by,
            between=asked.between,
            during=asked.during,
            now=now,
            zone=zone,
        )

    async def work(world: World) -> Plan:
        found = known or await settings_for(world, config)
        settings, part = found.settings, _policies(asked, found.settings, written)
        namespace = "" if asked.all_namespaces or asked.files else world.namespace
        if part is not None:
            part.apply_to(connecting.namespace or world.namespace or "default")
        wishes = Wishes(kinds=asked.kinds, namespace=namespace, lifetime=lifetime)
        plan = await make_plan(
            world,
            settings=settings,
            wishes=wishes,
            window=window,
            progress=progress,
            # Without its settings nobody here knows what the controller keeps.
            trash_known=found.known,
            policies=part,
        )
        if found.doubt:
            plan.warnings.append(found.doubt)
        plan = await with_alive(world, plan, kinds=asked.kinds)
        plan = await with_tenants(world, plan)
        return await with_controllers_holds(world, plan, home=settings.lease.namespace)

    if asked.sources:
        here = time.time()
        now = read_time(asked.now, option="--now", now=here, zone=zone) if asked.now else here
        return in_files(work, sources=asked.sources, now=now, namespace=connecting.namespace or "")
    if asked.now is not None:
        raise UsageError(
            "--now needs --from", advice="a cluster has its own clock; --between looks elsewhere"
        )
    return in_cluster(work, connecting=connecting)


def heading(plan: Plan, lifetime: Comparison | None, zone: tzinfo) -> str:
    """The window that was understood, for people to check."""
    if plan.supposed:
        supposed = "If they ran now" if plan.policies else "If they were applied now"
        return f"{supposed}, {full_time(plan.now, zone)}:"
    with_ttl = f", with a ttl {lifetime.text}" if lifetime is not None else ""
    if plan.window is not None:
        return f"Due {plan.window.text}{with_ttl}"
    return f"Due at any time{with_ttl}; it is {full_time(plan.now, zone)} now"


def table(plan: Plan, *, zone: tzinfo, screen: Screen, wide: bool = False) -> str:
    lines = [_line(plan.item(found), found, plan.now, zone=zone, wide=wide) for found in plan.findings]
    parts: list[str] = []
    if lines:
        titles = WIDE_TITLES if wide else TITLES
        parts.append(
            render(titles, lines, screen=screen if not wide else Screen(colours=screen.colours), texts=2)
        )
    else:
        where = f" in the namespace {plan.namespace}; -A looks into all" if plan.namespace else ""
        parts.append(f"Nothing{where}.\n")
    if plan.remarks:
        parts.append("\nNothing goes by these:\n")
        parts += (f"  {printable(text)}\n" for found in plan.remarks for text in _remarks(found))
    if plan.supposed and plan.waiting:
        parts.append("\nOf these no time would begin now:\n")
        waiting = [text for found in plan.waiting for text in _remarks(found)]
        parts += (f"  {printable(text)}\n" for text in most_waiting(waiting))
    if lines:
        parts.append(f"\n{_summary(plan)}\n")
    return "".join(parts)


def _summary(plan: Plan) -> str:
    going = plan.going()
    later = sum(bool(found.verdict.holds) for found in going)
    held = len(plan.findings) - len(going)
    words = ("matched", "would") if plan.supposed else ("due", "will")
    text = f"{len(plan.findings)} {words[0]}: {len(going)} {words[1]} go"
    if later:
        text += f" ({later} of them when what holds them ends)"
    return f"{text}, {held} held." if held else f"{text}."


def _line(item: Item, found: Finding, now: float, *, zone: tzinfo, wide: bool) -> Line:
    due = found.verdict.due
    assert due is not None
    held = "; ".join(hold.reason.text for hold in item.holds)
    cells = (
        short_time(due, zone),
        distance(due, now),
        item.kind,
        item.namespace,
        item.name,
        "; ".join(claim.reason.text for claim in item.claims),
        held,
    )
    paint: Paint = "yellow" if held else "red" if due <= now else ""
    if wide:
        notes = "; ".join(note.text for note in item.notes)
        rules = "; ".join(claim.rule for claim in item.claims)
        return Line(cells=(*cells, rules, item.uid, item.claims[0].propagation, notes), paint=paint)
    below = tuple(note.text for note in item.notes if note.code in _WEIGHTY)
    return Line(cells=cells, paint=paint, below=below)


def _remarks(found: Finding) -> Iterator[str]:
    row = found.row
    where = f"{row.namespace}/" if row.namespace else ""
    for note in found.verdict.notes:
        yield f"{row.resource.kind} {where}{row.name}: {say_reason(note)}"


def tell_limits(plan: Plan) -> None:
    """What could not be read, grouped by the reason, and other doubts."""
    by_reason: dict[str, set[str]] = {}
    for gap in plan.gaps:
        # The server names kind, name and user in each refusal; the right that is missing is the same.
        why = _REFUSED if "is forbidden" in gap.why else gap.why
        by_reason.setdefault(why, set()).add(gap.what)
    for why, what in by_reason.items():
        whole = not plan.namespace and not plan.supposed
        instead = "; -n NAMESPACE looks into one" if why == _REFUSED and whole else ""
        say(f"not read, so objects may be missing here: {', '.join(sorted(what))} ({why}{instead})")
    for warning in plan.warnings:
        say(warning)


def _leave(plan: Plan, asked: Question) -> None:
    going, wanted = len(plan.going()), plan.wanted()
    if asked.fail_over is not None and wanted > asked.fail_over:
        stopped = f" ({wanted - going} of them only if a Brake lets them)" if wanted > going else ""
        objects = "object" if wanted == 1 else "objects"
        say(f"{wanted} {objects} would go{stopped}, more than --fail-over {asked.fail_over}")
        raise typer.Exit(exits.REFUSED)
    if plan.gaps:
        raise typer.Exit(exits.LEFTOVERS)
    if asked.detailed_exitcode and going:
        raise typer.Exit(exits.WORK)
