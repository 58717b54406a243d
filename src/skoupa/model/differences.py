"""In which ways Skoupa reads or does something otherwise than Kyverno's cleanup controller: one table, each with its place in the docs.

A difference that was found is a value with a code and a few facts, as a reason is. Codes are public; sentences may change. Every
heading is one of `docs/differences.md`, which says the same at length; what is not in this table is not looked for by `skoupa migrate`.
"""

from __future__ import annotations

import re
import string
from typing import Final, Literal

import msgspec

PAGE: Final = "docs/differences.md"

# What Skoupa does compared with Kyverno: deletes less, deletes more, at another time, or in another way.
Effect = Literal["less", "more", "time", "way"]
Subject = Literal["label", "policy", "cluster"]


class Meaning(msgspec.Struct, frozen=True):
    """Two sentences about the same thing, with a place for each fact."""

    subject: Subject
    effect: Effect
    heading: str
    kyverno: str
    skoupa: str

    @property
    def facts(self) -> frozenset[str]:
        both = f"{self.kyverno} {self.skoupa}"
        return frozenset(name for _, name, _, _ in string.Formatter().parse(both) if name)

    @property
    def docs(self) -> str:
        """Where it is said at length."""
        return f"{PAGE}#{anchor(self.heading)}"


_VALUES: Final = "Values"
_ENDS: Final = "The ends of the scale"
_SAFETY: Final = "Safety"
_TIMING: Final = "Timing and persistence"
_RIGHTS: Final = "Rights"
_POLICIES: Final = "Policies"


def _label(effect: Effect, heading: str, kyverno: str, skoupa: str) -> Meaning:
    return Meaning("label", effect, heading, kyverno, skoupa)


def _policy(effect: Effect, kyverno: str, skoupa: str, *, heading: str = _POLICIES) -> Meaning:
    return Meaning("policy", effect, heading, kyverno, skoupa)


