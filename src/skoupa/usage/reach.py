"""Which kinds can point into other namespaces than their own: for whom a look into one namespace is not enough.

Taken from the tables, so that it can't say less than they do. Of kinds without rules nothing is known, and they may.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from skoupa.usage.edges.patterns import ANYTHING, kinds_meaning
from skoupa.usage.passive import is_passive
from skoupa.usage.rules import (
    OWN_NAMESPACE,
    Annotated,
    Embedded,
    Form,
    Implied,
    KindRules,
    Means,
    Part,
    Reference,
    Selection,
)

# The server takes nothing of the core group but a claim for the source of a volume, wherever it is.
_DATA_SOURCE: Final = "dataSourceRef"
_CLAIM: Final = "PersistentVolumeClaim"
# Written so, a name may bring its namespace along.
_WITH_NAMESPACE: Final = frozenset({Form.SLASHED, Form.LISTED, Form.HOST, Form.ACCOUNT, Form.TRAEFIK})


class Reach:
    """`shipped` are the kinds that have a table which comes with the program."""

    def __init__(
        self, rules: Iterable[KindRules], annotated: Iterable[Annotated], *, shipped: Collection[str]
    ) -> None:
        self._across: dict[str, set[str]] = {}
        used: set[str] = set()
        for one in rules:
            used.update(used_by(one))
            targets = set(_targets(one.parts, everywhere=one.cluster))
            # What a walk finds may name a namespace.
            self._across[one.kind] = targets | ({ANYTHING} if one.walked or one.whole else set())
        # Of these it says something when nobody uses one.
        self.used_kinds = frozenset(kind for kind in used if is_passive(kind, has_table=kind in shipped))
        self._everybody: set[str] = set()
        for mark in annotated:
            if mark.form in _WITH_NAMESPACE or mark.namespace != OWN_NAMESPACE:
                for kind in mark.of:
                    self._across.setdefault(kind, set()).add(mark.to)
                if not mark.of:
                    self._everybody.add(mark.to)

    def across(self, kind: str, target: str) -> bool:
        """Whether objects of `kind` can point at objects of `target` in another namespace."""
        aims = {*kinds_meaning(target), ""}
        if not aims.isdisjoint(self._everybody):
            return True
        known = self._across.get(kind)
        if known is None or not aims.isdisjoint(known):
            return True
        return _DATA_SOURCE in known and ("/" in target or target == _CLAIM)


def _targets(parts: Iterable[Part], *, everywhere: bool) -> Iterator[str]:
    for part in parts:
        match part:
            case Reference():
                says = part.namespace_at or part.namespace != OWN_NAMESPACE or part.form in _WITH_NAMESPACE
                if everywhere or says:
                    any_kind = _DATA_SOURCE if part.at == _DATA_SOURCE else ANYTHING
                    yield any_kind if part.kind_at else part.to
            case Selection():
                if everywhere or part.namespaces_at or part.listed_at or part.namespace != OWN_NAMESPACE:
                    yield part.to
            case Implied():
                if everywhere or part.namespace != OWN_NAMESPACE:
                    yield part.to
            case Embedded():
                yield from _targets(part.shape.parts, everywhere=everywhere)


def used_by(rules: KindRules) -> Iterator[str]:
    """The kinds that this one uses."""
    return _used(rules.parts)


def _used(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Embedded):
            yield from _used(part.shape.parts)
        elif part.means is Means.USES and part.to:
            yield part.to
