"""Pieces of CEL: literals, texts that fit wildcards, and how pieces are put together.

Everything is written so that people can read and change it: `startsWith` before a regular expression, no brackets that are not needed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any, Final

from skoupa.expr.wildcards import has_wildcard, matches

TRUE: Final = "true"
FALSE: Final = "false"
_LARGEST: Final = 2**53
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Names that CEL does not take after a dot.
_RESERVED: Final = frozenset(
    {
        *(
            "as",
            "break",
            "const",
            "continue",
            "else",
            "false",
            "for",
            "function",
            "if",
            "import",
            "in",
            "let",
        ),
        *("loop", "package", "namespace", "null", "return", "true", "var", "void", "while"),
    }
)
# Reserved, and yet taken after a dot.
_TAKEN: Final = frozenset({"namespace"})
_SPECIAL: Final = re.compile(r"[\\.+()|\[\]{}^$]")
_JOINED: Final = re.compile(r" (\|\||&&|\?|==|!=|<=?|>=?|in) ")


class Unsaid(Exception):
    """Something that CEL can't say, or not without a chance to claim more than the original."""


def literal(value: Any) -> str:
    """A JSON value as CEL writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise Unsaid("a text has a character in it that CEL has not")
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        if not math.isfinite(value) or abs(value) >= _LARGEST:
            raise Unsaid(f"the number {value} is too large")
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    raise Unsaid(f"a {type(value).__name__} is no JSON value")


def plain_name(name: str) -> bool:
    return bool(_IDENTIFIER.fullmatch(name)) and (name not in _RESERVED or name in _TAKEN)


def select(root: str, name: str) -> str:
    """A field, asked for as if it were there."""
    return f"{root}.{name}" if plain_name(name) else f"{root}[{literal(name)}]"


def maybe(root: str, name: str) -> str:
    """A field that need not be there: an optional."""
    return f"{root}.?{name}" if plain_name(name) else f"{root}[?{literal(name)}]"


def fits(text: str, pattern: str) -> str:
    """Whether a text of CEL fits a pattern with Kyverno's wildcards."""
    if not has_wildcard(pattern):
        return f"{text} == {literal(pattern)}"
    if not pattern.strip("*"):
        return TRUE
    middle = pattern.strip("*")
    if pattern in {"?*", "*?"}:
        return f'{text} != ""'
    if not has_wildcard(middle):
        if pattern.startswith("*"):
            return f"{text}.{'contains' if pattern.endswith('*') else 'endsWith'}({literal(middle)})"
        return f"{text}.startsWith({literal(middle)})"
    return f"{text}.matches({literal(regular(pattern))})"


def regular(pattern: str) -> str:
    """A pattern as a regular expression of RE2."""
    escaped = _SPECIAL.sub(lambda found: f"\\{found[0]}", pattern)
    return f"(?s)^{escaped.replace('*', '.*').replace('?', '.')}$"


def fits_some(text: str, patterns: Iterable[str]) -> str:
    """Whether a text fits one of several."""
    once = list(dict.fromkeys(patterns))
    plain = [pattern for pattern in once if not has_wildcard(pattern)]
    tests = [f"{text} in {literal(plain)}"] if len(plain) > 1 else [fits(text, each) for each in plain]
    return some(tests + [fits(text, each) for each in once if has_wildcard(each)])


def fits_empty(pattern: str) -> bool:
    return matches(pattern, "")


def every(tests: Iterable[str]) -> str:
    """All of them; of none, true."""
    kept = [test for test in dict.fromkeys(tests) if test != TRUE]
    if FALSE in kept:
        return FALSE
    return _with(" && ", kept) or TRUE


def some(tests: Iterable[str]) -> str:
    """One of them; of none, false."""
    kept = [test for test in dict.fromkeys(tests) if test != FALSE]
    if TRUE in kept:
        return TRUE
    return _with(" || ", kept) or FALSE


def negated(test: str) -> str:
    if test in {TRUE, FALSE}:
        return FALSE if test == TRUE else TRUE
    return f"!({test})" if _JOINED.search(test) else f"!{test}"


def in_order(tests: Iterable[str]) -> str:
    """The first that holds decides, and one that fails before it is a failure: `||` would pass over it."""
    *before, last = tests
    return "".join(f"({test}) ? true : " for test in before) + (f"({last})" if before else last)


def within(test: str) -> str:
    """A piece that may stand beside others."""
    return f"({test})" if re.search(r" (\|\||\?) ", test) else test


def _with(joint: str, tests: list[str]) -> str:
    if len(tests) == 1:
        return tests[0]
    loose = r" (\|\||\?) " if joint == " && " else r" (&&|\?) "
    return joint.join(f"({test})" if re.search(loose, test) else test for test in tests)
