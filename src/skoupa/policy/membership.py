"""AnyIn, AllIn, AnyNotIn, AllNotIn: is what the key says among what the value says? The typing rules are Kyverno's.

Everything is compared as text, and wildcards count on either side. The key is a scalar or a list; the value a list, a
text, a text that is a JSON list of texts, or a range (`1-10`, `100Mi-2Gi`, `1h-2h`; what lies outside: `!1-10` or
`1!-10`, which Kyverno takes for plain texts here). Any other key or value makes all four false. What would take
too long is a ValueError, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import msgspec

from skoupa.expr.wildcards import LIMIT, cost, has_wildcard, matches
from skoupa.policy.ordering import duration_of, quantity_of
from skoupa.policy.writing import scalar_text, written

_END: Final = r"[-+]?[0-9]+(?:\.[0-9]+)?[A-Za-z]*"
_RANGE: Final = re.compile(rf"(?P<negated>!?)(?P<low>{_END})(?P<outside>!?)-(?P<high>{_END})")
_JSON_NUMBER: Final = re.compile(r"[ \t\r\n]*-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?[ \t\r\n]*")


def any_in(key: Any, value: Any) -> bool:
    if isinstance(key, list):
        return _of_list(
            key, value, alone=True, found=True, check=lambda texts, among: any(map(among.has, texts))
        )
    return _of_scalar(key, value) is True


def any_not_in(key: Any, value: Any) -> bool:
    if isinstance(key, list):
        return _of_list(
            key, value, alone=True, found=False, check=lambda texts, among: any(map(among.lacks, texts))
        )
    return _of_scalar(key, value) is False


def all_in(key: Any, value: Any) -> bool:
    if isinstance(key, list):
        return _of_list(
            key, value, alone=False, found=True, check=lambda texts, among: all(map(among.has, texts))
        )
    return _of_scalar(key, value) is True


def all_not_in(key: Any, value: Any) -> bool:
    if isinstance(key, list):
        return _of_list(
            key, value, alone=False, found=False, check=lambda texts, among: not any(map(among.has, texts))
        )
    return _of_scalar(key, value) is False


class _Among(Protocol):
    """What a value says: a text may be in neither `has` nor `lacks`, as a word is neither in a range nor outside."""

    def has(self, text: str) -> bool: ...
    def lacks(self, text: str) -> bool: ...


class _Listed:
    """Plain texts are looked up; only where there are wildcards is each compared with each, as far as LIMIT goes."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._plain = frozenset(texts)
        self._wild = [text for text in texts if has_wildcard(text)]
        self._spent = 0

    def has(self, text: str) -> bool:
        if text in self._plain or any(self._fits(pattern, text) for pattern in self._wild):
            return True
        return has_wildcard(text) and any(self._fits(text, other) for other in self._texts)

    def lacks(self, text: str) -> bool:
        return not self.has(text)

    def _fits(self, pattern: str, text: str) -> bool:
        self._spent += cost(pattern, text)
        if self._spent > LIMIT:
            raise ValueError("both lists are too long to compare each text with each pattern")
        return matches(pattern, text)


class _Between:
    """From `low` to `high`, both included, or outside where `negated`; the text of the range itself is in it."""

    def __init__(self, text: str, *, low: str, high: str, negated: bool) -> None:
        self._text, self._low, self._high, self._negated = text, low, high, negated

    def has(self, text: str) -> bool:
        return text == self._text or (self._outside(text) if self._negated else self._inside(text))

    def lacks(self, text: str) -> bool:
        return self._inside(text) if self._negated else self._outside(text)

    def _inside(self, text: str) -> bool:
        low, high = _sign(text, self._low), _sign(text, self._high)
        return low is not None and high is not None and low >= 0 >= high

    def _outside(self, text: str) -> bool:
        low, high = _sign(text, self._low), _sign(text, self._high)
        return (low is not None and low < 0) or (high is not None and high > 0)


def _of_scalar(key: Any, value: Any) -> bool | None:
    """Whether the key is among the value; None: that can't be asked."""
    text = scalar_text(key)
    if text is None:
        return None
    if isinstance(value, list):
        return _Listed([written(item) for item in value]).has(text)
    if not isinstance(value, str):
        return None
    if matches(value, text):
        return True
    between = _range(value)
    if between is not None:
        return between.has(text)
    listed = _json_texts(value)
    return None if listed is None else text in listed


def _of_list(
    key: list[Any], value: Any, *, alone: bool, found: bool, check: Callable[[list[str], _Among], bool]
) -> bool:
    """`alone`: a number or a boolean is a value too, as for AnyIn and AnyNotIn; `found`: the answer to equal texts."""
    texts = [written(item) for item in key]
    if isinstance(value, list):
        return check(texts, _Listed([written(item) for item in value]))
    if not isinstance(value, str):
        single = scalar_text(value) if alone else None
        return single is not None and check(texts, _Listed([single]))
    if texts == [value]:
        return found
    among: _Among | None = _range(value)
    if among is None:
        listed = _json_texts(value)
        if listed is None:
            return False
        among = _Listed(listed)
    return check(texts, among)


def _range(text: str) -> _Between | None:
    match = _RANGE.fullmatch(text)
    if match is None or (match["negated"] and match["outside"]):
        return None
    negated = bool(match["negated"] or match["outside"])
    return _Between(text, low=match["low"], high=match["high"], negated=negated)


def _json_texts(text: str) -> list[str] | None:
    """The texts of a JSON list, or the text itself where it is no JSON; None: JSON that is no list of texts."""
    if _JSON_NUMBER.fullmatch(text):
        return None
    try:
        parsed = msgspec.json.decode(text)
    except RecursionError:
        return None
    except ValueError:
        return [text]
    if parsed is None:
        return []
    if not isinstance(parsed, list) or not all(item is None or isinstance(item, str) for item in parsed):
        return None
    return [item or "" for item in parsed]


def _sign(text: str, end: str) -> int | None:
    """Whether `text` is less than, equal to or more than `end`: both durations, else both quantities."""
    mine, limit = duration_of(text), duration_of(end)
    if mine is not None and limit is not None:
        return (mine > limit) - (mine < limit)
    amount, bound = quantity_of(text), quantity_of(end)
    if amount is None or bound is None:
        return None
    return (amount > bound) - (amount < bound)
