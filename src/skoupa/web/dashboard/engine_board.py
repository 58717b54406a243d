"""What the pages show of the cluster that this controller watches, to each as much as they may read there.

Judging everything takes a while and others have work to do: it is done in pieces, for all who ask within a few seconds together.
What somebody may see is asked about by kind and place, for the places with the most objects; the rest is counted and told.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from datetime import UTC
from functools import partial
from typing import Final, TypeVar, cast

import msgspec

from skoupa.controller.brake_list import every_brake, named_kinds
from skoupa.controller.survey import Finding
from skoupa.errors import Forbidden, UsageError
from skoupa.expr.typed_times import past_time
from skoupa.kinds.brake import BRAKES
from skoupa.kube.client import Client
from skoupa.kube.reviews import Caller
from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.store import Wish
from skoupa.report.opinions import Acts, Insight
from skoupa.web import shapes as wire
from skoupa.web.dashboard import brakes, overview, remembered
from skoupa.web.dashboard.judging import Judged, Judging
from skoupa.web.dashboard.known_policies import place_of, shown_policy
from skoupa.web.dashboard.look import Look, Typed, typed_for
from skoupa.web.dashboard.pieces import Steps, Turns, in_turns
from skoupa.web.dashboard.questions import Filters, Which
from skoupa.web.dashboard.sentences import counted
from skoupa.web.dashboard.shapes import (
    Brakes,
    Objects,
    Overview,
    Policies,
    Remembered,
)
from skoupa.web.history import HistoryApi
from skoupa.web.mentioned import Mention
from skoupa.web.mentions import Kinds, hidden_of, verdict_without
from skoupa.web.permissions import NEVER, Permissions, Rights, Spot
from skoupa.web.refusing import Refused
from skoupa.web.remembering import Answers
from skoupa.web.shapes import Document

# Places that somebody's rights are asked for; a right everywhere needs one question for each kind.
MOST_SPOTS: Final = 200
_FRESH_SECONDS: Final = 3.0
# Each is as large as what somebody sees; what is judged anew makes another.
_LOOK_SECONDS: Final = 60.0
_LOOKS: Final = 8
_DOCUMENTS: Final = 256
_NO_LEDGER: Final = "this controller keeps no history: its setting ledger.dsn is none"
_SWITCHED_OFF: Final = "the feature policies is switched off in the settings, so none of them runs"


D = TypeVar("D", bound=Document)


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody may see of what was judged: who may see the same is told the same."""

    number: int
    acts: Acts
    seen: frozenset[Spot]
    hidden: frozenset[Mention]
    left_out: tuple[str, ...]


class EngineBoards:
    """`history` None: there is none. `home` is the namespace of this controller."""

    def __init__(
        self,
        client: Client,
        insight: Insight,
        *,
        permissions: Permissions,
        kinds: Kinds,
        history: HistoryApi | None,
        home: str,
    ) -> None:
        self.client = client
        self.insight = insight
        self.permissions = permissions
        self.kinds = kinds
        self.history = history
        self.typed: Typed = typed_for(home)
        self.judging = Judging(insight, client.clock)
        # One answer at a time: they share the loop with what deletes.
        self._answering = asyncio.Lock()
        self.sights = Answers[tuple[Caller, str | None, int], Sight](
            client.clock, seconds=_FRESH_SECONDS, most=_DOCUMENTS
        )
        self._looks = Answers[Sight, Look](client.clock, seconds=_LOOK_SECONDS, most=_LOOKS)
        self._told = Answers[tuple[Sight, Which | None], Document](
            client.clock, seconds=_FRESH_SECONDS, most=_DOCUMENTS
        )

    def of(self, caller: Caller) -> EngineBoard:
        return EngineBoard(self, self.permissions.asked_by(caller))

    async def told(
        self, sight: Sight, judged: Judged, which: Which | None, make: Callable[[Look], Steps[D]]
    ) -> D:
        """The document for all who see the same, as of a few seconds ago at most."""
        async with self._answering:
            known = self._told.get((sight, which))
            if known is None:
                look = self._looks.get(sight)
                if look is None:
                    look = await self._look(sight, judged)
                    self._looks.put(sight, look)
                clock = self.client.clock
                known = await in_turns(make(msgspec.structs.replace(look, now=clock.now())), clock)
                self._told.put((sight, which), known)
            return cast("D", known)

    async def _look(self, sight: Sight, judged: Judged) -> Look:
        findings: list[Finding] = []
        remarks: list[Finding] = []
        turns = Turns(self.client.clock)
        for spot in judged.places:
            if spot not in sight.seen:
                continue
            place = judged.places[spot]
            hidden = sight.hidden & place.mentions
            for found in place.claimed:
                await turns.pause()
                findings.append(_without(found, hidden, spot))
            for found in place.remarked:
                await turns.pause()
                remarks.append(_without(found, hidden, spot))
        return Look(
            now=self.client.clock.now(),
            mode=sight.acts,
            findings=findings,
            remarks=remarks,
            left_out=sight.left_out,
            typed=self.typed,
        )


