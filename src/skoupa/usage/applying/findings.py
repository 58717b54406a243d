"""What is gathered while one object is read, and what is remembered from one object to the next.

Thousands of templates name the same ConfigMap by the same path: what such values mean is worked out once and then shared.
A `Findings` lives as long as the reading of one object; a `Memory` as long as the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import chain
from typing import Any, Final

from skoupa.usage.found import Choice, Found, Use

# Objects come namespace by namespace, so what was seen last is what is seen next; more would only cost memory.
MOST_REMEMBERED: Final = 20_000

Key = tuple[int, str, Any]
NOTHING: Final = Found()


class Findings:
    """`uses` and `choices` have as keys whatever tells two of them apart, so that naming a thing twice counts once."""

    __slots__ = ("choices", "doubts", "name", "namespace", "uses")

    def __init__(self, *, name: str, namespace: str) -> None:
        self.name = name
        self.namespace = namespace
        self.uses: dict[Key, tuple[Use, ...]] = {}
        self.choices: dict[Hashable, Choice] = {}
        self.doubts: dict[str, None] = {}

    def doubt(self, sentence: str) -> None:
        self.doubts[sentence] = None

    def add(self, more: Found) -> None:
        """What was found by other means than the rules."""
        if more.uses:
            self.uses[0, "", "walked"] = more.uses
        self.choices.update((choice, choice) for choice in more.choices)
        self.doubts.update(dict.fromkeys(more.doubts))

    def found(self) -> Found:
        if not (self.uses or self.choices or self.doubts):
            return NOTHING
        return Found(
            uses=tuple(chain.from_iterable(self.uses.values())),
            choices=tuple(self.choices.values()),
            doubts=tuple(self.doubts),
        )


class Memory:
    """What values at a place mean, by place, namespace of the object, and values."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._known: dict[Key, tuple[Use, ...]] = {}
        self._most = most
        self._places = 0

    def place(self) -> int:
        """A number for one rule at one path of one kind."""
        self._places += 1
        return self._places

    def emitter(self, meaning: Callable[[Any, str], tuple[Use, ...]]) -> Callable[[Any, Findings], None]:
        """Gives each object that says the same, in the same namespace, the very same answer of `meaning`."""
        place = self.place()
        known = self._known
        most = self._most

        def emit(values: Any, findings: Findings) -> None:
            key = (place, findings.namespace, values)
            uses = known.get(key)
            if uses is None:
                uses = meaning(values, findings.namespace)
                if len(known) >= most:
                    known.clear()
                known[key] = uses
            if uses:
                findings.uses[key] = uses

        return emit

    def forgetful(
        self, meaning: Callable[[Any, str], tuple[Use, ...]], *, worth: Callable[[str], bool]
    ) -> Callable[[Any, Findings], None]:
        """The same for texts that hardly ever name anything, and may be whole programs: none of them is remembered.

        `worth` tells quickly whether one may name anything.
        """
        place = self.place()

        def emit(value: Any, findings: Findings) -> None:
            if not worth(value):
                return
            for use in meaning(value, findings.namespace):
                findings.uses[place, findings.namespace, use.target.name] = (use,)

        return emit
