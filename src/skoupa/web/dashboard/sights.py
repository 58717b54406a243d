"""What one who asks may see of what the engine judged, and how much of it is not shown.

Rights are asked for by kind and place, for the places with the most objects; the rest is counted and told. What the engine itself can't
read is told to everybody, why to who may read it: an error of the server may name things that are not for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

import msgspec

from skoupa.controller.survey import Gap
from skoupa.report.opinions import Acts, Announcement, Unread
from skoupa.web.dashboard.judging import Judged
from skoupa.web.dashboard.sentences import counted
from skoupa.web.mentioned import Mention
from skoupa.web.mentions import Kinds, hidden_of
from skoupa.web.permissions import NEVER, Rights, Spot
from skoupa.web.refusing import Refused

# Places that somebody's rights are asked for; a right everywhere needs one question for each kind.
MOST_SPOTS: Final = 200
_NOT_TOLD: Final = "the controller can't read it"


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody may see of what was judged: who may see the same is told the same."""

    number: int
    acts: Acts
    seen: frozenset[Spot]
    hidden: frozenset[Mention]
    left_out: tuple[str, ...]
    gaps: tuple[Gap, ...]
    announced: tuple[str, ...] = ()


class Eyes:
    """Of one who asks."""

    def __init__(self, rights: Rights, kinds: Kinds) -> None:
        self.caller = rights.caller
        self._rights = rights
        self._kinds = kinds

    async def sight(
        self,
        judged: Judged,
        *,
        acts: Acts,
        unread: Sequence[Unread],
        namespace: str | None,
        announced: Sequence[Announcement] = (),
    ) -> Sight:
        """Of everything, or of one namespace. What is announced of a kind is for who may read that."""
        places = Counter(
            {
                spot: place.objects
                for spot, place in judged.places.items()
                if namespace is None or place.namespace == namespace
            }
        )
        seen, unasked = await self._allowed(places)
        mentions: set[Mention] = set().union(*(judged.places[spot].mentions for spot in seen))
        hidden = await hidden_of(mentions, kinds=self._kinds, reaches=self._reached)
        return Sight(
            number=judged.number,
            acts=acts,
            seen=frozenset(seen),
            hidden=frozenset(hidden),
            left_out=tuple(_left_out(places, seen, unasked)),
            gaps=tuple(await self.gaps(unread)),
            announced=tuple(await self._heard(announced)),
        )

    async def _heard(self, announced: Sequence[Announcement]) -> list[str]:
        told = {one: Spot(resource=one.kind, namespace="") for one in announced}
        seen = await self.seen(list(dict.fromkeys(told.values())))
        return [one.text for one, spot in told.items() if spot in seen]

    async def gaps(self, unread: Sequence[Unread]) -> list[Gap]:
        """Of one place only who may see it is told: others are shown nothing of it anyway."""
        spots = {one: Spot(resource=one.resource, namespace=one.namespace) for one in unread if one.resource}
        # Where it is about many kinds, as without any rights, the first are enough.
        seen = await self.seen(list(spots.values())[:MOST_SPOTS])
        found = []
        for one in unread:
            known = not one.resource or spots[one] in seen
            if known or not one.namespace:
                found.append(Gap(what=one.what, why=one.why if known else _NOT_TOLD))
        return found

    async def need(self, spot: Spot) -> None:
        if spot not in await self.seen([spot]):
            raise Refused(403, "Forbidden", f"you, {self.caller.username}, may not get {spot}")

    async def seen(self, spots: Collection[Spot]) -> set[Spot]:
        since = await self._rights.of("get", spots)
        return {spot for spot, moment in since.items() if moment != NEVER}

    async def _reached(self, spots: Collection[Spot]) -> set[Spot]:
        return (await self._allowed(Counter(sorted(spots, key=str))))[0]

    async def _allowed(self, places: Counter[Spot]) -> tuple[set[Spot], set[Spot]]:
        """Those that may be seen, and those that nobody asked about: what counts everywhere is asked of each kind first."""
        kinds = {Spot(resource=spot.resource, namespace="") for spot in places}
        everywhere = {spot.resource for spot in await self.seen(kinds)}
        seen = {spot for spot in places if spot.resource in everywhere}
        rest = Counter({spot: places[spot] for spot in places if spot not in seen and spot.namespace})
        asked = [spot for spot, _ in rest.most_common(MOST_SPOTS)]
        return seen | await self.seen(asked), rest.keys() - set(asked)


def _left_out(places: Counter[Spot], seen: Collection[Spot], unasked: Collection[Spot]) -> Iterator[str]:
    hidden = sum(number for spot, number in places.items() if spot not in seen and spot not in unasked)
    if hidden:
        yield f"{counted(hidden, 'object is', 'objects are')} not shown: you may not read them"
    if unasked:
        few = sum(places[spot] for spot in unasked)
        yield (
            f"{counted(few, 'object is', 'objects are')} not shown, in places with few of them: "
            "`skoupa dashboard -n NAMESPACE` looks into one"
        )
