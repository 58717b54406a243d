"""What the pages show of the cluster that this controller watches, to each as much as they may read there.

Judging everything takes a while and others have work to do: it is done beside (`judging`), and answers are made in pieces, for all who
ask within a few seconds together. An answer goes on being made when who asked for it has given up: the next one finds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC
from functools import partial
from typing import Any, Final, TypeVar, cast

import msgspec

from skoupa.controller.braking.listing import every_brake, named_kinds
from skoupa.controller.survey import Finding
from skoupa.errors import Forbidden, UsageError
from skoupa.expr.typed_times import past_time
from skoupa.kinds.brake import BRAKES
from skoupa.kube.client import Client
from skoupa.kube.reviews import Caller
from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.store import Wish
from skoupa.report.opinions import Insight
from skoupa.runs.book import WATCHED
from skoupa.web import shapes as wire
from skoupa.web.dashboard import brakes, overview, remembered
from skoupa.web.dashboard.judging import Judged, Judging
from skoupa.web.dashboard.known_policies import place_of, shown_policy
from skoupa.web.dashboard.look import Look, Typed, typed_for
from skoupa.web.dashboard.pieces import Steps, Turns, in_turns
from skoupa.web.dashboard.questions import Filters, Which
from skoupa.web.dashboard.sentences import counted, missing
from skoupa.web.dashboard.shapes import (
    Brakes,
    Objects,
    Overview,
    Policies,
    Remembered,
)
from skoupa.web.dashboard.sights import Eyes, Sight
from skoupa.web.history import HistoryApi
from skoupa.web.mentioned import Mention
from skoupa.web.mentions import Kinds, verdict_without
from skoupa.web.permissions import Permissions, Spot
from skoupa.web.refusing import Refused
from skoupa.web.remembering import Answers
from skoupa.web.shapes import Document

_FRESH_SECONDS: Final = 3.0
# Each is as large as what somebody sees; what is judged anew makes another.
_LOOK_SECONDS: Final = 60.0
_LOOKS: Final = 8
_DOCUMENTS: Final = 256
_MOST_MADE: Final = 32
_NO_LEDGER: Final = "this controller keeps no history: its setting ledger.dsn is none"
_SWITCHED_OFF: Final = "the feature policies is switched off in the settings, so none of them runs"
_OF_POLICIES: Final = frozenset(name for one in WATCHED for name in (one.name, f"*.{one.group}"))

D = TypeVar("D", bound=Document)


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody may see of what was judged last; `trouble` says why that is older than it should be."""

    sight: Sight
    judged: Judged
    trouble: str


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
        self._making: dict[tuple[Sight, Which | None], asyncio.Task[Document | Exception]] = {}
        self._group: asyncio.TaskGroup | None = None
        self.sights = Answers[tuple[Caller, str | None, int], Sight](
            client.clock, seconds=_FRESH_SECONDS, most=_DOCUMENTS
        )
        self._looks = Answers[Sight, Look](client.clock, seconds=_LOOK_SECONDS, most=_LOOKS)
        self._told = Answers[tuple[Sight, Which | None], Document](
            client.clock, seconds=_FRESH_SECONDS, most=_DOCUMENTS
        )

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """For as long as anybody is to be answered."""
        failed: Exception | None = None
        async with asyncio.TaskGroup() as self._group:
            judging = self._group.create_task(self.judging.follow())
            try:
                yield
            except Exception as error:  # noqa: BLE001 - raised again below, as it is and not in a group
                failed = error
            finally:
                for task in (judging, *self._making.values()):
                    task.cancel()
        if failed is not None:
            raise failed

    def of(self, caller: Caller) -> EngineBoard:
        return EngineBoard(self, Eyes(self.permissions.asked_by(caller), self.kinds))

    async def told(self, seen: Seen, which: Which | None, make: Callable[[Look], Steps[D]]) -> D:
        """The document for all who see the same, as of a few seconds ago at most."""
        key = (seen.sight, which)
        known: Document | Exception | None = self._told.get(key)
        if known is None:
            task = self._making.get(key) or self._begin(key, self._made(seen, which, make))
            known = await asyncio.shield(task)
        if isinstance(known, Exception):
            raise known.with_traceback(None)
        return msgspec.structs.replace(cast("D", known), trouble=seen.trouble)

    def _begin(
        self, key: tuple[Sight, Which | None], making: Coroutine[Any, Any, Document | Exception]
    ) -> asyncio.Task[Document | Exception]:
        if self._group is None or len(self._making) >= _MOST_MADE:
            making.close()
            raise Refused(429, "TooManyRequests", "the controller makes too many other pages; ask again")
        task = self._making[key] = self._group.create_task(making)
        task.add_done_callback(lambda _: self._making.pop(key, None))
        return task

    async def _made(
        self, seen: Seen, which: Which | None, make: Callable[[Look], Steps[D]]
    ) -> Document | Exception:
        clock = self.client.clock
        try:
            async with self._answering:
                look = self._looks.get(seen.sight)
                if look is None:
                    look = await self._look(seen.sight, seen.judged)
                    self._looks.put(seen.sight, look)
                made = await in_turns(make(msgspec.structs.replace(look, now=clock.now())), clock)
                self._told.put((seen.sight, which), made)
                return made
        except Exception as error:  # noqa: BLE001 - the boundary: who asks is told, and others go on
            return error

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
            gaps=sight.gaps,
            made=whole_seconds(judged.made),
            left_out=sight.left_out,
            announced=sight.announced,
            typed=self.typed,
        )


