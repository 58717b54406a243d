"""The gate before each delete: places under the ceilings, taken once, given back when nothing went."""

from __future__ import annotations

import asyncio
import math

import pytest

from skoupa.errors import Disconnected, Forbidden, LeaseLost, ServerFailure, SkoupaError, Status, Withdrawn
from skoupa.facts.rows import Row
from skoupa.kube.resources import NAMESPACES
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim
from skoupa.sweep.allowances import Grant
from skoupa.sweep.ceilings import HOUR, MINUTE, By, Ceiling, Ceilings, Trip
from skoupa.sweep.gate import Gate, going
from skoupa.sweep.tripping import brake_name, of_ceiling
from tests.unit.judge.rows import row
from tests.unit.sweep.test_ceilings import Hands

pytestmark = pytest.mark.unit

CLAIM = Claim(mechanism="ttl", rule="x", due=1.0, reason=reason("ttl-date", key="k", value="v"))
REFUSED = Forbidden("no", status=Status(code=403))
FAILED = ServerFailure("no", status=Status(code=500))


class Way:
    """A gate with a ceiling of `most` within a minute."""

    def __init__(self, most: int, *, inside: int = 0, more: int = 0) -> None:
        self.trips: list[Trip] = []
        self._inside = inside
        self._more = more
        ceiling = Ceiling(span="all", seconds=MINUTE, most=most)
        self._ceilings = Ceilings(Hands(), (ceiling,))  # type: ignore[arg-type]  # all that it needs of a clock
        self.gate = Gate(self._ceilings, weigh=self._weigh, tripped=self._tripped, make_room=self._make_room)

    def _tripped(self, trip: Trip) -> None:
        self.trips.append(trip)

    async def _make_room(self) -> None:
        """Found out once, which takes a while."""
        more, self._more = self._more, 0
        await asyncio.sleep(0)
        if more:
            self._ceilings.grant(Grant(span="all", name="", number=more, at=0.0, until=math.inf))

    async def _weigh(self, row: Row) -> int:
        return self._inside

    async def passes(self, found: Row, *, wanted: bool = True) -> bool:
        return await self.gate.enter(found, CLAIM, still_wanted=lambda: wanted)


async def test_as_many_pass_as_there_are_places_and_the_next_one_trips() -> None:
    way = Way(2)
    assert [await way.passes(row(name)) for name in ("a", "b", "c")] == [True, True, False]
    (trip,) = way.trips
    assert (trip.gone, trip.weight) == (2, 1)


async def test_nothing_trips_where_more_room_is_found_first() -> None:
    way = Way(1, more=2)
    assert [await way.passes(row(name)) for name in ("a", "b", "c")] == [True, True, True]
    assert way.trips == []
    assert not await way.passes(row("d"))
    assert len(way.trips) == 1


async def test_what_is_not_wanted_any_more_when_room_is_made_takes_no_place() -> None:
    way = Way(1, more=1)
    assert await way.passes(row("a"))
    assert not await way.passes(row("b"), wanted=False)
    assert way.trips == []
    assert await way.passes(row("c"))


@pytest.mark.parametrize("error", [REFUSED, Withdrawn("no"), LeaseLost("no")])
async def test_what_was_certainly_not_sent_gives_its_place_back(error: SkoupaError) -> None:
    way = Way(1)
    assert await way.passes(row("a"))
    way.gate.failed(row("a"), error)
    assert await way.passes(row("b"))


@pytest.mark.parametrize("error", [FAILED, Disconnected("no")])
async def test_what_may_have_gone_keeps_its_place_and_takes_no_second_one(error: SkoupaError) -> None:
    way = Way(2)
    for _ in range(5):
        assert await way.passes(row("a"))
        way.gate.failed(row("a"), error)
    way.gate.failed(row("a"), REFUSED)
    assert await way.passes(row("b"))
    assert not await way.passes(row("c")), "the first may have gone"
    assert await way.passes(row("a"))
    way.gate.left(row("a"), "gone")
    assert not await way.passes(row("d")), "gone after such a try may be our own work"


@pytest.mark.parametrize(("outcome", "left"), [("gone", 1), ("stays", 1), ("deleted", 0), ("terminating", 0)])
async def test_only_what_went_stays_counted(outcome: str, left: int) -> None:
    way = Way(1)
    assert await way.passes(row("a"))
    way.gate.left(row("a"), outcome)
    assert await way.passes(row("b")) is bool(left)


async def test_that_it_stays_says_nothing_of_an_earlier_try_without_an_answer() -> None:
    way = Way(1)
    assert await way.passes(row("a"))
    way.gate.failed(row("a"), FAILED)
    assert await way.passes(row("a"))
    way.gate.left(row("a"), "stays")
    assert not await way.passes(row("b")), "the first may have gone"
    way.gate.forget(row("a").uid)
    assert not await way.passes(row("b")), "and then it was gone"


