"""Comparisons of lifetimes for `plan --ttl`: `>7d`, `>=1h`, `<30m`, `<=30m`, `=1d`, and `1h..7d`, both ends included.

A lifetime is in whole seconds; one that is given as a date counts as that date minus creation, so it may be negative.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from skoupa.errors import UsageError
from skoupa.expr.durations import parse_duration, render_duration
from skoupa.expr.readings import Problem, quoted

_FORM: Final = re.compile(r"\s*(>=|<=|==|>|<|=)\s*(.*?)\s*", re.DOTALL)
_MISSPELT: Final = {
    "=>": ">=",
    "=<": "<=",
    "≥": ">=",
    "≤": "<=",
    "gt": ">",
    "ge": ">=",
    "lt": "<",
    "le": "<=",
}
_EXAMPLES: Final = "write '>7d', '>=1h', '<30m', '<=30m', '=1d' or '1h..7d'"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Both bounds are included; None is no bound. `text` says it in words, for people to check."""

    text: str
    at_least: int | None = None
    at_most: int | None = None

    def holds(self, seconds: int) -> bool:
        return (self.at_least is None or seconds >= self.at_least) and (
            self.at_most is None or seconds <= self.at_most
        )


def read_comparison(text: str) -> Comparison:
    """The comparison, or a UsageError that says how to write it."""
    if ".." in text:
        return _range(text)
    match = _FORM.fullmatch(text)
    if match is None or match[2][:1] in {"<", ">"}:
        raise _not_understood(text)
    operator, seconds = match[1], _seconds(match[2])
    shown = render_duration(seconds)
    if operator == ">":
        return Comparison(text=f"over {shown}", at_least=seconds + 1)
    if operator == ">=":
        return Comparison(text=f"{shown} or more", at_least=seconds)
    if operator == "<":
        return Comparison(text=f"under {shown}", at_most=seconds - 1)
    if operator == "<=":
        return Comparison(text=f"{shown} or less", at_most=seconds)
    return Comparison(text=f"exactly {shown}", at_least=seconds, at_most=seconds)


def _range(text: str) -> Comparison:
    first, _, last = (part.strip() for part in text.partition(".."))
    if not first or not last:
        advice = f"write '>={first}'" if first else f"write '<={last}'" if last else _EXAMPLES
        raise UsageError(f"--ttl {quoted(text)} lacks one end", advice=advice)
    low, high = _seconds(first), _seconds(last)
    if low > high:
        raise UsageError(
            f"--ttl {quoted(text)} ends before it begins", advice=f"did you mean '{last}..{first}'?"
        )
    return Comparison(text=f"{render_duration(low)} to {render_duration(high)}", at_least=low, at_most=high)


def _seconds(text: str) -> int:
    read = parse_duration(text)
    if isinstance(read, Problem):
        raise UsageError(f"--ttl: {read.what}", advice=read.instead)
    return read


def _not_understood(text: str) -> UsageError:
    what, bare = f"--ttl {quoted(text)} is no comparison", text.strip()
    if isinstance(parse_duration(bare), int):
        return UsageError(what, advice=f"did you mean '>={bare}', '<={bare}' or '={bare}'?")
    for misspelt, operator in _MISSPELT.items():
        rest = bare.removeprefix(misspelt).strip()
        if rest != bare and isinstance(parse_duration(rest), int):
            return UsageError(what, advice=f"did you mean '{operator}{rest}'?")
    return UsageError(what, advice=_EXAMPLES)
