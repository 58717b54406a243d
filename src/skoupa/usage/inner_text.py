"""Manifests that are written as text inside of an object: a patch of a Pod, a chart's values, an object that a workflow makes.

Only text is looked into that has several lines (or is JSON) and speaks of something that can be lost. What is no YAML, because of
holes that a template leaves, is read line by line. Reading long YAML takes seconds, and what is nested without end nobody reads: these
are a doubt instead. Whoever may write an object decides what is in it: no text ends the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec

from skoupa.expr.jmespath.functions.yamltext import TooDeep, documents, written_out

_LONGEST: Final = 256 * 1024
_SPEAKS: Final = re.compile(r"secret|configmap|serviceaccount|claim|credential", re.IGNORECASE)
# Written so it is a plain word to YAML, and still known for a hole (`usage/spelled.py`).
# As in `applying/naming.py` none goes on beyond where another begins.
_HOLE: Final = re.compile(r"\{\{(?:(?!\{\{|\}\}).)*\}\}", re.DOTALL)
_FILLED: Final = "$(hole)"
_LINE: Final = re.compile(
    r"""^[ \t-]*["']?([A-Za-z][-\w]*)["']?[ \t]*:[ \t]*["']?([^\s"',{}\[\]]+)["']?,?[ \t]*$""", re.MULTILINE
)


class Unread(msgspec.Struct, frozen=True):
    """Stands for what is written in a text that is not read; `told` is the doubt."""

    told: str


_TOO_LONG: Final = Unread(
    f"a text in it is longer than {_LONGEST // 1024} KiB and speaks of what may be an object"
)
# A text that is short enough has no more, but by aliases.
_MOST_VALUES: Final = _LONGEST
_TOO_MANY: Final = Unread(
    "a text in it repeats itself too often to be read, and speaks of what may be an object"
)
_TOO_DEEP: Final = Unread("a text in it is nested too deep to be read, and speaks of what may be an object")


def values_in(text: str) -> list[Any]:
    """The objects that are written in a text, or an `Unread`; none in most."""
    if ("\n" not in text and not text.startswith("{")) or not _SPEAKS.search(text):
        return []
    if len(text) > _LONGEST:
        return [*_as_json(text)] or [_TOO_LONG]
    plain = _HOLE.sub(_FILLED, text)
    try:
        found = list(documents(plain))
    except TooDeep:
        return [_TOO_DEEP]
    except ValueError:
        return [{field: value} for field, value in _LINE.findall(plain)]
    if sum(map(written_out, found)) > _MOST_VALUES:
        return [_TOO_MANY]
    return [one for one in found if isinstance(one, (dict, list))]


def _as_json(text: str) -> Iterator[Any]:
    """That is read fast, however long it is."""
    if text.lstrip().startswith(("{", "[")):
        with suppress(msgspec.DecodeError, RecursionError):
            yield msgspec.json.decode(text)
