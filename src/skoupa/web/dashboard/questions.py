"""What a page asks: filters as they stand in its address, checked before anybody looks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from skoupa.ledger.rows import Result
from skoupa.web.dashboard.shapes import State

MOST_OBJECTS: Final = 100
MOST_ENTRIES: Final = 1000


class Which(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which objects; what is not said is anything. `namespace` empty: what lives in none. `reason` is the code of a hold.

    `rule` is the one that decides, `policy` one that claims it, whether it decides or not.
    """

    state: State | None = None
    namespace: str | None = None
    rule: str | None = None
    policy: str | None = None
    reason: str | None = None
    offset: int = 0


class Filters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which decisions, in the words that `skoupa history` takes: `object` is KIND or KIND/NAME, times are as typed."""

    object: str = ""
    namespace: str = ""
    since: str = ""
    until: str = ""
    rule: str = ""
    run: str = ""
    outcome: Result | None = None
    limit: int = 100


def which_of(pairs: Iterable[tuple[str, str]]) -> Which:
    """Raises ValueError (msgspec's) on what can't be meant, as all of these do."""
    found = msgspec.convert(dict(pairs), Which, strict=False)
    return msgspec.structs.replace(found, offset=max(found.offset, 0))


def filters_of(pairs: Iterable[tuple[str, str]]) -> Filters:
    given = {name: value.strip() for name, value in pairs}
    # A form sends what was left empty too.
    found = msgspec.convert({name: value for name, value in given.items() if value}, Filters, strict=False)
    return msgspec.structs.replace(found, limit=min(max(found.limit, 1), MOST_ENTRIES))


def nothing_of(pairs: Iterable[tuple[str, str]]) -> None:
    for name, _ in pairs:
        raise msgspec.ValidationError(f"{name} is no part of this question")
