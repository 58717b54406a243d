"""Claim, Hold and Verdict: what every mechanism answers about one object.

An object goes when a Claim is due and no Hold that this kind of Claim respects stands against it. Nothing else in the
system decides. A Verdict has no opinion of its own: it is the sum of the answers at one moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from skoupa.model.reasons import REASONS, Reason

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


class Question(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The rule has to be asked again before the object goes by it: `now`, or only once nothing else holds it."""

    rule: str
    now: bool


class Beside(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A Claim that is due as well and does not decide, with what stands against it."""

    claim: Claim
    holds: tuple[Hold, ...] = ()


class Verdict(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """All answers about one object. The first of `claims` is the one that decides, and `holds` stand against it.

    The others follow by time. `notes` change nothing but are told; `questions` are for who acts on the Verdict to have answered.
    `beside` are the others that are due, where the one that decides is held.
    """

    claims: tuple[Claim, ...] = ()
    holds: tuple[Hold, ...] = ()
    notes: tuple[Reason, ...] = ()
    questions: tuple[Question, ...] = ()
    beside: tuple[Beside, ...] = ()

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

    def told_beside(self) -> Iterator[Claim]:
        """Those that only report and that nothing stands against, where the one that decides is held for long."""
        if any(not REASONS[hold.reason.code].passing for hold in self.holds):
            yield from (one.claim for one in self.beside if one.claim.observed and not one.holds)

    def held(self) -> Iterator[Verdict]:
        """What it says of each Claim by which the object would go and does not, the one that decides first."""
        if self.holds and not self.claims[0].observed:
            yield self
        for one in self.beside:
            if one.holds and not one.claim.observed:
                yield self._by(one)

    def of(self, rule: str) -> Verdict:
        """What it says of the Claim of this rule, as far as that was judged."""
        if not self.claims or self.claims[0].rule == rule:
            return self
        return next((self._by(one) for one in self.beside if one.claim.rule == rule), self)

    def _by(self, chosen: Beside) -> Verdict:
        others = (claim for claim in self.claims if claim is not chosen.claim)
        return Verdict(claims=(chosen.claim, *others), holds=chosen.holds, notes=self.notes)

    def look_again(self, now: float) -> float | None:
        """When time alone may change the answer; None: only a change of the object or its surroundings does."""
        moments = [claim.due for claim in self.claims if claim.due > now]
        if self.claims:
            holds = [*self.holds, *(hold for one in self.beside for hold in one.holds)]
            moments += [hold.until for hold in holds if hold.until is not None and hold.until > now]
        return min(moments, default=None)


NOTHING = Verdict()
