"""Slots: places in the quoted parts of an expression that are filled in for each search.

`time_diff('{{ start }}', now)` is one expression with a slot, compiled once; what fills the slot is a value and never
becomes syntax, whatever quotes it has. In the text a slot is a number between two characters of the private area; in
the tree, a `slot` (the value of a literal) or a `slot_field` (a key). Filling them is up to `building`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from skoupa.expr.jmespath.reading import Node

_OPEN: Final = "\ue000"
_CLOSE: Final = "\ue001"
_WHOLE: Final = "\ue002"
_MARK: Final = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")

Part = str | int


def with_marks(parts: Sequence[str | None]) -> str | None:
    """The text of an expression with a mark for each None; None if one of them stands outside of quotes."""
    text, quote, number = "", "", 0
    for place, part in enumerate(parts):
        if part is not None:
            # A text that brings such characters itself can't have slots.
            if any(character in part for character in (_OPEN, _CLOSE, _WHOLE)):
                return None
            text += part
            quote = _quote_after(part, quote)
            continue
        if quote == "`":
            following = parts[place + 1] if place + 1 < len(parts) else None
            if not text.rstrip().endswith("`") or following is None or following.lstrip()[:1] != "`":
                return None
            text += f'"{_WHOLE}{number}{_CLOSE}"'
        elif quote:
            text += f"{_OPEN}{number}{_CLOSE}"
        else:
            return None
        number += 1
    return text


def slotted(node: Node) -> Node:
    """The tree with its slots as nodes of their own."""
    if node["type"] == "literal" and isinstance(node["value"], str):
        text = node["value"]
        if text.startswith(_WHOLE):
            return {"type": "slot", "value": int(text[1:-1]), "children": []}
        return {"type": "slot", "value": _parts(text), "children": []} if _MARK.search(text) else node
    if node["type"] == "field" and _MARK.search(node["value"]):
        return {"type": "slot_field", "value": _parts(node["value"]), "children": []}
    children = [slotted(child) if isinstance(child, dict) else child for child in node["children"]]
    return {**node, "children": children}


def _parts(text: str) -> list[Part]:
    return [int(part) if place % 2 else part for place, part in enumerate(_MARK.split(text)) if part]


def _quote_after(text: str, quote: str) -> str:
    """Which quote is open after a text that began within `quote`."""
    escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif quote and character == "\\":
            escaped = True
        elif character == quote:
            quote = ""
        elif not quote and character in "'\"`":
            quote = character
    return quote
