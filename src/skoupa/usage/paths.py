"""Paths into an object, as the tables write them: `spec.volumes[].secret.secretName`.

A path is a tuple of steps: the name of a field, or one of `Every`. The grammar is that of `usage/rules.py`; `written` is the
inverse of `parsed`. What is no path raises `ValueError`: tables are code, and a wrong one must not start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from typing import Any, Final


class Every(Enum):
    """A step to each of many."""

    ITEM = "[]"
    VALUE = "{}"
    KEY = "{@}"


Step = str | Every
Path = tuple[Step, ...]

_PIECE: Final = re.compile(
    r"""(?P<dot>\.)?(?:"(?P<quoted>[^"]+)"|(?P<plain>[^."\[\]{}]+))|(?P<every>\[\]|\{@?\})"""
)
_PLAIN: Final = re.compile(r"""[^."\[\]{}]+""")


@cache
def parsed(text: str) -> Path:
    """The steps of a path; of "" there are none."""
    steps: list[Step] = []
    at = 0
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None:
            raise ValueError(f"{text!r} is no path: what is {text[at:]!r}?")
        at = piece.end()
        if piece["every"]:
            steps.append(Every(piece["every"]))
        elif bool(steps) != bool(piece["dot"]):
            raise ValueError(f"{text!r} is no path: fields are joined by one dot")
        else:
            steps.append(piece["quoted"] or piece["plain"])
    if Every.KEY in steps[:-1]:
        raise ValueError(f"{text!r} is no path: nothing comes after a key")
    return tuple(steps)


def written(path: Iterable[Step]) -> str:
    text = ""
    for step in path:
        if isinstance(step, Every):
            text += step.value
        else:
            text += ("." if text else "") + (step if _PLAIN.fullmatch(step) else f'"{step}"')
    return text


def fields(text: str) -> tuple[str, ...]:
    """A path that goes through no list and no map."""
    steps = parsed(text)
    found = tuple(step for step in steps if isinstance(step, str))
    if len(found) != len(steps):
        raise ValueError(f"{text!r} goes through a list or a map, which it must not do here")
    return found


def last_of_many(path: Path) -> int:
    """How many steps lead to the last of the things of which there are many; 0 where there is only one."""
    return max((index + 1 for index, step in enumerate(path) if isinstance(step, Every)), default=0)


def values_at(value: Any, path: Path) -> Iterator[Any]:
    """What stands at a path of a manifest; what is of another shape than the path expects has nothing there."""
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    if step is Every.ITEM:
        inner: Iterable[Any] = value if isinstance(value, list) else ()
    elif not isinstance(value, Mapping):
        inner = ()
    elif isinstance(step, Every):
        inner = value.values() if step is Every.VALUE else value.keys()
    else:
        inner = (value[step],) if step in value else ()
    for one in inner:
        yield from values_at(one, rest)
