"""The way out: a delete passes only where every ceiling has room for it, and gives its place back when nothing went.

A place is taken after the last judgement and right before the delete is sent, so nothing overshoots. Where nobody knows
whether a delete went (no answer came), its place stays taken, and the next try for the same object uses it again: a
server that is away must not fill the ceilings with tries. Where it goes by another rule then, that rule's place takes over. A Namespace or definition counts as what is in it. What others
claim too takes from what was released of theirs as well, and gives that back in the same way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Final

from skoupa import names
from skoupa.errors import ApiError, LeaseLost, LedgerUnavailable, SkoupaError, Withdrawn
from skoupa.facts.rows import Row, Uid
from skoupa.judge.cascade import is_definition, is_namespace
from skoupa.judge.tenants import NAME as TENANTS
from skoupa.model.verdicts import Claim
from skoupa.sweep.ceilings import By, Ceilings, Going, Reservation, Trip

# Mechanisms by which the object's own label decides, and nobody's rule; another goes by both.
_LABELLED: Final = frozenset({"ttl"})
# An earlier try for the same object has its place for good.
COUNTED: Final = "counted"
_LABEL: Final = f"{names.TTL_AFTER_LABEL}="


async def _nothing() -> None:
    return


class Gate:
    """`weigh` counts what is in a Namespace or definition.

    `tripped` hears of a ceiling that is full; before that, `make_room` is asked whether more may go than was known.
    """

    def __init__(
        self,
        ceilings: Ceilings,
        *,
        weigh: Callable[[Row], Awaitable[int]],
        tripped: Callable[[Trip], None],
        make_room: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        self._ceilings = ceilings
        self._weigh = weigh
        self._tripped = tripped
        self._make_room = make_room
        self._places: dict[Uid, Reservation] = {}
        # Deletes of which nobody knows whether they went.
        self._open: set[Uid] = set()
        # What went by an allowance and may not have been seen to be gone yet.
        self._went: dict[Uid, Reservation] = {}

    async def enter(
        self, row: Row, claim: Claim, *, still_wanted: Callable[[], bool], others: Collection[Claim] = ()
    ) -> bool:
        """Whether it may go now. Weighing and making room take a while, so `still_wanted` is asked after them.

        `others` are the Claims that are due as well, also those that only report: a release may have counted it for each.
        """
        before = self._places[row.uid] if row.uid in self._open else None
        if before is not None and _whose(before) == by(claim):
            return True
        weight = 1
        if claim.mechanism != TENANTS and (is_namespace(row) or is_definition(row)):
            weight += await self._weigh(row)
            if not still_wanted():
                return False
        wanted = going(row, claim, weight=weight, others=others)
        place = self._ceilings.reserve(wanted)
        if isinstance(place, Trip):
            await self._make_room()
            if not still_wanted():
                return False
            place = self._ceilings.reserve(wanted)
        if isinstance(place, Trip):
            self._tripped(place)
            return False
        if before is not None:
            # Until now it had the place of another rule.
            self._ceilings.give_back(before)
        self._places[row.uid] = place
        return True

    def weight(self, uid: Uid) -> int:
        """How many objects it was counted for."""
        place = self._places.get(uid)
        return place.going.weight if place is not None else 1

    def beside(self, uid: Uid) -> tuple[By, ...]:
        """Who else than the rule by which it goes had an allowance that it used."""
        place = self._places.get(uid)
        return tuple(one.by for one in place.beside) if place is not None else ()

    def has_used(self, uid: Uid, rule: str) -> bool:
        """Whether it is on its way and took from what was released of this rule."""
        place = self._places.get(uid) or self._went.get(uid)
        return place is not None and place.has_used(rule)

    def left(self, row: Row, outcome: str) -> None:
        """What became of it; `gone` is what somebody else deleted, unless an earlier try of ours did.

        That it stays, by what is known, says nothing of an earlier try to which no answer came.
        """
        if outcome == "stays" and row.uid in self._open:
            return
        place = self._places.pop(row.uid, None)
        unsure = row.uid in self._open
        self._open.discard(row.uid)
        went = outcome in {"deleted", "terminating"} or (outcome == "gone" and unsure)
        if place is not None and not went:
            self._ceilings.give_back(place)
        elif place is not None and self._ceilings.allowances:
            self._went[row.uid] = place

    def failed(self, row: Row, error: SkoupaError) -> None:
        refused = isinstance(error, ApiError) and error.status.code < 500
        if refused or isinstance(error, Withdrawn | LeaseLost | LedgerUnavailable):
            if row.uid not in self._open:
                self.left(row, "stays")
        elif row.uid in self._places:
            self._open.add(row.uid)

    def forget(self, uid: Uid) -> None:
        """It is gone, whoever did it: what was taken for a try of ours stays counted."""
        self._went.pop(uid, None)
        if not self._ceilings.allowances:
            self._went.clear()
        if uid in self._open:
            self._open.discard(uid)
            self._places.pop(uid, None)


def going(row: Row, claim: Claim, *, weight: int = 1, others: Collection[Claim] = ()) -> Going:
    goes = by(claim)
    return Going(
        namespace=row.name if is_namespace(row) else row.namespace,
        rule=goes.rule,
        weight=weight,
        kind=row.resource.qualified,
        mechanism=goes.mechanism,
        also=tuple(other for other in dict.fromkeys(map(by, others)) if other != goes) if others else (),
    )


def _whose(place: Reservation) -> By:
    return By(place.going.mechanism, place.going.rule)


def by(claim: Claim) -> By:
    """Whose ceiling counts what goes by it."""
    return By(claim.mechanism, rule_of(claim.mechanism, claim.rule))


def rule_of(mechanism: str, rule: str) -> str:
    """The rule that a ceiling counts for; a label on the object itself is none."""
    return "" if mechanism in _LABELLED or rule.startswith(_LABEL) else rule
