"""Lets a run of a rule go only after all that it claims was counted and weighed; what was not weighed is held.

A run is weighed as soon as it begins, again when more objects join it, and once more when a Brake that stopped it is
gone. What was counted is a fixed set of objects: no other goes by that run. What can't be counted holds.
The largest run of each rule is remembered across restarts, so that a surge is seen; what went by a run before a restart
is known from the ledger.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from skoupa.controller.counting import Counting
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.state import LARGEST_RUNS, State
from skoupa.controller.weight import count_inside, uncounted
from skoupa.errors import Forbidden, KindUnreadable, SkoupaError
from skoupa.facts.rows import Row, Uid
from skoupa.judge.brakes import holding
from skoupa.judge.cascade import is_namespace
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
from skoupa.sweep.weighing import Load, Part, Scales

LOOK_SECONDS: Final = 1.0
_ROWS_AT_ONCE: Final = 500
# A ConfigMap holds a megabyte, and not all of it is ours.
_MOST_RULES: Final = 4000

Key = tuple[str, str]


class Largest(msgspec.Struct, frozen=True, array_like=True):
    """The largest run of a rule while its spec was of this generation."""

    generation: int
    weight: int


class _Known(msgspec.Struct):
    """A run: what was admitted of it, what went before this process led, and the Brake that stopped it."""

    admitted: dict[Uid, Part] = msgspec.field(default_factory=dict)
    before: tuple[Part, ...] = ()
    weighed: bool = False
    stopped_by: str = ""
    # Why it could not be weighed.
    trouble: str = ""


class Weighing:
    """`trip` pulls a Brake and gives its name; `may_go` says that nobody keeps or protects a row; `look_at` has objects judged anew.

    `standing_by` says that another replica leads: then that one weighs. `behind` says why not all that a mechanism is
    interested in is known. `polls`: runs may begin by time alone; if not, each wakes it.
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
        polls: bool = True,
    ) -> None:
        self._counting = Counting(client)
        self._clock = client.clock
        self._settings = settings
        self._knowledge = knowledge
        self._scales = Scales(settings.brakes, ceilings)
        self._state = state
        self._trip = trip
        self._may_go = may_go
        self._look_at = look_at
        self._standing_by = standing_by
        self._behind = behind
        self._polls = polls
        self._runs: dict[Key, _Known] = {}
        # Runs of which something waits to be weighed.
        self._wanted: set[Key] = set()
        self._begun = False
        self._woken = asyncio.Event()
        self._largest: dict[str, Largest] = {}
        self.error: SkoupaError | None = None

    def holds(self, row: Row, claim: Claim, now: float) -> Iterator[Hold]:
        """What is no part of a weighed run stays."""
        if not claim.run or claim.observed:
            return
        known = self._runs.get((claim.rule, claim.run))
        if known is not None and row.uid in known.admitted:
            return
        if known is not None and known.stopped_by and self._is_held_by(known.stopped_by, row, claim, now):
            return
        if not self._wanted:
            self.wake()
        self._wanted.add((claim.rule, claim.run))
        why = known.trouble if known is not None else ""
        if why:
            yield Hold(reason=reason("not-weighed", rule=claim.rule, why=why))
        else:
            yield Hold(reason=reason("being-weighed", rule=claim.rule))

    def take_over(self, tallies: Sequence[Tally]) -> None:
        """This replica acts from now on: what went before is known from the ledger and the state."""
        self._largest = self._state.get(LARGEST_RUNS, dict[str, Largest]) or {}
        self._runs = {}
        for tally in tallies:
            if tally.run:
                known = self._runs.setdefault((tally.rule, tally.run), _Known())
                along = (("", tally.weight - 1),) if tally.weight > 1 else ()
                part = Part(kind=tally.resource, namespace=tally.namespace, along=along)
                known.before = (*known.before, part)
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

    def _unfinished(self) -> bool:
        """Whether something is to be weighed, or a Brake may be released that nobody tells of here."""
        return bool(self._wanted) or any(known.stopped_by for known in self._runs.values())

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
        self._forget({(run.rule, run.name) for _, run in begun})
        error: SkoupaError | None = None
        for ruling, run in begun:
            key = (run.rule, run.name)
            known = self._runs.setdefault(key, _Known())
            if known.weighed and key not in wanted:
                continue
            try:
                await self._weigh(ruling, run, known)
            except* SkoupaError as errors:
                error = _first(errors)
                known.trouble = error.message
                self._wanted.add(key)
        return error

    def _forget(self, begun: set[Key]) -> None:
        self._runs = {key: known for key, known in self._runs.items() if key in begun}

    async def _weigh(self, ruling: Ruling, run: Run, known: _Known) -> None:
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
            totals = await self._totals(self._scales.doubtful(load))
        except* SkoupaError:
            # What waits is told why.
            self._look_at(row.uid for row in rows)
            raise
        largest = self._largest.get(run.rule)
        sized = largest.weight if largest is not None and largest.generation == run.generation else None
        tripped = self._scales.weigh(load, totals=totals, largest=sized)
        known.weighed, known.trouble = True, ""
        if tripped is not None:
            known.stopped_by = self._trip(tripped)
        else:
            known.stopped_by = ""
            known.admitted |= load.claimed
            await self._remember(run, load.weight, sized)
        self._look_at(load.claimed)

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
                if claim.rule == run.rule and claim.run == run.name and self._may_go(row, now):
                    (observed if claim.observed else found).append(row)
        return found, observed

    def _candidates(self, ruling: Ruling, run: Run) -> list[Row]:
        store, chosen = self._knowledge.store, ruling.chosen(run)
        if chosen is None:
            return list(store)
        return [row for uid in chosen if (row := store.get(uid)) is not None]

    async def _load(self, run: Run, known: _Known, rows: Sequence[Row]) -> Load:
        claimed = await self._parts(rows)
        gone = (part for uid, part in known.admitted.items() if uid not in claimed)
        return Load(run=run, claimed=claimed, gone=(*known.before, *gone))

    async def _parts(self, rows: Sequence[Row]) -> dict[Uid, Part]:
        weights = await count_inside(rows, counting=self._counting, discovery=self._knowledge.discovery)
        ignore = self._settings.cascade.ignore_kinds
        parts = {}
        for row in rows:
            weight = weights.get(row.uid)
            gap = uncounted(weight, ignore=ignore) if weight is not None else ""
            if gap:
                raise KindUnreadable(f"what {row.name} takes along can't all be counted: {gap}")
            along = tuple(weight.objects.items()) if weight is not None else ()
            namespace = row.name if is_namespace(row) else row.namespace
            parts[row.uid] = Part(kind=row.resource.qualified, namespace=namespace, along=along)
        return parts

    async def _totals(self, kinds: Iterable[str]) -> dict[str, int]:
        """How many there are, in all that is looked after here."""
        resources = {one.qualified: one for one in self._knowledge.discovery.preferred()}
        totals = {}
        for kind in kinds:
            resource = resources.get(kind)
            if resource is None:
                # What a Namespace takes along was counted by kind a moment ago: this one went since.
                totals[kind] = 0
                continue
            places = self._settings.namespaces if resource.namespaced else ()
            totals[kind] = sum(
                [await self._counting.count(resource, namespace=place) for place in places or ("",)]
            )
        return totals

    async def _remember(self, run: Run, weight: int, before: int | None) -> None:
        if before is not None and weight <= before:
            return
        self._largest.pop(run.rule, None)
        self._largest[run.rule] = Largest(run.generation, weight)
        for rule in list(self._largest)[: max(0, len(self._largest) - _MOST_RULES)]:
            del self._largest[rule]
        if self._settings.mode == "enforce":
            await self._put(LARGEST_RUNS, self._largest)

    async def _put(self, key: str, value: Any) -> None:
        try:
            await self._state.put(key, value)
        except Forbidden:
            # Who may write no state has none after a restart either.
            return

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
