"""`skoupa unused`: what nothing needs, with why, since when and how certain that is. A report: nothing is changed.

What could use an object and could not be read makes it "not judged", never unused, and changes the exit code.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, Literal

import msgspec
import typer

from skoupa.cli import exits
from skoupa.cli.installed import settings_for
from skoupa.cli.looking.unused_report import Report, Wanted, make_report, since
from skoupa.cli.looking.waived import told_waived
from skoupa.cli.options import Connecting, TableForm
from skoupa.cli.terminal import output
from skoupa.cli.terminal.saying import progress, say
from skoupa.cli.terminal.tables import Line, Screen, printable, render, screen_of
from skoupa.cli.terminal.times import distance, zone_of
from skoupa.cli.worlds import Work, World, in_cluster, in_files
from skoupa.errors import UsageError
from skoupa.expr.durations import parse_duration
from skoupa.expr.typed_times import read_time
from skoupa.facts.naming import name_of
from skoupa.facts.rows import Row
from skoupa.kube.selectors import LabelSelector, parse_labels
from skoupa.usage.leftovers.judging import Leftover

TITLES: Final = ("KIND", "NAMESPACE", "NAME", "AGE", "WHY", "CONFIDENCE")
WIDE_TITLES: Final = (*TITLES, "UNNEEDED SINCE", "SIZE", "UID")
_REFUSED: Final = "no permission to list them"
_MOST_DOUBTS: Final = 5


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What the options of `unused` say."""

    kinds: tuple[str, ...] = ()
    all_namespaces: bool = False
    selector: str | None = None
    older_than: str | None = None
    group_by: Literal["namespace", "kind"] | None = None
    keys: bool = False
    sources: tuple[str, ...] = ()
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
    labels, younger = _selector(asked.selector), _seconds(asked.older_than)

    async def work(world: World) -> Report:
        found = await settings_for(world, config)
        report = await make_report(
            world,
            settings=found.settings,
            wanted=Wanted(
                kinds=asked.kinds,
                namespace="" if asked.all_namespaces else world.namespace,
                labels=labels,
                younger=younger,
                keys=asked.keys,
            ),
            by_kind=asked.group_by == "kind",
            progress=progress,
        )
        if found.doubt:
            report.warnings.append(found.doubt)
        return report

    report = _ask(asked, connecting, work)
    if form in {"json", "yaml"}:
        output.write(msgspec.to_builtins(report.document()), form)
    elif form == "name":
        everywhere = not report.namespace
        output.write_lines(name_of(one.row, with_namespace=everywhere) for one in report.leftovers)
    else:
        sys.stdout.write(table(report, asked, screen=screen_of(no_color=no_color), wide=form == "wide"))
    tell_limits(report)
    _leave(report, asked)


def _ask(asked: Question, connecting: Connecting, work: Work[Report]) -> Report:
    if asked.sources:
        here = time.time()
        zone = zone_of(None)
        now = read_time(asked.now, option="--now", now=here, zone=zone) if asked.now else None
        return in_files(work, sources=asked.sources, now=now, namespace=connecting.namespace or "")
    if asked.now is not None:
        raise UsageError("--now needs --from", advice="a cluster has its own clock")
    return in_cluster(work, connecting=connecting)


def _selector(text: str | None) -> LabelSelector | None:
    if text is None:
        return None
    try:
        return parse_labels(text)
    except ValueError as error:
        raise UsageError(
            f"--selector {text!r} is no label selector: {error}", advice="write app=web,tier!=front"
        ) from None


def _seconds(text: str | None) -> int:
    if text is None:
        return 0
    seconds = parse_duration(text)
    if not isinstance(seconds, int):
        raise UsageError(f"--older-than: {seconds.what}", advice=seconds.instead)
    return seconds


