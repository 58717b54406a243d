"""Why: a reason is a value with a code and a few facts, and one table says how each is read aloud.

Log, Event, metric, command line and dashboard all render the same value with `render`; metrics use only its code.
What the table does not know can't be said, so the documentation that is generated from it is complete.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal

import msgspec

Role = Literal["claim", "hold", "problem", "note"]


class Meaning(msgspec.Struct, frozen=True):
    """`text` has a place for each fact; `role` says what the reason does.

    A claim lets go and a hold holds. A problem is a label that does not do what its writer meant, so its writer is told;
    a note only informs who asks. What is `passing` ends by itself within moments and is not told unasked.
    """

    role: Role
    text: str
    passing: bool = False

    @property
    def facts(self) -> frozenset[str]:
        return frozenset(name for _, name, _, _ in string.Formatter().parse(self.text) if name)


REASONS: Final[dict[str, Meaning]] = {
    # Claims. They are told before and after the time has come, so none says "over".
    "ttl-expired": Meaning("claim", "{key}={value}, counted from {since}"),
    "ttl-date": Meaning("claim", "{key}={value}"),
    "lifetime-over": Meaning(
        "claim", "nothing with a TTL lives longer than {limit} (ttl.maximumLifetime), whatever refreshed it"
    ),
    "policy-matched": Meaning("claim", "{rule} matched it at its run of {tick}"),
    "policy-matches": Meaning("claim", "{rule} matches it, for a run at {tick}"),
    "after-moment": Meaning("claim", "{key}={value}: {time} counted from {since} ({last})"),
    "after-own-time": Meaning("claim", "{key}={value}, but {path} of the object itself gives it longer"),
    "after-policy": Meaning("claim", "{rule}: {time} counted from {since} ({last})"),
    "after-policy-own-time": Meaning("claim", "{rule}, but {path} of the object itself gives it longer"),
    "over-capacity": Meaning(
        "claim", "{rule} has room for {limit} {place}, and this is one of the oldest that nobody needs"
    ),
    "finalizer-forced": Meaning(
        "claim",
        "{why}, and spec.onTimeout of Alive is ForceFinalizers: the finalizer {finalizer} of {identity} is taken off "
        "(it was {state}, with {remaining} left)",
    ),
    "tenant-gone": Meaning("claim", "its Tenant {tenant} was deleted, and {proof}"),
    "tenant-finalizer-forced": Meaning(
        "claim",
        "its Tenant {tenant} was deleted, {proof}, and it has been waiting for its finalizer {finalizer} since {since}: somebody had that "
        "taken off (`skoupa tenant delete --force-finalizers`)",
    ),
    # Holds: something needs it.
    "in-use": Meaning("hold", "{user} uses it ({at})"),
    "owner-lives": Meaning("hold", "its owner {owner} is alive"),
    "needed-anyway": Meaning("hold", "{why}"),
    "users-unread": Meaning(
        "hold",
        "whether something uses it is not known: {kinds} can't be read ({why}); usage.ignoreKinds waives that",
    ),
    "users-unclear": Meaning("hold", "whether something uses it is not known: {why}"),
    "needs-unread": Meaning("hold", "who uses it is being read", passing=True),
    "needs-asked": Meaning("hold", "who could use it is asked once more", passing=True),
    "controller-alone": Meaning(
        "hold", "only a running controller lets go by {key}, since it keeps track of what uses what"
    ),
    "needs-unasked": Meaning("hold", "who could use it could not be asked once more: {why}"),
    "group-undecided": Meaning("hold", "which of them stay is not decided yet: {why}", passing=True),
    "among-newest": Meaning("hold", "one of the newest that {rule} keeps"),
    # Holds: somebody wants it to stay.
    "kept": Meaning("hold", "kept by its label skoupa.dev/keep={value}"),
    "namespace-kept": Meaning("hold", "kept: its Namespace has the label skoupa.dev/keep={value}"),
    "keeps-inside": Meaning("hold", "deleting it would take along {object}, which is kept"),
    "has-instances": Meaning(
        "hold", "there are objects of the kind that it defines, {object} for one: delete these first"
    ),
    "protects-inside": Meaning("hold", "deleting it would take along {object}, which stays: {why}"),
    "brake-inside": Meaning(
        "hold", "deleting it would take along {object}, which stays: brake {name}: {why}"
    ),
    "ledger-away": Meaning("hold", "what goes can't be written down: {why}"),
    # Every short break of a watch brings it; one that lasts is told once, with the kind, not with each object.
    "feed-behind": Meaning("hold", "what is known of {kind} may be old: {why}", passing=True),
    "namespace-unread": Meaning("hold", "what is known of {kind} may be old: {why}"),
    "keeps-unknown": Meaning(
        "hold",
        "deleting it might take along something kept: kept objects of {kinds} can't be read ({why}); "
        "cascade.ignoreKinds waives that",
    ),
    "keeps-behind": Meaning(
        "hold",
        "deleting it might take along something kept: what is known of {kinds} may be old ({why}); "
        "cascade.ignoreKinds waives that",
        passing=True,
    ),
    "owners-unread": Meaning(
        "hold",
        "deleting it might take along {object}, which is kept: its owners are being read",
        passing=True,
    ),
    "owners-unknown": Meaning(
        "hold",
        "deleting it might take along {object}, which is kept: who owns that can't be read ({why})",
    ),
    "ttl-ahead": Meaning(
        "hold", "its own time is still to come: {written} lets it stay until {until} (policies.respectTtl)"
    ),
    "other-ttl-ahead": Meaning(
        "hold", "its other time is still to come: {written} lets it stay until {until}"
    ),
    "label-waits": Meaning("hold", "its own time has not come: {written} lets it stay ({what})"),
    "protected-namespace": Meaning("hold", "the namespace {namespace} is protected"),
    "protected-setting": Meaning("hold", "protected by the setting protect.{setting} ({value})"),
    "protected-own": Meaning("hold", "{what} belongs to Skoupa itself and goes by no label and no policy"),
    "tenant-shared": Meaning("hold", "deleting it would take along {object}, which has the label {key}"),
    "tenant-others-inside": Meaning(
        "hold", "deleting it would take along {object}, which is not of the Tenant {tenant}"
    ),
    "tenant-unsure": Meaning("hold", "whether it still belongs to a deleted Tenant is not known: {why}"),
    "tenant-not-gone": Meaning("hold", "the Tenant {tenant} does not let it go any more: {why}"),
    "not-watched": Meaning(
        "hold",
        "{kind} are not watched, so the controller does not see it: add {kind} to the setting watchAlso",
    ),
    "other-namespaces": Meaning("hold", "only the namespaces {namespaces} are looked after here"),
    # Holds: somebody, or a ceiling, has stopped it.
    "brake": Meaning("hold", "brake {name}: {why}"),
    "brakes-unknown": Meaning(
        "hold", "everything is held while it is not known which Brakes there are: {why}"
    ),
    "being-weighed": Meaning("hold", "all that {rule} claims is being weighed", passing=True),
    "not-weighed": Meaning("hold", "all that {rule} claims has to be weighed first, and can't be: {why}"),
    "asked-again": Meaning("hold", "{rule} chose it a while ago, and is asked again", passing=True),
    "not-asked-again": Meaning(
        "hold", "{rule} chose it a while ago, and what it says of it now is not known: {why}"
    ),
    # Holds: it can't or must not be done now.
    "terminating": Meaning("hold", "it is being deleted since {since}; waiting for {finalizers}"),
    "no-permission": Meaning("hold", "no permission: {verb} {kind} {where}"),
    "clock-skew": Meaning(
        "hold", "the clock here and the server's differ by {seconds} s; correct the clock of the machine"
    ),
    "first-start-backlog": Meaning(
        "hold",
        "one of {count} objects that were overdue when Skoupa first looked at this cluster; "
        "look at them with `skoupa plan`, then `skoupa brakes release first-start` (without Brakes: --accept-backlog)",
    ),
    "not-counted": Meaning(
        "hold",
        "{kind} are read for the first time: how many of them are overdue is being counted",
        passing=True,
    ),
    "retroactive-label": Meaning(
        "hold",
        "one of {count} objects that became overdue together through a label (or another tool's annotation) written just now; "
        "take it off again, or `skoupa brakes release {brake}` (without Brakes: --accept-backlog)",
    ),
    "perhaps-retroactive": Meaning(
        "hold",
        "perhaps one of {count} objects that became overdue together through a label (or another tool's annotation): its own, or "
        "a refresh, was written later, or nobody can tell when. A running controller that saw it being written after theirs lets it "
        "go; any other holds it with them (Brake {brake}), and so does `skoupa sweep`",
    ),
    "just-labelled": Meaning(
        "hold",
        "it became due through a label (or another tool's annotation) written just now: waiting {seconds} s to see whether "
        "many did",
    ),
    "re-created": Meaning(
        "hold", "it came back {count} times after it was deleted, so the next try is not before {until}"
    ),
    # `manager` as the object's managedFields name it.
    "re-created-with": Meaning(
        "hold",
        "it came back {count} times after it was deleted, made by {manager}, so the next try is not before {until}",
    ),
    "not-in-trash": Meaning("hold", "it could not be put into the trash first: {why}"),
    # Known only to who asks a running controller; `by` is the code of its reason, `why` says it in its words.
    "controller-holds": Meaning("hold", "the controller in {namespace} holds it ({by}): {why}"),
    "re-created-by": Meaning(
        "hold",
        "{controller} made another one {count} times after one was deleted, so the next try is not before {until}",
    ),
    # Holds: a policy matches it, and yet it stays.
    "policy-unclear": Meaning("hold", "whether it meets the conditions of {policy} is not known: {why}"),
    "object-unread": Meaning("hold", "it could not be read, so {policy} says nothing of it: {why}"),
    "exempted": Meaning("hold", "the PolicyException {exception} exempts it from {policy}"),
    "exemption-unclear": Meaning(
        "hold", "whether the PolicyException {exception} exempts it from {policy} is not known: {why}"
    ),
    "kyverno-filter": Meaning(
        "hold", "Kyverno leaves it alone ({filter} in its resourceFilters), and so do policies here"
    ),
    "kyverno-filters-unread": Meaning("hold", "{policy} matches it, and {why}"),
    "account-may-not": Meaning(
        "hold", "the ServiceAccount {account}, as which {policy} acts, may not delete {kind} here"
    ),
    "run-would-brake": Meaning("hold", "a Brake would stop the whole run: {why}"),
    "policy-observes": Meaning("hold", "{policy} only reports until {until}"),
    "owner-goes": Meaning("hold", "it goes with its owner {owner}, which {policy} matches too"),
    "bad-propagation": Meaning(
        "hold",
        "the annotation cleanup.kyverno.io/propagation-policy={value} is none of Foreground, Background, Orphan",
    ),
    "refresh-unclear": Meaning(
        "hold", "from when to count is not known: {key}={value} is not an RFC 3339 time: {instead}"
    ),
    # Problems.
    "ttl-invalid": Meaning(
        "problem", "{key}={value} is not understood and deletes nothing: {what}; {instead}"
    ),
    "ttl-annotation": Meaning(
        "problem",
        "{key} is written as an annotation and does nothing: write it under metadata.labels, or run {command}",
    ),
    "keep-annotation": Meaning(
        "problem",
        "{key} is written as an annotation and keeps nothing: write it under metadata.labels, or run {command}",
    ),
    "keep-unclear": Meaning("problem", "{key}={value} keeps for good: {what}; {instead}"),
    "finished-owned": Meaning(
        "problem",
        "it has finished, and {key} lets it stay while an owner of it lives: set the limits of the owner "
        "(successfulJobsHistoryLimit of a CronJob for instance), or write a RetentionPolicy with owners: Ignore that is about it",
    ),
    "ttl-after-never": Meaning("problem", "{key}={value} never lets it go: {what}; {instead}"),
    "ttl-on-own": Meaning("problem", "{key} is ignored on {what}: Skoupa's own objects do not go by a label"),
    "refreshed-ahead": Meaning(
        "problem", "{key}={value} is in the future: the time counts from when it was written instead"
    ),
    "refreshed-ahead-unwritten": Meaning(
        "problem",
        "{key}={value} is in the future, and the server does not tell when it was written (no managedFields): the time "
        "counts from {value}; write the present instead (`skoupa refresh`)",
    ),
    "refreshed-before": Meaning(
        "problem",
        "{key}={value} is before its creation and does nothing: a refresh only puts the end off, so the time is "
        "counted from creation",
    ),
    "refreshed-invalid": Meaning(
        "problem", "{key}={value} is not an RFC 3339 time, so the object stays: {instead}"
    ),
    # Notes.
    "ttl-short": Meaning("note", "{key}={value}: {what}"),
    "will-return": Meaning("note", "{controller} will create it again"),
    "takes-along": Meaning("note", "takes along {what}"),
    "data-goes": Meaning("note", "data goes for good: {why}"),
    "never-in-trash": Meaning(
        "note", "it can't come back: {kind} are not put into the trash (trash.ignoreKinds)"
    ),
    "values-go": Meaning(
        "note", "{what} can't come back: without a key (trash.keyFile) the trash keeps no values of Secrets"
    ),
    "data-unknown": Meaning("note", "whether data goes for good is not known: {why}"),
    "waits": Meaning("note", "{written}: {what}"),
    "ttl-after-off": Meaning(
        "note",
        "{key}={value} does nothing: the feature retention is switched off in the settings (features.retention)",
    ),
    "retention-suspended": Meaning("note", "{rule} is suspended, so nothing that it is about goes by it"),
    "retention-broken": Meaning(
        "note",
        "{rule} is not understood and may be about it, so nothing goes by policies like it: mend it as its condition Ready says, or "
        "delete it",
    ),
    "retention-reading": Meaning("note", "its annotations, which {rule} asks for, are being read"),
    "goes-sooner": Meaning(
        "note", "{path} of the object itself is earlier: its own controller deletes it at {at}"
    ),
    # Why an object is in the report of `skoupa unused`.
    "unused": Meaning("note", "nothing uses it"),
    "keys-unread": Meaning("note", "nothing reads {keys} of it"),
    "unmounted": Meaning("note", "no claim is bound to it: it is {phase}"),
    "selects-nothing": Meaning("note", "no {kind} has the labels that it selects"),
    "names-nothing": Meaning("note", "what it is about does not exist: {what}"),
    "nothing-behind": Meaning("note", "nothing is behind it: no address that is ready, no Pod or template"),
    "behind-no-service": Meaning("note", "no Service selects it"),
    "lease-stale": Meaning("note", "nobody has renewed it since {since}"),
    "namespace-empty": Meaning("note", "there is nothing in it"),
    "no-instances": Meaning("note", "there is no object of the kind that it defines"),
}


_FACTS: Final = {code: meaning.facts for code, meaning in REASONS.items()}


class Reason(msgspec.Struct, frozen=True, gc=False):
    code: str
    facts: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return render(self)


def reason(code: str, **facts: object) -> Reason:
    """A reason of the table; leaving out a fact, or adding one, is a mistake in the caller."""
    expected = _FACTS[code]
    if expected != facts.keys():
        raise TypeError(f"reason {code!r} is told with {sorted(expected)}, not with {sorted(facts)}")
    return Reason(code, tuple((name, str(value)) for name, value in sorted(facts.items())))


# Facts that a reason is worded with, but that do not make it another one.
_WORDING: Final = frozenset({"why", "seconds"})


def gist(told: Iterable[Reason]) -> frozenset[Reason]:
    """What is told, without what is passing and without the wording: only a change of the gist is news."""
    return frozenset(
        Reason(one.code, tuple(fact for fact in one.facts if fact[0] not in _WORDING))
        for one in told
        if not REASONS[one.code].passing
    )


def problems(told: Iterable[Reason]) -> tuple[Reason, ...]:
    """Those that the writer of the object's labels should hear of."""
    return tuple(one for one in told if REASONS[one.code].role == "problem")


@lru_cache(4096)
def render(told: Reason) -> str:
    return REASONS[told.code].text.format(**dict(told.facts))


def said(told: Reason) -> str:
    """In words; what is read from a ledger may be older, or newer, than the table of reasons here."""
    if told.code in REASONS:
        return render(told)
    return ", ".join((told.code, *(f"{name} {fact}" for name, fact in told.facts)))
