"""What a retention policy and a profile mean, in plain words, for people who check one before they apply it.

"Jobs in namespace ci: 1h after they succeeded, 7d after they failed", and a sentence for everything else that it says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa.expr.durations import render_duration
from skoupa.policy.filters import Filter, Filters
from skoupa.policy.narrowing import listed
from skoupa.policy.retention.policies import Limit, Moment, Newest, Retention
from skoupa.policy.retention.profiles import Profile
from skoupa.policy.texts import Texts
from skoupa.usage.paths import written

_EVERYTHING: Final = "everything that has rules of finish or usage"
_GROUPS: Final = {"Owner": "each owner", "Namespace": "each namespace", "Family": "each family of names"}
_MOMENTS: Final[dict[Moment, str]] = {
    "created": "they were created",
    "succeeded": "they succeeded",
    "failed": "they failed",
    "finished": "they finished",
    "unused": "nothing used them any more",
}


def in_words(policy: Retention) -> tuple[str, ...]:
    """The first says what goes when, the others what stays."""
    return tuple(_sentences(policy))


def profile_in_words(profile: Profile) -> tuple[str, ...]:
    """A sentence for each thing that it teaches."""
    return tuple(_taught(profile))


def _taught(profile: Profile) -> Iterator[str]:
    kind = profile.kind
    for verb in ("succeeded", "failed", "finished"):
        if test := getattr(profile, verb):
            yield f"{kind} has {verb} when {test}"
    if profile.ends:
        at = written(profile.finished_at_path) or profile.finished_at
        yield f"when that was is told by {at}" if at else "it counts from when Skoupa first saw it so"
    for verb, pointers, why in (
        ("uses", profile.uses, "which stays while it is there"),
        ("produces", profile.produces, "which would only be made again, so it stays"),
        ("takes along", profile.takes, "which goes with it"),
    ):
        for pointer in pointers:
            where = f" in namespace {pointer.namespace}" if pointer.namespace else ""
            if pointer.namespace_path:
                where = f" in the namespace at {written(pointer.namespace_path)}"
            yield f"{kind} {verb} the {pointer.kind} named at {written(pointer.path)}{where}, {why}"


def _sentences(policy: Retention) -> Iterator[str]:
    subject = _subject(policy)
    if policy.after:
        yield f"{subject}: {_times(policy)}"
    elif policy.newest is not None:
        yield f"{subject}: as soon as nothing needs them"
    else:
        yield f"{subject}: only when there are too many"
    if policy.newest is not None:
        yield _newest(policy.newest)
    if policy.limit is not None:
        yield _limit(policy.limit)
    if policy.of_events:
        yield "Events go by their age alone, counted from when they last happened"
    if not _is_of_events_alone(policy):
        yield "what is in use stays" + (
            ", and so does what a living owner has"
            if policy.owners_hold
            else "; a living owner does not hold"
        )
    if policy.suspended:
        yield "it is suspended: nothing goes by it"


def _is_of_events_alone(policy: Retention) -> bool:
    match = policy.subject.match if policy.of_events and policy.subject is not None else None
    return isinstance(match, Filters) and all(
        _plural(kind.text) == "Events" for one in match.filters for kind in one.kinds
    )


def _subject(policy: Retention) -> str:
    if policy.subject is None:
        return f"{_EVERYTHING}{_place(policy.namespace)}"
    match = policy.subject.match
    assert isinstance(match, Filters), "retention policies have filters"
    parts = [_filter(one, policy.namespace) for one in match.filters if not one.empty]
    if match.mode == "all" and len(parts) > 1:
        found = f"what is all of this: {'; '.join(parts)}"
    else:
        found = " and ".join(parts) or "nothing"
    return f"{found}, without what is excluded" if policy.subject.exclude is not None else found


def _filter(one: Filter, namespace: str) -> str:
    kinds = listed(_plural(pattern.text) for pattern in one.kinds) if one.kinds else _EVERYTHING
    named = f" named {_any_of(one.names)}" if one.names is not None else ""
    where = _place(namespace)
    if one.namespaces is not None:
        where = f" in namespaces named {_any_of(one.namespaces)}"
    if one.namespace_labels is not None and not one.namespace_labels.empty:
        where += " whose labels fit namespaceSelector"
    also = [
        word
        for word, is_asked in (("labels", one.labels is not None), ("annotations", bool(one.annotations)))
        if is_asked
    ]
    return f"{kinds}{named}{where}" + (f" with the {' and '.join(also)} of match" if also else "")


def _place(namespace: str) -> str:
    return f" in namespace {namespace}" if namespace else " in all namespaces"


def _plural(text: str) -> str:
    """The kind as it is written, without its group; a wildcard as it is."""
    kind = text.rpartition("/")[2].rpartition(".")[2]
    if not kind.isalnum():
        return f"kinds like {text}"
    if kind.endswith("y") and kind[-2:-1] not in "aeiou":
        return f"{kind[:-1]}ies"
    if kind.endswith(("ss", "x", "ch")):
        return f"{kind}es"
    return kind if kind.endswith("s") else f"{kind}s"


def _any_of(texts: Texts) -> str:
    return " or ".join((*sorted(texts.plain), *texts.wild))


def _times(policy: Retention) -> str:
    after = policy.after
    outcome = [moment for moment in ("succeeded", "failed") if moment in after]
    found = []
    for moment, words in _MOMENTS.items():
        if moment not in after:
            continue
        ended = "they finished otherwise" if moment == "finished" and outcome else words
        seconds = after[moment]
        found.append(f"{render_duration(seconds)} after {ended}" if seconds else f"as soon as {ended}")
    moments = {"created", "unused"} & after.keys()
    several = len(moments) + bool(after.keys() - moments) > 1
    return ", ".join(found) + ("; all that apply must be over" if several else "")


def _newest(newest: Newest) -> str:
    group = _GROUPS[newest.per] + (f" ({newest.family})" if newest.family else "")
    if not newest.count:
        return f"none of {group} stays for being new"
    return (
        f"the newest of {group} stays" if newest.count == 1 else f"the {newest.count} newest of {group} stay"
    )


def _limit(limit: Limit) -> str:
    beyond = "; beyond that the oldest by last use go at once"
    if limit.quota:
        return f"each namespace may have what its ResourceQuota allows of {limit.quota}{beyond}"
    shared = {
        "PerNamespace": ", shared equally between namespaces",
        "PerOwner": ", shared equally between owners",
        "Cluster": " in all",
    }
    return f"there may be {limit.at_most}{shared[limit.divide]}{beyond}"
