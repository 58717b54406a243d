"""Kyverno's functions that match: regular expressions (on RE2, with Go's `$1`), wildcards, and labels.

Where Kyverno takes a number beside a text, the number is matched as its digits; exactly here, while Kyverno rounds to
what a 32-bit float holds. A pattern that stands in the expression as a literal is checked when that is compiled.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from skoupa.expr import patterns
from skoupa.expr.jmespath.functions.signature import (
    Checked,
    Function,
    Members,
    Text,
    TextOrNumber,
    Truth,
    declare,
)
from skoupa.expr.jmespath.jsontypes import Type
from skoupa.expr.jmespath.running import Run
from skoupa.expr.jmespath.values import equal, plain_number, whole_text
from skoupa.expr.wildcards import matches

Regex = Annotated[str, Type.STRING, Checked(patterns.compile)]

_DEAREST_REPLACEMENT: Final = 1_000_000


def regex_match(_: Run, pattern: Regex, text: TextOrNumber) -> Truth:
    return patterns.compile(pattern).search(_text(text))


def regex_replace_all(run: Run, pattern: Regex, text: TextOrNumber, replacement: TextOrNumber) -> Text:
    source = _text(text)
    _pay(run, source)
    return patterns.compile(pattern).replace_all(source, _text(replacement))


def regex_replace_all_literal(
    run: Run, pattern: Regex, text: TextOrNumber, replacement: TextOrNumber
) -> Text:
    source = _text(text)
    _pay(run, source)
    return patterns.compile(pattern).replace_all_literal(source, _text(replacement))


def pattern_match(run: Run, pattern: Text, text: TextOrNumber) -> Truth:
    source = _text(text)
    if "*" in pattern or "?" in pattern:
        run.spend(len(pattern) * len(source) // 8)
    return matches(pattern, source)


def label_match(run: Run, selector: Members, labels: Members) -> Truth:
    run.spend(len(selector))
    return all(key in labels and equal(labels[key], value, run) for key, value in selector.items())


def _text(value: Any) -> str:
    return whole_text(value) if isinstance(value, str) else plain_number(value)


def _pay(run: Run, text: str) -> None:
    """Each character may be a match, and each match may have looked at all of the rest (`expr.patterns` bounds that)."""
    run.spend(20 * len(text) + min(len(text) ** 2 // 100, _DEAREST_REPLACEMENT))


FUNCTIONS: Final[tuple[Function, ...]] = (
    declare(regex_match),
    declare(regex_replace_all),
    declare(regex_replace_all_literal),
    declare(pattern_match),
    declare(label_match),
)
