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
    return pattern == name or _compiled(pattern).fullmatch(name) is not None


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"([#*])", pattern)
    spelled = {ORDINAL: "[0-9]+", ANYTHING: ".*"}
    return re.compile("".join(spelled.get(part) or re.escape(part) for part in parts), re.DOTALL)
