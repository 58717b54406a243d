"""A page of Markdown: a title, where it comes from, and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Final

_WIDTH: Final = 120
_VERBATIM: Final = ("#", "|", "    ")
_ORIGIN: Final = "<!-- Written by `python -m harness.reference` from {source}; do not edit. -->"


def page(title: str, *parts: str, source: str) -> str:
    """Sentences are wrapped; tables, headings and code stay as they are."""
    blocks = [block for part in parts for block in _blocks(part)]
    return "\n\n".join([f"# {title}", _ORIGIN.format(source=source), *blocks]) + "\n"


def _blocks(part: str) -> list[str]:
    if "```" in part:
        return [part.strip("\n")]
    blocks = part.strip("\n").split("\n\n")
    return [block if block.startswith(_VERBATIM) else _wrapped(block) for block in blocks]


def _wrapped(block: str) -> str:
    return "\n".join(wrap(" ".join(block.split()), _WIDTH, break_long_words=False, break_on_hyphens=False))


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    lines += ("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows)
    return "\n".join(lines)


def code(text: object) -> str:
    return f"`{text}`"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
