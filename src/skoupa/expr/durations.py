"""Durations: `1d12h`, one or more of `<number><unit>` with the units w d h m s, largest first, each once; or `0`.

A text outside this grammar is a Problem. What its writer probably meant (`2days`, `1.5h`, `PT1H`) is worked out only to
suggest the right spelling; it is never acted on. Nothing longer than Go's time.Duration can hold (292 years) is
taken: Kyverno, which shares the label, would wrap around there.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from skoupa.expr.readings import Problem, ProblemCode, quoted

UNITS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
MAXIMUM_SECONDS: Final = (2**63 - 1) // 10**9
EXAMPLES: Final = "30m, 12h or 1d12h"

# A label value has 63 characters at most; annotations and options that are longer hold no duration.
_LONGEST: Final = 100
_GRAMMAR: Final = re.compile(
    r"(?=[0-9])(?:([0-9]+)w)?(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?", re.ASCII
)
# The largest unit written is a day: people say 30d and 90d, not 4w2d.
_WRITTEN: Final = ("d", "h", "m", "s")

_PAIR: Final = re.compile(r"([0-9]+)(?:[.,]([0-9]*))?\s*([a-zµ]*)", re.ASCII)
_BETWEEN: Final = re.compile(r"(?:[\s_.,+-]|and)*", re.ASCII)
_ISO: Final = re.compile(
    r"p(?:([0-9.,]+)w)?(?:([0-9.,]+)d)?(?:t(?:([0-9.,]+)h)?(?:([0-9.,]+)m)?(?:([0-9.,]+)s)?)?", re.ASCII
)
_WORDS: Final = {
    "s": ("s", "sec", "secs", "second", "seconds"),
    "m": ("m", "min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "d": ("d", "day", "days"),
    "w": ("w", "wk", "wks", "week", "weeks"),
}
_UNIT_OF: Final = {word: unit for unit, words in _WORDS.items() for word in words}
_LONG_UNITS: Final = {
    **dict.fromkeys(("mo", "mon", "mos", "month", "months"), 30),
    **dict.fromkeys(("y", "yr", "yrs", "year", "years"), 365),
}
_ORDER: Final = tuple(UNITS)
_CAPITAL_M: Final = re.compile(r"[0-9]+M")
_NEVER: Final = frozenset({"never", "forever", "infinite", "infinity", "inf", "none", "unlimited", "off"})


def parse_duration(text: str) -> int | Problem:
    """Whole seconds, or what to write instead."""
    if text == "0":
        return 0
    match = _GRAMMAR.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return _problem(text)
    total = sum(
        int(number) * size for number, size in zip(match.groups(), UNITS.values(), strict=True) if number
    )
    return total if total <= MAXIMUM_SECONDS else too_long(text)


def render_duration(seconds: int) -> str:
    """The duration in its own grammar, without parts that are zero: 129600 is `1d12h`."""
    if seconds < 0:
        raise ValueError(f"a duration is not negative: {seconds}")
    parts: list[str] = []
    rest = seconds
    for unit in _WRITTEN:
        count, rest = divmod(rest, UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0"


def too_long(text: str) -> Problem:
    return Problem(
        code=ProblemCode.TOO_LONG,
        what=f"{quoted(text)} is longer than {MAXIMUM_SECONDS // UNITS['d'] // 365} years",
        instead="write a shorter one, or leave it out where the object is to stay",
    )


class _Meant(msgspec.Struct, frozen=True):
    """What a person would read. `plain` keeps the numbers as written, where only units are misspelt."""

    code: ProblemCode
    what: str
    seconds: int = 0
    plain: str = ""

    def problem(self, text: str) -> Problem:
        if self.seconds > MAXIMUM_SECONDS:
            return too_long(text)
        if self.code is ProblemCode.UNKNOWN_UNIT and not self.plain:
            instead, suggestion = f"write w, d, h, m or s after each number, as in {EXAMPLES}", ""
        else:
            suggestion = self.plain or render_duration(self.seconds)
            instead = f"write {suggestion}"
        return Problem(
            code=self.code, what=f"{quoted(text)} {self.what}", instead=instead, suggestion=suggestion
        )


def _problem(text: str) -> Problem:
    shown, cleaned = quoted(text), text.strip().lower()
    if not cleaned:
        what, code = "the duration is empty", ProblemCode.EMPTY
        return Problem(code=code, what=what, instead=f"write a duration such as {EXAMPLES}")
    if cleaned in _NEVER:
        what, instead = f"{shown} is no duration", "leave it out where the object is to stay"
        return Problem(code=ProblemCode.NEVER, what=what, instead=instead)
    if len(cleaned) <= _LONGEST:
        if cleaned.isascii() and cleaned.isdecimal():
            return _without_unit(shown, cleaned)
        if _CAPITAL_M.fullmatch(text.strip()):
            return _minutes_or_months(shown, int(cleaned[:-1]))
        meant = _meant(cleaned)
        if meant is not None:
            return meant.problem(text)
    return Problem(
        code=ProblemCode.NOT_UNDERSTOOD,
        what=f"{shown} is no duration",
        instead=f"write a duration such as {EXAMPLES}",
    )


def _without_unit(shown: str, number: str) -> Problem:
    number = number.lstrip("0")
    return Problem(
        code=ProblemCode.NO_UNIT,
        what=f"{shown} has no unit",
        instead=f"write {number}m, {number}h or {number}d" if number else "write 0",
        suggestion="" if number else "0",
    )


def _minutes_or_months(shown: str, number: int) -> Problem:
    return Problem(
        code=ProblemCode.UNIT_SPELLING,
        what=f"{shown} can be read as minutes or as months",
        instead=f"write {number}m for minutes or {number * 30}d for months",
    )


def _meant(text: str) -> _Meant | None:
    """What a person would read, or None where a person would not know either."""
    if text.startswith("-"):
        meant = _meant(text.lstrip("-"))
        return meant and _Meant(ProblemCode.NEGATIVE, "is negative", meant.seconds, meant.plain)
    iso = _ISO.fullmatch(text)
    if iso is not None and any(iso.groups()):
        pairs = zip(iso.groups(), UNITS, strict=True)
        meant = _meant("".join(f"{number}{unit}" for number, unit in pairs if number))
        what = "is an ISO 8601 duration"
        return meant and _Meant(ProblemCode.UNIT_SPELLING, what, meant.seconds, meant.plain)
    found = _pairs(text)
    return _weigh(found) if found else None


def _pairs(text: str) -> list[tuple[str, str, str]] | None:
    """(whole, fraction, unit word) of the whole text, or None where something else stands in it."""
    found: list[tuple[str, str, str]] = []
    position = 0
    while position < len(text):
        match = _PAIR.match(text, position)
        if match is None:
            return None
        found.append((match[1], match[2] or "", match[3].removesuffix("and")))
        between = _BETWEEN.match(text, match.end())
        position = between.end() if between is not None else match.end()
    return found


def _weigh(pairs: list[tuple[str, str, str]]) -> _Meant | None:
    seconds, plain, used = 0, "", [0]
    code, what = ProblemCode.UNIT_SPELLING, "does not spell its units as w, d, h, m or s"
    for whole, fraction, word in pairs:
        unit, times = _UNIT_OF.get(word, ""), 1
        if word in _LONG_UNITS:
            unit, times = "d", _LONG_UNITS[word]
            code, what = ProblemCode.UNKNOWN_UNIT, f'has the unit "{word}", which has no fixed length'
        elif not word and plain and used[-1] < len(_ORDER) - 1:
            # 1h30 is 1h30m to everybody who writes it.
            unit = _ORDER[used[-1] + 1]
            code, what = ProblemCode.NO_UNIT, "has a number without a unit"
        elif not unit:
            what = f'has the unit "{word}", which is not known' if word else "has a number without a unit"
            return _Meant(ProblemCode.UNKNOWN_UNIT, what)
        # Rounded up to whole seconds: a suggestion must not end anything early.
        seconds += -(-int(whole + fraction) * times * UNITS[unit] // 10 ** len(fraction))
        plain += f"{int(whole) * times}{unit}"
        used.append(_ORDER.index(unit))
    order = used[1:]
    if order != sorted(set(order)):
        return _Meant(ProblemCode.UNIT_ORDER, "does not name each unit once, largest first", seconds)
    if any(fraction for _, fraction, _ in pairs):
        return _Meant(ProblemCode.DECIMAL, "has a decimal point", seconds)
    return _Meant(code, what, seconds, plain)
