"""Manifests that are written as text inside of an object: a patch of a Pod, a chart's values, an object that a workflow makes.

Only text is looked into that has several lines (or is JSON) and speaks of something that can be lost. What is no YAML, because of
holes that a template leaves, is read line by line.
"""

from __future__ import annotations

import re
from typing import Any, Final

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


def values_in(text: str) -> list[Any]:
    """The objects that are written in a text; none in most."""
    if ("\n" not in text and not text.startswith("{")) or len(text) > _LONGEST or not _SPEAKS.search(text):
        return []
    plain = _HOLE.sub(_FILLED, text)
    try:
        documents = list(yaml.load_all(plain, Loader=_Loader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return [{field: value} for field, value in _LINE.findall(plain)]
    return [one for one in documents if isinstance(one, (dict, list))]
