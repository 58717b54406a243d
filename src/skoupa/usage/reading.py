"""Objects read by the tables: how to ask for them, and what each points at.

An object that is not as the table expects costs itself and not its page, and says what could not be understood. What is kept
of a decoded object keeps the whole page in memory that it came with: read it and let it go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from typing import Any

from skoupa.kube.objects import View
from skoupa.usage.applying.findings import Memory
from skoupa.usage.applying.layout import laid_out, targets
from skoupa.usage.applying.naming import ANYTHING
from skoupa.usage.applying.one_kind import OneKind
from skoupa.usage.applying.pointing import Scopes
from skoupa.usage.found import Found
from skoupa.usage.reach import Reach
from skoupa.usage.rules import Annotated, KindRules, Means


class Readings:
    """Types and functions are made of a kind's rules when it is first asked for."""

    def __init__(self, rules: Iterable[KindRules], annotated: Iterable[Annotated] = ()) -> None:
        self._rules: dict[str, KindRules] = {}
        for one in rules:
            if one.kind in self._rules:
                raise ValueError(f"there are two tables for {one.kind}")
            self._rules[one.kind] = one
        self._annotated = tuple(annotated)
        self._scopes = Scopes(self._rules.values())
        self._memory = Memory()
        self._made: dict[str, OneKind] = {}
        self._known_targets: dict[str, set[str]] = {}
        self._may_point_at: dict[str, frozenset[str]] = {}
        self._kinds = frozenset((*self._rules, *(kind for one in self._annotated for kind in one.of)))
        # Kinds that only somebody's own tables know.
        self.added: frozenset[str] = frozenset()

    def with_tables(self, tables: Iterable[KindRules]) -> Readings:
        """The same, with other tables for some kinds; objects of all the others that the one decoded the other can read.

        Where a kind lives that only these tables know is left open.
        """
        changed = {one.kind: one for one in tables}
        made = Readings((), self._annotated)
        made._rules = self._rules | changed
        made._kinds = self._kinds | changed.keys()
        made.added = self.added | (changed.keys() - self._kinds)
        made._scopes, made._memory = self._scopes, self._memory
        made._made = {kind: one for kind, one in self._made.items() if kind not in changed}
        return made

    def table(self, kind: str) -> KindRules | None:
        return self._rules.get(kind)

    def is_whole(self, kind: str) -> bool:
        """Whether it is walked, too."""
        rules = self._rules.get(kind)
        return rules is not None and rules.whole

    @cached_property
    def reach(self) -> Reach:
        return Reach(self._rules.values(), self._annotated, shipped=self._kinds - self.added)

    def kinds(self) -> frozenset[str]:
        """The kinds that have rules, if only about annotations."""
        return self._kinds

    def view(self, kind: str) -> View[Any]:
        """How to list objects of this kind: with their metadata alone where nothing else is read."""
        return self._of(kind).view

    def found(self, kind: str, decoded: Any) -> Found:
        """What an object points at; `decoded` is a value of the type of `view(kind)`."""
        return self._of(kind).read(decoded)

    def from_manifest(self, kind: str, manifest: Mapping[str, Any]) -> Found:
        """The same for an object as it stands in a file."""
        return self._of(kind).read_manifest(manifest)

    def may_point_at(self, kind: str) -> frozenset[str]:
        """The kinds whose objects can keep objects of this one; `*` among them where all can, by an annotation."""
        known = self._may_point_at.get(kind)
        if known is None:
            aims = {kind, f"{ANYTHING}/{kind.rpartition('/')[2]}", ANYTHING}
            users = {user for user, meant in self._targets().items() if not aims.isdisjoint(meant)}
            if any(not one.of and one.to in aims for one in self._annotated):
                users.add(ANYTHING)
            known = self._may_point_at[kind] = frozenset(users)
        return known

    def _targets(self) -> dict[str, set[str]]:
        if not self._known_targets:
            self._known_targets = {kind: set() for kind in self._kinds}
            for rules in self._rules.values():
                self._known_targets[rules.kind] |= targets(rules)
            for one in self._annotated:
                if one.means is not Means.CONCERNS:
                    for kind in one.of:
                        self._known_targets[kind].add(one.to)
        return self._known_targets

    def _of(self, kind: str) -> OneKind:
        made = self._made.get(kind)
        if made is None:
            # A cluster may have many kinds without rules: all of them are read the same.
            made = (
                self._make(kind) if kind in self._kinds else self._made.get(ANYTHING) or self._make(ANYTHING)
            )
            self._made[kind] = made
        return made

    def _make(self, kind: str) -> OneKind:
        rules = self._rules.get(kind)
        annotated = [one for one in self._annotated if not one.of or kind in one.of]
        layout = laid_out(rules, annotated, scopes=self._scopes, memory=self._memory)
        self._made[kind] = made = OneKind(kind, layout, rules)
        return made


@cache
def shipped() -> Readings:
    """All tables that come with the program."""
    from skoupa.usage import builtin, custom  # noqa: PLC0415 - only who reads objects needs them in memory

    return Readings((*builtin.RULES, *custom.RULES), (*builtin.ANNOTATED, *custom.ANNOTATED))
