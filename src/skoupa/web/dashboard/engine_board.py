"""What the pages show of the cluster that this controller watches, to each as much as they may read there.

Judging everything takes a while and others have work to do: it is done in pieces, for all who ask within a few seconds together.
What somebody may see is asked about by kind and place, for the places with the most objects; the rest is counted and told.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC
from typing import Final

import msgspec

from skoupa.controller.brake_list import every_brake, named_kinds
from skoupa.controller.survey import Finding
from skoupa.errors import Forbidden, UsageError
from skoupa.expr.typed_times import past_time
from skoupa.kinds.brake import BRAKES
from skoupa.kube.client import Client
from skoupa.kube.resources import NAMESPACES
from skoupa.kube.reviews import Caller
from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.store import Wish
from skoupa.report.opinions import Insight, PolicyStanding
from skoupa.web import shapes as wire
from skoupa.web.dashboard import brakes, overview, remembered
from skoupa.web.dashboard.look import Look, plainly
from skoupa.web.dashboard.questions import Filters, Which
from skoupa.web.dashboard.sentences import counted
from skoupa.web.dashboard.shapes import (
    Brakes,
    Objects,
    Overview,
    Policies,
    Remembered,
    ShownPolicy,
    ShownRun,
)
from skoupa.web.history import HistoryApi
from skoupa.web.mentions import Kinds, cut_verdicts
from skoupa.web.permissions import NEVER, Permissions, Rights, Spot
from skoupa.web.refusing import Refused

# Places that somebody's rights are asked for; a right everywhere needs one question for each kind.
MOST_SPOTS: Final = 200
_FRESH_SECONDS: Final = 3.0
_SHARE: Final = 0.05
_AT_ONCE: Final = 200
_NO_LEDGER: Final = "this controller keeps no history: its setting ledger.dsn is none"
_SWITCHED_OFF: Final = "the feature policies is switched off in the settings, so none of them runs"


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """Everything, before anybody's rights: what is claimed, and of what only something is to be told."""

    claimed: tuple[Finding, ...]
    remarked: tuple[Finding, ...]


class EngineBoards:
    """`history` None: there is none."""

    def __init__(
        self,
        client: Client,
        insight: Insight,
        *,
        permissions: Permissions,
        kinds: Kinds,
        history: HistoryApi | None,
    ) -> None:
        self.client = client
        self.insight = insight
        self.permissions = permissions
        self.kinds = kinds
        self.history = history
        self._judging = asyncio.Lock()
        self._judged = Judged(claimed=(), remarked=())
        self._good_until = 0.0

    def of(self, caller: Caller) -> EngineBoard:
        return EngineBoard(self, self.permissions.asked_by(caller))

    async def judged(self) -> Judged:
        clock = self.client.clock
        async with self._judging:
            if clock.monotonic() >= self._good_until:
                began = clock.monotonic()
                self._judged = await self._judge()
                took = clock.monotonic() - began
                self._good_until = clock.monotonic() + max(_FRESH_SECONDS, took / _SHARE)
            return self._judged

    async def _judge(self) -> Judged:
        claimed: list[Finding] = []
        remarked: list[Finding] = []
        rows = self.insight.rows()
        for start in range(0, len(rows), _AT_ONCE):
            now = self.client.clock.now()
            for row in rows[start : start + _AT_ONCE]:
                verdict = self.insight.judged(row, now)
                if verdict.claims:
                    claimed.append(Finding(row, verdict))
                elif verdict.notes:
                    remarked.append(Finding(row, verdict))
            await asyncio.sleep(0)
        return Judged(claimed=tuple(claimed), remarked=tuple(remarked))


