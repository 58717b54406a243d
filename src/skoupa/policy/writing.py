"""Values as the texts that conditions compare: scalars plainly, maps and lists as Go prints them (`map[a:1]`, `[a b]`).

A number is written in plain digits (Kyverno writes 1e+06 for a million, and then does not find it in a list of texts).
Written without recursion and up to a limit: a value can be deeper than the stack, and through YAML anchors far
larger than the text it came from.
"""

from __future__ import annotations

from typing import Any, Final

LONGEST: Final = 300_000
_LONGEST_NUMBER: Final = 10_000  # bits; Python refuses to write larger ones as decimal digits
_PLAIN: Final = 1e21


def scalar_text(value: Any) -> str | None:
    """None: not a scalar."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value.bit_length() <= _LONGEST_NUMBER else hex(value)
    if isinstance(value, float):
        return str(int(value)) if abs(value) < _PLAIN and value.is_integer() else repr(value)
    return None


def written(value: Any) -> str:
    """A ValueError where the text would be too long."""
    text = scalar_text(value)
    if text is not None:
        return text
    pieces: list[str] = []
    length = 0
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        text = scalar_text(item)
        if text is not None:
            pieces.append(text)
            # A space or a bracket stands for every item, so that empty ones count too.
            length += len(text) + 1
            if length > LONGEST:
                raise ValueError(f"a value of more than {LONGEST:,} characters is too long to compare")
        else:
            waiting += reversed(_opened(item))
    return "".join(pieces)


def _opened(value: Any) -> list[Any]:
    """The pieces and values that a map or list is written as."""
    if isinstance(value, dict):
        parts: list[Any] = ["map["]
        for index, name in enumerate(sorted(value, key=str)):
            parts += (f" {name}:" if index else f"{name}:", value[name])
        return [*parts, "]"]
    if isinstance(value, list):
        parts = ["["]
        for index, item in enumerate(value):
            parts += (" ", item) if index else (item,)
        return [*parts, "]"]
    return ["<nil>"]
