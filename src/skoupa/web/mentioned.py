"""Which other objects a reason names, fact by fact, as its table has them: the owner, the user, the Brake.

Every fact of every reason is in one of the tables here. A fact that names something is for who may read that; a text may quote
anything and is looked through; the rest is about the object itself, or about the rule that lets it go: who may read the object
may know that rule. A fact that no table knows, of a ledger that is older or newer, is looked through as a text.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from functools import cache
from typing import Final

import msgspec

from skoupa.kinds.brake import BRAKES
from skoupa.model.reasons import REASONS, Reason

# With the kind that they leave out; empty: they say it themselves, as `Pod shop/web`.
OBJECTS: Final = {
    "object": "",
    "user": "",
    "owner": "",
    "controller": "",
    "exception": "PolicyException",
    "account": "ServiceAccount",
}
# By the code of the reason: what is the name of a Brake there, and what is said by it.
BRAKE_FACTS: Final = {
    "brake": frozenset({"name", "why"}),
    "brake-inside": frozenset({"name", "why"}),
    "run-would-brake": frozenset({"why"}),
    "retroactive-label": frozenset({"brake"}),
    "perhaps-retroactive": frozenset({"brake"}),
}
TEXTS: Final = frozenset({"why", "what", "last", "proof"})
PLAIN: Final = frozenset(
    [
        "at",
        "by",
        "command",
        "count",
        "filter",
        "finalizer",
        "finalizers",
        "identity",
        "instead",
        "key",
        "keys",
        "kind",
        "kinds",
        "limit",
        "manager",
        "namespace",
        "namespaces",
        "path",
        "phase",
        "place",
        "policy",
        "remaining",
        "rule",
        "seconds",
        "setting",
        "since",
        "state",
        "tenant",
        "tick",
        "time",
        "until",
        "value",
        "verb",
        "where",
        "written",
    ]
)
# Whichever it is: who may read one Brake may read all.
_SOME_BRAKE: Final = f"{BRAKES.qualified}/-"
# As reasons name it: `deleting it would take along Secret shop/login, which stays`.
_NAMED: Final = re.compile(r"take along (?P<kind>[^\s/,]+) (?P<place>[^\s,]+), which ")
_PART: Final = re.compile(r"(?P<part>[^\s/]+(?:/[^\s/:]+){1,2}) (?:goes|that may go) along: ")
# `Deployment shop/web: its template can't be understood`; what begins with a capital and has a place is taken for an object.
_PLACED: Final = re.compile(
    r"\b(?P<kind>[A-Z][A-Za-z0-9]*) (?P<place>[a-z0-9][a-z0-9.-]*/[a-z0-9][a-z0-9.:-]*)"
)
_VOLUMES: Final = re.compile(r"reclaim policy Delete \((?P<names>[^)]+)\)")
_BRAKE: Final = re.compile(r"\b[Bb]rake \S+: ")


class Mention(msgspec.Struct, frozen=True):
    """`Secret shop/login` or `secrets/shop/login`; `home` is where it is if it has no place of its own."""

    text: str
    home: str = ""


def in_reason(told: Reason, home: str) -> Iterator[Mention]:
    """`home` is the namespace of the object that it is said of."""
    for name, fact in told.facts:
        yield from in_fact(told.code, name, fact, home)


def in_fact(code: str, name: str, fact: str, home: str) -> Iterator[Mention]:
    if name in BRAKE_FACTS.get(code, ()):
        yield Mention(_SOME_BRAKE)
    elif name in OBJECTS:
        yield Mention(f"{OBJECTS[name]} {fact}".strip(), home)
    elif name in TEXTS or name not in PLAIN:
        yield from in_text(fact)


def in_text(text: str) -> Iterator[Mention]:
    for found in (*_NAMED.finditer(text), *_PLACED.finditer(text)):
        yield Mention(f"{found['kind']} {found['place']}".rstrip(".:"))
    for found in _PART.finditer(text):
        yield Mention(found["part"])
    for found in _VOLUMES.finditer(text):
        yield from (Mention(f"PersistentVolume {name}") for name in found["names"].split(", "))
    if _BRAKE.search(text):
        yield Mention(_SOME_BRAKE)


def in_rendered(code: str, text: str, home: str) -> list[Mention]:
    """In a reason that is known in its words only. Words that its code does not explain may name anything."""
    found = list(in_text(text))
    if code in REASONS and not names_nothing(code):
        read = _pattern(code).fullmatch(text)
        facts = read.groupdict() if read is not None else {"owner": "*"}
        found += in_reason(Reason(code, tuple(facts.items())), home)
    return found


def names_nothing(code: str) -> bool:
    """Whatever its facts are."""
    return code in _SILENT


@cache
def _pattern(code: str) -> re.Pattern[str]:
    parts: list[str] = []
    seen: set[str] = set()
    for literal, name, _, _ in string.Formatter().parse(REASONS[code].text):
        parts.append(re.escape(literal))
        if name:
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>.*?)")
            seen.add(name)
    return re.compile("".join(parts), re.DOTALL)


_SILENT: Final = frozenset(
    code for code, meaning in REASONS.items() if code not in BRAKE_FACTS and meaning.facts <= PLAIN
)
