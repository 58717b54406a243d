"""Objects go a while after they finished, or after nothing uses them (seed 003): the label `skoupa.dev/ttl-after`.

Every mechanism has to agree: a Claim is made once the label's moments have come, and what uses or owns the object, or may do so for
all that is known, holds it. Since when it is not needed is written on the object itself, so that no restart counts anew; without that
mark nothing goes, however long ago it has finished, and one that can't be meant is none. Evidence is gathered by others and only
looked up here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

from skoupa import names
from skoupa.expr.durations import render_duration
from skoupa.expr.instants import parse_rfc3339
from skoupa.expr.readings import Problem
from skoupa.expr.ttl_after import TtlAfter, parse_ttl_after
from skoupa.facts.rows import Row
from skoupa.judge.mechanism import NO_ANSWER, Answer, Interest
from skoupa.judge.misplaced import misplaced_ttl_after
from skoupa.judge.protection import own
from skoupa.judge.ttl_after import Cause, Goes, Standing, Wait, Waits, going
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import Reason, reason
from skoupa.model.verdicts import Claim, Hold
from skoupa.usage import needs
from skoupa.usage.finishing import Doubt, Ends, Finish, shipped
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.worth import FOR_ITSELF
from skoupa.usage.needs import Need, Needed, Unknown, Unneeded, told

NAME: Final = "retention"
# As far as clocks may differ without anybody having written a wrong time.
_AHEAD_SECONDS: Final = 300.0
_MOST_KINDS: Final = 12
_MOST_DOUBTS: Final = 3
UNMARKED: Final = Waits(
    (Wait(Cause.UNMARKED, "it is not marked yet as needed by nobody; its time counts from the mark"),)
)


class Evidence(Protocol):
    """What is known beside the row. Where nothing is known yet the answers say so; they are never guessed."""

    def finish(self, row: Row) -> Finish | Doubt | None:
        """None while it runs."""

    def ends(self, row: Row) -> Ends: ...

    def needs(self, row: Row) -> needs.Answer | None:
        """None: what could need it is still being read."""

    def since(self, row: Row, now: float) -> float | None:
        """Since when it is not needed, as far as somebody wrote that down; None: nobody did."""


class NothingRead:
    """Evidence where nobody gathers any: nothing goes."""

    def finish(self, row: Row) -> Finish | Doubt | None:  # noqa: ARG002 - whatever it is
        return Doubt("nobody has read it")

    def ends(self, row: Row) -> Ends:
        return shipped().ends(kind_name(row.resource))

    def needs(self, row: Row) -> needs.Answer | None:  # noqa: ARG002 - the same
        return None

    def since(self, row: Row, now: float) -> float | None:
        return unneeded_since(row, now)


def unneeded_since(row: Row, now: float) -> float | None:
    """The mark on the object; None where there is none, or none that can be meant."""
    text = row.annotation(names.UNNEEDED_SINCE_ANNOTATION)
    moment = parse_rfc3339(text) if text is not None else None
    if moment is None or isinstance(moment, Problem) or not row.created <= moment <= now + _AHEAD_SECONDS:
        return None
    return float(moment)


def written(row: Row) -> TtlAfter | Problem | None:
    text = row.label(names.TTL_AFTER_LABEL)
    return None if text is None else parse_ttl_after(text)


class RetentionMechanism:
    """`evidence` is handed in by who keeps it true."""

    name = NAME

    def __init__(self, evidence: Evidence | None = None) -> None:
        self.evidence: Evidence = evidence or NothingRead()

    def interests(self) -> Iterator[Interest]:
        yield Interest(
            labels=names.TTL_AFTER_LABEL,
            verbs=("list", "watch", "delete", "patch"),
            annotations=(
                names.UNNEEDED_SINCE_ANNOTATION,
                names.TTL_AFTER_LABEL,
                names.NOTICE_BEFORE_ANNOTATION,
                names.NOTIFY_ANNOTATION,
            ),
        )

    def due(self, row: Row, now: float) -> float | None:
        after = written(row)
        if after is None or isinstance(after, Problem) or own(row):
            return None
        found = self._going(row, after, now)
        return found.at if isinstance(found, Goes) else None

    def answer(self, row: Row, now: float) -> Answer:
        after = written(row)
        misplaced = () if own(row) else tuple(misplaced_ttl_after(row))
        if after is None:
            return Answer(notes=misplaced) if misplaced else NO_ANSWER
        key, value = names.TTL_AFTER_LABEL, row.label(names.TTL_AFTER_LABEL)
        what = own(row)
        if what:
            return Answer(notes=(reason("ttl-on-own", key=key, what=what),))
        if isinstance(after, Problem):
            told_what = reason("ttl-invalid", key=key, value=value, what=after.what, instead=after.instead)
            return Answer(notes=(told_what,))
        short = tuple(reason("ttl-short", key=key, value=value, what=one.text) for one in after.warnings)
        notes = (*misplaced, *short)
        found = self._going(row, after, now)
        if isinstance(found, Waits):
            need = self.evidence.needs(row)
            never = _never(found, need)
            if never is not None:
                what, instead = never
                told_what = reason("ttl-after-never", key=key, value=value, what=what, instead=instead)
                return Answer(notes=(*notes, told_what))
            owned = self._owned(row, after, need, now)
            if owned is not None:
                # Held by the guard, with who owns it.
                return Answer((_claim(row, owned),), notes=(*notes, reason("finished-owned", key=key)))
            return Answer(notes=(*notes, *waiting(found, need, key=key, value=str(value))))
        return Answer((_claim(row, found),), notes=(*notes, *native(found)))

    def _owned(self, row: Row, after: TtlAfter, need: needs.Answer | None, now: float) -> Goes | None:
        """When it would go by what has finished, if none of its owners lived: that surprises people, so they are told."""
        if not isinstance(need, Needed) or not any(one.how == "owner" for one in need.needs):
            return None
        found = going(
            after,
            finish=self.evidence.finish(row),
            ends=self.evidence.ends(row),
            unused=Standing.NEVER,
            owners_gone=Standing.NEVER,
            now=now,
            first_seen_finished=now,
        )
        return found if isinstance(found, Goes) else None

    def _going(self, row: Row, after: TtlAfter, now: float) -> Goes | Waits:
        return marked_going(self.evidence, row, after, now)


def marked_going(
    evidence: Evidence, row: Row, after: TtlAfter, now: float, *, floor: float = 0.0
) -> Goes | Waits:
    """When it goes by its mark. Who needs it now is left to the guard: a Claim that it holds is told with who does.

    No time counts from before `floor`.
    """
    mark = evidence.since(row, now)
    mark = None if mark is None else max(mark, floor)
    found = going(
        after,
        finish=evidence.finish(row),
        ends=evidence.ends(row),
        unused=now if mark is None else min(mark, now),
        owners_gone=Standing.NEVER,
        now=now,
        first_seen_finished=now if mark is None else mark,
        created=float(row.created),
    )
    return UNMARKED if mark is None and isinstance(found, Goes) else found


class NeedGuard:
    """What needs an object holds it against retention, and so does not knowing who does, or since when nobody does."""

    def __init__(self, mechanism: RetentionMechanism) -> None:
        self._mechanism = mechanism

    def holds(self, row: Row, claim: Claim, now: float) -> list[Hold]:
        if claim.mechanism != NAME:
            return []
        evidence = self._mechanism.evidence
        found = evidence.needs(row)
        timeless = claim.reason.code == "over-capacity"
        if isinstance(found, Unneeded) and (timeless or evidence.since(row, now) is not None):
            return []
        if found is None or isinstance(found, Unneeded):
            return [Hold(reason=reason("needs-unread"))]
        return [Hold(reason=one) for one in needed_for(found)]


def needed_for(found: Needed | Unknown) -> Iterator[Reason]:
    """Who needs it, or what nobody could read, as reasons."""
    if isinstance(found, Needed):
        yield from (_need(one) for one in found.needs)
        return
    if found.unread:
        shown = found.unread[:_MOST_KINDS]
        more = len(found.unread) - len(shown)
        kinds = ", ".join(one.what for one in shown) + (f" and {more} more" if more else "")
        yield reason("users-unread", kinds=kinds, why=shown[0].why)
    yield from (reason("users-unclear", why=doubt) for doubt in found.doubts[:_MOST_DOUBTS])


def _need(need: Need) -> Reason:
    if need.by is None:
        return reason("needed-anyway", why=need.why)
    if need.how == "owner":
        return reason("owner-lives", owner=told(need.by))
    return reason("in-use", user=told(need.by), at=need.at)


def waiting(found: Waits, need: needs.Answer | None, *, key: str, value: str) -> Iterator[Reason]:
    """What an object waits for, as is to be told; `key` and `value` are what wishes it to go."""
    for wait in found.waits:
        # That it is not marked says nothing to people: who needs it does.
        if wait.cause is Cause.UNMARKED and isinstance(need, Needed | Unknown):
            yield from needed_for(need)
        elif wait.cause is Cause.UNMARKED and need is None:
            yield reason("needs-unread")
        else:
            yield reason("waits", written="=".join(one for one in (key, value) if one), what=wait.text)


def _never(found: Waits, need: needs.Answer | None) -> tuple[str, str] | None:
    """Why the label lets it go at no time, whatever happens, and what to write: nobody means that."""
    instead = f"give it a time by the label {names.TTL_LABEL}"
    if isinstance(need, Needed) and any(one.why == FOR_ITSELF for one in need.needs):
        return FOR_ITSELF, instead
    if any(wait.cause is Cause.NEVER_FINISHES for wait in found.waits):
        return "objects of its kind do not finish", f"write unused-… alone, or {instead}"
    return None


def native(found: Goes) -> Iterator[Reason]:
    if found.own is not None and not found.own.later:
        yield reason("goes-sooner", path=found.own.path, at=whole_seconds(int(found.own.at)))


def _claim(row: Row, found: Goes) -> Claim:
    key, value = names.TTL_AFTER_LABEL, row.label(names.TTL_AFTER_LABEL)
    if found.own is not None and found.own.later:
        why = reason("after-own-time", key=key, value=value, path=found.own.path)
    else:
        why = reason(
            "after-moment",
            key=key,
            value=value,
            time=render_duration(found.seconds),
            since=whole_seconds(int(found.since)),
            last=found.last,
        )
    return Claim(mechanism=NAME, rule=f"{key}={value}", due=found.at, reason=why)
