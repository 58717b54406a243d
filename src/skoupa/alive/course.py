"""How far the deletion of a cluster is: what state each participant is in, whether it timed out, and what is to be forced.

Pure: from Alive, the signs of life and the time by the server's clock to values. Controller and command line ask the same, so what
`skoupa alive status` shows needs no controller. Time counts from the deletion, so it survives every restart; progress is a finalizer
that its participant takes off, fewer things that remain, or another message.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from skoupa.alive.reading import Alive, seconds
from skoupa.alive.signs import Place, Sign, abridged, sign_for
from skoupa.kinds.alive import SHIPPED_TIMEOUT
from skoupa.kinds.alive_status import Forced, Participant, ParticipantState, Phase

# A clock of seconds tells a sign of life up to one too old.
_SLACK_SECONDS: Final = 2.0
# What all of them say goes into one status, and an object has room for so much.
_ALL_THEY_SAY: Final = 64 * 1024


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """`timed_out` is since when, `force_at` from when on finalizers may be forced; None: not, or never."""

    phase: Phase
    participants: tuple[Participant, ...]
    waiting: int
    remaining: int | None
    deadline: float | None
    last_progress: float | None
    timed_out: float | None
    why: str = ""
    force_at: float | None = None

    @property
    def drained(self) -> bool:
        return self.phase == "Drained"


def course(alive: Alive, known: Mapping[Place, Sign] | None, *, now: float) -> Course:
    """`known` is None where the signs of life can't be read: then nobody can tell that there is no progress."""
    signs = known or {}
    participants = _participants(alive, signs, now)
    left = [one for one in participants if one.state not in {"Ready", "Done"}]
    counts = [one.remaining for one in left]
    told = [count for count in counts if count is not None]
    remaining = sum(told) if told else (0 if not left else None)
    if alive.since is None:
        return Course(
            phase="Active",
            participants=participants,
            waiting=0,
            remaining=None,
            deadline=None,
            last_progress=None,
            timed_out=None,
        )
    if not alive.waited_for:
        return Course(
            phase="Drained",
            participants=participants,
            waiting=0,
            remaining=0,
            deadline=None,
            last_progress=now,
            timed_out=None,
        )
    progress = _last_progress(alive, participants)
    deadline, why = _deadline(alive, progress, seen=known is not None)
    timed_out = deadline if now >= deadline else None
    force_at = None
    if timed_out is not None and alive.spec.on_timeout == "ForceFinalizers":
        force_at = timed_out + (seconds(alive.spec.force_after) or 0.0)
    return Course(
        phase=phase_of(timed_out, forced=bool(alive.status.forced)),
        participants=participants,
        waiting=len(left),
        remaining=remaining,
        deadline=deadline,
        last_progress=progress,
        timed_out=timed_out,
        why=why if timed_out is not None else "",
        force_at=force_at,
    )


def phase_of(timed_out: float | None, *, forced: bool) -> Phase:
    """While somebody is waited for. That it is time to force is not yet that it is done: something may hold it, or nobody be there."""
    if forced:
        return "Forced"
    return "TimedOut" if timed_out is not None else "Terminating"


def forcing(alive: Alive, now_at: Course, *, now: float) -> tuple[Forced, ...]:
    """The finalizers that are to be taken off for those who have them, with how far they were; nothing before its time."""
    if now_at.force_at is None or now < now_at.force_at:
        return ()
    known = {one.finalizer: one for one in now_at.participants}
    at = datetime.fromtimestamp(int(now), UTC)
    found = []
    for finalizer in alive.waited_for:
        participant = known.get(finalizer)
        found.append(
            Forced(
                finalizer=finalizer,
                at=at,
                state=participant.state if participant else None,
                remaining=participant.remaining if participant else None,
            )
        )
    return tuple(found)


def _participants(alive: Alive, signs: Mapping[Place, Sign], now: float) -> tuple[Participant, ...]:
    """Those with an entry, and those who only have a finalizer: they are waited for too."""
    entries = alive.entries
    before = {one.finalizer: one for one in alive.status.participants}
    strangers = [one for one in alive.waited_for if one not in entries]
    found = []
    room = _ALL_THEY_SAY // max(1, len(entries) + len(strangers))
    forced = frozenset(one.finalizer for one in alive.status.forced)
    for finalizer in (*entries, *strangers):
        entry = entries.get(finalizer)
        sign = abridged(sign_for(entry, signs), room=room)
        seen = min(sign.seen, now) if sign is not None and sign.seen is not None else None
        one = Participant(
            finalizer=finalizer,
            identity=entry.identity if entry is not None else None,
            state=_state(alive, finalizer, sign, seen=seen, now=now),
            message=(sign.message if sign is not None else "") or None,
            remaining=sign.remaining if sign is not None else None,
            last_heartbeat=_second(seen),
            preserved=sign.preserved if sign is not None else (),
        )
        found.append(
            msgspec.structs.replace(
                one, last_progress=_progress(alive, before.get(finalizer), one, now=now, forced=forced)
            )
        )
    return tuple(found)


def _state(
    alive: Alive, finalizer: str, sign: Sign | None, *, seen: float | None, now: float
) -> ParticipantState:
    if finalizer not in alive.finalizers:
        # Before the deletion an entry without its finalizer is one that nobody would wait for.
        return "Done" if alive.since is not None else "Unknown"
    if sign is None or seen is None:
        return "Unknown"
    if now - seen > sign.lasts + _SLACK_SECONDS:
        return "Silent"
    if sign.failed:
        return "Failed"
    return "Ready" if alive.since is None else "Working"


def _progress(
    alive: Alive, before: Participant | None, one: Participant, *, now: float, forced: Collection[str]
) -> datetime | None:
    """When it got further last, as far as that was seen."""
    if alive.since is None:
        return None
    if before is None:
        return None
    fewer = (
        one.remaining is not None and before.remaining is not None and one.remaining < before.remaining
    ) or (one.remaining is not None and before.remaining is None)
    # What Skoupa takes off is nobody's progress: it would put the time-out off because of which it is taken off.
    further = one.state == "Done" and before.state != "Done" and one.finalizer not in forced
    if fewer or further or (one.message != before.message and one.state != "Failed"):
        return _second(now)
    return before.last_progress


def _last_progress(alive: Alive, participants: tuple[Participant, ...]) -> float:
    assert alive.since is not None, "progress counts from the deletion"
    times = [one.last_progress.timestamp() for one in participants if one.last_progress is not None]
    if alive.status.last_progress is not None:
        times.append(alive.status.last_progress.timestamp())
    return max([alive.since, *times])


def _deadline(alive: Alive, progress: float, *, seen: bool) -> tuple[float, str]:
    assert alive.since is not None, "time counts from the deletion"
    total = seconds(alive.spec.timeout)
    if total is None:
        total = seconds(SHIPPED_TIMEOUT) or 0.0
    deadline, why = alive.since + total, f"more than {alive.spec.timeout} passed since the deletion"
    patience = seconds(alive.spec.progress_timeout)
    if seen and patience is not None and progress + patience < deadline:
        return progress + patience, f"there was no progress for {alive.spec.progress_timeout}"
    return deadline, why


def _second(at: float | None) -> datetime | None:
    return datetime.fromtimestamp(int(at), UTC) if at is not None else None
