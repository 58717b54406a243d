"""Numbers for values that are equal again and again, so that an edge is two numbers and no pair of objects.

A value has its number as long as somebody holds it; afterwards the number is given to another one, so that what a graph
needs follows what is in it and not what ever was.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

H = TypeVar("H", bound=Hashable)


class Numbered(Generic[H]):
    def __init__(self) -> None:
        self._numbers: dict[H, int] = {}
        self.find: Callable[[H], int | None] = self._numbers.get
        self._values: list[H | None] = []
        self._held: list[int] = []
        self._free = array("I")

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, value: H) -> int:
        """The number of a value, which nobody holds yet where it is new."""
        known = self._numbers.get(value)
        if known is not None:
            return known
        if self._free:
            number = self._free.pop()
            self._values[number] = value
        else:
            number = len(self._values)
            self._values.append(value)
            self._held.append(0)
        self._numbers[value] = number
        return number

    def value(self, number: int) -> H:
        value = self._values[number]
        assert value is not None
        return value

    def hold(self, number: int) -> None:
        self._held[number] += 1

    def hold_each(self, numbers: Iterable[int]) -> None:
        """Called for all edges of an object at once: a call for each is what takes time."""
        held = self._held
        for number in numbers:
            held[number] += 1

    def holders(self, number: int) -> int:
        return self._held[number]

    def let_go(self, number: int) -> bool:
        """Whether that was the last one: the number is free then."""
        self._held[number] -= 1
        if self._held[number]:
            return False
        del self._numbers[self.value(number)]
        self._values[number] = None
        self._free.append(number)
        if not self._numbers:
            # A dictionary that was large once never becomes small again by itself.
            self._numbers, self._values = {}, []
            self.find = self._numbers.get
            self._held, self._free = [], array("I")
        return True
