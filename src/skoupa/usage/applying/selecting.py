"""Label selectors inside objects, as the text that `kube/selectors.py` reads.

A LabelSelector without anything in it selects everything; a plain map of labels without anything in it selects nothing. What no
object could be labelled with is refused: it would be read as something else in a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from skoupa.kube.selectors import label_key_faults

OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "", "DoesNotExist": "!"}
_VALUE: Final = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_LONGEST: Final = 63


class Expression(msgspec.Struct, frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class Selector(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A LabelSelector as it is written in an object."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[Expression] | None = None


def selector_text(selector: Selector) -> str:
    """Raises `ValueError` with what it could not make sense of."""
    return ",".join(sorted(_requirements(selector)))


def labels_text(labels: Mapping[str, str]) -> str:
    return ",".join(sorted(_equal(key, value) for key, value in labels.items()))


def _equal(key: str, value: str) -> str:
    _check_key(key)
    _check_value(value)
    return f"{key}={value}"


@lru_cache(maxsize=4096)
def _check_key(key: str) -> None:
    if label_key_faults(key):
        raise ValueError(f"{key!r} can't be the key of a label")


def _check_value(value: str) -> None:
    if len(value) > _LONGEST or not _VALUE.fullmatch(value):
        raise ValueError(f"{value!r} can't be the value of a label")


def _requirements(selector: Selector) -> Iterator[str]:
    for key, value in (selector.match_labels or {}).items():
        yield _equal(key, value)
    for one in selector.match_expressions or ():
        operator = OPERATORS.get(one.operator)
        if operator is None:
            raise ValueError(f"nobody knows what the operator {one.operator!r} of a selector means")
        _check_key(one.key)
        if operator in ("in", "notin"):
            if not one.values:
                raise ValueError(f"a selector with the operator {one.operator!r} has no values")
            for value in one.values:
                _check_value(value)
            yield f"{one.key} {operator} ({','.join(sorted(one.values))})"
        else:
            yield f"{operator}{one.key}"