class EngineBoard:
    """For one who asks."""

    def __init__(self, boards: EngineBoards, rights: Rights) -> None:
        self._boards = boards
        self._rights = rights

    @property
    def _now(self) -> float:
        return self._boards.client.clock.now()

    async def overview(self) -> Overview:
        found = await self._sight()
        if found is None:
            return overview.overview(self._silent())
        return await self._boards.told(*found, None, overview.overview_steps)

    async def objects(self, which: Which) -> Objects:
        found = await self._sight(which.namespace)
        if found is None:
            return overview.objects(self._silent(), which)
        return await self._boards.told(*found, which, partial(overview.objects_steps, which=which))

    async def brakes(self) -> Brakes:
        await self._need(Spot(resource=BRAKES.qualified, namespace=""))
        client = self._boards.client
        try:
            found = await every_brake(client)
        except UsageError as error:
            return brakes.none(str(error), now=self._now, typed=self._boards.typed)
        except Forbidden as error:
            raise Refused(503, "CannotAsk", f"the controller may not read Brakes: {error.advice}") from error
        return brakes.brakes(
            found, now=self._now, kinds=await named_kinds(client, found), typed=self._boards.typed
        )

    async def history(self, filters: Filters) -> Remembered:
        api = self._boards.history
        if api is None:
            raise Refused(404, "NoLedger", _NO_LEDGER)
        question = wire.Question(wish=await self._wish(filters), limit=min(filters.limit, wire.MOST_ROWS))
        page = await api.find(self._rights.caller, question)
        hidden = counted(page.hidden, "row is", "rows are")
        notes = [f"{hidden} not shown: they are of kinds that you may not read there"] if page.hidden else []
        return remembered.remembered(
            page.items,
            filters,
            now=self._now,
            more=page.next is not None,
            notes=notes,
            typed=self._boards.typed,
        )

    async def policies(self) -> Policies:
        known = self._boards.insight.policies()
        shown = await self._seen({place_of(one) for one in known or ()})
        return Policies(
            now=whole_seconds(self._now),
            items=tuple(shown_policy(one) for one in known or () if place_of(one) in shown),
            notes=(_SWITCHED_OFF,) if known is None else (),
            command=self._boards.typed(("plan", "-A")),
        )

    async def _wish(self, filters: Filters) -> Wish:
        kind, _, name = filters.object.partition("/")
        now = self._now
        return Wish(
            kind=await self._boards.kinds.meant(kind) if kind else None,
            name=name or None,
            namespace=filters.namespace or None,
            since=past_time(filters.since or None, option="since", now=now, zone=UTC),
            until=past_time(filters.until or None, option="until", now=now, zone=UTC),
            rule=filters.rule or None,
            run=filters.run or None,
            outcomes=(filters.outcome,) if filters.outcome else None,
        )

    def _silent(self) -> Look:
        """What it would find out itself is not what the one that leads has found."""
        return Look(now=self._now, mode=self._boards.insight.acts(), typed=self._boards.typed)

    async def _sight(self, namespace: str | None = None) -> tuple[Sight, Judged] | None:
        """Of everything, or of one namespace; None: this one does not lead."""
        boards = self._boards
        acts = boards.insight.acts()
        if acts in {"stands-by", "starts"}:
            return None
        judged = await boards.judging.judged()
        asking = (self._rights.caller, namespace, judged.number)
        known = boards.sights.get(asking)
        if known is not None and known.acts == acts:
            return known, judged
        places = Counter(
            {
                spot: place.objects
                for spot, place in judged.places.items()
                if namespace is None or place.namespace == namespace
            }
        )
        seen, unasked = await self._allowed(places)
        mentions: set[Mention] = set().union(*(judged.places[spot].mentions for spot in seen))
        hidden = await hidden_of(mentions, kinds=boards.kinds, reaches=self._reached)
        sight = Sight(
            number=judged.number,
            acts=acts,
            seen=frozenset(seen),
            hidden=frozenset(hidden),
            left_out=tuple(_left_out(places, seen, unasked)),
        )
        boards.sights.put(asking, sight)
        return sight, judged

    async def _need(self, spot: Spot) -> None:
        if spot not in await self._seen([spot]):
            raise Refused(403, "Forbidden", f"you, {self._rights.caller.username}, may not get {spot}")

    async def _seen(self, spots: Collection[Spot]) -> set[Spot]:
        since = await self._rights.of("get", spots)
        return {spot for spot, moment in since.items() if moment != NEVER}

    async def _reached(self, spots: Collection[Spot]) -> set[Spot]:
        return (await self._allowed(Counter(sorted(spots, key=str))))[0]

    async def _allowed(self, places: Counter[Spot]) -> tuple[set[Spot], set[Spot]]:
        """Those that may be seen, and those that nobody asked about: what counts everywhere is asked of each kind first."""
        kinds = {Spot(resource=spot.resource, namespace="") for spot in places}
        everywhere = {spot.resource for spot in await self._seen(kinds)}
        seen = {spot for spot in places if spot.resource in everywhere}
        rest = Counter({spot: places[spot] for spot in places if spot not in seen and spot.namespace})
        asked = [spot for spot, _ in rest.most_common(MOST_SPOTS)]
        return seen | await self._seen(asked), rest.keys() - set(asked)


def _without(found: Finding, hidden: Collection[Mention], spot: Spot) -> Finding:
    return Finding(found.row, verdict_without(found.verdict, hidden, spot.namespace)) if hidden else found


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
