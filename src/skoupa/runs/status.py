"""The status of a policy: whether it is understood, when it ran and runs, and how its last run went. Pure.

Cleanup policies have conditions beside each other; deleting policies have them under `conditionStatus`, with Kyverno's `ready`
and `message`. Where a cluster has Kyverno's own definitions the server drops what those do not know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from skoupa.kinds.conditions import READY, Condition, updated
from skoupa.kinds.policies.status import ConditionStatus, DeletingPolicyStatus, LastRun, PolicyStatus
from skoupa.kube.events import Regarding
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import Reason, render
from skoupa.policy.problems import Problem
from skoupa.runs.book import Entry
from skoupa.runs.run import Findings
from skoupa.sweep.reporting import PolicyRun

LAST_RUN_SUCCEEDED: Final = "LastRunSucceeded"
_MOST_SAID: Final = 3
_LONGEST: Final = 4000


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """What is to come: `next_run` None where it does not run; `spaced` says that some ticks are left out.

    `runs_since` is for a run that is under way; `next_run` is the one after it then. `doubt` is why what is known of policies may be old, so that it waits.
    """

    doubt: str = ""
    runs_since: float | None = None
    next_run: float | None = None
    spaced: str = ""
    observed_until: float | None = None


class Went(msgspec.Struct, frozen=True, kw_only=True):
    """How a run went so far; `error` where it could not be evaluated at all, `broken` where no run can be.

    `at` is when it was read, `began` when it was first read for its tick.
    `held_for` is what holds how many of the objects that it chose, the most frequent first. `left` of them were asked about again
    and are not meant any more; `reported` would have gone if it did not only report; `others` are on their way out or gone without
    this run. `cause` is what most deletes that fail are
    told. `stopped` says how many stay because the policy of that `generation` is not what it was, and `rest_of` which run it was
    that this is only what was left of. `thrown_away`: it did not take place in the end, so numbers and times of the last that did stay.
    """

    at: float
    began: float | None = None
    findings: Findings | None = None
    error: str = ""
    broken: bool = False
    counts: LastRun = LastRun()
    held_for: tuple[tuple[Reason, int], ...] = ()
    left: int = 0
    reported: int = 0
    others: int = 0
    cause: str = ""
    stopped: str = ""
    generation: int | None = None
    rest_of: float | None = None
    thrown_away: bool = False


def status_of(entry: Entry, *, outlook: Outlook, went: Went | None, now: float) -> dict[str, Any]:
    """The whole status as a patch; what it says of an earlier run stays where there was none since."""
    before = conditions_in(entry.status)
    moment = datetime.fromtimestamp(int(now), UTC)
    broken = went.error if went is not None and went.broken else ""
    ready = _ready(entry, outlook, moment, broken=broken)
    conditions = updated(before, ready)
    if went is not None:
        conditions = updated(conditions, _succeeded(entry, went, moment))
    ran = went if went is not None and not went.thrown_away else None
    status: PolicyStatus | DeletingPolicyStatus = PolicyStatus(
        conditions=conditions,
        last_execution_time=_ran_at(entry, ran) if ran is not None else None,
        next_execution_time=_moment(outlook.next_run),
        observed_generation=entry.generation,
        last_run=ran.counts if ran is not None else None,
    )
    if "Deleting" in entry.kind.kind:
        said = ConditionStatus(ready=ready.status == "True", message=ready.message, conditions=conditions)
        status = DeletingPolicyStatus(
            condition_status=said,
            last_execution_time=status.last_execution_time,
            next_execution_time=status.next_execution_time,
            observed_generation=status.observed_generation,
            last_run=status.last_run,
        )
    patch: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(status))
    # A merge patch takes a field away only by name.
    patch.setdefault("nextExecutionTime", None)
    if ran is not None:
        patch["lastRun"] = msgspec.structs.asdict(ran.counts)
    return patch


def regarding(entry: Entry) -> Regarding:
    return Regarding(
        api_version=entry.kind.api_version,
        kind=entry.kind.kind,
        name=entry.name,
        namespace=entry.namespace,
        uid=entry.uid,
    )


def told(entry: Entry, went: Went) -> PolicyRun:
    """The same for log, Event and metric."""
    said = _said(went)
    trouble = went.error if went.findings is None else "; ".join(words for _, words in said)
    return PolicyRun(
        policy=regarding(entry),
        called=entry.called,
        matched=went.counts.matched,
        deleted=went.counts.deleted,
        held=went.counts.held,
        failed=went.counts.failed,
        trouble=trouble[:_LONGEST],
        stays="; ".join(filter(None, (_stays(went), went.stopped, _left(went), _others(went))))[:_LONGEST],
    )


def _ready(entry: Entry, outlook: Outlook, moment: datetime, *, broken: str) -> Condition:
    policy = entry.policy
    if policy is None or broken:
        why = broken or in_words(entry.reading.problems)
        return _condition(entry, READY, "NotUnderstood", why, moment, so=False)
    if policy.options.suspended:
        return _condition(entry, READY, "Suspended", "it does not run: it is suspended", moment, so=False)
    if outlook.doubt:
        why = f"it waits, for what is known of policies may be old: {outlook.doubt}"
        return _condition(entry, READY, "Waiting", why, moment, so=False)
    if outlook.next_run is None and outlook.runs_since is None:
        return _condition(entry, READY, "NeverRuns", "its schedule has no time to come", moment, so=False)
    words = []
    if outlook.runs_since is not None:
        words.append(f"it runs since {whole_seconds(outlook.runs_since)}")
    if outlook.next_run is not None:
        words.append(f"it runs next at {whole_seconds(outlook.next_run)}")
    if outlook.observed_until is not None:
        words.append(f"it only reports until {whole_seconds(outlook.observed_until)}")
    if outlook.spaced:
        words.append(outlook.spaced)
    if entry.reading.warnings:
        words.append(in_words(entry.reading.warnings))
    reason = (
        "Spaced"
        if outlook.spaced
        else "Observing"
        if outlook.observed_until is not None
        else "Running"
        if outlook.runs_since is not None
        else "Scheduled"
    )
    return _condition(entry, READY, reason, "; ".join(words), moment, so=True)


def _succeeded(entry: Entry, went: Went, moment: datetime) -> Condition:
    if went.error or went.findings is None:
        return _condition(entry, LAST_RUN_SUCCEEDED, "NotEvaluated", went.error, moment, so=False)
    counts, said, stays = went.counts, _said(went), _stays(went)
    missing = _some(
        f"{one.what}: {one.instead}" if one.instead else one.what for one in went.findings.missing
    )
    tally = f"matched {counts.matched}, deleted {counts.deleted}, held {counts.held}, failed {counts.failed}"
    if went.rest_of is not None:
        tally = f"what was left of the run of {whole_seconds(went.rest_of)}: {tally}"
    why = (
        *(words for _, words in said),
        _reported(went),
        stays,
        went.stopped,
        _left(went),
        _others(went),
        missing,
    )
    message = "; ".join(filter(None, (tally, *why)))
    reason = said[0][0] if said else "Stopped" if went.stopped else "KindsMissing" if missing else "Succeeded"
    if reason == "Succeeded" and not counts.deleted:
        reason = "OnlyReported" if went.reported else "Held" if stays else "Succeeded"
    condition = _condition(entry, LAST_RUN_SUCCEEDED, reason, message, moment, so=not said)
    if went.generation is not None:
        condition = msgspec.structs.replace(condition, observed_generation=went.generation)
    return condition


def _said(went: Went) -> list[tuple[str, str]]:
    """What went wrong, each as a reason and in words."""
    found, said = went.findings or Findings(), list[tuple[str, str]]()
    if found.gaps:
        names = _some(str(gap) for gap in found.gaps)
        said.append(("NotAllRead", f"what is in these lists stays, for they could not be read: {names}"))
    if found.troubles:
        said.append(("NotEvaluated", _some(found.troubles)))
    if found.unclear:
        first = found.unclear[0]
        place = "/".join(filter(None, (first.metadata.namespace, first.metadata.name)))
        stay = (
            "1 object stays, for it"
            if len(found.unclear) == 1
            else f"{len(found.unclear)} objects stay, for they"
        )
        said.append(("NotAllJudged", f"{stay} could not be judged; {place}: {first.why}"))
    failed = went.counts.failed - len(found.unclear)
    if failed > 0:
        many = (
            "1 object could not be deleted so far; it is"
            if failed == 1
            else f"{failed} objects could not be deleted so far; they are"
        )
        words = f"{many} tried again: {went.cause}" if went.cause else f"{many} tried again"
        said.append(("NotAllDeleted", words))
    return said


def _stays(went: Went) -> str:
    """Why something that matched stays: what the policy itself spares, and what holds what it chose."""
    spared = went.findings.spared if went.findings is not None else ()
    why = Counter(render(one.why) for one in spared if one.why is not None)
    for held, number in went.held_for:
        why[render(held)] += number
    return _some(f"{number} held: {words}" for words, number in why.most_common())


def _reported(went: Went) -> str:
    return f"only reported: would delete {went.reported}" if went.reported else ""


def _left(went: Went) -> str:
    if not went.left:
        return ""
    return f"asked again: {went.left} {'does' if went.left == 1 else 'do'} not match any more"


def _others(went: Went) -> str:
    if not went.others:
        return ""
    return f"{went.others} {'is' if went.others == 1 else 'are'} being deleted already, or went by something else"


def _condition(
    entry: Entry, kind: str, reason: str, message: str, moment: datetime, *, so: bool
) -> Condition:
    return Condition(
        type=kind,
        status="True" if so else "False",
        reason=reason,
        message=message[:_LONGEST],
        last_transition_time=moment,
        observed_generation=entry.generation,
    )


def in_words(problems: Iterable[Problem]) -> str:
    return "; ".join(f"{one.path}: {one.what}: {one.instead}" for one in problems)


def _some(texts: Iterable[str]) -> str:
    known = list(texts)
    more = f", and {len(known) - _MOST_SAID} more" if len(known) > _MOST_SAID else ""
    return "; ".join(known[:_MOST_SAID]) + more


def _moment(at: float | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(int(at), UTC)


def _ran_at(entry: Entry, went: Went) -> datetime | None:
    """Once for a tick, however often it is read. What was left of a run is no run: that of the whole one stays where it stands."""
    if went.rest_of is None:
        return _moment(went.at if went.began is None else went.began)
    return None if entry.status.get("lastExecutionTime") else _moment(went.rest_of)


def conditions_in(status: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Those that stand there, whoever wrote them, as far as they can be read."""
    inner = status.get("conditionStatus")
    found = inner.get("conditions") if isinstance(inner, Mapping) else status.get("conditions")
    known = []
    for one in found if isinstance(found, list) else ():
        try:
            known.append(msgspec.convert(one, Condition))
        except msgspec.ValidationError:
            continue
    return tuple(known)
