"""The TTL label: any object goes at its time (seed 004, first half).

A duration counts from creation or from `skoupa.dev/refreshed-at`, whichever is later; a date is a date. A value that is
not understood claims nothing, a refresh that is not understood holds, and both are told with what to write instead. The
key is fixed. Other tools' annotations are read only where a compat switch says so; with several times on one object all
must be due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, get_args

import msgspec

from skoupa import names
from skoupa.expr.instants import LAST_SECOND
from skoupa.expr.peers import janitor_expires, janitor_ttl, ttl_controller_ttl
from skoupa.expr.readings import After, At, Never, Problem, due_time
from skoupa.expr.ttl import kyverno_ttl, parse_ttl, refreshed_at
from skoupa.facts.rows import Row
from skoupa.judge.mechanism import NO_ANSWER, Answer, Interest
from skoupa.judge.misplaced import misplaced_keep, misplaced_ttl, unclear_keep
from skoupa.judge.protection import own
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import Reason, reason
from skoupa.model.verdicts import Claim, Hold, Propagation
from skoupa.settings import Settings, seconds

NAME: Final = "ttl"
Reading = After | At | Never | Problem
_PROPAGATIONS: Final = frozenset(get_args(Propagation))
# A refresh may come with the manifest, written a moment before the object was there.
_REFRESHED_WITH_IT_SECONDS: Final = 600
_MOST_ALIKE: Final = 4096


class Written(msgspec.Struct, frozen=True, gc=False):
    """One lifetime as it stands on an object, and how it is read."""

    key: str
    value: str
    reading: Reading
    refresh_key: str


class TtlMechanism:
    name = NAME

    def __init__(self, settings: Settings) -> None:
        self._read_label = lru_cache(4096)(kyverno_ttl if settings.compat.kyverno_ttl else parse_ttl)
        self._annotations = _compat_annotations(settings)
        self._deciding = (
            names.PROPAGATION_POLICY_ANNOTATION,
            names.REFRESHED_AT_ANNOTATION,
            *self._annotations,
        )
        longest = settings.ttl.maximum_lifetime
        self._longest = seconds(longest) if longest else None
        self._alike: dict[tuple[str, int, str], Answer] = {}
        self._longest_text = longest or ""

    def interests(self) -> Iterator[Interest]:
        annotations = (
            names.PROPAGATION_POLICY_ANNOTATION,
            names.REFRESHED_AT_ANNOTATION,
            names.NOTICE_BEFORE_ANNOTATION,
            names.NOTIFY_ANNOTATION,
            names.TTL_LABEL,
            names.KEEP_LABEL,
            names.TTL_CONTROLLER_REFRESHED_AT_ANNOTATION,
            *self._annotations,
        )
        # Annotations can't be selected on the server: honouring them costs a watch of everything.
        labels = "" if self._annotations else names.TTL_LABEL
        yield Interest(labels=labels, verbs=("list", "watch", "delete"), annotations=annotations)

    def due(self, row: Row, now: float) -> float | None:  # noqa: ARG002 - other mechanisms need it
        if row.label(names.TTL_LABEL) is None and not row.annotations:
            return None
        moments = self._due(row, tuple(self._written(row)))
        return moments[0] if moments and not own(row) else None

    def answer(self, row: Row, now: float) -> Answer:
        # Objects come in masses: of those that have nothing but a label, all of one moment are answered alike.
        label = row.label(names.TTL_LABEL) if not row.annotations and not row.owners else None
        if label is None or row.label(names.KEEP_LABEL) is not None or own(row):
            return self._answer(row, now)
        alike = (label, row.created, row.labelled_by)
        known = self._alike.get(alike)
        if known is None:
            known = self._answer(row, now)
            # What is said of a label that is not understood changes with time.
            if known.claims:
                if len(self._alike) >= _MOST_ALIKE:
                    self._alike.clear()
                self._alike[alike] = known
        return known

    def _answer(self, row: Row, now: float) -> Answer:
        written = tuple(self._written(row))
        beside = tuple(self._beside(row))
        if not written:
            return Answer(notes=beside) if beside else NO_ANSWER
        what = own(row)
        if what:
            return Answer(notes=(reason("ttl-on-own", key=written[0].key, what=what),))
        notes = (*_remarks(row, written, now), *beside)
        claim = self._claim(row, written)
        if claim is None:
            return Answer(notes=notes)
        return Answer((claim,), tuple(self._holds(row, written, now)), notes)

    def lifetime(self, row: Row) -> int | None:
        """The time that it was given, in seconds: the longest written on it, a date counting from its creation."""
        longest: int | None = None
        for found in self._written(row):
            if not isinstance(found.reading, After | At):
                return None
            span = due_time(found.reading, since=row.created) - row.created
            longest = span if longest is None else max(longest, span)
        return longest

    def refresh_keys(self, row: Row) -> tuple[str, ...]:
        """The annotations that make its durations count anew; none where no duration is written on it."""
        return tuple(
            found.refresh_key
            for found in self._written(row)
            if found.refresh_key and isinstance(found.reading, After)
        )

    def fixed_keys(self, row: Row) -> tuple[str, ...]:
        """Where durations are written on it that nothing makes count anew: the tools whose they are know of no such thing."""
        return tuple(
            found.key
            for found in self._written(row)
            if not found.refresh_key and isinstance(found.reading, After)
        )

    def _beside(self, row: Row) -> Iterator[Reason]:
        """What is to be said of it whether or not it has a time."""
        if not row.annotations and row.label(names.KEEP_LABEL) is None:
            return
        # No label does anything there.
        if not own(row):
            yield from misplaced_ttl(row, self._read_label)
            yield from misplaced_keep(row)
            yield from unclear_keep(row)

    def _written(self, row: Row) -> Iterator[Written]:
        label = row.label(names.TTL_LABEL)
        if label is not None:
            yield Written(names.TTL_LABEL, label, self._read_label(label), names.REFRESHED_AT_ANNOTATION)
        for key, (read, refresh_key) in self._annotations.items():
            value = row.annotation(key)
            if value is not None:
                yield Written(key, value, read(value), refresh_key)

    def _due(self, row: Row, written: tuple[Written, ...]) -> tuple[float, Written | None] | None:
        """The latest of all times written on it; a lifetime that is not understood, or endless, means never."""
        latest: tuple[float, Written | None] | None = None
        for lifetime in written:
            if not isinstance(lifetime.reading, After | At):
                return None
            # After a refresh in the year 9999 it would lie beyond what any clock can write.
            due = float(min(due_time(lifetime.reading, since=_since(row, lifetime)), LAST_SECOND))
            if latest is None or due > latest[0]:
                latest = (due, lifetime)
        if latest is not None and self._longest is not None and row.created + self._longest < latest[0]:
            return float(row.created + self._longest), None
        return latest

    def _claim(self, row: Row, written: tuple[Written, ...]) -> Claim | None:
        found = self._due(row, written)
        if found is None:
            return None
        due, lifetime = found
        wish = row.annotation(names.PROPAGATION_POLICY_ANNOTATION)
        return Claim(
            mechanism=NAME,
            rule=f"{lifetime.key}={lifetime.value}" if lifetime else "ttl.maximumLifetime",
            due=due,
            reason=self._why(row, lifetime),
            propagation=wish if wish in _PROPAGATIONS else "Background",  # type: ignore[arg-type]
            author=row.labelled_by if lifetime is not None and lifetime.key == names.TTL_LABEL else "",
            # An annotation is easily written anew, as CI does with every use: the delete has to name what was judged.
            on_labels_alone=not row.annotations or all(row.annotation(key) is None for key in self._deciding),
        )

    def _holds(self, row: Row, written: tuple[Written, ...], now: float) -> Iterator[Hold]:
        wish = row.annotation(names.PROPAGATION_POLICY_ANNOTATION)
        if wish and wish not in _PROPAGATIONS:
            yield Hold(reason=reason("bad-propagation", value=wish))
        # Whatever the refresh was meant to say, it can't reach beyond that.
        until = float(row.created + self._longest) if self._longest is not None else None
        if until is not None and until <= now:
            return
        for key in dict.fromkeys(
            found.refresh_key for found in written if isinstance(found.reading, After) and found.refresh_key
        ):
            value = row.annotation(key)
            meant = refreshed_at(value) if value is not None else None
            if isinstance(meant, Problem):
                told = reason("refresh-unclear", key=key, value=value, instead=meant.instead)
                yield Hold(reason=told, until=until)

    def _why(self, row: Row, lifetime: Written | None) -> Reason:
        if lifetime is None:
            return reason("lifetime-over", limit=self._longest_text)
        if isinstance(lifetime.reading, At):
            return reason("ttl-date", key=lifetime.key, value=lifetime.value)
        return _expired(lifetime.key, lifetime.value, _since(row, lifetime))


@lru_cache(4096)
def _expired(key: str, value: str, since: int) -> Reason:
    """Objects come in masses, and those of one moment share their reason."""
    return reason("ttl-expired", key=key, value=value, since=whole_seconds(since))


def _since(row: Row, lifetime: Written) -> int:
    """Creation, or the refresh where one is written, understood and later. One that is not understood holds.

    Nothing goes sooner for a refresh: a copied or restored manifest brings the one of another life along, and whoever may
    annotate an object need not be allowed to delete it. A refresh that lay in the future counts from when it was
    written: a due time that moved with the clock would never come. Where the server does not tell when that was, the
    refresh itself is as good: it goes no sooner.
    """
    text = row.annotation(lifetime.refresh_key) if lifetime.refresh_key else None
    moment = refreshed_at(text) if text is not None else None
    if moment is None or isinstance(moment, Problem):
        return row.created
    return max(row.created, min(moment, row.refresh_written) if row.refresh_written else moment)


def _remarks(row: Row, written: tuple[Written, ...], now: float) -> Iterator[Reason]:
    for lifetime in written:
        key, value, reading = lifetime.key, lifetime.value, lifetime.reading
        if isinstance(reading, Problem):
            instead = _instead(row, lifetime, reading, now)
            yield reason("ttl-invalid", key=key, value=value, what=reading.what, instead=instead)
        elif not isinstance(reading, Never):
            for warning in reading.warnings:
                yield reason("ttl-short", key=key, value=value, what=warning.text)
    refreshing = (lifetime.refresh_key for lifetime in written if lifetime.refresh_key)
    for key in dict.fromkeys(refreshing) if row.annotations else ():
        # A date is not moved by a refresh, however it is written.
        dated = all(isinstance(found.reading, At) for found in written if found.refresh_key == key)
        yield from _of_refresh(row, key, now, counts=not dated)
    again = will_return(row)
    if again is not None:
        yield again


def _instead(row: Row, lifetime: Written, problem: Problem, now: float) -> str:
    """Whoever follows the advice should know beforehand that the object then goes at once."""
    meant = (
        parse_ttl(problem.suggestion) if problem.suggestion and lifetime.key == names.TTL_LABEL else problem
    )
    over = isinstance(meant, After | At) and due_time(meant, since=_since(row, lifetime)) <= now
    return f"{problem.instead} (that time is over: the object then goes at once)" if over else problem.instead


def _of_refresh(row: Row, key: str, now: float, *, counts: bool) -> Iterator[Reason]:
    refreshed = row.annotation(key)
    if refreshed is None:
        return
    moment = refreshed_at(refreshed)
    if isinstance(moment, Problem):
        if counts:
            yield reason("refreshed-invalid", key=key, value=refreshed, instead=moment.instead)
    elif moment > now:
        code = "refreshed-ahead" if row.refresh_written else "refreshed-ahead-unwritten"
        yield reason(code, key=key, value=refreshed)
    elif moment < row.created - _REFRESHED_WITH_IT_SECONDS:
        yield reason("refreshed-before", key=key, value=refreshed)


def will_return(row: Row) -> Reason | None:
    """Whether somebody will only make it anew."""
    controller = next((owner for owner in row.owners if owner.controller), None)
    if controller is None:
        return None
    return reason("will-return", controller=f"{controller.kind} {controller.name}")


def _compat_annotations(settings: Settings) -> dict[str, tuple[Callable[[str], Reading], str]]:
    """Annotation -> how it is read, and the annotation that refreshes it."""
    found: dict[str, tuple[Callable[[str], Reading], str]] = {}
    if settings.compat.janitor:
        found[names.JANITOR_TTL_ANNOTATION] = (janitor_ttl, "")
        found[names.JANITOR_EXPIRES_ANNOTATION] = (janitor_expires, "")
    if settings.compat.ttl_controller:
        refreshed = names.TTL_CONTROLLER_REFRESHED_AT_ANNOTATION
        found[names.TTL_CONTROLLER_TTL_ANNOTATION] = (ttl_controller_ttl, refreshed)
    return found
