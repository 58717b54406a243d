"""Many texts with wildcards at once: the plain ones are looked up, only those with `*` or `?` are tried one by one.

A policy with ten thousand names is judged in the same time as one with a single name.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from skoupa.expr.wildcards import has_wildcard, matches


class Texts(msgspec.Struct, frozen=True):
    plain: frozenset[str] = frozenset()
    wild: tuple[str, ...] = ()

    def fit(self, text: str) -> bool:
        return text in self.plain or any(matches(pattern, text) for pattern in self.wild)


def texts(written: Iterable[str]) -> Texts:
    once = dict.fromkeys(written)
    return Texts(
        frozenset(text for text in once if not has_wildcard(text)),
        tuple(text for text in once if has_wildcard(text)),
    )
