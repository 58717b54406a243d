"""Conditions and context that Kyverno works out in another way than Skoupa.

Found by how they are written: whether an object will ever show the difference is not asked. Calls are looked at by who knows what
may be called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa.expr.readings import quoted
from skoupa.kinds.policies.context import ContextEntry
from skoupa.model.differences import Difference, difference
from skoupa.policy.operators import OPERATORS
from skoupa.policy.policies import Clauses

_SIZES: Final = frozenset(name for name in OPERATORS if "Greater" in name or "Less" in name)
_SETS: Final = frozenset(name.lower() for name in OPERATORS if name.endswith("In"))
_OUTSIDE: Final = re.compile(r"!\s*[-+]?[0-9][0-9.]*[A-Za-z]*-[-+]?[0-9][0-9.]*[A-Za-z]*")
_TARGET: Final = re.compile(rb"\b(?:target|images)\b|\brequest\.(?:name|namespace)\b")
_VERSIONS: Final = re.compile(r"semver_compare\s*\(([^()]*)\)")
_ODD_RANGE: Final = re.compile(r"!=?\s*[0-9]+(?:\.[0-9]+)*\.[xX*]|!\s+[0-9]|[0-9]+\.x\.x")
# From here on Go writes a number with an exponent.
_WITH_EXPONENT: Final = 1_000_000


def clause_differences(clauses: Clauses) -> Iterator[Difference]:
    """Each once, however often it is found."""
    yield from dict.fromkeys(_all(clauses))


def _all(clauses: Clauses) -> Iterator[Difference]:
    for mode in ("any", "all"):
        for comparison in clauses.comparisons.get(mode) or ():
            yield from _of_comparison(comparison)
    for entry in clauses.context:
        yield from _of_entry(entry)
    written = msgspec.json.encode([clauses.comparisons, clauses.context]).decode()
    for call in _VERSIONS.finditer(written):
        yield difference("no-version")
        odd = _ODD_RANGE.search(call[1])
        if odd:
            yield difference("version-range", value=quoted(odd[0]))


def _of_comparison(comparison: Mapping[str, Any]) -> Iterator[Difference]:
    operator = str(comparison.get("operator") or "")
    if operator not in _SIZES and operator.lower() in {name.lower() for name in _SIZES}:
        yield difference("operator-case", operator=operator)
    if operator.lower() in _SETS:
        value = comparison.get("value")
        for one in value if isinstance(value, list | tuple) else (value,):
            if isinstance(one, str) and _OUTSIDE.fullmatch(one.strip()):
                yield difference("negated-range", value=quoted(one))
            if isinstance(one, int | float) and not isinstance(one, bool) and abs(one) >= _WITH_EXPONENT:
                yield difference("large-number", value=one)


def _of_entry(entry: ContextEntry) -> Iterator[Difference]:
    name = quoted(entry.name)
    if _TARGET.search(msgspec.json.encode(entry)):
        yield difference("target-context", entry=name)
    if entry.api_call is not None and entry.api_call.default is not None:
        yield difference("call-default", entry=name)
    if entry.variable is not None and entry.variable.jmes_path and entry.variable.default is not None:
        yield difference("null-default", entry=name)
