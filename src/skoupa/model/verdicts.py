"""Claim, Hold and Verdict: what every mechanism answers about one object.

An object goes when a Claim is due and no Hold that this kind of Claim respects stands against it. Nothing else in the
system decides. A Verdict has no opinion of its own: it is the sum of the answers at one moment.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from skoupa.model.reasons import Reason

Propagation = Literal["Background", "Foreground", "Orphan"]


class Claim(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """This may go, because of `reason`, from `due` on (seconds since the epoch).

    `on_labels_alone`: nothing but the object's own labels decided, so a change elsewhere in it does not matter.
    `run` is set where a rule chose the object: all that one run of it claims is weighed together before anything goes.
    `author` wrote that rule, where it is known. `observed`: the rule only reports for now, and nothing goes by it.
    """

    mechanism: str
    rule: str
    due: float
    reason: Reason
    propagation: Propagation = "Background"
    on_labels_alone: bool = False
    run: str = ""
    author: str = ""
    observed: bool = False


class Hold(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """This stays, because of `reason`; `until` is when the hold is known to end by itself."""

    reason: Reason
    until: float | None = None


class Verdict(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """All answers about one object. The first of `claims` is the one that decides, and `holds` stand against it.

    The others follow by time. `notes` change nothing but are told.
    """

    claims: tuple[Claim, ...] = ()
    holds: tuple[Hold, ...] = ()
    notes: tuple[Reason, ...] = ()

    @property
    def due(self) -> float | None:
        """When the Claim that decides is due, whatever holds it."""
        return self.claims[0].due if self.claims else None

    @property
    def goes(self) -> float | None:
        """When it goes if nothing changes; None: nothing claims it, or something holds it without an end."""
        if not self.claims:
            return None
        latest = self.claims[0].due
        for hold in self.holds:
            if hold.until is None:
                return None
            latest = max(latest, hold.until)
        return latest

    def claim(self, now: float) -> Claim | None:
        """The Claim to act on now: due, and nothing holds."""
        found = self.reported(now)
        return None if found is None or found.observed else found

    def reported(self, now: float) -> Claim | None:
        """The Claim to tell of where nothing is done; also one that is only observed."""
        if self.holds or not self.claims or self.claims[0].due > now:
            return None
        return self.claims[0]

    def look_again(self, now: float) -> float | None:
        """When time alone may change the answer; None: only a change of the object or its surroundings does."""
        moments = [claim.due for claim in self.claims if claim.due > now]
        if self.claims:
            moments += [hold.until for hold in self.holds if hold.until is not None and hold.until > now]
        return min(moments, default=None)


NOTHING = Verdict()
