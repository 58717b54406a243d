"""How many went within a length of time that ends now: what the ceilings count with.

Nothing is asked here and nothing decided. A clock that is set back frees nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable


class Window:
    """Counts of one scope, for each length of time that some ceiling has."""

    def __init__(self, lengths: Iterable[int]) -> None:
        self._sums = {length: _Sum(length) for length in lengths}
        self.newest = 0

    def add(self, second: int, number: int) -> None:
        # A clock that was set back: it counts as of the newest second, so that nothing is forgotten too soon.
        self.newest = max(self.newest, second)
        for found in self._sums.values():
            found.add(self.newest, number)

    def take_back(self, second: int, number: int) -> None:
        for found in self._sums.values():
            found.take_back(second, number)

    def within(self, second: int, length: int) -> int:
        return self._sums[length].at(second)


class _Sum:
    """How many within the last `length` seconds: counts by the second, the oldest first, and their sum.

    Seconds that are over are forgotten as they are met, so that asking costs the same however much went.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._seconds: deque[list[int]] = deque()
        self._total = 0

    def add(self, second: int, number: int) -> None:
        self._total += number
        if self._seconds and self._seconds[-1][0] == second:
            self._seconds[-1][1] += number
        else:
            self._seconds.append([second, number])
            self.at(second)

    def take_back(self, second: int, number: int) -> None:
        """What is not in the window any more needs no taking back."""
        for entry in reversed(self._seconds):
            if entry[0] <= second:
                if entry[0] == second:
                    entry[1] -= number
                    self._total -= number
                return

    def at(self, second: int) -> int:
        while self._seconds and self._seconds[0][0] <= second - self._length:
            self._total -= self._seconds.popleft()[1]
        return self._total
