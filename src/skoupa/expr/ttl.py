"""What the labels `cleanup.kyverno.io/ttl` and `skoupa.dev/keep` and the annotation `skoupa.dev/refreshed-at` say.

`parse_ttl` takes Skoupa's grammar and nothing else: what Kyverno reads in odd ways is a Problem that tells both readings.
`kyverno_ttl` is for `compat.kyvernoTtl` and reads as Kyverno 1.19 does. Whether a time is past is for others to say.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Final

import msgspec

from skoupa import names
from skoupa.expr import durations, instants
from skoupa.expr.durations import parse_duration, render_duration
from skoupa.expr.golang import Overflow, kyverno_reading
from skoupa.expr.instants import looks_like_time, parse_label_time, parse_rfc3339, render_label_time
from skoupa.expr.readings import After, At, Caution, CautionCode, Problem, ProblemCode, quoted

_WHAT_TO_WRITE: Final = (
    f"write a duration such as {durations.EXAMPLES}, or a time in UTC such as {instants.EXAMPLES}"
)
_TO_KEEP: Final = f"remove the label where the object is to stay (or add {names.KEEP_LABEL}=true)"
_INSTEAD: Final = {
    ProblemCode.EMPTY: _WHAT_TO_WRITE,
    ProblemCode.NOT_UNDERSTOOD: _WHAT_TO_WRITE,
    ProblemCode.NEVER: _TO_KEEP,
    ProblemCode.TOO_LONG: f"write a shorter time, or {_TO_KEEP}",
}
_BADLY_WRITTEN_DURATION: Final = frozenset(
    {ProblemCode.TOO_LONG, ProblemCode.DECIMAL, ProblemCode.UNIT_ORDER, ProblemCode.UNIT_SPELLING}
)
# What YAML, kubectl and people write for false; the label takes only that one word, and keeps when in doubt.
LIKE_FALSE: Final = ("false", "no", "n", "off", "f", "0", "none", "never")
KEEP_LIKE_FALSE: Final = ("only false, in lower case, says not to keep", "write false, or remove the label")
KEEP_LIKE_DURATION: Final = (
    "a duration does not say until when",
    "write the day until which to keep it as YYYY-MM-DD, or true to keep it for good",
)
KEEP_LIKE_DATE: Final = f"it does not write a time as {instants.EXAMPLES}"


class Keeping(Enum):
    NOT_KEPT = "not kept"
    KEPT_FOR_GOOD = "kept for good"


NOT_KEPT: Final = Keeping.NOT_KEPT
KEPT_FOR_GOOD: Final = Keeping.KEPT_FOR_GOOD


# Few values label many objects.
@lru_cache(maxsize=4096)
def parse_ttl(text: str) -> After | At | Problem:
    """The value of the TTL label, in Skoupa's grammar."""
    if looks_like_time(text):
        when = parse_label_time(text)
        return At(when) if isinstance(when, int) else _explained(text, when)
    seconds = parse_duration(text)
    return After(seconds, _cautions(text, seconds)) if isinstance(seconds, int) else _explained(text, seconds)


@lru_cache(maxsize=4096)
def kyverno_ttl(text: str) -> After | At | Problem:
    """The value of the TTL label as Kyverno reads it, with a warning where Skoupa would have asked for another spelling."""
    strict = parse_ttl(text)
    if not isinstance(strict, Problem):
        return strict
    reading = kyverno_reading(text)
    if reading is None or isinstance(reading, Overflow):
        return strict if reading is None else _explained(text, durations.too_long(text))
    plain, meant = _plainly(reading), strict.suggestion
    instead = strict.instead if strict.code is ProblemCode.OUT_OF_RANGE else f"write {plain}"
    other = f", or {meant} if that is meant" if meant and meant != plain else ""
    told = f"{quoted(text)} is read as Kyverno reads it, as {plain}; {instead}{other}"
    odd = Caution(CautionCode.ODD_SPELLING, told)
    zero = _cautions("", reading.seconds) if isinstance(reading, After) else ()
    return msgspec.structs.replace(reading, warnings=(odd, *zero))


def keep_until(text: str) -> int | Keeping:
    """When a keep label ends: at the midnight, UTC, with which its date begins (as with the TTL), never, or already."""
    if text == "false":
        return NOT_KEPT
    when = parse_label_time(text)
    return when if isinstance(when, int) else KEPT_FOR_GOOD


@lru_cache(maxsize=4096)
def keep_slip(text: str) -> tuple[str, str] | None:
    """What is wrong with a keep label that keeps for good and was probably meant otherwise, and what to write.

    Numbers and words are left alone: they may be tickets and reasons.
    """
    if text == "false":
        return None
    if text.lower() in LIKE_FALSE:
        return KEEP_LIKE_FALSE
    if looks_like_time(text):
        when = parse_label_time(text)
        return (KEEP_LIKE_DATE, when.instead) if isinstance(when, Problem) else None
    length = parse_duration(text)
    if isinstance(length, int) or length.suggestion or length.code in _BADLY_WRITTEN_DURATION:
        return KEEP_LIKE_DURATION
    return None


def refreshed_at(text: str) -> int | Problem:
    """Seconds since the epoch; whether that is in the future is for the caller to see."""
    return parse_rfc3339(text)


def zero_caution(seconds: int) -> tuple[Caution, ...]:
    if seconds:
        return ()
    return (Caution(CautionCode.ZERO, "the object goes at once"),)


def _cautions(text: str, seconds: int) -> tuple[Caution, ...]:
    if not text.endswith("s"):
        return zero_caution(seconds)
    told = f"{quoted(text)} counts in seconds; the smallest unit meant for this label is a minute (1m)"
    return (Caution(CautionCode.SECONDS, told), *zero_caution(seconds))


def _explained(text: str, problem: Problem) -> Problem:
    """The Problem in terms of the label, with what Kyverno would do."""
    reading = kyverno_reading(text)
    aside = ""
    if isinstance(reading, Overflow):
        aside = ", and Kyverno would count it wrong"
    elif reading is not None:
        aside = f", and Kyverno would read it as {_plainly(reading)}"
    return msgspec.structs.replace(
        problem, what=problem.what + aside, instead=_INSTEAD.get(problem.code, problem.instead)
    )


def _plainly(reading: After | At) -> str:
    if isinstance(reading, After):
        return render_duration(reading.seconds)
    return render_label_time(reading.epoch_seconds) if reading.epoch_seconds else "a time before 1970"
