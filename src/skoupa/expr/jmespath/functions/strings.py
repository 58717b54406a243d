"""Kyverno's functions on texts, with Go's idea of letters: one character becomes one character, whatever the language.

Python knows that ß in capitals is SS; Go leaves it, and policies were written against Go. Lengths and positions count
characters, never bytes.
"""

from __future__ import annotations

import posixpath
from typing import Final

from skoupa.expr.jmespath.functions.signature import Function, Items, Number, Text, Truth, declare
from skoupa.expr.jmespath.running import Run
from skoupa.expr.readings import quoted


def compare(_: Run, one: Text, other: Text) -> Number:
    return (one > other) - (one < other)


def equal_fold(run: Run, one: Text, other: Text) -> Truth:
    if len(one) != len(other):
        return False
    if one.isascii() and other.isascii():
        return one.lower() == other.lower()
    run.spend(4 * len(one))
    return all(
        a == b or a.lower() == b.lower() or (len(a.upper()) == 1 and a.upper() == b.upper())
        for a, b in zip(one, other, strict=True)
    )


def replace(run: Run, text: Text, old: Text, new: Text, count: Number) -> Text:
    limit = int(count)
    return _replaced(run, text, old=old, new=new, limit=-1 if limit < 0 else limit)


def replace_all(run: Run, text: Text, old: Text, new: Text) -> Text:
    return _replaced(run, text, old=old, new=new, limit=-1)


def to_upper(run: Run, text: Text) -> Text:
    if text.isascii():
        return text.upper()
    run.spend(len(text))
    return "".join(upper if len(upper := letter.upper()) == 1 else letter for letter in text)


def to_lower(run: Run, text: Text) -> Text:
    if text.isascii():
        return text.lower()
    run.spend(len(text))
    # A dotted capital I is the only one that gets longer: by the dot.
    return "".join(letter.lower()[0] for letter in text)


def trim(run: Run, text: Text, characters: Text) -> Text:
    run.spend(len(text) * len(characters) // 64)
    return text.strip(characters) if characters else text


def trim_prefix(_: Run, text: Text, prefix: Text) -> Text:
    return text.removeprefix(prefix)


def split(run: Run, text: Text, separator: Text) -> Items:
    if not separator:
        run.make_elements(len(text))
        return list(text)
    run.make(len(text))
    run.make_elements(8 * text.count(separator))
    return text.split(separator)


def truncate(_: Run, text: Text, length: Number) -> Text:
    return text[: max(0, int(length))]


def path_canonicalize(_: Run, path: Text) -> Text:
    if not path:
        return ""
    normal = posixpath.normpath(path)
    # POSIX gives two leading slashes a meaning of their own; Go does not.
    return normal[1:] if normal.startswith("//") else normal


def to_boolean(_: Run, text: Text) -> Truth:
    match text.lower():
        case "true":
            return True
        case "false":
            return False
    raise ValueError(f"{quoted(text)} is neither 'true' nor 'false'")


def _replaced(run: Run, text: str, *, old: str, new: str, limit: int) -> str:
    found = text.count(old)
    times = found if limit < 0 else min(found, limit)
    run.make(len(text) + times * max(0, len(new) - len(old)))
    # A count may be larger than anything that can be counted.
    return text.replace(old, new, times)


FUNCTIONS: Final[tuple[Function, ...]] = (
    declare(compare),
    declare(equal_fold),
    declare(replace),
    declare(replace_all),
    declare(to_upper),
    declare(to_lower),
    declare(trim),
    declare(trim_prefix),
    declare(split),
    declare(truncate),
    declare(path_canonicalize),
    declare(to_boolean),
)
