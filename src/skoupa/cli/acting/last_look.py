"""The last look of a sweep at what one object might take along, right before its delete leaves.

What is kept was read at most two seconds ago, or after the question; so was the Namespace that the object is in. Kept objects
are watched besides. What is found is judged at once: who asked the people showed them one plan, and goes by what is true now.
"""

from __future__ import annotations

from typing import Final

from skoupa.cli.acting.keep_watch import KeepWatch
from skoupa.controller.keeping.surroundings import Surroundings
from skoupa.controller.sight.freshness import COUNTS_SECONDS, Freshness
from skoupa.controller.survey import Survey
from skoupa.errors import SkoupaError, Withdrawn
from skoupa.facts.rows import Row
from skoupa.kube.client import Client
from skoupa.kube.resources import NAMESPACES
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold, Verdict
from skoupa.sweep.sharing import SharedReading

# Brakes have a watch of their own, which tells the delete; while they are read anew it waits.
_OF_BRAKES: Final = frozenset({"brake", "brakes-unknown"})


class LastLook:
    """`began` is when the survey began to read."""

    def __init__(self, client: Client, survey: Survey, *, began: float) -> None:
        self._clock = client.clock
        self._survey = survey
        self._freshness = Freshness(self._read_again, client.clock, began=began)
        self._surroundings = Surroundings(client, survey.knowledge)
        self._namespaces: dict[str, SharedReading[bool]] = {}
        self.watch = KeepWatch(client, survey)
        survey.knowledge.freshen_namespace = self._freshen_namespace

    @property
    def error(self) -> SkoupaError | None:
        """Why nothing more may go."""
        return self._freshness.error

    async def may_go_on(self) -> bool:
        """Waits until what is known of kept objects can be judged by; False: nothing more may go."""
        await self.watch.caught_up()
        return self.error is None

    async def look(self, row: Row, claim: Claim) -> Verdict | None:
        """The verdict that keeps it, or None."""
        if not await self._freshness.ensured():
            raise Withdrawn("what is kept can't be read any more")
        around = await self._surroundings.look(row, claim)
        if around is not None:
            return around
        await self.watch.caught_up()
        knowledge = self._survey.knowledge
        verdict = knowledge.verdict(knowledge.store.get(row.uid) or row, self._clock.now())
        return verdict if any(hold.reason.code not in _OF_BRAKES for hold in verdict.holds) else None

    async def _read_again(self) -> None:
        self.watch.begin()
        await self._survey.read_again()

    async def _freshen_namespace(self, name: str) -> Hold | None:
        known = self._namespaces.get(name)
        if known is None:
            known = SharedReading(self._clock, longest=COUNTS_SECONDS, shortest=COUNTS_SECONDS)
            self._namespaces[name] = known
        try:
            await known.get(lambda: self._survey.read_namespace_again(name))
        except SkoupaError as error:
            return Hold(reason=reason("namespace-unread", kind=NAMESPACES.qualified, why=error.message))
        return None