class EngineBoard:
    """For one who asks."""

    def __init__(self, boards: EngineBoards, rights: Rights) -> None:
        self._boards = boards
        self._rights = rights

    @property
    def _now(self) -> float:
        return self._boards.client.clock.now()

    async def overview(self) -> Overview:
        return overview.overview(await self._look())

    async def objects(self, which: Which) -> Objects:
        return overview.objects(await self._look(), which)

    async def brakes(self) -> Brakes:
        await self._need(Spot(resource=BRAKES.qualified, namespace=""))
        client = self._boards.client
        try:
            found = await every_brake(client)
        except UsageError as error:
            return brakes.none(str(error), now=self._now, typed=plainly)
        except Forbidden as error:
            raise Refused(503, "CannotAsk", f"the controller may not read Brakes: {error.advice}") from error
        return brakes.brakes(found, now=self._now, kinds=await named_kinds(client, found), typed=plainly)

    async def history(self, filters: Filters) -> Remembered:
        api = self._boards.history
        if api is None:
            raise Refused(404, "NoLedger", _NO_LEDGER)
        question = wire.Question(wish=await self._wish(filters), limit=min(filters.limit, wire.MOST_ROWS))
        page = await api.find(self._rights.caller, question)
        hidden = counted(page.hidden, "row is", "rows are")
        notes = [f"{hidden} not shown: they are of kinds that you may not read there"] if page.hidden else []
        return remembered.remembered(
            page.items, filters, now=self._now, more=page.next is not None, notes=notes, typed=plainly
        )

    async def policies(self) -> Policies:
        known = self._boards.insight.policies()
        shown = await self._seen({_place(one) for one in known or ()})
        return Policies(
            now=whole_seconds(self._now),
            items=tuple(_shown(one) for one in known or () if _place(one) in shown),
            notes=(_SWITCHED_OFF,) if known is None else (),
            command=plainly(("plan", "-A")),
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

    async def _look(self) -> Look:
        acts = self._boards.insight.acts()
        if acts in {"stands-by", "starts"}:
            # What it would find out itself is not what the one that leads has found.
            return Look(now=self._now, mode=acts)
        judged = await self._boards.judged()
        places = Counter(_spot(found) for found in (*judged.claimed, *judged.remarked))
        asked = [spot for spot, _ in places.most_common(MOST_SPOTS)]
        seen = await self._seen(asked)
        findings = [found for found in judged.claimed if _spot(found) in seen]
        verdicts = await cut_verdicts(
            [found.verdict for found in findings], kinds=self._boards.kinds, reaches=self._reached
        )
        return Look(
            now=self._now,
            mode=acts,
            findings=[Finding(found.row, verdict) for found, verdict in zip(findings, verdicts, strict=True)],
            remarks=[found for found in judged.remarked if _spot(found) in seen],
            warnings=_left_out(places, asked, seen),
        )

    async def _need(self, spot: Spot) -> None:
        if spot not in await self._seen([spot]):
            raise Refused(403, "Forbidden", f"you, {self._rights.caller.username}, may not get {spot}")

    async def _seen(self, spots: Collection[Spot]) -> set[Spot]:
        since = await self._rights.of("get", spots)
        return {spot for spot, moment in since.items() if moment != NEVER}

    async def _reached(self, spots: Collection[Spot]) -> set[Spot]:
        return await self._seen(sorted(spots, key=str)[:MOST_SPOTS])


def _left_out(places: Counter[Spot], asked: Sequence[Spot], seen: Collection[Spot]) -> list[str]:
    told: list[str] = []
    hidden = sum(places[spot] for spot in asked if spot not in seen)
    if hidden:
        told.append(f"{counted(hidden, 'object is', 'objects are')} not shown: you may not read them")
    unasked = sum(places.values()) - sum(places[spot] for spot in asked)
    if unasked:
        told.append(
            f"{counted(unasked, 'object is', 'objects are')} not shown, in places with few of them: "
            "`skoupa dashboard -n NAMESPACE` looks into one"
        )
    return told


def _spot(found: Finding) -> Spot:
    row = found.row
    inside = row.name if row.resource.qualified == NAMESPACES.qualified else row.namespace
    return Spot(resource=row.resource.qualified, namespace=inside)


def _place(policy: PolicyStanding) -> Spot:
    return Spot(resource=policy.resource, namespace=policy.namespace)


def _shown(policy: PolicyStanding) -> ShownPolicy:
    last = policy.last
    return ShownPolicy(
        kind=policy.kind,
        namespace=policy.namespace,
        name=policy.name,
        schedule=policy.schedule,
        words=policy.words,
        zone=policy.zone,
        last_run=None
        if last is None
        else ShownRun(
            at=whole_seconds(last),
            matched=policy.matched,
            deleted=policy.deleted,
            held=policy.held,
            failed=policy.failed,
        ),
        next_run=None if policy.next_run is None else whole_seconds(policy.next_run),
        suspended=policy.suspended,
        observed_until=None if policy.observed_until is None else whole_seconds(policy.observed_until),
        problems=policy.problems,
        cautions=policy.cautions,
    )
