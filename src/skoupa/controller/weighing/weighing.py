"""Lets a run of a rule go only after all that it claims was counted and weighed; what was not weighed is held.

A run is weighed as soon as it begins, again when more objects join it, and once more when a Brake that stopped it is
gone. What was counted is a fixed set of objects: no other goes by that run. What can't be counted holds.
An observer makes no Brakes, so nobody could release one: there a rule is stopped until a run of it would pass.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

from skoupa.controller.knowledge import Knowledge
from skoupa.controller.state import State
from skoupa.controller.weighing.counting import Counting
from skoupa.controller.weighing.largest_runs import LargestRuns
from skoupa.controller.weighing.run_counts import parts_of, totals_of
from skoupa.controller.weighing.weighed_runs import Key, Weighed, WeighedRuns
from skoupa.errors import KindUnreadable, SkoupaError
from skoupa.facts.rows import Row, Uid
from skoupa.judge.brakes import holding
from skoupa.judge.mechanism import Ruling, Run
from skoupa.kinds.brake import Scope
from skoupa.kinds.brake_effect import active
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.ledger.rows import Tally
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold
from skoupa.settings import Settings
from skoupa.sweep.ceilings import Ceilings
from skoupa.sweep.tripping import Tripped
from skoupa.sweep.weighing import Load, Scales

LOOK_SECONDS: Final = 1.0
# Of a thousand runs that begin in the same minute many are weighed together.
_GATHER_SECONDS: Final = 0.05
_ROWS_AT_ONCE: Final = 500
# One whose counting takes long keeps no others waiting.
_WEIGHED_AT_ONCE: Final = 16


class Weighing:
    """`trip` pulls a Brake and gives its name; `may_go` says that nobody keeps or protects a row; `look_at` has objects judged anew.

    `standing_by` says that another replica leads: then that one weighs. `behind` says why not all that a mechanism is
    interested in is known. `polls`: runs may begin by time alone; if not, each wakes it. `outdate` hears of a run of a rule as it is
    now; `lift` ends what was pulled for a rule here, but for this, and is for observers only. `note_ends` is asked before a run of
    a rule is stopped: a Brake on it whose time is over lets it go. `has_used` says that an object is on its way, by whatever rule,
    and took from what was released of this one.
    """

    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        knowledge: Knowledge,
        ceilings: Ceilings,
        state: State,
        trip: Callable[[Tripped], str],
        may_go: Callable[[Row, float], bool],
        look_at: Callable[[Iterable[Uid]], None],
        standing_by: Callable[[], bool],
        behind: Callable[[Ruling], str],
        outdate: Callable[[Run], None],
        lift: Callable[[Scope, Tripped | None], None],
        note_ends: Callable[[str], Awaitable[None]],
        has_used: Callable[[Uid, str], bool],
        polls: bool = True,
    ) -> None:
        self._counting = Counting(client)
        self._clock = client.clock
        self._settings = settings
        self._knowledge = knowledge
        self._scales = Scales(settings.brakes, ceilings, discovery=lambda: knowledge.discovery)
        self._trip = trip
        self._may_go = may_go
        self._look_at = look_at
        self._standing_by = standing_by
        self._behind = behind
        self._polls = polls
        self._outdate = outdate
        self._lift = lift
        self._note_ends = note_ends
        self._has_used = has_used
        self._observing = settings.mode != "enforce"
        self._runs = WeighedRuns(client.clock)
        # Runs of which something waits to be weighed.
        self._wanted: set[Key] = set()
        self._begun = False
        self._woken = asyncio.Event()
        self._largest = LargestRuns(state, writes=settings.mode == "enforce")
        self._write_at = -math.inf
        self.error: SkoupaError | None = None

    def holds(self, row: Row, claim: Claim, now: float) -> tuple[Hold, ...]:
        """What is no part of a weighed run stays."""
        if not claim.run or claim.observed:
            return ()
        known = self._runs.get((claim.rule, claim.run))
        if known is not None and row.uid in known.admitted:
            return ()
        if known is not None and known.stopped_by and self._is_held_by(known.stopped_by, row, claim, now):
            return ()
        if not self._wanted:
            self.wake()
        self._wanted.add((claim.rule, claim.run))
        why = known.trouble if known is not None else ""
        if why:
            return (Hold(reason=reason("not-weighed", rule=claim.rule, why=why)),)
        return (Hold(reason=reason("being-weighed", rule=claim.rule)),)

    def take_over(self, tallies: Sequence[Tally]) -> None:
        """This replica acts from now on: what went before is known from the ledger and the state."""
        self._largest.read()
        self._runs.take_over(tallies)
        self._begun = True
        self.wake()

    def wake(self) -> None:
        """A run has begun, and need not wait for the next look."""
        self._woken.set()

    async def follow(self) -> None:
        """Weighs runs as they begin, and again where something waits for it."""
        if not self._knowledge.rulings:
            return
        backoff = Backoff(self._clock)
        while True:
            self._woken.clear()
            if self._begun and not self._standing_by():
                self.error = await self._weigh_all()
            if self.error is not None:
                await self._nap(backoff.next())
                continue
            backoff.reset()
            await self._nap(LOOK_SECONDS if self._polls or self._unfinished() else None)
            await self._clock.sleep(_GATHER_SECONDS)

    def _unfinished(self) -> bool:
        """Whether something is to be weighed or written, or a Brake may be released that nobody tells of here."""
        return bool(self._wanted) or self._runs.any_stopped or self._largest.unwritten

    async def _nap(self, wait: float | None) -> None:
        try:
            async with self._clock.timeout(wait):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _weigh_all(self) -> SkoupaError | None:
        """What kept one from being weighed; the others are weighed all the same."""
        now = self._clock.now()
        begun = [(ruling, run) for ruling in self._knowledge.rulings for run in ruling.runs(now)]
        wanted, self._wanted = self._wanted, set()
        ended = self._runs.begun({(run.rule, run.name) for _, run in begun})
        if self._observing:
            for rule in ended:
                self._lift(Scope(policy=rule), None)
        due = (one for one in begun if self._is_due(one[1], wanted))
        errors: list[SkoupaError] = []

        async def work() -> None:
            for ruling, run in due:
                if (error := await self._tried(ruling, run)) is not None:
                    errors.append(error)

        async with asyncio.TaskGroup() as group:
            for _ in range(_WEIGHED_AT_ONCE):
                group.create_task(work())
        if (error := await self._write()) is not None:
            errors.append(error)
        return errors[-1] if errors else None

    async def _write(self) -> SkoupaError | None:
        """Not each time: it is long where there are many rules, and a run is not remembered sooner as having been either."""
        if self._clock.monotonic() < self._write_at:
            return None
        self._write_at = self._clock.monotonic() + LOOK_SECONDS
        return await self._largest.write()

    async def write_down(self) -> SkoupaError | None:
        """At an orderly end: after it a run is remembered as having been, and so is how large it was."""
        return await self._largest.write()

    def _is_due(self, run: Run, wanted: set[Key]) -> bool:
        key = (run.rule, run.name)
        return not self._runs.of(key).weighed or key in wanted

    async def _tried(self, ruling: Ruling, run: Run) -> SkoupaError | None:
        key = (run.rule, run.name)
        known = self._runs.of(key)
        error: SkoupaError | None = None
        try:
            await self._weigh(ruling, run, known)
        except* SkoupaError as errors:
            error = _first(errors)
            known.trouble = error.message
            self._wanted.add(key)
        return error

    async def _weigh(self, ruling: Ruling, run: Run, known: Weighed) -> None:
        if known.stopped_by and self._stands(known.stopped_by, run.rule):
            return
        if why := self._behind(ruling):
            raise KindUnreadable(f"not all that it may claim is known: {why}")
        rows, observed = await self._claimed(ruling, run)
        self._look_at(row.uid for row in observed)
        if known.weighed and not known.stopped_by and all(row.uid in known.admitted for row in rows):
            return
        try:
            load = await self._load(run, known, rows)
            totals = await totals_of(
                self._scales.doubtful(load),
                counting=self._counting,
                discovery=self._knowledge.discovery,
                namespaces=self._settings.namespaces,
            )
        except* SkoupaError:
            # What waits is told why.
            self._look_at(row.uid for row in rows)
            raise
        self._outdate(run)
        tripped = self._objection(load, totals)
        if tripped is not None and not self._observing:
            await self._note_ends(run.rule)
            tripped = self._objection(load, totals)
        known.weighed, known.trouble = True, ""
        if self._observing:
            self._lift(Scope(policy=run.rule), tripped)
        if tripped is not None:
            known.stopped_by = self._trip(tripped)
        else:
            known.stopped_by = ""
            known.admitted |= load.claimed
            self._largest.remember(run, load.weight)
        self._look_at(load.claimed)

    def _objection(self, load: Load, totals: Mapping[str, int]) -> Tripped | None:
        store, rule = self._knowledge.store, load.run.rule
        return self._scales.weigh(
            load,
            totals=totals,
            largest=self._largest.of(load.run),
            settled=lambda uid: store.get(uid) is None or self._has_used(uid, rule),
        )

    async def _claimed(self, ruling: Ruling, run: Run) -> tuple[list[Row], list[Row]]:
        """All that the run claims and that nobody keeps, as far as is known now; and what it only reports."""
        found: list[Row] = []
        observed: list[Row] = []
        for number, row in enumerate(self._candidates(ruling, run)):
            if number % _ROWS_AT_ONCE == _ROWS_AT_ONCE - 1:
                await self._clock.sleep(0)
            now = self._clock.now()
            if row.deleted_at or ruling.due(row, now) is None:
                continue
            for claim in ruling.answer(row, now).claims:
                if claim.due > now:
                    # It joins when it is due.
                    continue
                if claim.rule == run.rule and claim.run == run.name and self._may_go(row, now):
                    (observed if claim.observed else found).append(row)
        return found, observed

    def _candidates(self, ruling: Ruling, run: Run) -> list[Row]:
        store, chosen = self._knowledge.store, ruling.chosen(run)
        if chosen is None:
            return list(store)
        return [row for uid in chosen if (row := store.get(uid)) is not None]

    async def _load(self, run: Run, known: Weighed, rows: Sequence[Row]) -> Load:
        claimed = await parts_of(
            rows,
            counting=self._counting,
            discovery=self._knowledge.discovery,
            ignore=self._settings.cascade.ignore_kinds,
        )
        gone = (part for uid, part in known.admitted.items() if uid not in claimed)
        return Load(run=run, claimed=claimed, gone=(*known.before, *gone))

    def _stands(self, brake: str, rule: str) -> bool:
        """Under that name, active, and still for this rule: somebody may have changed what it holds."""
        now, scope = self._clock.now(), Scope(policy=rule)
        brakes = self._knowledge.brakes.brakes
        return any(one.name == brake and one.scope == scope and active(one, now) for one in brakes)

    def _is_held_by(self, brake: str, row: Row, claim: Claim, now: float) -> bool:
        return any(holding(hold) == brake for hold in self._knowledge.brake_guard.holds(row, claim, now))


def _first(errors: BaseExceptionGroup[SkoupaError]) -> SkoupaError:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, SkoupaError)
    return found
