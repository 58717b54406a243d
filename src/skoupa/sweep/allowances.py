"""What somebody released on purpose may pass the ceilings, as much as was held, and not for ever.

Releasing the same twice allows it once: what is left of an earlier release is for the same objects. Each part is forgotten
at its own time, whatever was released since.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import msgspec

Span = Literal["all", "namespace", "rule"]


class Whose(NamedTuple):
    """Whose an allowance is: a scope of the ceilings and, where it is only for them, a kind, a mechanism, the edition of a rule."""

    span: Span
    name: str = ""
    kind: str = ""
    mechanism: str = ""
    edition: str = ""


class Grant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """So many were allowed `at` that time: what an allowance began with.

    `behind` are the Brakes that held some of it all the same: its time begins when they let go.
    """

    span: Span
    name: str
    kind: str = ""
    mechanism: str = ""
    edition: str = ""
    number: int
    at: float
    until: float
    behind: tuple[str, ...] = ()

    @property
    def whose(self) -> Whose:
        return Whose(self.span, self.name, self.kind, self.mechanism, self.edition)


class Allowance:
    """So many more of a scope may pass; `parts` say how many of them until when (seconds since the epoch)."""

    def __init__(self, parts: Iterable[tuple[int, float]] = ()) -> None:
        self._parts = sorted(([number, until] for number, until in parts), key=_until)

    @property
    def parts(self) -> list[tuple[int, float]]:
        return [(int(number), until) for number, until in self._parts if number]

    def left(self, now: float) -> int:
        self._parts = [part for part in self._parts if part[1] > now]
        return int(sum(number for number, _ in self._parts))

    def grant(self, number: int, *, until: float, now: float) -> None:
        """So many until then; those that are allowed already, as far as there are any, and more only beyond them."""
        self.left(now)
        number -= int(min(number, sum(part[0] for part in self._parts if part[1] >= until)))
        self._take(number, ending_before=until)
        self._parts = sorted([*self._parts, [number, until]], key=_until)

    def take(self, weight: int, now: float) -> bool:
        if self.left(now) < weight:
            return False
        self._take(weight)
        return True

    def take_what_is_left(self, weight: int, now: float) -> int:
        """So much, or all that there is; how much that was."""
        taken = min(weight, self.left(now))
        self._take(taken)
        return taken

    def give_back(self, weight: int, now: float) -> None:
        """Into the part that ends first, be it used up: nothing lasts longer for having been lent."""
        self.left(now)
        if self._parts:
            self._parts[0][0] += weight

    def prolong(self, ending: float, *, until: float) -> None:
        """What would be forgotten at that time is forgotten at another."""
        self._parts = sorted(
            ([number, until if end == ending else end] for number, end in self._parts), key=_until
        )

    def lower(self, number: int, now: float) -> None:
        """To no more than so many."""
        self._take(max(0, self.left(now) - number))

    def _take(self, weight: int, *, ending_before: float | None = None) -> None:
        for part in self._parts:
            if ending_before is not None and part[1] >= ending_before:
                return
            taken = min(weight, part[0])
            part[0] -= taken
            weight -= int(taken)


def _until(part: list[float]) -> float:
    return part[1]
