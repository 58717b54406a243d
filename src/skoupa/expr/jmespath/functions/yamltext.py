"""YAML as Kubernetes' Go programs read it, put together from the parser's events.

Plain scalars follow go-yaml 2: `yes`, `on` and `y` are booleans, `0o17` and `017` octal, `1:30` and dates stay texts.
Keys become texts, and what JSON can't say (infinity, a map as key) is refused. `parse_yaml` reads the first document only.
PyYAML's own loaders are not used: besides reading scalars differently, they overflow the stack on deep nesting.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import yaml

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML without libyaml: the same, slower
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

_DEEPEST: Final = 200
_TAG: Final = "tag:yaml.org,2002:"
_TAGGED: Final = {_TAG + "null": type(None), _TAG + "bool": bool, _TAG + "int": int, _TAG + "float": float}
_TRUE: Final = frozenset({"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
_FALSE: Final = frozenset({"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})
_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_INTEGER: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|(0|[1-9][0-9]*))")
_BASES: Final = (16, 8, 2, 10)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class TooDeep(ValueError):
    """There may be much in it, and nobody is going to look."""


def first_document(text: str) -> Any:
    """The first document as JSON values; aliases are shared, not copied. A ValueError says what is wrong."""
    return next(documents(text), None)


def documents(text: str) -> Iterator[Any]:
    """All of them, one after the other; what is wrong with one is told when it is its turn."""
    try:
        yield from _composed(text)
    except yaml.YAMLError as error:
        raise ValueError(f"this is no YAML: {' '.join(str(error).split())}") from error


def written_out(document: Any) -> int:
    """How many values there are in a document once its aliases are written out: a short one may have billions."""
    known: dict[int, int] = {}

    def count(value: Any) -> int:
        if not isinstance(value, dict | list):
            return 1
        if id(value) not in known:
            inner = value.values() if isinstance(value, dict) else value
            known[id(value)] = 1 + sum(map(count, inner))
        return known[id(value)]

    return count(document)


class _Sequence:
    def __init__(self, anchor: str | None) -> None:
        self.anchor = anchor
        self._items: list[Any] = []

    def add(self, value: Any, *, merge: bool) -> None:  # noqa: ARG002 - as a mapping
        self._items.append(value)

    def close(self) -> Any:
        return self._items


class _Mapping:
    """Takes keys and values in turn; what `<<` brings counts where it stands, as in Go: what comes later wins."""

    def __init__(self, anchor: str | None) -> None:
        self.anchor = anchor
        self._members: dict[str, Any] = {}
        self._key: str | None = None
        self._merging = False

    def add(self, value: Any, *, merge: bool) -> None:
        if self._merging:
            for brought in reversed(_mergeable(value)):
                self._members.update(brought)
            self._merging = False
        elif self._key is not None:
            self._members[self._key] = value
            self._key = None
        elif merge:
            self._merging = True
        else:
            self._key = _key(value)

    def close(self) -> Any:
        return self._members


def _composed(text: str) -> Iterator[Any]:
    open_: list[_Sequence | _Mapping] = []
    anchors: dict[str, Any] = {}
    for event in yaml.parse(text, _Loader):
        merge = False
        if isinstance(event, yaml.ScalarEvent):
            value, anchor = _scalar(event), event.anchor
            merge = event.value == "<<" and event.implicit[0]
        elif isinstance(event, yaml.AliasEvent):
            anchor = None
            value = _named(event, anchors)
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            open_.append(_opened(event, depth=len(open_)))
            continue
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            closed = open_.pop()
            value, anchor = closed.close(), closed.anchor
        else:
            if isinstance(event, yaml.DocumentStartEvent):
                anchors = {}
            continue
        if anchor is not None:
            anchors[anchor] = value
        if open_:
            open_[-1].add(value, merge=merge)
        else:
            yield value


def _opened(event: yaml.SequenceStartEvent | yaml.MappingStartEvent, *, depth: int) -> _Sequence | _Mapping:
    if depth >= _DEEPEST:
        raise TooDeep(f"this is nested more than {_DEEPEST} deep{_line(event)}")
    if event.tag not in {None, "!", _TAG + "seq", _TAG + "map"}:
        raise ValueError(f"JSON has nothing like {event.tag}{_line(event)}")
    return (_Sequence if isinstance(event, yaml.SequenceStartEvent) else _Mapping)(event.anchor)


def _named(event: yaml.AliasEvent, anchors: dict[str, Any]) -> Any:
    if event.anchor not in anchors:
        raise ValueError(f"there is no complete value called *{event.anchor}{_line(event)}")
    return anchors[event.anchor]


def _scalar(event: yaml.ScalarEvent) -> Any:
    text, tag = str(event.value), event.tag
    if tag in {"!", _TAG + "str", _TAG + "timestamp"}:
        return text
    if event.implicit[0]:
        return _plain(text, event)
    if event.implicit[1]:
        return text
    if tag == _TAG + "binary":
        return _binary(text, event)
    value = _plain(text, event)
    wanted = _TAGGED.get(tag or "")
    if wanted is float and type(value) is int:
        return float(value)
    if wanted is None or type(value) is not wanted:
        raise ValueError(f"{text[:40]!r} is no {tag}{_line(event)}")
    return value


def _binary(text: str, event: yaml.ScalarEvent) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode(errors="surrogateescape")
    except ValueError as error:
        raise ValueError(f"{text[:40]!r} is no base64{_line(event)}") from error


def _plain(text: str, event: yaml.ScalarEvent) -> Any:
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    # Most scalars are words.
    if text[0] not in "+-.0123456789":
        return text
    if _INFINITE.fullmatch(text):
        raise ValueError(f"JSON has no number like {text}{_line(event)}")
    digits = text.replace("_", "")
    integer = _INTEGER.fullmatch(digits) if len(digits) < 300 else None
    if integer is not None:
        sign, *written = integer.groups()
        number = next(int(part, base) for part, base in zip(written, _BASES, strict=True) if part is not None)
        return -number if sign == "-" else number
    if len(digits) < 300 and _FLOAT.fullmatch(digits):
        value = float(digits)
        return value if math.isfinite(value) else text
    return text


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(key)
    if isinstance(key, float):
        return _short(key)
    raise ValueError("a key is a text, a number or a boolean; write it in quotes")


def _short(value: float) -> str:
    """As Go's %g: an exponent from a million on."""
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return f"{int(value)}" if value.is_integer() else repr(value)
    mantissa, exponent = f"{Decimal(repr(value)).normalize():e}".split("e")
    return f"{mantissa}e{int(exponent):+03d}"


def _mergeable(value: Any) -> list[dict[str, Any]]:
    sources = value if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise ValueError("<< takes a mapping, or a list of them")
    return sources


def _line(event: yaml.Event) -> str:
    return f" (line {event.start_mark.line + 1})" if event.start_mark else ""
