"""Work on much, in pieces: at once for who has nothing else to do, else in turns with whatever waits on the same event loop.

A controller deletes on the loop that answers its pages, so no page may take it for more than a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final, Generic, TypeVar

from skoupa.clock import Clock

T = TypeVar("T")
# Gives way where it yields, and returns what was made.
Steps = Generator[None, None, T]

# Objects; less than a millisecond, whatever is asked of them.
AT_ONCE: Final = 50
_SECONDS: Final = 0.004


class Turns:
    """A turn begins when it is made, and where it was paused."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.monotonic()

    async def pause(self) -> None:
        if self._clock.monotonic() - self._began >= _SECONDS:
            await self._clock.sleep(0)
            self._began = self._clock.monotonic()


def at_once(steps: Steps[T]) -> T:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            made: T = end.value
            return made


async def in_turns(steps: Steps[T], clock: Clock) -> T:
    turns = Turns(clock)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            made: T = end.value
            return made
        await turns.pause()


class First(Generic[T]):
    """The first few of many, without ever sorting all of them."""

    def __init__(self, most: int, *, key: Callable[[T], object]) -> None:
        self.count = 0
        self._most = most
        self._key: Callable[[T], object] = key
        self._some: list[T] = []

    def add(self, one: T) -> None:
        self.count += 1
        self._some.append(one)
        if len(self._some) >= self._most * 8:
            self._some = self.found()

    def found(self) -> list[T]:
        return sorted(self._some, key=self._key)[: self._most]  # type: ignore[arg-type]
