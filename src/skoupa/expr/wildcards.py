"""Kyverno's wildcards: `*` stands for any run of characters, also none, and `?` for exactly one. Nothing else is special.

There are no escapes and no classes, and `/` is a character like any other. What stands between two stars is looked for
from left to right and never looked for again, so that no pattern explodes; `cost` is an upper bound of the
characters that are looked at, and beyond LIMIT a comparison is refused with a ValueError, never guessed.
"""

from __future__ import annotations

import functools
import re
from typing import Final

LIMIT: Final = 20_000_000

# Short texts cost time too: what a call takes, and what a new piece with `?` takes, in characters that could be looked at.
_SETTING_OUT: Final = 50
_PREPARING: Final = 1_000


def has_wildcard(text: str) -> bool:
    return "*" in text or "?" in text


def matches(pattern: str, text: str) -> bool:
    """Whether all of the text fits the pattern."""
    if not has_wildcard(pattern):
        return pattern == text
    if pattern == "*":
        return True
    if _too_short(text, pattern):
        return False
    if cost(pattern, text) > LIMIT:
        raise ValueError(f"a text of {len(text):,} characters is too long for a pattern of {len(pattern):,}")
    first, *others = _pieces(pattern)
    if not others:
        return len(pattern) == len(text) and _at(first, text, 0)
    *middle, last = others
    position, end = len(first), len(text) - len(last)
    if position > end or not _at(first, text, 0) or not _at(last, text, end):
        return False
    for piece in middle:
        found = _find(piece, text, position, end)
        if found < 0:
            return False
        position = found + len(piece)
    return True


def cost(pattern: str, text: str) -> int:
    """Only a piece with `?` that is looked for can make a place of the text be compared more than once."""
    if "?" not in pattern or _too_short(text, pattern):
        return _SETTING_OUT + len(pattern) + len(text)
    longest = max((len(piece) for piece in pattern.split("*")[1:-1] if "?" in piece), default=0)
    return _PREPARING + len(pattern) + len(text) * (1 + longest)


def _too_short(text: str, pattern: str) -> bool:
    """All but the stars stand for one character each. So a name of an object is never refused, however long the pattern."""
    return len(pattern) - pattern.count("*") > len(text)


@functools.lru_cache(maxsize=1024)
def _pieces(pattern: str) -> tuple[str, ...]:
    return tuple(pattern.split("*"))


@functools.lru_cache(maxsize=1024)
def _with_question_marks(piece: str) -> re.Pattern[str]:
    return re.compile(re.escape(piece).replace(r"\?", "."), re.DOTALL)


def _at(piece: str, text: str, position: int) -> bool:
    if "?" not in piece:
        return text.startswith(piece, position)
    return _with_question_marks(piece).match(text, position) is not None


def _find(piece: str, text: str, start: int, end: int) -> int:
    if "?" not in piece:
        return text.find(piece, start, end)
    found = _with_question_marks(piece).search(text, start, end)
    return found.start() if found else -1
