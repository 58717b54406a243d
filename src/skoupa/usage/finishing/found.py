"""What reading one object gives: that it has ended, how and when; or why that can't be told."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from skoupa.usage.finishing.rules import Caution, Outcome

FIRST_SEEN: Final = "when it was first seen so"
# What to do where a kind is known by its shape alone.
TEACHES: Final = "a KindProfile says when one of its kind has"
# As far as clocks of machines may differ without anybody having written a wrong time.
_AHEAD: Final = timedelta(minutes=5)


class Finish(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """It has ended. `at` is None where nothing in the object says when: whoever sees it first has to write that down.

    `at_from` is the path that `at` was read from. `own_ttl` counts in seconds from the end, `own_until` is a time; `own_from`
    is the path of whichever there is. `cautions` are those that apply to this object.
    """

    outcome: Outcome
    at: datetime | None = None
    at_from: str = ""
    own_ttl: int | None = None
    own_until: datetime | None = None
    own_from: str = ""
    cautions: tuple[Caution, ...] = ()

    @property
    def held_by(self) -> tuple[str, ...]:
        """Why it has to stay although it has ended."""
        return tuple(caution.why for caution in self.cautions if caution.holds)

    def seen(self, first_seen: datetime | None, *, now: datetime) -> Finish:
        """With the time that counts: its own, unless that is missing or lies ahead by more than clocks differ.

        Then it counts from when it was first seen so, and while nobody has written that down there is no time. Beside a
        time of its own that is never asked: it may be left from an earlier end, after which it ran again.
        """
        if self.at is not None and self.at <= now + _AHEAD:
            return self
        return msgspec.structs.replace(self, at=first_seen, at_from=FIRST_SEEN if first_seen else "")


class Doubt(msgspec.Struct, frozen=True, gc=False):
    """Nobody can tell whether it has ended; so it has not."""

    why: str