DIFFERENCES: Final[dict[str, Meaning]] = {
    # Labels.
    "odd-value": _label("less", _VALUES, "reads {value} as {reading}", "refuses it, so it stays: {instead}"),
    "too-long": _label(
        "less", _ENDS, "counts {value} wrong, perhaps as over", "refuses it, so it stays: {instead}"
    ),
    "before-1970": _label("less", _ENDS, "takes {value} as over", "refuses it, so it stays: {instead}"),
    "refreshed": _label("time", _TIMING, "counts from its creation", "counts from {key}={value}"),
    "longest-life": _label("time", _TIMING, "knows no limit", "lets nothing with a TTL live longer: {why}"),
    "other-times": _label(
        "time", _TIMING, "looks at its own label alone", "waits until all times on it are due: {rule}"
    ),
    "other-tool": _label("more", _TIMING, "knows no {key}", "obeys {key}={value}, as the settings say"),
    "protected-namespace": _label("less", _SAFETY, "deletes it", "never deletes in {namespace}"),
    "own": _label("less", _SAFETY, "deletes it", "ignores the label on {what}"),
    "held": _label("less", _SAFETY, "deletes it", "lets it stay: {why}"),
    "bad-propagation": _label(
        "less",
        _SAFETY,
        "leaves it to the server how to delete",
        "lets it stay: {value} is no propagation policy",
    ),
    "propagation": _label(
        "way",
        _SAFETY,
        "leaves it to the server, which leaves the dependents of a {kind} behind",
        "deletes its dependents too (Background)",
    ),
    "given-up": _label(
        "more",
        _TIMING,
        "lives, and has not deleted it since {since}: it may not, or gave up",
        "deletes it as soon as it acts, and goes on trying",
    ),
    "kyverno-may-not": _label(
        "more",
        _RIGHTS,
        "does not act on {kind}: its account may not {verbs} them everywhere",
        "deletes it where it may",
    ),
    # The whole cluster.
    "many-overdue": Meaning(
        "cluster",
        "less",
        _SAFETY,
        "deletes at once what is overdue by more than an hour ({number})",
        "holds them at its first start until somebody accepts them",
    ),
    "managed-by-kyverno": Meaning(
        "cluster",
        "more",
        _POLICIES,
        "leaves alone what is labelled {label} (--protectManagedResources)",
        "does so only with the setting protect.selectors: [{label}]",
    ),
    "plain-filter": Meaning(
        "cluster",
        "less",
        _POLICIES,
        "passes over {filter} of its resourceFilters when policies run",
        "obeys it, so what it names stays",
    ),
    # Policies: when.
    "schedule-refused": _policy(
        "less", "runs {schedule}", "refuses it, so the policy does not run: {instead}"
    ),
    "schedule-unrunnable": _policy(
        "more", "takes {schedule} and then can't run it: the policy never ran", "runs it"
    ),
    "schedule-nobody": _policy(
        "way", "takes {schedule} and then can't run it: the policy never ran", "refuses it: {instead}"
    ),
    "time-zone": _policy("time", "runs {schedule} by the clock of {kyverno_zone}", "by that of {zone}"),
    "lost-schedule": _policy(
        "more",
        "lives, and has not run it since {last}: it gave the policy up after errors",
        "runs it at its next tick, and deletes what has gathered",
    ),
    "missed-tick": _policy(
        "time", "would run it at once when it starts: it was due {due}", "waits for the next tick"
    ),
    "own-annotations": _policy("way", "does not know {annotations}", "obeys them"),
    # Policies: what.
    "refused": _policy(
        "less", "has not refused it", "refuses the policy, so it does not run: {path}: {problem}"
    ),
    "context-refused": _policy(
        "way",
        "refuses such context when a policy is written",
        "does too, so the policy does not run: {path}: {problem}",
    ),
    "wild-kinds": _policy(
        "more", "finds no kind called {kinds}, and skips it", "expands it to {number} kinds"
    ),
    "same-names": _policy(
        "way", "takes the first kind called {kind} that it finds", "takes {taken}; also there: {others}"
    ),
    "any-group": _policy(
        "more", "reads {kind} as a subresource, and finds none", "reads group, version and kind"
    ),
    "namespace-labels": _policy(
        "less",
        "does not ask a Namespace for namespaceSelector, so that every Namespace goes which fits the rest of the filter",
        "only those whose own labels fit it",
    ),
    "exclusion-operations": _policy(
        "less", "skips excluded rules with operations", "ignores their operations, so they exclude"
    ),
    "policy-propagation": _policy(
        "way",
        "leaves it to the server, which leaves the dependents of a {kind} behind",
        "deletes their dependents too (Background)",
        heading=_SAFETY,
    ),
    # Policies: conditions and context.
    "operator-case": _policy("more", "finds {operator} false for sizes", "compares sizes, whatever the case"),
    "negated-range": _policy("way", "takes {value} for plain text", "reads it as outside of that range"),
    "large-number": _policy("way", "compares {value} in the form 1e+06", "compares it as it is written"),
    "no-version": _policy(
        "less",
        "takes what is no version for 0.0.0 (semver_compare)",
        "finds that unclear, so the object stays",
    ),
    "version-range": _policy(
        "way",
        "reads {value} otherwise (1.x.x is 1.0.x, != with an x is never true, a ! before a space is dropped)",
        "reads it as written, or refuses it",
    ),
    "confined-call": _policy(
        "less", "asks for any path", "refuses the policy, so it does not run: {problem}"
    ),
    "reaching-call": _policy("less", "asks for {path}", "refuses that, so objects stay: {why}"),
    "post-call": _policy("less", "sends a POST to {path}", "sends reviews only, so objects stay"),
    "service-call": _policy("less", "calls {service}, with its own token", "does not: {why}; objects stay"),
    "shared-context": _policy(
        "less",
        "lets a namespaced policy read every GlobalContextEntry",
        "only entries about its own namespace: {name}",
    ),
    "secret-values": _policy(
        "less",
        "lets a namespaced policy look at the values of Secrets",
        "does not (policies.allowSecretsInNamespacedPolicies); objects stay",
    ),
    "call-default": _policy(
        "less",
        "takes the default of {entry} also when the server fails",
        "only where there is nothing; else objects stay",
    ),
    "target-context": _policy(
        "way", "may keep the value of {entry} from the first object for the others", "asks for each object"
    ),
    "null-default": _policy(
        "way", "takes null for {entry} where its jmesPath finds null", "takes its default"
    ),
    # Policies: what would become of what they match now.
    "ttl-ahead": _policy(
        "less",
        "deletes what matches and has a TTL that is still to come ({number})",
        "lets them stay until then",
    ),
    "held-matches": _policy("less", "deletes {number} of what matches", "lets them stay: {why}"),
    "unclear-matches": _policy(
        "less",
        "may fail as a whole, and is then forgotten",
        "lets what is unclear stay ({number}) and goes on: {why}",
    ),
    "brake": _policy("less", "deletes all of it at once", "pulls a Brake first, and nothing goes: {by}"),
}


class Difference(msgspec.Struct, frozen=True):
    code: str
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def meaning(self) -> Meaning:
        return DIFFERENCES[self.code]

    @property
    def kyverno(self) -> str:
        return self.meaning.kyverno.format_map(dict(self.facts))

    @property
    def skoupa(self) -> str:
        return self.meaning.skoupa.format_map(dict(self.facts))


def difference(code: str, **facts: object) -> Difference:
    """Raises `LookupError` where the table does not know it or other facts belong to it: that would be a slip of ours."""
    if facts.keys() != DIFFERENCES[code].facts:
        raise LookupError(f"{code} takes {sorted(DIFFERENCES[code].facts)}, not {sorted(facts)}")
    return Difference(code, tuple((name, str(value)) for name, value in facts.items()))


def anchor(heading: str) -> str:
    """As Markdown pages name it."""
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")