async def test_a_namespace_counts_as_what_is_in_it_and_is_looked_at_again_after_weighing() -> None:
    way = Way(10, inside=9)
    shop = row("shop", resource=NAMESPACES)
    assert not await way.passes(shop, wanted=False)
    assert await way.passes(shop)
    assert not await way.passes(row("a"))
    (trip,) = way.trips
    assert trip.gone == 10


async def test_an_object_is_known_to_have_used_what_was_released_until_it_is_gone_or_stays() -> None:
    hands = Hands()
    ceilings = Ceilings(hands, ())  # type: ignore[arg-type]  # all that it needs of a clock
    trips: list[Trip] = []
    gate = Gate(ceilings, weigh=Way(0)._weigh, tripped=trips.append)
    other = Claim(mechanism="policies", rule="P", due=1.0, reason=CLAIM.reason)
    ceilings.grant(Grant(span="rule", name="P", number=3, at=hands.now(), until=math.inf))
    went, stays = row("went"), row("stays")
    for one in (went, stays):
        assert await gate.enter(one, CLAIM, still_wanted=lambda: True, others=(CLAIM, other))
        assert gate.beside(one.uid) == (By("policies", "P"),)
    gate.left(went, "deleted")
    gate.left(stays, "stays")
    assert [gate.has_used(one.uid, "P") for one in (went, stays)] == [True, False]
    assert not gate.has_used(went.uid, "Q")
    gate.forget(went.uid)
    assert not gate.has_used(went.uid, "P")
    assert [ceilings.allowed(whose) for whose in ceilings.allowances] == [2]


async def test_a_try_without_an_answer_gives_its_place_to_the_rule_by_which_it_goes_then() -> None:
    hands = Hands()
    most_of_a_rule = Ceiling(span="rule", seconds=MINUTE, most=1)
    ceilings = Ceilings(hands, (most_of_a_rule, Ceiling(span="all", seconds=MINUTE, most=3)))  # type: ignore[arg-type]  # all that it needs of a clock
    trips: list[Trip] = []
    gate = Gate(ceilings, weigh=Way(0)._weigh, tripped=trips.append)

    async def passes(name: str, rule: str) -> bool:
        claim = Claim(mechanism="policies", rule=rule, due=1.0, reason=CLAIM.reason)
        return await gate.enter(row(name), claim, still_wanted=lambda: True)

    assert await passes("a", "P")
    gate.failed(row("a"), FAILED)
    assert not await passes("b", "P"), "the first may have gone"
    assert await passes("a", "Q")
    gate.failed(row("a"), FAILED)
    assert await passes("b", "P")
    assert not await passes("c", "Q")
    assert await passes("a", "Q")
    assert not await passes("a", "P"), "there is no room for that"
    assert await passes("a", "Q"), "its own place it has still"
    assert await passes("d", "R")
    assert [trip.name for trip in trips] == ["P", "Q", "P"]


def test_a_label_is_nobodys_rule_and_a_namespace_lies_in_itself() -> None:
    assert (going(row("a"), CLAIM).namespace, going(row("a"), CLAIM).rule) == ("shop", "")
    assert going(row("shop", resource=NAMESPACES), CLAIM).namespace == "shop"
    by_rule = Claim(mechanism="policies", rule="CleanupPolicy/shop/old", due=1.0, reason=CLAIM.reason)
    assert going(row("a"), by_rule).rule == "CleanupPolicy/shop/old"


def test_a_ceiling_that_trips_becomes_a_brake_of_its_scope_with_the_numbers_in_words() -> None:
    ceiling = Ceiling(span="namespace", seconds=MINUTE, most=20)
    tripped = of_ceiling(Trip(ceiling=ceiling, name="shop", gone=20, weight=1))
    assert tripped.name == "ceiling-namespace-shop-per-minute"
    assert tripped.by == (
        "20 deletions in the namespace shop within a minute, and one more would be over the 20 of "
        "brakes.namespacePerMinute"
    )
    everything = of_ceiling(
        Trip(ceiling=Ceiling(span="all", seconds=HOUR, most=5), name="", gone=3, weight=4)
    )
    assert (everything.name, everything.span) == ("ceiling-all-per-hour", "all-hour")
    assert everything.by.endswith("and 4 more at once would be over the 5 of brakes.perHour")
    assert everything.spec.scope.all
    rule = of_ceiling(
        Trip(ceiling=Ceiling(span="rule", seconds=HOUR, most=5), name="Policy/shop/Old", gone=5, weight=1)
    )
    assert rule.spec.scope.policy == "Policy/shop/Old"
    assert rule.name.startswith("ceiling-rule-policy-shop-old-per-hour-")


def test_names_that_an_object_can_not_have_are_told_apart_by_a_digest() -> None:
    assert brake_name("a", "", "b") == "a-b"
    assert brake_name("A") != brake_name("a") != brake_name("a.")
    assert len(brake_name("x" * 500)) <= 253
