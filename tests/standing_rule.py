"""A small rule that stands in where policies are spoken of: everything of some kinds that fits goes at set times.

It is a mechanism by its Protocol alone, read from JSON, so that a process of its own can be started with one.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

import msgspec

from skoupa.facts.rows import Row
from skoupa.judge.mechanism import NO_ANSWER, Answer, Interest, Run
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """Runs at `first`, and then every so many seconds; for `observe` seconds after `first` it only reports."""

    rule: str = "Rule/standing-in"
    kinds: tuple[str, ...] = ("configmaps",)
    namespaces: tuple[str, ...] = ("*",)
    names: str = "*"
    first: float = 0.0
    every: float = 0.0
    observe: float = 0.0
    generation: int = 1
    author: str = ""
    most: int | None = None


class StandingRule:
    name = "policies"

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def interests(self) -> Iterator[Interest]:
        yield Interest(kinds=self.spec.kinds, verbs=("list", "watch", "delete"))

    def runs(self, now: float) -> Iterator[Run]:
        begun = self._begun(now)
        if begun is not None:
            spec = self.spec
            yield Run(
                mechanism=self.name,
                rule=spec.rule,
                name=_name(begun),
                generation=spec.generation,
                most=spec.most,
            )

    def chosen(self, run: Run) -> None:
        """Whatever fits when somebody looks."""

    def due(self, row: Row, now: float) -> float | None:
        begun = self._begun(now)
        if begun is None or row.created > begun or not self._fits(row):
            return None
        return begun

    def answer(self, row: Row, now: float) -> Answer:
        due = self.due(row, now)
        if due is None:
            return NO_ANSWER
        spec = self.spec
        claim = Claim(
            mechanism=self.name,
            rule=spec.rule,
            due=due,
            reason=reason("ttl-date", key=spec.rule, value=_name(due)),
            run=_name(due),
            author=spec.author,
            observed=due < spec.first + spec.observe,
        )
        return Answer((claim,))

    def _begun(self, now: float) -> float | None:
        spec = self.spec
        if now < spec.first:
            return None
        return spec.first + (now - spec.first) // spec.every * spec.every if spec.every else spec.first

    def _fits(self, row: Row) -> bool:
        spec = self.spec
        return (
            row.resource.qualified in spec.kinds
            and any(fnmatchcase(row.namespace, pattern) for pattern in spec.namespaces)
            and fnmatchcase(row.name, spec.names)
        )


def _name(moment: float) -> str:
    return f"{moment:.0f}"
