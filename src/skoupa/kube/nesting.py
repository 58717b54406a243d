"""JSON that is nested so deep that nobody decodes it: what is below a bound is taken out, and a mark left in its place.

A server stores objects that are nested ten thousand levels deep, and whoever may write one must not end who reads it, nor hide the
other objects of the page. This goes through the bytes once, without recursion; it is only asked where decoding has failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# Far below what Python takes, for who decodes parts of an object again has a deeper stack than who decoded it first.
DEEPEST: Final = 500
MARK: Final = b'"\\u0000nested too deep"'
TOO_DEEP: Final = f"it is nested more than {DEEPEST} levels deep"
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def shallow(text: bytes, deepest: int = DEEPEST) -> bytes:
    """The same text with `MARK` for each value that begins below the bound."""
    return b"".join(_kept(text, deepest))


def _kept(text: bytes, deepest: int) -> Iterator[bytes]:
    depth = kept = left_out = 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in (b"[", b"{"):
            if depth == deepest:
                left_out = token.start()
            depth += 1
        elif sign in (b"]", b"}"):
            depth -= 1
            if depth == deepest:
                yield text[kept:left_out]
                yield MARK
                kept = token.end()
    yield text[kept:]
