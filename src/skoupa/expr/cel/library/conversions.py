"""Texts that conversions read and write, as cel-go reads and writes them (Go's strconv and time), not as the engine does.

What reads (`int("5")`) is checked here and handed to the engine in a form that it reads to the same value; what is
none is a ValueError, where the engine would be lenient. What writes (`string(1.5)`) gets the engine's text, which is
exact to the nanosecond, and puts it into Go's form. No value is ever quoted: it may be one that nobody may read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from skoupa.expr.cel.library.declaring import Function, function
from skoupa.expr.golang import go_duration

# Not for expressions: the checker does not know them.
WRITTEN: Final = "skoupa_written"
NANOSECONDS: Final = "skoupa_nanoseconds"

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_NATURAL: Final = re.compile(r"[0-9]+")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEXADECIMAL: Final = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_UNDERSCORE: Final = re.compile(r"(?<=[0-9])_(?=[0-9])")
_UNDERSCORE_IN_HEXADECIMAL: Final = re.compile(r"(?<=[0-9a-fA-FxX])_(?=[0-9a-fA-F])")
_INFINITE: Final = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_TRUTHS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), "true"),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), "false"),
}
_MOMENT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T)([0-9]{1,2})(:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*")
_NANOSECONDS: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?s")
_SECOND: Final = 10**9
_ZEROS: Final = re.compile(r"(\.[0-9]*?)0+(?=Z$)")
_ODD_NUMBERS: Final = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN", "-nan": "NaN"}


def _no(kind: str) -> ValueError:
    """Put into words by `wording`."""
    return ValueError(f"this text is no {kind}")


def read_int(text: str) -> str:
    if not _INTEGER.fullmatch(text) or len(text) > 1000 or not -(2**63) <= int(text) < 2**63:
        raise _no("int")
    return str(int(text))


def read_uint(text: str) -> str:
    if not _NATURAL.fullmatch(text) or len(text) > 1000 or int(text) >= 2**64:
        raise _no("uint")
    return str(int(text))


def read_double(text: str) -> str:
    if _INFINITE.fullmatch(text) or text.lower() == "nan":
        return text.lower()
    plain = _UNDERSCORE.sub("", text)
    whole = _UNDERSCORE_IN_HEXADECIMAL.sub("", text)
    try:
        if _DECIMAL.fullmatch(plain):
            found = float(plain)
        elif _HEXADECIMAL.fullmatch(whole):
            found = float.fromhex(whole)
        else:
            raise _no("double")
    except OverflowError as error:
        raise _no("double") from error
    if math.isinf(found):
        raise _no("double")
    return repr(found)


def read_bool(text: str) -> str:
    if text not in _TRUTHS:
        raise _no("bool")
    return _TRUTHS[text]


def read_timestamp(text: str) -> str:
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise _no("timestamp")
    day, hour, rest, fraction, sign, hours, minutes = match.groups()
    if sign and (int(hours) > 24 or int(minutes) > 60):
        raise _no("timestamp")
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    try:
        moment = datetime.fromisoformat(f"{day}{hour:0>2}{rest}") - offset
    except (ValueError, OverflowError) as error:
        raise _no("timestamp") from error
    return f"{moment.isoformat()}.{(fraction or '')[:9]:0<9}Z"


def read_utc_timestamp(text: str) -> str:
    match = _MOMENT.fullmatch(text)
    if match is not None and match[5] and (match[6], match[7]) != ("00", "00"):
        raise ValueError(
            "the offset of a timestamp is not known when it becomes a text: write it with Z, or compare timestamps"
        )
    return read_timestamp(text)


def read_duration(text: str) -> str:
    found = go_duration(text)
    if not isinstance(found, int):
        raise _no("duration")
    seconds, nanoseconds = divmod(abs(found), _SECOND)
    return f"{'-' if found < 0 else ''}{seconds}.{nanoseconds:09}s"


def read_base64(text: str) -> str:
    if not _BASE64.fullmatch(text):
        raise ValueError("this text is not in base64")
    return text


# The conversions whose texts are read here, and what a call of them is handed instead.
READS: Final[Mapping[str, Callable[[str], str]]] = {
    "int": read_int,
    "uint": read_uint,
    "double": read_double,
    "bool": read_bool,
    "timestamp": read_timestamp,
    "duration": read_duration,
    "base64.decode": read_base64,
}


def reading(conversion: str) -> str:
    """The name of the function that reads for a conversion."""
    return f"skoupa_read_{conversion}"


# Where what is read becomes a text again.
IN_UTC: Final = {"timestamp": "skoupa_read_utc_timestamp"}


def written(value: Any, text: str) -> str:
    """`text` is the engine's; the value itself may have lost its nanoseconds on the way here."""
    if isinstance(value, datetime):
        return _ZEROS.sub(r"\1", text).replace(".Z", "Z")
    if isinstance(value, timedelta):
        return seconds_text(_nanoseconds_of(text))
    if isinstance(value, float):
        return _ODD_NUMBERS.get(text, text)
    return text


def nanoseconds(text: str) -> str:
    """What `int` makes of a duration, which comes as the engine's text."""
    return read_int(str(_nanoseconds_of(text)))


def _nanoseconds_of(text: str) -> int:
    match = _NANOSECONDS.fullmatch(text)
    if match is None:
        raise ValueError("this duration can't be written")
    return (-1 if match[1] else 1) * (int(match[2]) * _SECOND + int(f"{match[3] or '':0<9}"))


def seconds_text(nanoseconds: int) -> str:
    """As cel-go writes a duration: all of it in seconds, as a floating-point number."""
    sign = -1 if nanoseconds < 0 else 1
    seconds, rest = divmod(abs(nanoseconds), _SECOND)
    found = format(Decimal(repr(sign * (float(seconds) + rest / 1e9))), "f")
    return ("0" if found == "-0.0" else found.removesuffix(".0")) + "s"


HIDDEN: Final[tuple[Function, ...]] = (
    *(function(reading(name), read, "string -> string") for name, read in READS.items()),
    function(IN_UTC["timestamp"], read_utc_timestamp, "string -> string"),
    function(WRITTEN, written, "dyn, string -> string"),
    function(NANOSECONDS, nanoseconds, "string -> string"),
)
