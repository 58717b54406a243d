"""Many texts with wildcards at once: the plain ones are looked up, and of those with `*` or `?` only what begins alike is tried.

A policy with ten thousand names is judged in the same time as one with a single name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final

import msgspec

from skoupa.expr.wildcards import has_wildcard, matches

_WILDCARD: Final = re.compile(r"[*?]")


class Texts(msgspec.Struct, frozen=True, dict=True):
    plain: frozenset[str] = frozenset()
    wild: tuple[str, ...] = ()

    def fit(self, text: str) -> bool:
        if text in self.plain:
            return True
        return any(
            matches(pattern, text)
            for beginning in self._lengths
            if beginning <= len(text)
            for pattern in self._by_beginning.get(text[:beginning], ())
        )

    @cached_property
    def _by_beginning(self) -> Mapping[str, list[str]]:
        """By all that stands before the first wildcard."""
        found: dict[str, list[str]] = defaultdict(list)
        for pattern in self.wild:
            found[_WILDCARD.split(pattern, maxsplit=1)[0]].append(pattern)
        return dict(found)

    @cached_property
    def _lengths(self) -> tuple[int, ...]:
        return tuple(sorted(set(map(len, self._by_beginning))))


def texts(written: Iterable[str]) -> Texts:
    once = dict.fromkeys(written)
    return Texts(
        frozenset(text for text in once if not has_wildcard(text)),
        tuple(text for text in once if has_wildcard(text)),
    )
