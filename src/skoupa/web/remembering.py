"""Answers that are remembered for a short while, and never more than so many of them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from skoupa.clock import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Answers(Generic[K, V]):
    def __init__(self, clock: Clock, *, seconds: float, most: int) -> None:
        self._clock = clock
        self._seconds = seconds
        self._most = most
        self._known: dict[K, tuple[float, V]] = {}

    def get(self, key: K) -> V | None:
        known = self._known.get(key)
        if known is None:
            return None
        if self._clock.monotonic() >= known[0]:
            del self._known[key]
            return None
        return known[1]

    def put(self, key: K, value: V) -> None:
        """The oldest makes room."""
        self._known.pop(key, None)
        while len(self._known) >= self._most:
            del self._known[next(iter(self._known))]
        self._known[key] = (self._clock.monotonic() + self._seconds, value)

    def __len__(self) -> int:
        return len(self._known)
