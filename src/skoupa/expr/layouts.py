"""Go's layouts: a time is described by how the reference time, Mon Jan 2 15:04:05 MST 2006, would be written.

Parsing and formatting as Go's time package does them where the local zone is UTC: a fraction after the seconds is taken
even where the layout has none, missing parts are the smallest there are (the year 0), week days are read and not
checked. A zone that is only a name counts as UTC, as in Go; `GMT+3` and `+03` count as what they say.
The layouts that Go has names for can be given by name (`RFC3339`, `Kitchen`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Final

from skoupa.expr.readings import quoted
from skoupa.expr.stamps import SECOND, Civil, Stamp, days_before, days_in

NAMED: Final[Mapping[str, str]] = {
    "Layout": "01/02 03:04:05PM '06 -0700",
    "ANSIC": "Mon Jan _2 15:04:05 2006",
    "UnixDate": "Mon Jan _2 15:04:05 MST 2006",
    "RubyDate": "Mon Jan 02 15:04:05 -0700 2006",
    "RFC822": "02 Jan 06 15:04 MST",
    "RFC822Z": "02 Jan 06 15:04 -0700",
    "RFC850": "Monday, 02-Jan-06 15:04:05 MST",
    "RFC1123": "Mon, 02 Jan 2006 15:04:05 MST",
    "RFC1123Z": "Mon, 02 Jan 2006 15:04:05 -0700",
    "RFC3339": "2006-01-02T15:04:05Z07:00",
    "RFC3339Nano": "2006-01-02T15:04:05.999999999Z07:00",
    "Kitchen": "3:04PM",
    "Stamp": "Jan _2 15:04:05",
    "StampMilli": "Jan _2 15:04:05.000",
    "StampMicro": "Jan _2 15:04:05.000000",
    "StampNano": "Jan _2 15:04:05.000000000",
    "DateTime": "2006-01-02 15:04:05",
    "DateOnly": "2006-01-02",
    "TimeOnly": "15:04:05",
}
RFC3339: Final = NAMED["RFC3339"]

_LONGEST: Final = 500
_DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

_PLACE: Final = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|0[1-6]|002|15|1|2006|2|__2|_2(?!006)|[345]|PM|pm"
    r"|[-Z]07(?:0000|:00:00|00|:00|)|[.,](?:0+|9+)(?![0-9])"
)


def _any_of(names: tuple[str, ...]) -> str:
    return "(?i:" + "|".join(names) + ")"


# Greedy without second thoughts, as Go reads: what a place has taken it does not give back.
_ONE_OR_TWO: Final = "[0-9]{1,2}+"
_HOURS: Final = r"[+-]0*(?:[01]?[0-9]|2[0-3])(?![0-9])"
_READ_AS: Final[Mapping[str, str]] = {
    "January": _any_of(_MONTHS),
    "Jan": _any_of(tuple(name[:3] for name in _MONTHS)),
    "Monday": _any_of(_DAYS),
    "Mon": _any_of(tuple(name[:3] for name in _DAYS)),
    "MST": rf"UTC|ChST|MeST|GMT(?:{_HOURS})?+|{_HOURS}|(?:[A-Z]{{3}}|[A-Z]{{3,4}}T|WITA)(?![A-Z])",
    "2006": "[0-9]{4}",
    "002": "[0-9]{3}",
    "__2": " {0,2}+[0-9]{1,3}+",
    "_2": f" ?+{_ONE_OR_TWO}",
    "PM": "PM|AM",
    "pm": "pm|am",
    "15": _ONE_OR_TWO,
    **dict.fromkeys("12345", _ONE_OR_TWO),
    **{f"0{place}": "[0-9]{2}" for place in "123456"},
}
_NUMBERS: Final[Mapping[str, tuple[str, range]]] = {
    "2006": ("year", range(10_000)),
    **dict.fromkeys(("1", "01"), ("month", range(1, 13))),
    **dict.fromkeys(("2", "02", "_2"), ("day", range(100))),
    **dict.fromkeys(("002", "__2"), ("yearday", range(1000))),
    "15": ("hour", range(24)),
    **dict.fromkeys(("3", "03"), ("hour", range(13))),
    **dict.fromkeys(("4", "04"), ("minute", range(60))),
}
_WRITTEN_AS: Final[Mapping[str, Callable[[Civil], str]]] = {
    "2006": lambda civil: f"{'-' if civil.year < 0 else ''}{abs(civil.year):04}",
    "06": lambda civil: f"{abs(civil.year) % 100:02}",
    "January": lambda civil: _MONTHS[civil.month - 1],
    "Jan": lambda civil: _MONTHS[civil.month - 1][:3],
    "1": lambda civil: f"{civil.month}",
    "01": lambda civil: f"{civil.month:02}",
    "Monday": lambda civil: _DAYS[civil.weekday],
    "Mon": lambda civil: _DAYS[civil.weekday][:3],
    "2": lambda civil: f"{civil.day}",
    "02": lambda civil: f"{civil.day:02}",
    "_2": lambda civil: f"{civil.day:2}",
    "002": lambda civil: f"{civil.yearday:03}",
    "__2": lambda civil: f"{civil.yearday:3}",
    "15": lambda civil: f"{civil.hour:02}",
    "3": lambda civil: f"{civil.hour % 12 or 12}",
    "03": lambda civil: f"{civil.hour % 12 or 12:02}",
    "4": lambda civil: f"{civil.minute}",
    "04": lambda civil: f"{civil.minute:02}",
    "5": lambda civil: f"{civil.second}",
    "05": lambda civil: f"{civil.second:02}",
    "PM": lambda civil: "PM" if civil.hour >= 12 else "AM",
    "pm": lambda civil: "pm" if civil.hour >= 12 else "am",
}


def parse(layout: str, text: str) -> Stamp:
    """A ValueError says what does not fit."""
    layout = NAMED.get(layout, layout)
    if len(layout) > _LONGEST or not _PLACE.search(layout):
        raise ValueError(
            f"{quoted(layout)} is no layout of a time: write how Mon Jan 2 15:04:05 MST 2006 looks in it, "
            f"like {quoted(RFC3339)}"
        )
    places, pattern = _reader(layout)
    match = pattern.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise ValueError(f"the time {quoted(text)} is not written like {quoted(layout)}")
    try:
        return _stamp(places, match.groups())
    except _OutOfRange as part:
        raise ValueError(f"there is no time {quoted(text)}: its {part} is out of range") from part


def format(layout: str, moment: Stamp) -> str:  # noqa: A001 - the counterpart of parse, called with its module
    layout = NAMED.get(layout, layout)
    civil = moment.civil
    return _PLACE.sub(lambda place: _written(place[0], civil=civil, moment=moment), layout)


class _OutOfRange(ValueError):
    pass


@functools.lru_cache(maxsize=256)
def _reader(layout: str) -> tuple[tuple[str, ...], re.Pattern[str]]:
    found = list(_PLACE.finditer(layout))
    names = [place[0] for place in found]
    pattern, position = "", 0
    for place, following in zip(found, [*names[1:], ""], strict=True):
        name = place[0]
        read = _READ_AS.get(name) or _zone_or_fraction(name)
        if name in {"5", "05"} and following[:1] not in {".", ","}:
            read += "(?:[.,][0-9]++)?+"
        pattern += _literal(layout[position : place.start()]) + f"((?>{read}))"
        position = place.end()
    return tuple(names), re.compile(pattern + _literal(layout[position:]), re.ASCII | re.DOTALL)


def _literal(text: str) -> str:
    """Any number of spaces will do where the layout has some, and none at the end of the text."""
    parts = re.split("( +)", text)
    return "".join(r"(?: ++|\Z)" if part[:1] == " " else re.escape(part) for part in parts)


def _zone_or_fraction(name: str) -> str:
    if name[0] in ".,":
        return f"[.,][0-9]{{{len(name) - 1}}}" if name[1] == "0" else "(?:[.,][0-9]++)?+"
    offset = "[+-]" + name[1:].replace("07", "[0-9]{2}").replace("00", "[0-9]{2}")
    return f"Z|{offset}" if name[0] == "Z" else offset


def _stamp(places: tuple[str, ...], texts: tuple[str, ...]) -> Stamp:
    said: dict[str, int] = {}
    zone = ""
    for place, text in zip(places, texts, strict=True):
        if place == "MST":
            zone = text
        else:
            said.update(_meaning(place, text))
    year, hour = said.get("year", 0), said.get("hour", 0)
    month, day = _day(said, year=year)
    if "half" in said:
        hour = 12 + hour if said["half"] and hour < 12 else 0 if not said["half"] and hour == 12 else hour
    seconds = (
        days_before(year, month, day) * 86_400
        + hour * 3600
        + said.get("minute", 0) * 60
        + said.get("second", 0)
    )
    offset = said.get("offset", 0)
    if "utc" in said or zone == "UTC":
        offset, zone = 0, "UTC"
    elif "offset" not in said and (hours := zone.removeprefix("GMT")) and hours[0] in "+-":
        offset = int(hours) * 3600
    return Stamp(
        (seconds - offset) * SECOND + said.get("nanosecond", 0), offset, zone or ("" if offset else "UTC")
    )


def _meaning(place: str, text: str) -> dict[str, int]:
    """What one place says; a week day says nothing."""
    if place in _NUMBERS:
        what, allowed = _NUMBERS[place]
        return {what: _within(what, text, allowed)}
    if place in {"5", "05"}:
        whole, *fraction = re.split("[.,]", text)
        return {"second": _within("second", whole, range(60))} | (
            _nanoseconds(fraction[0]) if fraction else {}
        )
    if place == "06":
        return {"year": int(text) + (1900 if int(text) >= 69 else 2000)}
    if place in {"January", "Jan"}:
        return {"month": 1 + [name[:3].lower() for name in _MONTHS].index(text[:3].lower())}
    if place in {"PM", "pm"}:
        return {"half": text in {"PM", "pm"}}
    if place[0] in ".,":
        return _nanoseconds(text[1:]) if text else {}
    return _zone(text) if place[0] in "-Z" else {}


def _zone(text: str) -> dict[str, int]:
    if text == "Z":
        return {"utc": 1}
    digits = text[1:].replace(":", "").ljust(6, "0")
    # Go lets 24 hours and 60 minutes pass.
    hours = _within("time zone offset", digits[:2], range(25))
    minutes = _within("time zone offset", digits[2:4], range(61))
    seconds = (hours * 60 + minutes) * 60 + _within("time zone offset", digits[4:], range(61))
    return {"offset": -seconds if text[0] == "-" else seconds}


def _nanoseconds(digits: str) -> dict[str, int]:
    return {"nanosecond": int(digits[:9].ljust(9, "0"))}


def _within(what: str, text: str, allowed: range) -> int:
    number = int(text)
    if number not in allowed:
        raise _OutOfRange(what)
    return number


def _day(said: Mapping[str, int], *, year: int) -> tuple[int, int]:
    month, day = said.get("month", 1), said.get("day", 1)
    if "yearday" in said:
        rest, month = said["yearday"], 1
        while month <= 12 and rest > days_in(year, month):
            rest, month = rest - days_in(year, month), month + 1
        day = rest
        if month > 12 or said.get("month", month) != month or said.get("day", day) != day:
            raise _OutOfRange("day of the year")
    if not 1 <= day <= days_in(year, month):
        raise _OutOfRange("day")
    return month, day


def _written(place: str, *, civil: Civil, moment: Stamp) -> str:
    if place in _WRITTEN_AS:
        return _WRITTEN_AS[place](civil)
    if place == "MST":
        return moment.zone or _offset(moment.offset, like="-0700")
    if place[0] in ".,":
        return _fraction(civil.nanosecond, like=place)
    return "Z" if place[0] == "Z" and not moment.offset else _offset(moment.offset, like=place)


def _fraction(nanosecond: int, *, like: str) -> str:
    digits = f"{nanosecond:09}"[: len(like) - 1]
    if like[1] == "9":
        digits = digits.rstrip("0")
    return like[0] + digits if digits else ""


def _offset(offset: int, *, like: str) -> str:
    # As in Go the sign is that of the whole minutes.
    minutes, sign = abs(offset) // 60, "-" if offset <= -60 else "+"
    text = f"{sign}{minutes // 60:02}"
    colon = ":" if ":" in like else ""
    if len(like) > 3:
        text += f"{colon}{minutes % 60:02}"
    if len(like) > 6:
        text += f"{colon}{abs(offset) % 60:02}"
    return text
