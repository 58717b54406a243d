"""What is wrong with a value of the settings, in words of YAML instead of Python's: what it is, and what to write.

The decoder's sentence is all that is known; one that is not understood here is passed on as it is.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from skoupa.settings.choices import choices_at, keys_at

_MISMATCH: Final = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_BOUND: Final = re.compile(r"Expected `(int|float)` (>=|>|<=|<) ([^ ]+)")
_ENUM: Final = re.compile(r"Invalid enum value (.+)")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `([^`]+)`")
_MISSING: Final = re.compile(r"Object missing required field `([^`]+)`")

_KINDS: Final = {
    "str": "a text",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "array": "a list",
    "object": "a group of settings",
    "null": "empty",
}
_INSTEAD: Final = {
    "str": 'a text, in quotes where it looks like something else ("8", "true")',
    "array": "a list, such as [a, b]",
    "object": "its settings below it, one to a line, or leave it out",
}
_BOUNDS: Final = {">=": "{} or more", ">": "more than {}", "<=": "{} or less", "<": "less than {}"}


class Wrong(msgspec.Struct, frozen=True):
    """`key` is empty where the whole is meant; `advice` is empty where nothing better is known."""

    key: str
    what: str
    advice: str = ""


def read_refusal(message: str, *, choices: tuple[str, ...] = ()) -> Wrong:
    """`Expected `int`, got `str` - at `$.rate.inFlight`` in words; `choices` are the values that the key takes."""
    said, _, where = message.partition(" - at `$")
    key = where.rstrip("`").lstrip(".")
    instead = f"write {' or '.join(choices)}" if choices else ""
    if found := _MISMATCH.fullmatch(said):
        wanted, got = (text.split(" | ")[0] for text in found.groups())
        if wanted in _KINDS and got in _KINDS:
            return Wrong(
                key, f"it is {_KINDS[got]}", instead or f"write {_INSTEAD.get(wanted, _KINDS[wanted])}"
            )
    if found := _BOUND.fullmatch(said):
        kind, sign, limit = found.groups()
        bound = _BOUNDS[sign].format(limit.removesuffix(".0"))
        return Wrong(key, f"it must be {bound}", f"write {_KINDS[kind]}, {bound}")
    if found := _ENUM.fullmatch(said):
        known = choices or choices_at(key)
        return Wrong(key, f"{found[1]} is not known", f"write {' or '.join(known)}" if known else "")
    if found := _UNKNOWN.fullmatch(said):
        keys = keys_at(key)
        return Wrong(key, f"there is no {found[1]} in it", f"there are {', '.join(keys)}" if keys else "")
    if found := _MISSING.fullmatch(said):
        return Wrong(key, f"{found[1]} is missing", f"add {found[1]}")
    return Wrong(key, said, instead)
