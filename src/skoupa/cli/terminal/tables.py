"""Columns of text for people: as wide as their contents, wrapped on a terminal, coloured only there.

Foreign text (a label, an annotation) is shown without anything that a terminal would obey.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

Paint = Literal["", "red", "yellow", "green", "dim", "bold"]
_CODES: Final[dict[str, str]] = {"red": "31", "yellow": "33", "green": "32", "dim": "2", "bold": "1"}
_GAP: Final = "   "
# A column of text that is narrower than this is harder to read than a long line.
_NARROWEST: Final = 24


class Screen(msgspec.Struct, frozen=True, kw_only=True):
    """Where it is shown. `width` 0: lines are as long as they are."""

    colours: bool = False
    width: int = 0

    def paint(self, text: str, paint: Paint) -> str:
        return f"\x1b[{_CODES[paint]}m{text}\x1b[0m" if paint and self.colours else text


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a table; `below` are sentences that belong to it."""

    cells: tuple[str, ...]
    paint: Paint = ""
    below: tuple[str, ...] = ()


def screen_of(*, no_color: bool) -> Screen:
    if not sys.stdout.isatty():
        return Screen()
    plain = no_color or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Screen(colours=not plain, width=shutil.get_terminal_size().columns)


def printable(text: str) -> str:
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    )


def render(titles: Sequence[str], lines: Sequence[Line], *, screen: Screen, texts: int = 0) -> str:
    """The table; the last `texts` columns hold sentences, which are wrapped where the screen is too narrow."""
    rows = [tuple(printable(cell) for cell in line.cells) for line in lines]
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    _narrow(widths, screen=screen, texts=texts)
    out = [screen.paint(_row(titles, widths)[0], "bold")]
    for line, row in zip(lines, rows, strict=True):
        out += (screen.paint(text, line.paint) for text in _row(row, widths))
        out += (screen.paint(f"  {printable(text)}", "dim") for text in line.below)
    return "".join(f"{text}\n" for text in out)


def _narrow(widths: list[int], *, screen: Screen, texts: int) -> None:
    """Shares what the other columns leave among the columns of sentences, by what they need."""
    if not screen.width or not texts:
        return
    left = screen.width - sum(widths[:-texts]) - len(_GAP) * (len(widths) - 1)
    needed = widths[-texts:]
    if sum(needed) <= left or left < _NARROWEST * texts:
        return
    for position in range(texts):
        fair = left // (texts - position)
        spare = sum(max(0, fair - need) for need in needed[position + 1 :])
        widths[-texts + position] = min(needed[position], fair + spare)
        left -= widths[-texts + position]


def _row(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    wrapped = [
        textwrap.wrap(cell, width) if len(cell) > width else [cell]
        for cell, width in zip(cells, widths, strict=True)
    ]
    height = max(map(len, wrapped))
    return [
        _GAP.join(
            (column[number] if number < len(column) else "").ljust(width)
            for column, width in zip(wrapped, widths, strict=True)
        ).rstrip()
        for number in range(height)
    ]
