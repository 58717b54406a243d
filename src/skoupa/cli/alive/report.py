"""What `skoupa alive` says: the same facts as lines for people, and as one document for programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.alive.course import Course
from skoupa.alive.reading import Alive
from skoupa.cli import exits
from skoupa.cli.terminal.alive_shapes import PreservedObject
from skoupa.cli.terminal.shape import Shape
from skoupa.cli.terminal.times import distance
from skoupa.errors import UsageError
from skoupa.kinds.alive import Preserved
from skoupa.kinds.alive_status import Forced, Participant
from skoupa.kube.timestamps import whole_seconds

EXITS: Final = {
    "alive": exits.DONE,
    "absent": exits.DONE,
    "confirmed": exits.DONE,
    "signalled": exits.DONE,
    "drained": exits.DONE,
    "replaced": exits.DONE,
    "preserved": exits.DONE,
    "terminating": exits.DONE,
    "forced": exits.LEFTOVERS,
    "proceeded": exits.LEFTOVERS,
    "proceeded-unreachable": exits.LEFTOVERS,
    "not-asked-for": UsageError.exit_code,
    "timed-out": exits.TIMED_OUT,
    "refused": exits.REFUSED,
    "unreachable": exits.DENIED,
    "denied": exits.DENIED,
    "failed": exits.FAILED,
    "interrupted": exits.INTERRUPTED,
}


EVERYTHING_STAYS: Final = "nobody is told, and what participants own elsewhere outlives the cluster"


class AliveReport(Shape, frozen=True, kw_only=True):
    """`outcome` is one of the words in docs/alive.md, and decides the exit code."""

    api_version: str = "skoupa.dev/v1alpha1"
    kind: str = "AliveReport"
    outcome: str
    exit_code: int
    now: str
    why: str = ""
    uid: str | None = None
    phase: str | None = None
    since: str | None = None
    deadline: str | None = None
    confirmed: bool = False
    waiting: int | None = None
    remaining: int | None = None
    deletion_policy: str | None = None
    on_timeout: str | None = None
    participants: tuple[Participant, ...] = ()
    forced: tuple[Forced, ...] = ()
    preserve: tuple[Preserved, ...] = ()
    preserved: tuple[PreservedObject, ...] = ()
    protected: str | None = None
    warnings: tuple[str, ...] = ()


def report(
    outcome: str,
    *,
    now: float,
    alive: Alive | None = None,
    at: Course | None = None,
    why: str = "",
    warnings: tuple[str, ...] = (),
) -> AliveReport:
    found = AliveReport(
        outcome=outcome, exit_code=EXITS[outcome], now=whole_seconds(now), why=why, warnings=warnings
    )
    if alive is None:
        return found
    guard = next((one for one in alive.status.conditions if one.type == "Protected"), None)
    found = msgspec.structs.replace(
        found,
        uid=alive.uid,
        since=_time(alive.since),
        confirmed=alive.confirmed,
        deletion_policy=alive.spec.deletion_policy,
        on_timeout=alive.spec.on_timeout,
        forced=alive.status.forced,
        preserve=alive.spec.preserve,
        protected=f"{guard.status}: {guard.message}" if guard is not None else None,
        warnings=(*warnings, *alive.problems),
    )
    if at is None:
        return found
    return msgspec.structs.replace(
        found,
        phase=at.phase,
        deadline=_time(at.deadline),
        waiting=at.waiting,
        remaining=at.remaining,
        participants=at.participants,
    )


def lines(told: AliveReport) -> Iterator[str]:
    now = datetime.fromisoformat(told.now).timestamp()
    yield _headline(told)
    yield from _remarks(told)
    for one in told.participants:
        left = "" if one.remaining is None else f", {one.remaining} left"
        seen = ", no sign of life"
        if one.last_heartbeat is not None:
            seen = f", last sign of life {distance(one.last_heartbeat.timestamp(), now)}"
        said = f": {one.message}" if one.message else ""
        yield f"  {one.finalizer} {one.state}{left}{seen}{said}"
        for left_alone in one.preserved:
            yield f"    preserves {left_alone}"
    for forced in told.forced:
        left = "an unknown number" if forced.remaining is None else str(forced.remaining)
        yield f"  {forced.finalizer} was forced at {_time_of(forced.at)} ({forced.state}, {left} left)"
    for number, kept_by in enumerate(told.preserve):
        yield f"  spec.preserve[{number}]: {_words(kept_by)}"
    for kept in told.preserved:
        doubt = f" ({kept.doubt})" if kept.doubt else ""
        yield f"  what {kept.object} stands for stays: {kept.why}{doubt}"


def _remarks(told: AliveReport) -> Iterator[str]:
    if told.outcome == "timed-out":
        yield "start who has something left again, or help it, and wait again; docs/alive.md says what to do about one that is gone for good"
    if told.protected and not told.protected.startswith("True"):
        yield f"not guarded ({told.protected})"
    if told.deletion_policy == "Preserve" and told.outcome == "alive":
        yield f"spec.deletionPolicy is Preserve: {EVERYTHING_STAYS}"
    if told.confirmed and told.outcome == "alive":
        yield (
            "its deletion is confirmed, so who may signal can delete it: take its annotation "
            f"{names.CONFIRM_DELETION_ANNOTATION} off where that is not meant any more"
        )


def _headline(told: AliveReport) -> str:
    words = {
        "alive": "Alive: nobody asked for the deletion of this cluster",
        "absent": "there is no Alive in this cluster: nobody is told, and nobody is waited for",
        "not-asked-for": "nobody has asked for the deletion of this cluster",
        "confirmed": f"the deletion is confirmed for {told.uid}; nothing is told yet: skoupa alive delete",
        "signalled": f"the deletion was asked for; {told.waiting} are waited for",
        "terminating": f"the deletion was asked for at {told.since}; {told.waiting} have something left",
        "drained": "done: nobody has anything left",
        "replaced": "done: that Alive is gone",
        "preserved": f"spec.deletionPolicy of Alive is Preserve: {EVERYTHING_STAYS}",
        "forced": "finished with leftovers",
        "proceeded": "timed out, and goes on with what is left (Proceed)",
        "proceeded-unreachable": "unreachable, and goes on (Proceed)",
        "timed-out": "timed out; everything is left as it is, and it is safe to wait again",
        "refused": "refused",
        "unreachable": "unreachable",
        "denied": "denied",
        "failed": "failed",
        "interrupted": "interrupted",
    }
    why = f": {told.why}" if told.why else ""
    return f"{words[told.outcome]}{why}"


def check_file(path: str) -> None:
    """Before anything is done: whether the report could be written there."""
    place = Path(path)
    if place.is_dir() or not os.access(place if place.exists() else place.parent, os.W_OK):
        raise UsageError(
            f"--report {path} can't be written, so nothing was done",
            advice="name a file in a folder that is there and may be written to",
        )


def write_file(path: str, told: AliveReport) -> str:
    """What kept it from being written; empty: it is there."""
    try:
        Path(path).write_bytes(msgspec.json.format(msgspec.json.encode(told)) + b"\n")
    except OSError as error:
        return f"--report {path} could not be written: {error.strerror}"
    return ""


def _words(one: Preserved) -> str:
    parts: dict[str, Any] = msgspec.to_builtins(one)
    return ", ".join(f"{key}={value}" for key, value in parts.items())


def _time(at: float | None) -> str | None:
    return whole_seconds(at) if at is not None else None


def _time_of(at: Any) -> str:
    return whole_seconds(at.timestamp())
