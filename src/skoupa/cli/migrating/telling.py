"""What `migrate` says to people: what of Kyverno is there, what differs object by object, and the way over and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from typing import Final

from skoupa import names
from skoupa.cli.migrating.documents import Migration
from skoupa.cli.migrating.kyverno import Kyverno
from skoupa.cli.migrating.labels import Labelled
from skoupa.cli.migrating.policies import Compared
from skoupa.cli.migrating.steps import Step
from skoupa.cli.terminal.tables import Line, Paint, Screen, printable, render
from skoupa.cli.terminal.times import full_time, short_time
from skoupa.model.differences import Difference

_LABEL_TITLES: Final = ("KIND", "NAMESPACE", "NAME", "VALUE", "KYVERNO", "SKOUPA")
_POLICY_TITLES: Final = ("KIND", "NAMESPACE", "NAME", "SCHEDULE", "KYVERNO", "SKOUPA", "MATCHES", "GOES")
_STATES: Final = {
    "alive": "is alive",
    "stopped": "is there, and does not run",
    "absent": "is not there",
    "unknown": "may be there: what would tell can't be read",
}
_PAINTS: Final[dict[str, Paint]] = {"more": "red", "less": "yellow", "time": "yellow", "way": "yellow"}
_EFFECTS: Final = {
    "less": "Skoupa deletes less",
    "more": "Skoupa deletes more",
    "time": "at another time",
    "way": "in another way",
}


def text(found: Migration, *, zone: tzinfo, screen: Screen, everything: bool) -> str:
    """`everything`: also what both read alike."""
    parts = [
        f"It is {full_time(found.now, zone)}.\n",
        *_kyverno(found.kyverno),
        *_overall(found.overall, screen),
        *_labels(found.labels, zone=zone, screen=screen, everything=everything),
        *_policies(found.policies, zone=zone, screen=screen, everything=everything),
        *_steps("To switch over, without a moment in which both delete", found.over, screen),
        *_steps("To switch back", found.back, screen),
    ]
    return "".join(parts)


def _kyverno(found: Kyverno) -> Iterator[str]:
    yield f"Kyverno's cleanup controller {_STATES[found.state]}.\n"
    for one in found.controllers:
        version = f"{one.version}, " if one.version else ""
        replicas = f"{one.replicas} replica{'s' * (one.replicas != 1)}"
        yield f"  Deployment {printable(one.name)} in {one.namespace}: {printable(version)}{replicas}\n"
        if one.flags:
            yield f"    {printable(' '.join(one.flags))}\n"
    if found.filters.filters:
        yield f"  {len(found.filters.filters)} resourceFilters, which policies of both obey\n"


def _overall(many: Sequence[Difference], screen: Screen) -> Iterator[str]:
    if many:
        yield "\nIn the whole cluster:\n"
        yield from (f"  {screen.paint(printable(line), 'yellow')}\n" for line in map(sentence, many))


def _labels(many: Sequence[Labelled], *, zone: tzinfo, screen: Screen, everything: bool) -> Iterator[str]:
    differing = [one for one in many if one.differences]
    yield f"\n{_count(many, differing, 'object', f'with {names.TTL_LABEL}')}\n"
    shown = many if everything else differing
    if shown:
        yield render(_LABEL_TITLES, [_label_line(one, zone) for one in shown], screen=screen)


def _label_line(one: Labelled, zone: tzinfo) -> Line:
    row, goes = one.row, one.verdict.goes
    due = one.kyverno.due
    theirs = "stays" if due is None else short_time(due, zone)
    if one.row.deleted_at:
        theirs = ours = "goes already"
    else:
        ours = "stays" if goes is None else short_time(goes, zone)
    value = row.label(names.TTL_LABEL)
    cells = (row.resource.kind, row.namespace, row.name, value if value is not None else "-", theirs, ours)
    return Line(cells=cells, paint=_paint(one.differences), below=tuple(map(sentence, one.differences)))


def _policies(many: Sequence[Compared], *, zone: tzinfo, screen: Screen, everything: bool) -> Iterator[str]:
    differing = [one for one in many if one.differences]
    yield f"\n{_count(many, differing, 'policy', '')}\n"
    shown = many if everything else differing
    if shown:
        yield render(_POLICY_TITLES, [_policy_line(one, zone) for one in shown], screen=screen)


def _policy_line(one: Compared, zone: tzinfo) -> Line:
    theirs = "never" if not one.kyverno_runs else "runs"
    if one.kyverno_next is not None:
        theirs = short_time(one.kyverno_next, zone)
    ours = "refused" if one.policy is None else "never"
    if one.policy is not None and one.policy.options.suspended:
        ours = "suspended"
    if one.skoupa_next is not None:
        ours = short_time(one.skoupa_next, zone)
    matched, goes = ("-", "-")
    if one.matches is not None:
        matched, goes = str(one.matches.matched), str(one.matches.goes)
    below = list(map(sentence, one.differences))
    if one.matches is not None and one.matches.unknown:
        below.append(f"what it matches is not all known: {one.matches.unknown}")
    cells = (one.kind, one.namespace, one.name, one.schedule, theirs, ours, matched, goes)
    return Line(cells=cells, paint=_paint(one.differences), below=tuple(below))


def sentence(one: Difference) -> str:
    meaning = one.meaning
    return f"{_EFFECTS[meaning.effect]} ({one.code}): Kyverno {one.kyverno}; Skoupa {one.skoupa} [{meaning.docs}]"


def _steps(title: str, steps: Iterable[Step], screen: Screen) -> Iterator[str]:
    yield f"\n{screen.paint(title, 'bold')}:\n"
    for number, step in enumerate(steps, 1):
        yield f"  {number}. {step.what}\n"
        if step.command:
            yield f"       {step.command}\n"


def _count(many: Sequence[object], differing: Sequence[object], noun: str, rest: str) -> str:
    plural = noun if len(many) == 1 else f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}s"
    said = " ".join(part for part in (f"{len(many)} {plural}", rest) if part)
    if not many:
        return f"{said}."
    if not differing:
        return f"{said}: both read {'it' if len(many) == 1 else 'all of them'} alike."
    return f"{said}, of which {len(differing)} differ{'s' * (len(differing) == 1)}:"


def _paint(many: Sequence[Difference]) -> Paint:
    effects = [one.meaning.effect for one in many]
    first: Paint = ""
    if effects:
        first = _PAINTS["more" if "more" in effects else effects[0]]
    return first
