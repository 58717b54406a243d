"""Regular expressions as Go reads them, on RE2: matching takes time proportional to the text, whatever the pattern.

Finding all matches and replacing follow Go: an empty match right after another match does not count, and a
replacement is a template with `$1`, `${1}`, `$name` and `$$`, where `$1x` means the group named 1x. Lengths, memory and
the work of repeated searches are bounded: what goes beyond is a ValueError in words, as is a pattern that does
not compile. Look-around and back references do not exist here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # google-re2 ships no types

from skoupa.expr.readings import quoted

LONGEST_PATTERN: Final = 10_000
LONGEST_TEXT: Final = 2**20
LONGEST_RESULT: Final = 8 * 2**20

_MEMORY: Final = 2 * 2**20
# Each search may look at all of the rest to find a short match, so that the sum can grow with the square.
_LONGEST_SEARCH: Final = 100_000_000
_ONE_BYTE: Final = re.compile(r"(?<!\\)(?:\\\\)*\\C")
_TEMPLATE: Final = re.compile(r"\$(?:(\$)|(\w+)|\{(\w+)\})")
# What stands in a pattern between its groups (quotes, escapes, classes), and the beginning of each group.
_GROUPS: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|(?P<group>\((?!\?)|\(\?P?<(?P<name>\w+)>)",
    re.DOTALL,
)

_Spans = list[tuple[int, int]]


class Pattern:
    """A compiled expression, made by `compile`."""

    def __init__(self, text: str, compiled: Any) -> None:
        self.text = text
        self._compiled = compiled
        # Two groups may have one name, as in Go: the one that took part counts.
        self._names: dict[str, list[int]] = {}
        for index, name in enumerate(_group_names(text), start=1):
            self._names.setdefault(name, []).append(index)

    @property
    def groups(self) -> int:
        return int(self._compiled.groups)

    def search(self, text: str) -> bool:
        """Whether it matches anywhere."""
        return self._compiled.search(_encoded(text)) is not None

    def find(self, text: str) -> str | None:
        """The first match."""
        found = self.find_all(text, limit=1)
        return found[0] if found else None

    def first_group(self, text: str) -> str | None:
        """What the first group holds in the first match; None where there is no match, or the group took no part."""
        data = _encoded(text)
        spans = next(self._all(data), None)
        if spans is None or len(spans) == 1 or spans[1][0] < 0:
            return None
        return data[slice(*spans[1])].decode()

    def find_all(self, text: str, *, limit: int | None = None) -> list[str]:
        """Whole matches, at most `limit` of them where one is given."""
        data = _encoded(text)
        found: list[str] = []
        if limit == 0:
            return found
        for start, end in (spans[0] for spans in self._all(data)):
            found.append(data[start:end].decode())
            if len(found) == limit:
                break
        return found

    def replace_all(self, text: str, template: str) -> str:
        """With a template that names groups."""
        parts = _parts(template)

        def filled(data: bytes, spans: _Spans) -> bytes:
            return b"".join(
                part if isinstance(part, bytes) else self._group(part, data, spans) for part in parts
            )

        return self._replaced(text, filled)

    def replace_all_literal(self, text: str, replacement: str) -> str:
        """With the very text: a `$` is a `$`."""
        encoded = _encoded(replacement)
        return self._replaced(text, lambda _data, _spans: encoded)

    def _replaced(self, text: str, filled: Callable[[bytes, _Spans], bytes]) -> str:
        data = _encoded(text)
        pieces: list[bytes] = []
        length = position = 0
        for spans in self._all(data):
            start, end = spans[0]
            pieces += (data[position:start], filled(data, spans))
            position = end
            length += len(pieces[-1])
            if length > LONGEST_RESULT:
                raise ValueError(
                    f"replacing {quoted(self.text)} makes more than {LONGEST_RESULT:,} bytes of text"
                )
        return b"".join([*pieces, data[position:]]).decode()

    def _all(self, data: bytes) -> Iterator[_Spans]:
        position, previous, work = 0, -1, 0
        while position <= len(data):
            work += len(data) - position
            if work > _LONGEST_SEARCH:
                raise ValueError(f"{quoted(self.text)} matches too often in a text of {len(data):,} bytes")
            match = self._compiled.search(data, position)
            if match is None:
                return
            start, end = match.span()
            if not start == end == previous:
                yield [match.span(group) for group in range(self.groups + 1)]
            position = end if end > position else position + _width(data, position)
            previous = end

    def _group(self, name: str, data: bytes, spans: _Spans) -> bytes:
        """Empty where there is no such group, or where it took no part."""
        number = (
            int(name)
            if name.isascii() and name.isdigit() and len(name) < 9 and str(int(name)) == name
            else None
        )
        for index in self._names.get(name, ()) if number is None else (number,):
            if index < len(spans) and spans[index][0] >= 0:
                return data[slice(*spans[index])]
        return b""


@functools.lru_cache(maxsize=64)
def compile(text: str) -> Pattern:  # noqa: A001 - as in re, called with its module
    """A ValueError says what is wrong with it."""
    if len(text) > LONGEST_PATTERN:
        raise ValueError(
            f"a regular expression of {len(text):,} characters: at most {LONGEST_PATTERN:,} are taken"
        )
    if _ONE_BYTE.search(text):
        raise ValueError(f"{quoted(text)} is no regular expression: \\C (a single byte) is not supported")
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        return Pattern(text, re2.compile(_encoded(text), options))
    except re2.error as error:
        reason = error.args[0] if error.args else b""
        said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(f"{quoted(text)} is no regular expression (RE2 syntax): {said}") from error


def _group_names(text: str) -> list[str]:
    return [found["name"] or "" for found in _GROUPS.finditer(text) if found["group"]]


def _parts(template: str) -> list[bytes | str]:
    """Texts as bytes, names of groups as str; a `$` that begins no name is a `$`."""
    parts: list[bytes | str] = []
    position = 0
    for match in _TEMPLATE.finditer(template):
        parts.append(_encoded(template[position : match.start()]))
        parts.append(b"$" if match[1] else match[2] or match[3])
        position = match.end()
    return [*parts, _encoded(template[position:])]


def _encoded(text: str) -> bytes:
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"a text of {len(text):,} characters is too long for a regular expression")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{quoted(text)} has half a character (a lone surrogate) in it") from error


def _width(data: bytes, position: int) -> int:
    """How many bytes the character there has; one at the end, to get past it."""
    width = 1
    while position + width < len(data) and data[position + width] & 0xC0 == 0x80:
        width += 1
    return width
