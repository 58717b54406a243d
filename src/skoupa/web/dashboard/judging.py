"""What the engine of a running controller says of everything, by kind and place, before anybody's rights.

Judging everything takes a while and others have work to do: it is done in turns with them, beside the answers, for as long as
somebody asks. Who asks gets what was judged last, and when that was.
"""

from __future__ import annotations

from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.survey import Finding
from skoupa.kube.resources import NAMESPACES
from skoupa.model.reasons import problems
from skoupa.report.opinions import Insight
from skoupa.web.dashboard.fresh import Fresh
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
    """`number` tells one from the next, `made` is when it was begun; `failed`: there is nothing but that."""

    number: int = 0
    made: float = 0.0
    places: dict[Spot, Place] = msgspec.field(default_factory=dict)
    failed: Exception | None = None


class Judging:
    def __init__(self, insight: Insight, clock: Clock) -> None:
        self._insight = insight
        self._clock = clock
        self._number = 0
        # How many of how many are judged.
        self._at = (0, 0)
        self._fresh = Fresh(
            self._made,
            clock=clock,
            seconds=_FRESH_SECONDS,
            share=_SHARE,
            being="being judged",
            doing=lambda: f"{self._at[0]:,} of {self._at[1]:,} objects" if self._at[1] else "",
        )

    async def follow(self) -> None:
        """Until it is cancelled; nothing is judged while nobody asks."""
        await self._fresh.follow()

    async def judged(self) -> tuple[Judged, str]:
        """What was judged last, and why that is older than it should be; empty: it is not."""
        found, trouble = await self._fresh.get()
        if found.failed is not None:
            # Else each who is told would leave their own way to it in there.
            raise found.failed.with_traceback(None)
        return found, trouble

    async def _made(self) -> Judged:
        try:
            return await self._judge()
        except Exception as error:  # noqa: BLE001 - the boundary: who asks is told, and whoever deletes goes on
            self._number += 1
            return Judged(number=self._number, failed=error)

    async def _judge(self) -> Judged:
        places: dict[Spot, Place] = {}
        turns, began, rows = Turns(self._clock), self._clock.now(), self._insight.rows()
        for number, row in enumerate(rows):
            await turns.pause()
            self._at = (number, len(rows))
            verdict = self._insight.judged(row, self._clock.now())
            # A label that waits does what its writer meant, and nothing is to be told of it.
            if not verdict.claims and not problems(verdict.notes):
                continue
            found = Finding(row, verdict)
            spot = _spot(found)
            place = places.setdefault(spot, Place(namespace=row.namespace))
            (place.claimed if verdict.claims else place.remarked).append(found)
            place.mentions.update(mentions_of(verdict, spot.namespace))
        self._number += 1
        return Judged(number=self._number, made=began, places=places)


def _spot(found: Finding) -> Spot:
    row = found.row
    inside = row.name if row.resource.qualified == NAMESPACES.qualified else row.namespace
    return Spot(resource=row.resource.qualified, namespace=inside)