class EngineBoard:
    """For one who asks."""

    def __init__(self, boards: EngineBoards, eyes: Eyes) -> None:
        self._boards = boards
        self._eyes = eyes

    @property
    def _now(self) -> float:
        return self._boards.client.clock.now()

    async def overview(self) -> Overview:
        found = await self._look()
        if found is None:
            return overview.overview(self._silent())
        return await self._boards.told(found, None, overview.overview_steps)

    async def objects(self, which: Which) -> Objects:
        found = await self._look(which.namespace)
        if found is None:
            return overview.objects(self._silent(), which)
        return await self._boards.told(found, which, partial(overview.objects_steps, which=which))

    async def brakes(self) -> Brakes:
        await self._eyes.need(Spot(resource=BRAKES.qualified, namespace=""))
        client, insight = self._boards.client, self._boards.insight
        absent = ""
        try:
            found = await every_brake(client)
        except UsageError as error:
            found, absent = [], str(error)
        except Forbidden as error:
            raise Refused(503, "CannotAsk", f"the controller may not read Brakes: {error.advice}") from error
        known = brakes.Known(
            found=found, kinds=await named_kinds(client, found), absent=absent, pulled=insight.brakes()
        )
        return brakes.brakes(known, acts=insight.acts(), now=self._now, typed=self._boards.typed)

    async def history(self, filters: Filters) -> Remembered:
        api = self._boards.history
        if api is None:
            raise Refused(404, "NoLedger", _NO_LEDGER)
        question = wire.Question(wish=await self._wish(filters), limit=min(filters.limit, wire.MOST_ROWS))
        page = await api.find(self._eyes.caller, question)
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
        shown = await self._eyes.seen({place_of(one) for one in known or ()})
        unread = [one for one in self._boards.insight.unread() if one.resource in _OF_POLICIES]
        return Policies(
            now=whole_seconds(self._now),
            items=tuple(shown_policy(one) for one in known or () if place_of(one) in shown),
            notes=(_SWITCHED_OFF,) if known is None else tuple(missing(await self._eyes.gaps(unread))),
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

    async def _look(self, namespace: str | None = None) -> Seen | None:
        """At everything, or at one namespace; None: this one does not lead."""
        boards = self._boards
        acts = boards.insight.acts()
        if acts in {"stands-by", "starts"}:
            return None
        judged, trouble = await boards.judging.judged()
        asking = (self._eyes.caller, namespace, judged.number)
        known = boards.sights.get(asking)
        if known is None or known.acts != acts:
            unread = boards.insight.unread()
            known = await self._eyes.sight(
                judged, acts=acts, unread=unread, namespace=namespace, announced=boards.insight.announced()
            )
            boards.sights.put(asking, known)
        return Seen(sight=known, judged=judged, trouble=trouble)


def _without(found: Finding, hidden: Collection[Mention], spot: Spot) -> Finding:
    return Finding(found.row, verdict_without(found.verdict, hidden, spot.namespace)) if hidden else found
