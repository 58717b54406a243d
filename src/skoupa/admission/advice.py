"""What to write instead of a TTL label that is not understood, worked out by the API server itself.

A table of cases, first match wins: how the mistake looks, what is wrong, and what to write. A spelling is suggested only
where it has the grammar's form and there is one way to mean it; the tests hold it against what `skoupa explain` says.
Nothing here decides: it is evaluated only for a value that was already found wanting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from skoupa import names
from skoupa.admission.cel import choose, literal, matches, replaced, sentence
from skoupa.admission.grammar import DATE, MAXIMUM_SECONDS, TIME, UNITS
from skoupa.admission.readings import Variable, is_duration, label_time, variable

DURATIONS: Final = "30m, 12h or 1d12h"
TIMES: Final = "2026-09-30 or 2026-08-04T003000Z"
WHAT_TO_WRITE: Final = f"write a duration such as {DURATIONS}, or a time in UTC such as {TIMES}"
_TO_KEEP: Final = f"remove the label where the object is to stay (or add {names.KEEP_LABEL}=true)"
_SUGGESTED: Final = "write {suggestion}"

_WORDS: Final = {
    "s": ("seconds", "second", "secs", "sec"),
    "m": ("minutes", "minute", "mins", "min"),
    "h": ("hours", "hour", "hrs", "hr"),
    "d": ("days", "day"),
    "w": ("weeks", "week", "wks", "wk"),
}
_LETTERS: Final = [(word, unit) for unit, words in _WORDS.items() for word in words]
_BETWEEN: Final = [("and", ""), ("-", ""), ("_", "")]
_PAIRS: Final = "(?:[0-9]+[wdhms])+"
_SHORT_PAIRS: Final = "(?:0*[0-9]{1,10}[wdhms])+"
_DECIMAL: Final = "[0-9]{1,9}[.][0-9]{1,3}[wdhms]"
_LONG_UNITS: Final = (("mo|mon|mos|month|months", 30), ("y|yr|yrs|year|years", 365))
_LOOSE_DATE: Final = "[0-9]{4}[-._][0-9]{1,2}[-._][0-9]{1,2}"
_LOOSE_CLOCK: Final = "[Tt_.-][0-9]{2}(?:[.hH-]?[0-9]{2}(?:[.mM-]?[0-9]{2})?)?[hms]?(?:[zZ]|UTC|GMT)?"

_VALUE: Final = "variables.value"
_LOWER: Final = "variables.lower"
_SPELT: Final = "variables.spelt"
_TOTAL: Final = "variables.total"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """`suggestion` is an expression for the place of that name in `instead`; so is `word` for `what`."""

    when: str
    what: str
    instead: str
    suggestion: str = "''"
    word: str = "''"


def advising() -> list[Variable]:
    """Further variables, `what` and `instead`, for a policy that has those of `readings.reading`."""
    whats = [(case.when, sentence(case.what, word=case.word)) for case in _CASES]
    insteads = [(case.when, sentence(case.instead, suggestion=case.suggestion)) for case in _CASES]
    return [
        *spelling(),
        variable("total", f"{matches(_SPELT, _SHORT_PAIRS)} ? {_sum_of_pairs()} : -1"),
        variable("decimal", f"{matches(_SPELT, _DECIMAL)} ? {_decimal_seconds()} : -1"),
        variable("day", f"{matches(_VALUE, _LOOSE_DATE)} ? {_padded_date()} : ''"),
        variable(
            "moment",
            f"{matches(_VALUE, f'{DATE}{_LOOSE_CLOCK}')} ? {_padded_clock()} : ''",
        ),
        variable("what", choose(whats, otherwise=literal("it is neither a duration nor a time"))),
        variable("instead", choose(insteads, otherwise=literal(WHAT_TO_WRITE))),
    ]


def spelling() -> list[Variable]:
    """`lower`, and `spelt`: the value with its units, if such they are, as single letters."""
    return [
        variable("lower", f"{_VALUE}.lowerAscii()"),
        variable("spelt", replaced(_LOWER, [*_LETTERS, *_BETWEEN])),
    ]


def like_duration() -> str:
    """Whether somebody who writes durations would write this, well or badly; to be asked beside `spelling`."""
    units = "|".join(pattern for pattern, _ in _LONG_UNITS)
    loosely = matches(_SPELT, "(?:[0-9]+(?:[.][0-9]+)?[wdhms])+")
    return f"({loosely} || {matches(_LOWER, f'[0-9]{{1,4}}(?:{units})')})"


def like_time() -> str:
    """Whether somebody who writes dates or times would write this, well or badly."""
    compact, day_first = "(?:19|20)[0-9]{6}", "[0-9]{1,2}[-._][0-9]{1,2}[-._][0-9]{4}"
    dates = f"(?:{_LOOSE_DATE}|{compact}|{day_first})(?:{_LOOSE_CLOCK})?"
    return matches(_VALUE, f"{dates}|[1-3][0-9]{{9}}")


def _sum_of_pairs() -> str:
    return " + ".join(
        f"{_SPELT}.findAll('[0-9]+{unit}').map(p, int(p.replace('{unit}', ''))).sum() * {size}"
        for unit, size in UNITS.items()
    )


def _decimal_seconds() -> str:
    """Rounded up to whole seconds: a suggestion must not end anything early."""
    sizes = "{" + ", ".join(f"'{unit}': {size}" for unit, size in UNITS.items()) + "}"
    digits = f"int({_SPELT}.find('^[0-9.]+').replace('.', ''))"
    scale = f"[1, 10, 100, 1000][size({_SPELT}.find('[.][0-9]+')) - 1]"
    unit = f"{sizes}[{_SPELT}.find('[wdhms]')]"
    return f"({digits} * {unit} + {scale} - 1) / {scale}"


def _padded_date() -> str:
    parts = f"{replaced(_VALUE, [('.', '-'), ('_', '-')])}.split('-')"
    return f"{parts}.map(p, size(p) == 1 ? '0' + p : p).join('-')"


def _padded_clock() -> str:
    digits = f"{_VALUE}.substring(10).findAll('[0-9]+').join('')"
    return f"{_VALUE}.substring(0, 10) + 'T' + ({digits} + '0000').substring(0, 6) + 'Z'"


def _written(seconds: str) -> str:
    """Seconds in the grammar, days first: people say 30d and 90d, not 4w2d."""
    parts: Sequence[tuple[str, str]] = (
        ("d", f"{seconds} / 86400"),
        ("h", f"{seconds} % 86400 / 3600"),
        ("m", f"{seconds} % 3600 / 60"),
        ("s", f"{seconds} % 60"),
    )
    shown = " + ".join(f"({count} > 0 ? string({count}) + '{unit}' : '')" for unit, count in parts)
    return f"{seconds} == 0 ? '0' : {shown}"


def _long_unit(pattern: str, days: int) -> Case:
    return Case(
        when=matches(_LOWER, f"[0-9]{{1,4}}(?:{pattern})"),
        what='it has the unit "{word}", which has no fixed length',
        word=f"{_LOWER}.find('[a-z]+')",
        instead=_SUGGESTED,
        suggestion=f"string(int({_LOWER}.find('[0-9]+')) * {days}) + 'd'",
    )


_COMPACT: Final = f"{_VALUE}.substring(0, 4) + '-' + {_VALUE}.substring(4, 6) + '-' + {_VALUE}.substring(6)"
_TIME_FORM: Final = f"it does not write its time as {TIMES}"
_ISO_SPELT: Final = f"{_LOWER}.replace('p', '').replace('t', '')"

_CASES: Final = (
    Case(when=f"{_VALUE} == ''", what="it is empty", instead=WHAT_TO_WRITE),
    Case(
        when=matches(_LOWER, "never|forever|infinite|infinity|inf|none|unlimited|off"),
        what="it is no duration",
        instead=_TO_KEEP,
    ),
    # Times first, as the engine does: 20260930 is a day and not a number without a unit.
    Case(
        when=matches(_VALUE, "(?:19|20)[0-9]{6}") + f" && {matches(f'({_COMPACT})', DATE)}",
        what=_TIME_FORM,
        instead=_SUGGESTED,
        suggestion=_COMPACT,
    ),
    Case(
        when=matches(_VALUE, "[1-3][0-9]{9}"),
        what=_TIME_FORM,
        instead="write {suggestion}, which is in UTC",
        suggestion=label_time(f"int({_VALUE})"),
    ),
    Case(
        when=matches(_VALUE, "0[0-9]{3}-[0-9]{2}-[0-9]{2}.*|1(?:[0-8][0-9]|9[0-6])[0-9]-[0-9]{2}-[0-9]{2}.*"),
        what="it lies before 1970",
        instead="check the year",
    ),
    Case(
        when=f"variables.day != {_VALUE} && {matches('variables.day', DATE)}",
        what=_TIME_FORM,
        instead=_SUGGESTED,
        suggestion="variables.day",
    ),
    Case(
        when=matches("variables.moment", TIME),
        what=_TIME_FORM,
        instead="write {suggestion}, which is in UTC",
        suggestion="variables.moment",
    ),
    Case(
        when=matches(_VALUE, f"{_LOOSE_DATE}(?:T[0-9]{{6}}Z)?"),
        what="there is no such day or hour",
        instead="check the date and the hour",
    ),
    Case(
        when=matches(_VALUE, "[0-9]{1,2}[-._][0-9]{1,2}[-._][0-9]{4}"),
        what=_TIME_FORM,
        instead=f"write a time in UTC such as {TIMES}, the year first and the day last",
    ),
    Case(
        when=matches(_VALUE, "[0-9]{4}-[0-9].*"),
        what=_TIME_FORM,
        instead=f"write a time in UTC such as {TIMES}",
    ),
    Case(when=matches(_VALUE, "0+"), what="it has no unit", instead="write 0"),
    Case(
        when=matches(_VALUE, "[0-9]+"),
        what="it has no unit",
        instead="write {suggestion}",
        suggestion=" + ".join(
            f"{_VALUE}.find('[1-9][0-9]*') + {literal(end)}" for end in ("m, ", "h or ", "d")
        ),
    ),
    Case(
        when=matches(_VALUE, "[0-9]{1,10}M"),
        what="it can be read as minutes or as months",
        instead="write {suggestion}",
        suggestion=(
            f"string(int({_VALUE}.replace('M', ''))) + 'm for minutes or ' + "
            f"string(int({_VALUE}.replace('M', '')) * 30) + 'd for months'"
        ),
    ),
    *(_long_unit(pattern, days) for pattern, days in _LONG_UNITS),
    Case(
        when=matches(_SPELT, _PAIRS) + f" && ({_TOTAL} < 0 || {_TOTAL} > {MAXIMUM_SECONDS})",
        what="it is longer than 292 years",
        instead=f"write a shorter time, or {_TO_KEEP}",
    ),
    Case(
        when=is_duration(_SPELT),
        what="it does not spell its units as w, d, h, m or s",
        instead=_SUGGESTED,
        suggestion=_SPELT,
    ),
    Case(
        when=f"{_TOTAL} >= 0",
        what="it does not name each unit once, largest first",
        instead=_SUGGESTED,
        suggestion=_written(_TOTAL),
    ),
    Case(
        when=f"variables.decimal >= 0 && variables.decimal <= {MAXIMUM_SECONDS}",
        what="it has a decimal point",
        instead=_SUGGESTED,
        suggestion=_written("variables.decimal"),
    ),
    Case(
        when=matches(_LOWER, "p(?:[0-9]+w)?(?:[0-9]+d)?(?:t[0-9hms]+)?") + f" && {is_duration(_ISO_SPELT)}",
        what="it is an ISO 8601 duration",
        instead=_SUGGESTED,
        suggestion=_ISO_SPELT,
    ),
    Case(
        when=matches(_SPELT, "(?:[0-9]+[.]?[0-9]*[wdhms])+"),
        what="it has a decimal point",
        instead="write whole numbers of smaller units, as in 1d12h",
    ),
    Case(
        when=matches(_LOWER, "(?:[0-9]+[a-z]+)+[0-9]+"),
        what="it has a number without a unit",
        instead=f"write w, d, h, m or s after each number, as in {DURATIONS}",
    ),
    Case(
        when=matches(_LOWER, "(?:[0-9]+[.]?[0-9]*[a-z]*)+"),
        what="it has a unit that is not known",
        instead=f"write w, d, h, m or s after each number, as in {DURATIONS}",
    ),
)