def table(report: Report, asked: Question, *, screen: Screen, wide: bool) -> str:
    titles = WIDE_TITLES if wide else TITLES
    lines = [(one, _line(one, report, wide=wide)) for one in report.leftovers]
    screen = Screen(colours=screen.colours) if wide else screen
    parts: list[str] = []
    if asked.group_by is None:
        parts += [render(titles, [line for _, line in lines], screen=screen, texts=0)] if lines else []
    else:
        for group, members in groupby(lines, key=lambda pair: _group(pair[0].row, asked.group_by)):
            own = [line for _, line in members]
            heading = screen.paint(f"{group} ({len(own)})", "bold")
            parts.append(f"{heading}\n{render(titles, own, screen=screen, texts=0)}\n")
    if not lines:
        where = f" in the namespace {report.namespace}; -A looks into all" if report.namespace else ""
        parts.append(f"Nothing{where}.\n")
    if report.keys:
        parts.append(
            "\nUsed, but not all of it:\n" if lines and not asked.group_by else "Used, but not all of it:\n"
        )
        parts += (f"  {printable(text)}\n" for text in _keys(report))
        parts.append("\n" if asked.group_by else "")
    parts.append(f"{'' if asked.group_by and lines else chr(10)}{_summary(report)}\n")
    return "".join(parts)


def _keys(report: Report) -> Iterator[str]:
    for one in report.keys or ():
        yield f"{one.kind} {one.namespace}/{one.name}: {one.reason.text} ({one.confidence})"


def _group(row: Row, by: str | None) -> str:
    if by == "kind":
        return row.resource.kind
    return row.namespace or "in no namespace"


def _line(found: Leftover, report: Report, *, wide: bool) -> Line:
    item = report.item(found)
    age = distance(found.row.created, report.now).removesuffix(" ago") if found.row.created else ""
    cells: tuple[str, ...] = (
        item.kind,
        item.namespace,
        item.name,
        age,
        item.reason.text,
        item.confidence,
    )
    if wide:
        marked = since(found.row, report.now)
        told = distance(marked, report.now) if marked is not None else ""
        cells = (*cells, told, _size(item.size.bytes, item.size.capacity), item.uid)
    return Line(cells=cells)


def _size(size: int | None, capacity: str) -> str:
    if capacity or size is None:
        return capacity
    for unit in ("B", "KiB"):
        if size < 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} MiB"


def _summary(report: Report) -> str:
    found = len(report.leftovers)
    text = f"{found} of {report.looked_at} objects are needed by nobody"
    walked = sum(one.confidence == "walked" for one in report.leftovers)
    if walked:
        kinds = sorted({kind for one in report.leftovers for kind in one.walked})
        text += f" ({walked} of them as far as a search through {_some(kinds)} can tell)"
    if report.not_judged:
        text += f", {len(report.not_judged)} not judged"
    if report.protected:
        text += f", {report.protected} protected {'one' if report.protected == 1 else 'ones'} left out"
    return f"{text}."


def _some(texts: Iterable[str], most: int = 3) -> str:
    texts = list(texts)
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return f"{', '.join(texts[:most])}{more}"


def tell_limits(report: Report) -> None:
    """What was not judged and why, grouped by the reason, and what is waived."""
    counted = Counter(one.row.resource.qualified for one in report.not_judged)
    if counted:
        told = ", ".join(f"{number} {kind}" for kind, number in sorted(counted.items()))
        say(f"not judged, for something that may need them was not read or understood: {told}")
    for sentence in _unread(report):
        say(sentence)
    doubts = dict.fromkeys(doubt for one in report.not_judged for doubt in one.why.doubts)
    for doubt in list(doubts)[:_MOST_DOUBTS]:
        say(f"not understood: {doubt}")
    if len(doubts) > _MOST_DOUBTS:
        say(f"and {len(doubts) - _MOST_DOUBTS} more objects that were not understood; -o json names them all")
    for sentence in told_waived(report.sight):
        say(sentence)
    for warning in report.warnings:
        say(warning)


def _unread(report: Report) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for gap in report.gaps():
        why = _REFUSED if "is forbidden" in gap.why else gap.why
        if why == _REFUSED and gap.why.startswith("only those"):
            why = f"{_REFUSED} outside of the namespace {report.namespace}"
        by_reason.setdefault(why, []).append(gap.what)
    for why, what in by_reason.items():
        yield f"not read: {', '.join(sorted(set(what)))} ({why})"


def _leave(report: Report, asked: Question) -> None:
    found = len(report.leftovers)
    if asked.fail_over is not None and found > asked.fail_over:
        say(f"{found} objects are needed by nobody, more than --fail-over {asked.fail_over}")
        raise typer.Exit(exits.REFUSED)
    if report.not_judged or report.gaps():
        raise typer.Exit(exits.LEFTOVERS)
    if asked.detailed_exitcode and found:
        raise typer.Exit(exits.WORK)
