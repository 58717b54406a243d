"""Retention policies in words: what each is about, what of it goes when, and why the others stay; and which are about one object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from typing import Final

from skoupa.cli.terminal.retention_shapes import ItemRetention, RetentionStanding
from skoupa.cli.terminal.tables import Screen, printable
from skoupa.cli.terminal.times import distance, full_time
from skoupa.expr.durations import render_duration
from skoupa.expr.instants import parse_rfc3339
from skoupa.judge.retention import NAME
from skoupa.model.verdicts import Verdict
from skoupa.policy.retention.policies import Retention
from skoupa.policy.retention.precedence import Terms

_WORDS: Final = {
    "in-use": "in use",
    "owner-lives": "with an owner that lives",
    "needed-anyway": "needed for what they are or who tracks them",
    "among-newest": "among the newest",
    "retention-suspended": "resting while it is suspended",
    "retention-broken": "resting while another is not understood",
    "users-unread": "of which nobody knows who uses them",
    "users-unclear": "of which nobody knows who uses them",
    "group-undecided": "not decided upon",
    "waits": "waiting to finish or to be marked",
    "run-would-brake": "stopped by a Brake",
    "kept": "kept",
    "namespace-kept": "kept",
    "other-ttl-ahead": "with a time of their own that is to come",
    "label-waits": "with a time of their own that is to come",
    "labelled": "going by a label of their own",
}
_MOST_WAITING: Final = 20


def times(policy: Retention) -> dict[str, str]:
    return {moment: render_duration(seconds) for moment, seconds in policy.after.items()}


def stays_for(verdict: Verdict) -> str:
    """The code of the reason why an object that a policy is about does not go by it."""
    if verdict.holds:
        return verdict.holds[0].reason.code
    if any(one.mechanism == NAME for one in verdict.claims):
        return "labelled"
    return verdict.notes[0].code if verdict.notes else "waits"


def in_words(found: Sequence[RetentionStanding], now: float, *, zone: tzinfo, screen: Screen) -> str:
    return "".join(f"{line}\n" for one in found for line in _lines(one, now, zone, screen))


def _lines(one: RetentionStanding, now: float, zone: tzinfo, screen: Screen) -> Iterator[str]:
    where = f" ({one.file}, document {one.document})" if one.file else ""
    yield printable(f"{_called(one)}{where}")
    yield f"  is about {_counted(one.matched)}" + (f": {', '.join(_parts(one))}" if one.matched else "")
    if one.overridden:
        yield f"  {_counted(one.overridden)} more go by what is more specific"
    if one.suspended:
        yield "  it is suspended, so nothing goes by it"
    first = parse_rfc3339(one.next_time or "")
    if isinstance(first, int):
        at = f"{full_time(first, zone)}, {distance(first, now)}"
        if one.file and not one.due:
            yield f"  nothing goes by it before {at}: times count from a mark, written once it is applied if there is none"
        else:
            yield f"  the next in time goes {at}"
    for why in one.would_brake:
        yield screen.paint(f"  a Brake would stop what goes by it within an hour: {printable(why)}", "yellow")
    for problem in one.problems:
        yield screen.paint(f"  problem: {printable(problem)}", "red")
    if one.file:
        for caution in one.cautions:
            yield screen.paint(f"  caution: {printable(caution)}", "yellow")


def _parts(one: RetentionStanding) -> Iterator[str]:
    if one.due:
        yield f"{one.due} would go at once" if one.file else f"{one.due} due"
    if one.to_come:
        yield f"{one.to_come} in time"
    by_words: dict[str, int] = {}
    for code, number in one.stays.items():
        words = _WORDS.get(code, f"held ({code})")
        by_words[words] = by_words.get(words, 0) + number
    yield from (f"{number} {words}" for words, number in by_words.items())


def about_object(terms: Terms | None) -> tuple[ItemRetention, ...]:
    """Those that are about one object, those that count first."""
    if terms is None:
        return ()
    return (
        *(_of(one, counts=True) for one in terms.by),
        *(_of(one, counts=False) for one in terms.beaten),
    )


def object_lines(found: Sequence[ItemRetention], *, labelled: bool) -> Iterator[str]:
    counting = [one for one in found if one.answer == "counts"]
    for one in counting:
        yield f"retention: {_called(one)} counts: {_says(one)}"
    if len(counting) > 1:
        yield "           they count as much, so it goes when all of them agree: the longest time, and no living owner unless all ignore it"
        if any(one.at_most is not None or one.from_quota for one in counting) and any(
            one.after for one in counting
        ):
            yield "           a limit takes the oldest at once, before their times have come"
    if counting and labelled:
        yield "           a label on the object itself replaces their times, but not that the newest stay"
    for one in found:
        if one.answer == "beaten":
            yield f"not by: {_called(one)}: a policy of its namespace is about it too, and counts instead"


def most_waiting(lines: Sequence[str]) -> Iterator[str]:
    """Not more than fit on a page."""
    yield from lines[:_MOST_WAITING]
    if len(lines) > _MOST_WAITING:
        yield f"and {len(lines) - _MOST_WAITING} more (-o json has all)"


def _of(policy: Retention, *, counts: bool) -> ItemRetention:
    newest, limit = policy.newest, policy.limit
    return ItemRetention(
        kind=policy.kind,
        namespace=policy.namespace,
        name=policy.name,
        answer="counts" if counts else "beaten",
        suspended=policy.suspended,
        after=times(policy),
        keep_newest=newest.count if newest is not None else None,
        owners="Respect" if policy.owners_hold else "Ignore",
        at_most=limit.at_most or None if limit is not None else None,
        from_quota=limit.quota if limit is not None else "",
    )


def _says(one: ItemRetention) -> str:
    parts = [f"{moment} {time}" for moment, time in one.after.items()]
    if one.keep_newest is not None:
        parts.append(f"the newest {one.keep_newest} stay")
    if one.at_most is not None:
        parts.append(f"at most {one.at_most}")
    if one.from_quota:
        parts.append(f"as many as {one.from_quota} allows")
    if one.owners == "Ignore":
        parts.append("owners do not matter")
    if one.suspended:
        parts.append("suspended")
    return ", ".join(parts)


def _called(one: RetentionStanding | ItemRetention) -> str:
    return "/".join(part for part in (one.kind, one.namespace, one.name) if part)


def _counted(number: int) -> str:
    return f"{number} {'object' if number == 1 else 'objects'}"
