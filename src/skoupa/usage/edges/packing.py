"""The edges of one object as bytes: pairs of the number of what is pointed at and that of the reason."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

_NUMBER: Final = array("I").itemsize


def packed(pairs: Iterable[tuple[int, int]]) -> bytes:
    """Each pair once, in the order of numbers, so that equal edges are equal bytes."""
    return array("I", chain.from_iterable(sorted(set(pairs)))).tobytes()


def pairs(edges: bytes) -> Iterable[tuple[int, int]]:
    if not edges:
        return ()
    numbers = memoryview(edges).cast("I")
    return zip(numbers[::2], numbers[1::2], strict=True)


def things(edges: bytes) -> set[int]:
    return set(memoryview(edges).cast("I")[::2]) if edges else set()


def whys(edges: bytes, thing: int) -> Iterator[int]:
    """The reasons for which it is pointed at; looked up, since one object may point at ten thousand others."""
    if not edges:
        return
    numbers = memoryview(edges).cast("I")
    pointed_at = numbers[::2]
    at = bisect_left(pointed_at, thing)
    while at < len(pointed_at) and pointed_at[at] == thing:
        yield numbers[2 * at + 1]
        at += 1


def count(edges: bytes) -> int:
    return len(edges) // (2 * _NUMBER)


def reasons(edges: bytes) -> Iterable[int]:
    """One for each edge."""
    return memoryview(edges).cast("I")[1::2] if edges else ()
