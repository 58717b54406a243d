"""`random`: a text that a regular expression matches, made with the Context's source of chance.

The pattern must be one that RE2 takes; of that, what can be turned round is: letters, classes, groups, alternatives,
repetitions. Anchors make nothing. A dot and `[^...]` give printable ASCII, and `*` and `+` end after 32 (in Kyverno both
may give anything up to 4,096 times, which nobody can use as a name). The rest is refused in words.
"""

from __future__ import annotations

import random as chances
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Final

from skoupa.expr import patterns
from skoupa.expr.jmespath.functions.signature import Checked, Function, Text, declare
from skoupa.expr.jmespath.jsontypes import Type
from skoupa.expr.jmespath.running import Run
from skoupa.expr.readings import quoted

Maker = Callable[[chances.Random, Run], str]

_UNBOUNDED: Final = 32
_DEEPEST: Final = 30
_PRINTABLE: Final = "".join(map(chr, range(0x20, 0x7F)))
_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER: Final = _UPPER.lower()
_DIGITS: Final = "0123456789"
_CLASSES: Final = {"d": _DIGITS, "w": _DIGITS + _UPPER + _LOWER + "_", "s": " \t\n\r\f"}
_NAMED: Final = {
    "alnum": _DIGITS + _UPPER + _LOWER,
    "alpha": _UPPER + _LOWER,
    "digit": _DIGITS,
    "lower": _LOWER,
    "punct": "".join(sign for sign in _PRINTABLE[1:] if not sign.isalnum()),
    "upper": _UPPER,
    "word": _CLASSES["w"],
    "xdigit": _DIGITS + "ABCDEFabcdef",
}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_COUNT: Final = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}")
_GROUP: Final = re.compile(r"\?(?::|P?<[A-Za-z_][A-Za-z0-9_]*>)")


@lru_cache(maxsize=64)
def _maker(pattern: str) -> Maker:
    if not pattern:
        raise ValueError("there is no pattern; write one like '[a-z0-9]{8}'")
    patterns.compile(pattern)
    reader = _Reader(pattern)
    made = reader.alternatives(0)
    if reader.position < len(pattern):
        raise reader.unknown(pattern[reader.position])
    return made


Producible = Annotated[str, Type.STRING, Checked(_maker)]


def random(run: Run, pattern: Producible) -> Text:
    source = run.context.chance
    if source is None:
        raise ValueError("nothing may be random here")
    return _maker(pattern)(source, run)


class _Reader:
    """Walks through a pattern that RE2 has accepted."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0

    def unknown(self, what: str) -> ValueError:
        return ValueError(
            f"no text can be made from {what!r} in {quoted(self.pattern)}; write it like '[a-z0-9]{{8}}'"
        )

    def alternatives(self, depth: int) -> Maker:
        if depth > _DEEPEST:
            raise ValueError(f"{quoted(self.pattern)} is nested too deeply")
        choices = [self._sequence(depth)]
        while self._peek() == "|":
            self.position += 1
            choices.append(self._sequence(depth))
        return choices[0] if len(choices) == 1 else lambda source, run: source.choice(choices)(source, run)

    def _sequence(self, depth: int) -> Maker:
        parts: list[Maker] = []
        while self._peek() not in {"", "|", ")"}:
            parts.append(self._repeated(self._atom(depth)))
        return lambda source, run: "".join([part(source, run) for part in parts])

    def _repeated(self, atom: Maker) -> Maker:
        low, high = 1, 1
        match self._peek():
            case "*":
                low, high, self.position = 0, _UNBOUNDED, self.position + 1
            case "+":
                low, high, self.position = 1, _UNBOUNDED, self.position + 1
            case "?":
                low, high, self.position = 0, 1, self.position + 1
            case "{":
                count = _COUNT.match(self.pattern, self.position)
                if count is not None:
                    low = int(count[1])
                    high = int(count[3]) if count[3] else low + _UNBOUNDED if count[2] else low
                    self.position = count.end()
        if (low, high) == (1, 1):
            return atom
        if self._peek() == "?":  # lazy: the same texts
            self.position += 1

        def several(source: chances.Random, run: Run) -> str:
            times = source.randint(low, high)
            run.spend(times)
            return "".join([atom(source, run) for _ in range(times)])

        return several

    def _atom(self, depth: int) -> Maker:
        letter = self._next()
        match letter:
            case "(":
                return self._group(depth)
            case "[":
                return _one_of(self._set())
            case ".":
                return _one_of(_PRINTABLE)
            case "^" | "$":
                return _text("")
            case "\\":
                return self._escape()
        return _text(letter)

    def _group(self, depth: int) -> Maker:
        if self._peek() == "?":
            opening = _GROUP.match(self.pattern, self.position)
            if opening is None:
                raise self.unknown("(?")
            self.position = opening.end()
        inner = self.alternatives(depth + 1)
        self.position += 1
        return inner

    def _escape(self) -> Maker:
        letter = self._next()
        if letter in "bBAz":
            return _text("")
        return _one_of(self._escaped(letter))

    def _escaped(self, letter: str) -> str:
        """The characters that an escape stands for."""
        if letter in _CLASSES:
            return _CLASSES[letter]
        if letter.lower() in _CLASSES:
            return _others(_CLASSES[letter.lower()])
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        if letter.isalnum():
            raise self.unknown(f"\\{letter}")
        return letter

    def _set(self) -> str:
        negative = self._peek() == "^"
        self.position += negative
        found = ""
        first = True
        while first or self._peek() != "]":
            first = False
            start = self._member()
            if (
                len(start) == 1
                and self._peek() == "-"
                and self.pattern[self.position + 1 : self.position + 2] != "]"
            ):
                self.position += 1
                end = self._member()
                # A range of all of Unicode is no alphabet.
                if ord(end) - ord(start) > 1000:
                    raise self.unknown(f"{start}-{end}")
                start = "".join(map(chr, range(ord(start), ord(end) + 1)))
            found += start
        self.position += 1
        letters = _others(found) if negative else "".join(dict.fromkeys(found))
        if not letters:
            raise self.unknown("a class without printable letters")
        return letters

    def _member(self) -> str:
        letter = self._next()
        if letter == "[" and self._peek() == ":":
            end = self.pattern.index(":]", self.position)
            name = self.pattern[self.position + 1 : end]
            self.position = end + 2
            if name not in _NAMED:
                raise self.unknown(f"[:{name}:]")
            return _NAMED[name]
        return self._escaped(self._next()) if letter == "\\" else letter

    def _peek(self) -> str:
        return self.pattern[self.position : self.position + 1]

    def _next(self) -> str:
        letter = self._peek()
        if not letter:
            raise self.unknown("the end")
        self.position += 1
        return letter


def _text(text: str) -> Maker:
    return lambda _source, run: _paid(text, run)


def _one_of(letters: str) -> Maker:
    return lambda source, run: _paid(source.choice(letters), run)


def _paid(text: str, run: Run) -> str:
    run.spend(2)
    run.make(len(text))
    return text


def _others(letters: str) -> str:
    return "".join(letter for letter in _PRINTABLE if letter not in letters)


FUNCTIONS: Final[tuple[Function, ...]] = (declare(random),)
