"""Manifests that are written as text inside of an object: a patch of a Pod, a chart's values, an object that a workflow makes.

Only text is looked into that has several lines (or is JSON) and speaks of something that can be lost. What is no YAML, because of
holes that a template leaves, is read line by line. Reading long YAML takes seconds: it is a doubt instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec
import yaml

_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LONGEST: Final = 256 * 1024
_SPEAKS: Final = re.compile(r"secret|configmap|serviceaccount|claim|credential", re.IGNORECASE)
# Written so it is a plain word to YAML, and still known for a hole (`usage/spelled.py`).
_HOLE: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_FILLED: Final = "$(hole)"
_LINE: Final = re.compile(
    r"""^[ \t-]*["']?([A-Za-z][-\w]*)["']?[ \t]*:[ \t]*["']?([^\s"',{}\[\]]+)["']?,?[ \t]*$""", re.MULTILINE
)


class TooLong:
    """Stands for what is written in a text that is too long to be read; `told` is the doubt."""

    told: Final = f"a text in it is longer than {_LONGEST // 1024} KiB and speaks of what may be an object"


def values_in(text: str) -> list[Any]:
    """The objects that are written in a text, or a `TooLong`; none in most."""
    if ("\n" not in text and not text.startswith("{")) or not _SPEAKS.search(text):
        return []
    if len(text) > _LONGEST:
        return [*_as_json(text)] or [TooLong()]
    plain = _HOLE.sub(_FILLED, text)
    try:
        documents = list(yaml.load_all(plain, Loader=_Loader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return [{field: value} for field, value in _LINE.findall(plain)]
    return [one for one in documents if isinstance(one, (dict, list))]


def _as_json(text: str) -> Iterator[Any]:
    """That is read fast, however long it is."""
    if text.lstrip().startswith(("{", "[")):
        with suppress(msgspec.DecodeError, RecursionError):
            yield msgspec.json.decode(text)
