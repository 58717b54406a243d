"""The status of Alive, from how far its deletion is.

Heartbeats come every few seconds and change nothing: one is written anew only when the one that stands there is old, so that a
thousand participants do not make the object change all the time.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from skoupa.alive.course import Course
from skoupa.alive.reading import Alive
from skoupa.controller.living.protection import PROTECTED, Protection
from skoupa.kinds.alive_status import AliveStatus, Forced, Participant
from skoupa.kinds.conditions import Condition, updated

ALIVE: Final = "Alive"
PROGRESSING: Final = "CleanupProgressing"
DESTROYED: Final = "ExternalResourcesDestroyed"
_IDLE_SECONDS: Final = 60.0
_GOING_SECONDS: Final = 10.0
_LONGEST: Final = 4000
_SHORT_MESSAGE: Final = 300
# A merge patch leaves what it does not name.
_ABSENT: Final[dict[str, Any]] = dict.fromkeys(
    ("phase", "deadline", "waiting", "remaining", "lastProgress", "participants", "forced")
)


def status_of(
    alive: Alive, at: Course, *, protection: Protection, forced: tuple[Forced, ...], now: float
) -> AliveStatus:
    before = {one.finalizer: one for one in alive.status.participants}
    patience = _IDLE_SECONDS if alive.since is None else _GOING_SECONDS
    participants = tuple(_calm(before.get(one.finalizer), one, patience) for one in at.participants)
    conditions = alive.status.conditions
    for condition in _conditions(alive, at, protection=protection, now=now):
        conditions = updated(conditions, condition)
    going = alive.since is not None
    return AliveStatus(
        phase=at.phase,
        deadline=_time(at.deadline),
        waiting=at.waiting,
        remaining=at.remaining,
        last_progress=_time(at.last_progress) if going and not at.drained else None,
        participants=participants,
        forced=forced,
        observed_generation=alive.generation,
        conditions=conditions,
    )


def abridged(status: AliveStatus) -> AliveStatus:
    """For an Alive that is full: without what each participant says, which is on its Lease, and with short conditions."""
    short = tuple(
        msgspec.structs.replace(one, message=one.message[:_SHORT_MESSAGE]) for one in status.conditions
    )
    return msgspec.structs.replace(status, participants=(), conditions=short)


def as_patch(status: AliveStatus) -> dict[str, Any]:
    return {**_ABSENT, **msgspec.json.decode(msgspec.json.encode(status))}


def _calm(before: Participant | None, one: Participant, patience: float) -> Participant:
    if before is None or before.last_heartbeat is None or one.last_heartbeat is None:
        return one
    age = one.last_heartbeat.timestamp() - before.last_heartbeat.timestamp()
    return msgspec.structs.replace(one, last_heartbeat=before.last_heartbeat) if 0 <= age < patience else one


def _conditions(alive: Alive, at: Course, *, protection: Protection, now: float) -> tuple[Condition, ...]:
    since = _time(now) or datetime.now(UTC)

    def condition(kind: str, status: Any, reason: str, message: str) -> Condition:
        return Condition(
            type=kind,
            status=status,
            reason=reason,
            message=message[:_LONGEST],
            last_transition_time=since,
            observed_generation=alive.generation,
        )

    left = [one for one in at.participants if one.state not in {"Ready", "Done"}]
    who = "; ".join(said(one) for one in left)
    yield_ = [condition(PROTECTED, protection.status, protection.reason, protection.message)]
    if alive.problems:
        told = f"what is not understood counts as the most careful: {'; '.join(alive.problems)}"
        yield_.append(condition("Ready", "False", "NotUnderstood", told))
    else:
        yield_.append(condition("Ready", "True", "Understood", "it is understood and counts"))
    if alive.since is None:
        return (*yield_, condition(ALIVE, "True", "Living", "nobody asked for the deletion of this cluster"))
    yield_.append(condition(ALIVE, "False", "DeletionAskedFor", "the deletion of this cluster was asked for"))
    if at.drained:
        destroyed = condition(DESTROYED, "True", "Done", "nobody has anything left")
        kept = "; ".join(
            f"{one.finalizer}: {', '.join(one.preserved)}" for one in at.participants if one.preserved
        )
        if kept:
            destroyed = condition(
                DESTROYED,
                "False",
                "Preserved",
                f"all that is left is what was to outlive the cluster: {kept}",
            )
        if alive.status.forced:
            told = "finalizers were forced: what their participants had left may still be there"
            destroyed = condition(DESTROYED, "False", "Skipped", told)
        progressing = condition(PROGRESSING, "False", "Drained", "nobody is waited for any more")
        return (*yield_, progressing, destroyed)
    if at.timed_out is not None:
        stalled = condition(PROGRESSING, "False", "TimedOut", f"{at.why}; {who}")
        return (*yield_, stalled, condition(DESTROYED, "False", "TimedOut", who))
    failed = any(one.state == "Failed" for one in left)
    working = condition(PROGRESSING, "True", "Working", who)
    return (*yield_, working, condition(DESTROYED, "False", "Error" if failed else "Remaining", who))


def said(one: Participant) -> str:
    """One participant in words."""
    count = "an unknown number" if one.remaining is None else str(one.remaining)
    message = f": {one.message}" if one.message else ""
    return f"{one.finalizer} is {one.state}, {count} left{message}"


def _time(at: float | None) -> datetime | None:
    return datetime.fromtimestamp(int(at), UTC) if at is not None else None
