"""Names of which only part is known: `#` stands for an ordinal, `*` for anything.

A cluster has as many ordinal names as StatefulSets with claims, so that these are found by the name itself with its digits
taken out, and not by trying them all. The others are few: names out of templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

ORDINAL: Final = "#"
ANYTHING: Final = "*"
_DIGITS: Final = re.compile(r"[0-9]+")
_DIGIT_SIGNS: Final = frozenset("0123456789")
_SEVERAL: Final = re.compile(r"\*{2,}")
_SPECIAL: Final = re.compile(r"[#*]")
# Of any name.
_LONGEST: Final = 253


def kinds_meaning(kind: str) -> tuple[str, str, str]:
    """A kind as a reference may write it: in full, by its name in whichever group, or not at all."""
    return kind, f"{ANYTHING}/{kind.rpartition('/')[2]}", ANYTHING


def is_pattern(name: str) -> bool:
    return ORDINAL in name or ANYTHING in name


def found_by_digits(pattern: str) -> bool:
    """Whether `without_digits` of a name that it means has it: one ordinal, with no digit beside it."""
    before, _, after = pattern.partition(ORDINAL)
    if ANYTHING in pattern or ORDINAL in after or ORDINAL not in pattern:
        return False
    return not (before[-1:].isdigit() or after[:1].isdigit())


def without_digits(name: str) -> Iterator[str]:
    """The ordinal names that can mean this one."""
    for run in _DIGITS.finditer(name):
        yield f"{name[: run.start()]}{ORDINAL}{name[run.end() :]}"


def means(pattern: str, name: str) -> bool:
    return pattern == name or _compiled(pattern).fits(name)


class _Compiled:
    """All ways through a pattern at once, a bit for each place in it: no pattern takes longer than it is long.

    Whoever writes an object writes its patterns, too, and can write one of which trying one way after the other never ends.
    """

    __slots__ = ("_advances", "_begin", "_end", "_length", "_ordinals", "_stars")

    def __init__(self, pattern: str) -> None:
        signs = _SEVERAL.sub(ANYTHING, pattern)
        before, after = _SPECIAL.split(signs)[0], _SPECIAL.split(signs)[-1]
        self._begin, self._end, self._length = before, after, len(signs)
        if len(signs) - signs.count(ANYTHING) > _LONGEST:
            # It says more than a name has room for.
            self._length = -1
            signs = ""
        self._stars = self._ordinals = 0
        self._advances: dict[str, int] = {}
        for place, sign in enumerate(signs):
            if sign == ANYTHING:
                self._stars |= 1 << place
            elif sign == ORDINAL:
                self._ordinals |= 1 << (place + 1)
                for digit in _DIGIT_SIGNS:
                    self._advances[digit] = self._advances.get(digit, 0) | 1 << place
            else:
                self._advances[sign] = self._advances.get(sign, 0) | 1 << place

    def fits(self, name: str) -> bool:
        if self._length < 0 or not (name.startswith(self._begin) and name.endswith(self._end)):
            return False
        stars, ordinals = self._stars, self._ordinals
        places = 1 | (1 & stars) << 1
        for sign in name:
            stay = stars | ordinals if sign in _DIGIT_SIGNS else stars
            places = (places & self._advances.get(sign, 0)) << 1 | places & stay
            places |= (places & stars) << 1
            if not places:
                return False
        return bool(places >> self._length & 1)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> _Compiled:
    return _Compiled(pattern)
