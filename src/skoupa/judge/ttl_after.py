"""When an object may go that has a time after a moment: all have to agree, and the clock starts with the last of them.

An object that is to go some time after it finished, or after nothing used it, goes when it has finished, nothing uses it and
none of its owners lives; its time counts from the latest of these moments, never from creation (KEP-14). A time after its creation,
as policies may have one, has to be over as well. Where the kind has a time of its own for what has finished, the later of the two
counts, and the answer says so.

Everything here is arithmetic on values: who knows the moments hands them in, and what is not known is waited for.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from typing import Final

import msgspec

from skoupa.expr.instants import LAST_SECOND
from skoupa.expr.ttl_after import Moment, TtlAfter
from skoupa.usage.finishing import TEACHES, Doubt, Ends, Finish, Outcome


class Standing(Enum):
    """In place of a moment."""

    # Something uses it, or an owner lives.
    STILL = "still"
    # Nobody was ever seen to use it, or it never had an owner: there is no moment to count from, and none is missing.
    NEVER = "never"


# Since when nothing uses it, or none of its owners lives, in seconds since the epoch.
Since = float | Standing


class Cause(Enum):
    """What an object waits for."""

    RUNNING = "running"
    UNCLEAR = "unclear"
    NEVER_FINISHES = "never-finishes"
    OTHER_OUTCOME = "other-outcome"
    FINISH_UNMARKED = "finish-unmarked"
    CAUTION = "caution"
    IN_USE = "in-use"
    UNUSED_UNMARKED = "unused-unmarked"
    UNMARKED = "unmarked"
    OWNED = "owned"
    MARK_AHEAD = "mark-ahead"


class Wait(msgspec.Struct, frozen=True, gc=False):
    """`until` is when it ends by itself, where that is known."""

    cause: Cause
    text: str
    until: float | None = None


class Waits(msgspec.Struct, frozen=True, gc=False):
    """It stays, for all of these; there is at least one."""

    waits: tuple[Wait, ...]


class OwnTime(msgspec.Struct, frozen=True, gc=False):
    """What the kind itself says (`path`): the `later` one counts; an earlier one may be carried out by its own controller."""

    path: str
    at: float
    later: bool


class Goes(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """It may go from `at` on: `seconds` after `since`, which is when it last became free, by `last`.

    `moment` is the one of those written whose time is the longest, None where that is its creation or none is. `own` is the kind's own time, where it has one.
    """

    at: float
    since: float
    last: str
    moment: Moment | None
    seconds: int
    own: OwnTime | None = None


_FINISHED: Final = "finished"
_UNUSED: Final = "unused"
_OWNERS_GONE: Final = "owners gone"
_CREATED: Final = "created"


def going(
    after: TtlAfter,
    *,
    finish: Finish | Doubt | None,
    ends: Ends,
    unused: Since,
    owners_gone: Since,
    now: float,
    first_seen_finished: float | None = None,
    created: float = 0.0,
) -> Goes | Waits:
    """When it may go, or what it waits for. `finish` is None while it runs; `ends` is what is known of its kind.

    An object of a kind that has an end is in use by itself while it runs: that it has finished is waited for by `unused-…` too.
    Of a kind of which nobody knows whether it ends only where the label speaks of its end.
    """
    if isinstance(finish, Finish):
        first_seen = None if first_seen_finished is None else _moment(first_seen_finished)
        finish = finish.seen(first_seen, now=_moment(now))
    must_end = after.on_finish or ends is Ends.BY_RULE
    waits = [
        *(_waits_to_end(after, finish, ends) if must_end else ()),
        *_waits_for_others(after, unused, owners_gone, now),
    ]
    if waits:
        return Waits(tuple(waits))
    known = ((unused, _UNUSED), (owners_gone, _OWNERS_GONE))
    moments = [(float(since), what) for since, what in known if not isinstance(since, Standing)]
    ended = finish if must_end and isinstance(finish, Finish) else None
    if ended is not None and ended.at is not None:
        moments.append((ended.at.timestamp(), _FINISHED))
    since, last = max(moments)
    seconds, moment = max(_times(after, ended), default=(0, None))
    if after.created is not None and created + after.created > since + seconds:
        since, last, seconds, moment = created, _CREATED, after.created, None
    own = _own_time(ended, due=since + seconds)
    due = own.at if own is not None and own.later else since + seconds
    return Goes(
        at=float(min(due, LAST_SECOND)), since=since, last=last, moment=moment, seconds=seconds, own=own
    )


def _waits_to_end(after: TtlAfter, finish: Finish | Doubt | None, ends: Ends) -> Iterator[Wait]:
    if ends is Ends.NEVER:
        yield Wait(
            Cause.NEVER_FINISHES, "objects of this kind do not finish: only unused-… says something of them"
        )
    elif isinstance(finish, Doubt):
        yield Wait(Cause.UNCLEAR, f"whether it has finished can't be told: {finish.why}")
    elif finish is None:
        # One that runs and one whose status nobody understands look alike.
        taught = "" if ends is Ends.BY_RULE else f" as far as its status is understood: {TEACHES}"
        yield Wait(Cause.RUNNING, f"it has not finished{taught}")
    else:
        if after.on_finish and _of_end(after, finish.outcome) is None:
            yield Wait(Cause.OTHER_OUTCOME, _other_outcome(finish.outcome))
        if finish.at is None:
            text = "it has finished, nothing says when, and when it was first seen so is not written down"
            yield Wait(Cause.FINISH_UNMARKED, text)
        yield from (Wait(Cause.CAUTION, why) for why in finish.held_by)


def _waits_for_others(after: TtlAfter, unused: Since, owners_gone: Since, now: float) -> Iterator[Wait]:
    if owners_gone is Standing.STILL:
        yield Wait(Cause.OWNED, "an owner lives")
    if unused is Standing.STILL:
        yield Wait(Cause.IN_USE, "something uses it")
    if unused is Standing.NEVER and after.unused is not None:
        yield Wait(Cause.UNUSED_UNMARKED, "when it was first seen unused is not written down")
    for since, what in ((unused, "unused"), (owners_gone, "without owners")):
        if not isinstance(since, Standing) and since > now:
            yield Wait(Cause.MARK_AHEAD, f"it is {what} since a time that is still to come", since)


def _times(after: TtlAfter, finish: Finish | None) -> Iterator[tuple[int, Moment]]:
    """All that is written counts: with several the longest."""
    of_end = _of_end(after, finish.outcome) if finish is not None else None
    if of_end is not None:
        yield of_end
    if after.unused is not None:
        yield after.unused, Moment.UNUSED


def _of_end(after: TtlAfter, outcome: Outcome) -> tuple[int, Moment] | None:
    """The time of an end that is not known has to hold for every one: it is the longer, and without one there is none."""
    each = (Outcome.SUCCEEDED, Outcome.FAILED) if outcome is Outcome.UNKNOWN else (outcome,)
    found = [time for one in each if (time := _of_outcome(after, Moment(one.value))) is not None]
    return max(found) if len(found) == len(each) else None


def _of_outcome(after: TtlAfter, moment: Moment) -> tuple[int, Moment] | None:
    """What says how it ended beats `finished`."""
    exact: int | None = getattr(after, moment.value)
    if exact is not None:
        return exact, moment
    return (after.finished, Moment.FINISHED) if after.finished is not None else None


def _other_outcome(outcome: Outcome) -> str:
    if outcome is Outcome.UNKNOWN:
        return "it has finished, nothing says how, and only one outcome is named: add finished"
    other = "failed" if outcome is Outcome.SUCCEEDED else "succeeded"
    return f"it {outcome.value}, and a time is only written for what {other}"


def _own_time(finish: Finish | None, *, due: float) -> OwnTime | None:
    if finish is None or finish.at is None or not finish.own_from:
        return None
    until = (
        finish.own_until.timestamp() if finish.own_until else finish.at.timestamp() + (finish.own_ttl or 0)
    )
    return OwnTime(finish.own_from, float(min(until, LAST_SECOND)), until > due)


def _moment(epoch: float) -> datetime:
    return datetime.fromtimestamp(epoch, UTC)
