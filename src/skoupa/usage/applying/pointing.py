"""What the values of one reference mean: which kind, in which namespace, by which name.

Whatever a reference leaves open is left open here too, as `*`: an object that might be meant is meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from skoupa.usage.applying.naming import ANYTHING, names_meant, untemplated
from skoupa.usage.found import Target, Use
from skoupa.usage.rules import ANY_NAMESPACE, NO_NAMESPACE, Annotated, Form, KindRules, Reference
from skoupa.usage.scopes import IN_A_NAMESPACE, WITHOUT_NAMESPACE, in_full

_VERSION: Final = re.compile(r"v[0-9]\w*")


class Scopes:
    """Which kinds live in a namespace, as far as the tables say."""

    def __init__(self, rules: Iterable[KindRules]) -> None:
        told = {one.kind: one.cluster for one in rules}
        self._without = WITHOUT_NAMESPACE | {kind for kind, cluster in told.items() if cluster}
        self._within = (IN_A_NAMESPACE | told.keys()) - self._without

    def knows(self, kind: str) -> bool:
        return kind in self._within or kind in self._without

    def place(self, kind: str, *, said: str, fixed: str, own: str) -> str:
        """Where an object of this kind lives that a reference in the namespace `own` names."""
        if kind in self._without or fixed == NO_NAMESPACE:
            return ""
        if said:
            return said
        if fixed:
            return fixed
        # What lives in no namespace itself can only mean any, and a kind of which nobody knows may live in none.
        return (own or ANY_NAMESPACE) if kind in self._within or kind == ANYTHING else ANY_NAMESPACE


def kind_meant(kind: str, *, group: str, version: str, otherwise: str, scopes: Scopes) -> str:
    """A kind from the fields of a reference, each of which may be empty."""
    if not kind:
        return otherwise or ANYTHING
    if version:
        before, slash, _ = version.rpartition("/")
        # Some write the group alone for an apiVersion; `v1` is that of the core.
        group = before if slash or _VERSION.fullmatch(version) else version
        return f"{group}/{kind}" if group else in_full(kind)
    if group:
        return in_full(kind) if group == "core" else f"{group}/{kind}"
    kind = in_full(kind) if not scopes.knows(kind) else kind
    # Without a group that of its neighbours is meant, or else nobody knows: a TraefikService beside a Service.
    beside = f"{otherwise.rpartition('/')[0]}/{kind}".removeprefix("/")
    return beside if beside == otherwise or scopes.knows(beside) else f"{ANYTHING}/{kind}"


# The fields of a reference beside the name, in the order in which their values come.
BESIDE: Final = ("namespace_at", "kind_at", "group_at", "version_at", "when_at")


def reference_meaning(rule: Reference, *, at: str, scopes: Scopes) -> Callable[[Any, str], tuple[Use, ...]]:
    """`values` are the name and then those of the fields in `BESIDE` that the rule has; a single one is not in a tuple."""
    present = [field for field in BESIDE if getattr(rule, field)]
    if not present and rule.form is Form.NAME:
        return _plain_meaning(rule, at=at, scopes=scopes)

    def meaning(values: Any, own: str) -> tuple[Use, ...]:
        name, *rest = (values,) if not present else values
        beside = dict(zip(present, rest, strict=True))
        if rule.when_at and beside["when_at"] not in rule.when:
            return ()
        kind = kind_meant(
            beside.get("kind_at") or "",
            group=beside.get("group_at") or "",
            version=beside.get("version_at") or "",
            otherwise=rule.to,
            scopes=scopes,
        )
        said = untemplated(beside.get("namespace_at") or "")
        if not said and rule.form is Form.TEMPLATE:
            said = ANY_NAMESPACE
        return _uses(rule, kind, name or rule.otherwise, said=said, own=own, at=at, scopes=scopes)

    return meaning


def _plain_meaning(rule: Reference, *, at: str, scopes: Scopes) -> Callable[[Any, str], tuple[Use, ...]]:
    """A name and nothing else, as most references are: where it is looked for is known before any object is."""
    kind, means, otherwise = rule.to or ANYTHING, rule.means, rule.otherwise
    elsewhere = scopes.place(kind, said="", fixed=rule.namespace, own="")
    beside_it = scopes.place(kind, said="", fixed=rule.namespace, own="own") == "own"

    def meaning(name: Any, own: str) -> tuple[Use, ...]:
        name = untemplated(name or otherwise)
        if not name:
            return ()
        return (Use(Target(kind, own if beside_it and own else elsewhere, name), at, means),)

    return meaning


def annotation_meaning(rule: Annotated, *, at: str, scopes: Scopes) -> Callable[[Any, str], tuple[Use, ...]]:
    def meaning(value: Any, own: str) -> tuple[Use, ...]:
        return _uses(rule, rule.to, value, said="", own=own, at=at, scopes=scopes)

    return meaning


def _uses(
    rule: Reference | Annotated, kind: str, text: str | None, *, said: str, own: str, at: str, scopes: Scopes
) -> tuple[Use, ...]:
    if not text:
        return ()
    return tuple(
        Use(
            Target(kind, scopes.place(kind, said=namespace or said, fixed=rule.namespace, own=own), name),
            at,
            rule.means,
        )
        for namespace, name in names_meant(text, rule.form)
        if name
    )


def wanted_beside(rule: Reference) -> Sequence[str]:
    """The paths of the fields in `BESIDE` that this rule has."""
    return [getattr(rule, field) for field in BESIDE if getattr(rule, field)]
