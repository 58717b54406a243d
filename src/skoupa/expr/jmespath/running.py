"""One search under way: what it may use (Context), what it may cost (Limits), and what it has cost so far (Run).

Costs are counted where work repeats (elements of a list, characters of a text, parts of a nested value), before the work
is done, so that no expression hangs or fills memory: what is outside a loop is bounded by the length of the text.
Time, chance and addresses come from here only; the same Context gives the same answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from skoupa.errors import TooCostly
from skoupa.expr.usage_functions import AskUsage


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """A million steps take about a tenth of a second; `output` is about the bytes of all that is made on the way."""

    steps: int = 5_000_000
    output: int = 32 * 2**20


class Budget:
    """Steps that many searches share, such as all of one run of a policy. Who shares them looks at what is left."""

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What an expression may know besides the value it is asked about.

    `now` is seconds since the epoch (a Clock's); `addresses` looks up a host name for `is_external_url`, and without it
    only addresses are understood. Whoever gathers evidence looks names up beforehand: nothing here waits. `usage` answers for the
    object that is judged, where there is one. What searches cost is taken from the `budget`.
    """

    now: float
    chance: random.Random | None = None
    addresses: Callable[[str], Sequence[str]] | None = None
    usage: AskUsage | None = None
    limits: Limits = Limits()
    budget: Budget | None = None


Step = Callable[[Any, "Run"], Any]
# What takes as long.
_BYTES_A_STEP: Final = 64


class Missing(msgspec.Struct, frozen=True):
    """What a path answers where a key is not there; never inside a value, never given to a function."""

    path: str
    key: str


class Lambda(msgspec.Struct, frozen=True):
    """`&name`: an expression handed to a function, with the steps that asking it takes."""

    step: Step
    cost: int


class Run:
    """Counts down while one expression is evaluated. One that is `part` of another takes from what that one has left."""

    __slots__ = ("_whole", "context", "expression", "output", "slots", "steps")

    def __init__(
        self, expression: str, context: Context, slots: Sequence[Any] = (), *, part: Run | None = None
    ) -> None:
        self.expression = expression
        self.context = context
        self.slots = slots
        self._whole = part
        self.steps: int = context.limits.steps if part is None else part.steps
        self.output: int = context.limits.output if part is None else part.output

    def end(self) -> None:
        """However it ended."""
        if self._whole is not None:
            self._whole.steps, self._whole.output = self.steps, self.output
        elif self.context.budget is not None:
            limits = self.context.limits
            made = (limits.output - self.output) // _BYTES_A_STEP
            self.context.budget.left -= limits.steps - self.steps + made

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise TooCostly(
                f"this takes more than {self.context.limits.steps:,} steps",
                expression=self.expression,
                advice="look at fewer elements, or filter them first",
            )

    def make(self, size: int) -> None:
        """Before `size` characters are made."""
        self.output -= size
        if self.output < 0:
            raise TooCostly(
                f"this makes more than {self.context.limits.output:,} bytes",
                expression=self.expression,
                advice="look at fewer elements, or at shorter texts",
            )

    def make_elements(self, count: int) -> None:
        """Before a list of so many is made, of elements that exist."""
        self.make(56 + 8 * count)

    def make_members(self, count: int) -> None:
        """Before an object of so many is made, of values that exist."""
        self.make(64 + 56 * count)

    def ask(self, function: Lambda, value: Any) -> Any:
        """What `&name` answers about one element; absence is null here, as everywhere within functions."""
        self.spend(function.cost)
        found = function.step(value, self)
        return None if isinstance(found, Missing) else found
