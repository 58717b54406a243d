"""What the engine of a running controller says of everything, by kind and place, before anybody's rights.

Judging everything takes a while and others have work to do: it is done in turns with them, for all who ask within a few seconds
together.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.survey import Finding
from skoupa.kube.resources import NAMESPACES
from skoupa.model.reasons import problems
from skoupa.report.opinions import Insight
from skoupa.web.dashboard.pieces import Turns
from skoupa.web.mentioned import Mention
from skoupa.web.mentions import mentions_of
from skoupa.web.permissions import Spot

_FRESH_SECONDS: Final = 3.0
_SHARE: Final = 0.05


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What is claimed there, of what only something is to be told, and which other objects that names."""

    namespace: str
    claimed: list[Finding] = msgspec.field(default_factory=list)
    remarked: list[Finding] = msgspec.field(default_factory=list)
    mentions: set[Mention] = msgspec.field(default_factory=set)

    @property
    def objects(self) -> int:
        return len(self.claimed) + len(self.remarked)


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """`number` tells one from the next."""

    number: int = 0
    places: dict[Spot, Place] = msgspec.field(default_factory=dict)


class Judging:
    def __init__(self, insight: Insight, clock: Clock) -> None:
        self._insight = insight
        self._clock = clock
        self._lock = asyncio.Lock()
        self._judged = Judged()
        self._good_until = 0.0

    async def judged(self) -> Judged:
        async with self._lock:
            if self._clock.monotonic() >= self._good_until:
                began = self._clock.monotonic()
                self._judged = await self._judge()
                took = self._clock.monotonic() - began
                self._good_until = self._clock.monotonic() + max(_FRESH_SECONDS, took / _SHARE)
            return self._judged

    async def _judge(self) -> Judged:
        places: dict[Spot, Place] = {}
        turns = Turns(self._clock)
        for row in self._insight.rows():
            await turns.pause()
            verdict = self._insight.judged(row, self._clock.now())
            # A label that waits does what its writer meant, and nothing is to be told of it.
            if not verdict.claims and not problems(verdict.notes):
                continue
            found = Finding(row, verdict)
            spot = _spot(found)
            place = places.setdefault(spot, Place(namespace=row.namespace))
            (place.claimed if verdict.claims else place.remarked).append(found)
            place.mentions.update(mentions_of(verdict, spot.namespace))
        return Judged(number=self._judged.number + 1, places=places)


def _spot(found: Finding) -> Spot:
    row = found.row
    inside = row.name if row.resource.qualified == NAMESPACES.qualified else row.namespace
    return Spot(resource=row.resource.qualified, namespace=inside)
