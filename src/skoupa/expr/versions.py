"""Semantic versions (semver 2.0.0) and the ranges that Kyverno's `semver_compare` takes.

Versions order by number, then by pre-release; what follows `+` counts for nothing. In a range a space means and, `||`
means or, and and binds closer; `x` in the last places stands for any number. As in the library that Kyverno uses,
a pre-release is an ordinary version: `>=1.0.0` has 2.0.0-beta. A text that is neither is a ValueError in words.
Differences from that library, on purpose: `!=1.x` has what lies outside 1.x (there nothing at all), `1.x.x` is `1.x`
(there `1.0.x`), and pieces of one character are refused (there they are passed over).
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from skoupa.expr.readings import quoted

EXAMPLE: Final = "1.4.0 or 1.4.0-rc.1"
RANGE_EXAMPLE: Final = ">=1.0.0 <2.0.0 || 3.x"

_LONGEST: Final = 1000
_LARGEST: Final = 2**64 - 1
_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_WORD: Final = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_WORD}(?:\.{_WORD})*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)
_SPACE_AFTER_SIGN: Final = re.compile(r"(?<=[<>=]) +")
_TERM: Final = re.compile(r"(==?|!=?|>=?|<=?|)([0-9].*)", re.DOTALL)
_SIGNS: Final = {"": "=", "==": "=", "!": "!="}
_ANY: Final = re.compile(rf"({_NUMBER})(?:\.({_NUMBER})\.x|\.x|\.x\.x)")


class Version(msgspec.Struct, frozen=True, eq=False):
    """`pre` holds the parts of the pre-release as (0, number) or (1, word): a number comes before every word."""

    major: int
    minor: int
    patch: int
    pre: tuple[tuple[int, int | str], ...] = ()
    build: str = ""

    @classmethod
    def parse(cls, text: str, *, tolerant: bool = False) -> Version:
        """Tolerant: spaces around, `v` in front, leading zeroes and missing places are taken too (`v1.04`)."""
        match = _VERSION.fullmatch(_filled(text) if tolerant else text) if len(text) <= _LONGEST else None
        if match is None:
            raise ValueError(f"{quoted(text)} is no version: write three numbers, like {EXAMPLE}")
        major, minor, patch = (int(number) for number in match.groups()[:3])
        pre = tuple(
            (0, int(part)) if part.isdigit() else (1, part) for part in (match[4] or "").split(".") if part
        )
        if max(major, minor, patch, *(part for _, part in pre if isinstance(part, int))) > _LARGEST:
            raise ValueError(f"{quoted(text)} is no version: its numbers are too large")
        return cls(major, minor, patch, pre, match[5] or "")

    @property
    def _order(self) -> tuple[int, int, int, bool, tuple[tuple[int, int | str], ...]]:
        return self.major, self.minor, self.patch, not self.pre, self.pre

    def __eq__(self, other: object) -> bool:
        return self._order == other._order if isinstance(other, Version) else NotImplemented

    def __ne__(self, other: object) -> bool:
        # A Struct has one of its own, which would not ask __eq__.
        return not self == other

    def __lt__(self, other: Version) -> bool:
        return self._order < other._order

    def __le__(self, other: Version) -> bool:
        return self._order <= other._order

    def __gt__(self, other: Version) -> bool:
        return self._order > other._order

    def __ge__(self, other: Version) -> bool:
        return self._order >= other._order

    def __hash__(self) -> int:
        return hash(self._order)

    def __str__(self) -> str:
        pre = "-" + ".".join(str(part) for _, part in self.pre) if self.pre else ""
        return f"{self.major}.{self.minor}.{self.patch}{pre}" + (f"+{self.build}" if self.build else "")


class Term(msgspec.Struct, frozen=True):
    """One comparison; `end` is the first version after those that an `x` stands for."""

    sign: str
    start: Version
    end: Version | None = None

    def has(self, version: Version) -> bool:
        below, above = version < self.start, version >= self.end if self.end else version > self.start
        match self.sign:
            case ">":
                return above
            case ">=":
                return not below
            case "<":
                return below
            case "<=":
                return not above
            case "=":
                return not below and not above
            case _:
                return below or above


class Range(msgspec.Struct, frozen=True):
    """One of `alternatives` is enough; all the terms of it must hold."""

    alternatives: tuple[tuple[Term, ...], ...]

    @classmethod
    def parse(cls, text: str) -> Range:
        if len(text) > _LONGEST:
            raise ValueError(
                f"{quoted(text)} is too long for a range of versions: write it like {RANGE_EXAMPLE}"
            )
        pieces = [piece for piece in _SPACE_AFTER_SIGN.sub("", text).split(" ") if piece]
        alternatives: list[list[Term]] = [[]]
        for piece in pieces:
            if piece == "||":
                alternatives.append([])
            else:
                alternatives[-1].append(_term(piece, within=text))
        if not all(alternatives):
            raise ValueError(
                f"{quoted(text)} is no range of versions: a comparison is missing; write it like {RANGE_EXAMPLE}"
            )
        return cls(tuple(tuple(terms) for terms in alternatives))

    def has(self, version: Version) -> bool:
        return any(all(term.has(version) for term in terms) for terms in self.alternatives)


def _filled(text: str) -> str:
    parts = text.strip().removeprefix("v").split(".", 2)
    # Nobody can say which place of `1.2-rc` is meant to be missing.
    if len(parts) < 3 and any(mark in parts[-1] for mark in "+-"):
        return ""
    return ".".join([*map(_without_zeroes, parts), "0", "0"][:3])


def _without_zeroes(part: str) -> str:
    rest = part.lstrip("0")
    if len(part) < 2 or rest[:1].isdigit():
        return rest or part
    return f"0{rest}"


def _term(piece: str, *, within: str) -> Term:
    match = _TERM.fullmatch(piece)
    if match is None:
        raise ValueError(
            f"{quoted(piece)} in {quoted(within)} is no comparison of versions: write it like {RANGE_EXAMPLE}"
        )
    sign = _SIGNS.get(match[1], match[1])
    open_ended = _ANY.fullmatch(match[2])
    try:
        if open_ended is None:
            return Term(sign, Version.parse(match[2]))
        major, minor = open_ended.groups()
        if minor is None:
            return Term(sign, Version.parse(f"{major}.0.0"), Version(int(major) + 1, 0, 0))
        return Term(sign, Version.parse(f"{major}.{minor}.0"), Version(int(major), int(minor) + 1, 0))
    except ValueError as error:
        raise ValueError(f"{quoted(within)} is no range of versions: {error}") from error
