"""One labelled object as Kyverno's cleanup controller reads it, beside our verdict on it: what differs, and why.

Pure. Kyverno counts from creation, knows one label, and holds nothing; its reading is that of release 1.19. What passes by itself
(a Brake, a label that was just written) is no difference between the two, and neither is what is being deleted already.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from skoupa import names
from skoupa.expr.durations import render_duration
from skoupa.expr.golang import Overflow, kyverno_reading
from skoupa.expr.instants import render_label_time
from skoupa.expr.readings import After, At, Problem, due_time, quoted
from skoupa.expr.ttl import kyverno_ttl, parse_ttl
from skoupa.facts.rows import Row
from skoupa.judge.protection import own
from skoupa.kube.resources import Resource
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.differences import Difference, difference
from skoupa.model.reasons import render
from skoupa.model.verdicts import Verdict

# Kyverno deletes within a second or so, and looks for new kinds once a minute.
GIVEN_UP_SECONDS: Final = 180
# Where the server leaves dependents behind unless it is told otherwise (facts: registry strategies up to 1.35).
ORPHANING: Final = frozenset({("", "ReplicationController"), ("batch", "Job")})
# Holds that say nothing of how the two read an object.
PASSING: Final = frozenset(
    {
        "being-weighed",
        "brake",
        "brakes-unknown",
        "clock-skew",
        "feed-behind",
        "first-start-backlog",
        "just-labelled",
        "perhaps-retroactive",
        "retroactive-label",
        "terminating",
    }
)


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """What Kyverno's reading hangs on: whether it lives, and the verbs on that kind that its account lacks.

    `our_rights`: holds for want of a permission are those of the controller, not of whoever asks.
    """

    lives: bool = False
    lacks: tuple[str, ...] = ()
    our_rights: bool = False


class KyvernoReading(msgspec.Struct, frozen=True, kw_only=True):
    """When Kyverno would delete it, None for never, and in words."""

    due: float | None
    words: str


def kyverno_view(row: Row, beside: Beside) -> KyvernoReading:
    value = row.label(names.TTL_LABEL)
    if value is not None and beside.lacks:
        return KyvernoReading(due=None, words=f"not looked at: its account may not {_verbs(beside)} them")
    if value is None:
        return KyvernoReading(due=None, words="no label of Kyverno's")
    reading = kyverno_reading(value)
    if reading is None:
        return KyvernoReading(due=None, words="not understood, so it stays")
    if isinstance(reading, Overflow):
        return KyvernoReading(due=None, words="counted wrong, perhaps as over")
    return KyvernoReading(due=float(due_time(reading, since=row.created)), words=_plainly(reading))


def our_words(row: Row, verdict: Verdict) -> str:
    if verdict.claims:
        return render(verdict.claims[0].reason)
    problem = next((note for note in verdict.notes if note.code in {"ttl-invalid", "ttl-on-own"}), None)
    return (
        "not understood, so it stays" if problem and problem.code == "ttl-invalid" else f"stays: {own(row)}"
    )


def differences(
    row: Row, verdict: Verdict, *, now: float, compat: bool, beside: Beside
) -> Iterator[Difference]:
    """`compat` is the setting compat.kyvernoTtl, with which the verdict was made."""
    value = row.label(names.TTL_LABEL)
    if row.deleted_at:
        return
    if value is None:
        yield from _of_other_tools(verdict)
        return
    if beside.lacks:
        if verdict.goes is not None:
            yield difference("kyverno-may-not", kind=row.resource.qualified, verbs=_verbs(beside))
        return
    view = kyverno_view(row, beside)
    wrong = isinstance(kyverno_reading(value), Overflow)
    if view.due is None and not wrong:
        return
    what = own(row)
    reading = (kyverno_ttl if compat else parse_ttl)(value)
    if what:
        yield difference("own", what=what)
    elif isinstance(reading, Problem):
        yield _refused(value, view, reading, wrong=wrong)
    else:
        yield from _of_time(row, verdict, view.due)
        yield from _of_holds(verdict, beside)
        yield from _of_propagation(row)
        if beside.lives and verdict.goes is not None:
            yield from _of_giving_up(row, view.due, now)


def _refused(value: str, view: KyvernoReading, problem: Problem, *, wrong: bool) -> Difference:
    if wrong:
        return difference("too-long", value=quoted(value), instead=problem.instead)
    if view.due == 0:
        return difference("before-1970", value=quoted(value), instead=problem.instead)
    return difference("odd-value", value=quoted(value), reading=view.words, instead=problem.instead)


def _of_other_tools(verdict: Verdict) -> Iterator[Difference]:
    if verdict.claims:
        key, _, value = verdict.claims[0].rule.partition("=")
        yield difference("other-tool", key=key, value=value)


def _of_time(row: Row, verdict: Verdict, due: float | None) -> Iterator[Difference]:
    if not verdict.claims or verdict.due == due:
        # Without a claim another time that is written on it is not understood: that is told of it by `plan`.
        return
    claim = verdict.claims[0]
    key, _, _ = claim.rule.partition("=")
    refreshed = row.annotation(names.REFRESHED_AT_ANNOTATION)
    if claim.reason.code == "lifetime-over":
        yield difference("longest-life", why=render(claim.reason))
    elif key == names.TTL_LABEL and refreshed is not None:
        yield difference("refreshed", key=names.REFRESHED_AT_ANNOTATION, value=refreshed)
    else:
        yield difference("other-times", rule=claim.rule)


def _of_holds(verdict: Verdict, beside: Beside) -> Iterator[Difference]:
    others: list[str] = []
    for hold in verdict.holds:
        code, facts = hold.reason.code, dict(hold.reason.facts)
        if code == "protected-namespace":
            yield difference("protected-namespace", namespace=facts["namespace"])
        elif code == "bad-propagation":
            yield difference("bad-propagation", value=quoted(facts["value"]))
        elif code not in PASSING and (code != "no-permission" or beside.our_rights):
            others.append(render(hold.reason))
    if others:
        yield difference("held", why="; ".join(others))


def _of_propagation(row: Row) -> Iterator[Difference]:
    if orphaning(row.resource) and not row.annotation(names.PROPAGATION_POLICY_ANNOTATION):
        yield difference("propagation", kind=row.resource.kind)


def _of_giving_up(row: Row, due: float | None, now: float) -> Iterator[Difference]:
    if due is not None:
        # A label that was written after its time was over only then became due.
        since = max(due, float(row.created), float(max(row.labelled_at, 0)))
        if since + GIVEN_UP_SECONDS < now:
            yield difference("given-up", since=whole_seconds(since))


def _verbs(beside: Beside) -> str:
    return " and ".join(beside.lacks)


def orphaning(resource: Resource) -> bool:
    return (resource.group, resource.kind) in ORPHANING


def _plainly(reading: After | At) -> str:
    if isinstance(reading, After):
        return f"{render_duration(reading.seconds)} after its creation"
    return render_label_time(reading.epoch_seconds) if reading.epoch_seconds else "a time before 1970"
