"""The grammar of the TTL label as regular expressions that the API server and Python read alike.

CEL can't catch an error, so nothing may be converted that was not recognised before: these forms let through only what
`int` and `timestamp` are sure to take, down to the leap days. They are compared with `skoupa.expr.ttl`, which is what
the engine reads with, in the tests: the two must never disagree about a value.
"""

from __future__ import annotations

from typing import Final

UNITS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
# 292 years, what Go's time.Duration holds; beyond it the engine does not follow either.
MAXIMUM_SECONDS: Final = (2**63 - 1) // 10**9

# Ten digits hold the maximum in seconds; a longer number can't be within it in any unit, and would overflow.
_NUMBER: Final = "0*[0-9]{1,10}"
# The empty text has this form too and must be excluded beside it: RE2 can't look ahead.
DURATION: Final = "0|" + "".join(f"(?:{_NUMBER}{unit})?" for unit in UNITS)

_YEAR: Final = "(?:19[7-9][0-9]|[2-9][0-9]{3})"
_LEAP_YEAR: Final = (
    "(?:19(?:72|76|8[048]|9[26])|[2-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[3579][26])00)"
)
_DAY: Final = (
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
DATE: Final = f"(?:{_YEAR}-{_DAY}|{_LEAP_YEAR}-02-29)"
_HOUR: Final = "(?:[01][0-9]|2[0-3])"
_SIXTY: Final = "[0-5][0-9]"
TIME: Final = f"{DATE}(?:T{_HOUR}{_SIXTY}{_SIXTY}Z)?"

RFC3339: Final = f"{DATE}[Tt]{_HOUR}:{_SIXTY}:{_SIXTY}(?:[.][0-9]+)?(?:[Zz]|[+-]{_HOUR}:{_SIXTY})"

# Whatever Kyverno 1.19 makes sense of, and a little more: enough not to call not understood what it understands.
_KYVERNO_WORD: Final = (
    "(?:(?:ns|us|ms|s|m|h|hr|d|w|wk)(?:[^a-zA-Z].*)?|(?:nano|micro|milli|sec|min|hour|day|week).*)"
)
KYVERNO: Final = (
    f"(?i:.*[0-9]{_KYVERNO_WORD})"
    "|(?:[0-9]+(?:[.][0-9]*)?(?:ns|us|ms|s|m|h))+"
    "|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{6}(?:[.][0-9]+)?Z)?"
    "|-?0"
)
