"""What a mechanism is: something that can say "this may go", and what it needs to see for that.

A mechanism is one module. It states its `interests` as data (the controller opens the smallest set of watches that
covers them, and `skoupa install` writes the roles from them) and answers about one object at a time from its row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, Protocol

import msgspec

from skoupa.facts.rows import Row, Uid
from skoupa.kube.resources import Resource
from skoupa.model.reasons import Reason
from skoupa.model.verdicts import Claim, Hold, Question


class Interest(msgspec.Struct, frozen=True, kw_only=True):
    """Objects that a mechanism has to see. `kinds` empty: every kind that can be listed, watched and deleted."""

    kinds: tuple[str, ...] = ()
    labels: str = ""
    view: Literal["metadata", "whole"] = "metadata"
    verbs: tuple[str, ...] = ("list", "watch")
    # Annotations to remember of what is seen; all others are dropped.
    annotations: tuple[str, ...] = ()

    def has(self, resource: Resource) -> bool:
        return not self.kinds or resource.qualified in self.kinds


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What one mechanism says of one object: Claims, Holds against all Claims, and remarks."""

    claims: tuple[Claim, ...] = ()
    holds: tuple[Hold, ...] = ()
    notes: tuple[Reason, ...] = ()


NO_ANSWER = Answer()


class Mechanism(Protocol):
    """`due` is the cheap part of `answer`: when time alone will make it speak, None for never."""

    @property
    def name(self) -> str: ...

    def interests(self) -> Iterable[Interest]: ...

    def due(self, row: Row, now: float) -> float | None: ...

    def answer(self, row: Row, now: float) -> Answer: ...


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a rule (`KIND/NAMESPACE/NAME`): its Claims carry `name`. `generation` is that of the rule's spec.

    `most` is what the rule itself allows one run to claim, if that is less than the settings do. `uid` is the rule's own: one
    of the same name that came later is another rule. `usual`: that most of a kind go, or many at once, says nothing, since they
    have finished.
    """

    mechanism: str
    rule: str
    name: str
    generation: int = 0
    most: int | None = None
    uid: str = ""
    usual: bool = False

    @property
    def edition(self) -> str:
        """The same for all runs of the rule while it means the same."""
        return f"{self.uid}:{self.generation}"


class Ruling(Mechanism, Protocol):
    """A mechanism whose rules choose objects by themselves, so that what they choose is weighed before anything goes."""

    def runs(self, now: float) -> Iterable[Run]:
        """Those that have begun and may claim something still; also those that claim nothing."""

    def chosen(self, run: Run) -> Collection[Uid] | None:
        """All that a run may claim; None: every object has to be asked about."""


class Guard(Protocol):
    """Something that can say "this stays". `claim` is the one that would let it go."""

    def holds(self, row: Row, claim: Claim, now: float) -> Iterable[Hold]: ...


class LastWord(msgspec.Struct, frozen=True, gc=False):
    """What is left to say against a Claim, and what has to be asked before there is more to say."""

    holds: tuple[Hold, ...] = ()
    questions: tuple[Question, ...] = ()


NO_WORD = LastWord()


class LastGuard(Protocol):
    """One that has to know what all the others said."""

    def last_word(self, row: Row, claim: Claim, now: float, *, others: Collection[Hold]) -> LastWord: ...
