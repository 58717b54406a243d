"""How much a Brake holds, and what an allowance for that has to be like: counted at the moment at which it is let go.

Only what waits for nothing but that Brake counts. A Brake on a run is different: to let it go is to approve of what the run
claims, and that counts also where other Brakes hold it as well; what two runs claim counts for each, and uses up both when it
goes. An allowance for a rule lets a run of it pass all limits, so it is for the kinds that were held and for the rule as it was
then, and for nothing else.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.braking.held_events import HeldEvents, HeldPart
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Store
from skoupa.judge.brakes import concerns, holding
from skoupa.judge.cascade import is_definition, is_namespace
from skoupa.judge.judge import Judge
from skoupa.judge.retention import NAME as RETENTION
from skoupa.kinds.brake import Scope
from skoupa.kinds.brake_effect import covers
from skoupa.kinds.brake_reading import Brake
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.model.reasons import REASONS
from skoupa.model.verdicts import Claim, Hold
from skoupa.policy.retention.policies import EVENTS
from skoupa.sweep.allowances import Whose
from skoupa.sweep.ceilings import By, Ceilings, Going, is_used_by
from skoupa.sweep.gate import by, going
from skoupa.sweep.weighing import stops_a_run

# Judging very many at once would stop everything else for a while.
_ROWS_AT_ONCE: Final = 500
_BEING_WEIGHED: Final = "being-weighed"


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A Brake whose time was over `at` that moment, and what it `held` then.

    None: nobody here saw that. Then all that it would have held counts. Of a run no more than the `number` that was told does.
    """

    brake: Brake
    at: float
    held: frozenset[Uid] | None
    number: int

    @property
    def mark(self) -> str:
        """A window ends again and again."""
        return f"{self.brake.uid}@{self.at:.0f}"


class Counted(msgspec.Struct):
    """How many objects, how much is to be allowed for them, and the other Brakes that hold some of them too."""

    held: int = 0
    weights: Counter[Whose] = msgspec.field(default_factory=Counter)
    behind: defaultdict[Whose, set[str]] = msgspec.field(default_factory=lambda: defaultdict(set))
    # What is left of releases of rules, and none of the objects so far needs.
    spare: dict[Whose, int] = msgspec.field(default_factory=dict)
    # The rules by name, as they were at the beginning.
    editions: Mapping[str, str] = msgspec.field(default_factory=dict)


class HeldCounting:
    """`weigh` counts what is in a Namespace or definition; `editions` gives the rules by name, as they are now.

    `standing` are the names of Brakes that hold now, None while nobody knows them.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        store: Store,
        judge: Judge,
        ceilings: Ceilings,
        events: HeldEvents,
        weigh: Callable[[Row], Awaitable[int]],
        editions: Callable[[], Mapping[str, str]],
        standing: Callable[[], Collection[str] | None],
    ) -> None:
        self._clock = clock
        self._store = store
        self._judge = judge
        self._ceilings = ceilings
        self._events = events
        self._weigh = weigh
        self._editions = editions
        self._standing = standing

    async def held_by(self, brake: Brake, *, code: str, over: set[str], most: int | None) -> Counted:
        """What waits for this Brake, which somebody deleted; no more than `most`, where that is not None.

        What was released before and is still there is in it, as far as it is allowed yet: both go now. `code` is that of the
        Holds that the Brake stands for, `over` are Brakes that hold nothing any more.
        """
        found = Counted(editions=self._editions())
        free: Counter[Going] = Counter()

        def own(hold: Hold) -> bool:
            if not code:
                return holding(hold) == brake.name
            # Several backlogs of one code may be held, each by its own Brake.
            behind = dict(hold.reason.facts).get("brake", brake.name)
            return hold.reason.code == code and behind == brake.name

        async for row, claims in self._due(list(self._store)):
            free_by = next((claim for claim, holds in claims if not holds), None)
            if free_by is not None:
                free[going(row, free_by, others=[claim for claim, _ in claims])] += 1
                continue
            if most is not None and found.held >= most:
                continue
            for claim, holds in claims:
                if not _is_of(brake, claim, stands_for=code) or not any(map(own, holds)):
                    continue
                others = [hold for hold in holds if not own(hold) and holding(hold) not in over]
                if await self._add(found, row, claim, brake=brake, others=others):
                    break
        self._add_events(found, brake, over=over, done=set())
        for whose in found.weights:
            others_free = sum(number for one, number in free.items() if is_used_by(whose, one))
            found.weights[whose] += min(others_free, self._ceilings.allowed(whose))
        return found

    async def let_go_by(self, ends: Iterable[Ended]) -> Counted:
        """What waits for none of these any more, whose time is over; what two of them held counts once.

        Those of runs are different: each run is weighed by itself.
        """
        found = Counted(editions=self._editions())
        counted: defaultdict[str, set[Uid]] = defaultdict(set)
        events: set[HeldPart] = set()
        for end in ends:
            before, of_run = found.held, stops_a_run(end.brake)
            run = (end.brake.scope.policy or "") if of_run else ""
            done = counted[""] | counted[run] if of_run else set().union(*counted.values())
            async for row, claims in self._due(self._candidates(end, done)):
                if of_run and found.held - before >= end.number:
                    break
                for claim, holds in claims:
                    if not _is_of(end.brake, claim) or not _held_then(end, row, claim):
                        continue
                    if await self._add(found, row, claim, brake=end.brake, others=holds):
                        counted[run].add(row.uid)
                        break
            self._add_events(found, end.brake, over=(), done=events)
        return found

    def forget(self, name: str) -> None:
        """The Brake of that name was let go, and what was counted for it is allowed now."""
        self._events.forget(name)

    def _add_events(
        self, found: Counted, brake: Brake, *, over: Collection[str], done: set[HeldPart]
    ) -> None:
        """Those that it held at the last look, and that no other holds; `over` are Brakes that hold nothing any more."""
        if stops_a_run(brake):
            return
        standing = self._standing()
        standing = None if standing is None else [name for name in standing if name not in over]
        for part, number in self._events.let_go(brake.name, standing=standing):
            if part in done:
                continue
            done.add(part)
            claimed, edition = By(RETENTION, part.rule), found.editions.get(part.rule, "")
            found.held += number
            self._allow(found, EVENTS, claimed, number, brake=brake, edition=edition)

    def _candidates(self, end: Ended, counted: set[Uid]) -> list[Row]:
        if end.held is None:
            return [row for row in self._store if row.uid not in counted]
        rows = (self._store.get(uid) for uid in end.held - counted)
        return [row for row in rows if row is not None]

    async def _due(self, rows: Collection[Row]) -> AsyncIterator[tuple[Row, list[tuple[Claim, list[Hold]]]]]:
        """Those that some rule would delete now, with all Claims by which they would go."""
        for number, row in enumerate(rows):
            if number % _ROWS_AT_ONCE == _ROWS_AT_ONCE - 1:
                await self._clock.sleep(0)
            now = self._clock.now()
            due = self._judge.due(row, now)
            if due is None or due > now or row.deleted_at:
                continue
            if claims := self._judge.each(row, now):
                yield row, claims

    async def _add(
        self, found: Counted, row: Row, claim: Claim, *, brake: Brake, others: Collection[Hold]
    ) -> bool:
        """Whether it counts in spite of these other Holds."""
        edition, of_run = found.editions.get(claim.rule, ""), stops_a_run(brake)
        behind = {holding(hold) for hold in _lasting(others)}
        if "" in behind or (behind and not of_run):
            return False
        if of_run and edition != brake.edition:
            # The rule is another than the one whose run was stopped, or nobody knows which that was.
            return False
        if not of_run and any(hold.reason.code == _BEING_WEIGHED for hold in others):
            # A pause that ends says nothing of a run of which nobody knows yet whether it is too much.
            return False
        found.held += 1
        claimed = by(claim)
        if Going(mechanism=claimed.mechanism).is_bounded_elsewhere:
            # No ceiling counts it, so that it would leave all of an allowance to what nobody has seen.
            return True
        weight = 1
        if is_namespace(row) or is_definition(row):
            weight += await self._weigh(row)
        whose = self._allow(found, row.resource, claimed, weight, brake=brake, edition=edition)
        if behind:
            found.behind[whose] |= behind
        return True

    def _allow(
        self, found: Counted, resource: Resource, claimed: By, weight: int, *, brake: Brake, edition: str
    ) -> Whose:
        whose = _allowed_for(brake.scope, resource, claimed, edition=edition)
        released = _of_rule(resource, claimed, edition=edition)
        if whose.span != "rule" and released is not None:
            # What was released of its rule lets it go: allowing it twice would let others go.
            spare = found.spare.setdefault(released, self._ceilings.allowed(released))
            if spare >= weight:
                found.spare[released] = spare - weight
                return whose
        found.weights[whose] += weight
        return whose


def _of_rule(resource: Resource, claimed: By, *, edition: str) -> Whose | None:
    """What a release of a run of its rule is for."""
    return Whose("rule", claimed.rule, resource.qualified, "", edition) if claimed.rule else None


def _allowed_for(scope: Scope, resource: Resource, claimed: By, *, edition: str) -> Whose:
    """The narrowest that has all of what such a Brake holds and is like this object."""
    kind = resource.qualified if scope.kind is not None else ""
    mechanism: str = scope.mechanism or ""
    if scope.policy is not None:
        of_rule = _of_rule(resource, claimed, edition=edition)
        if of_rule is not None:
            return of_rule._replace(mechanism=mechanism)
        mechanism = claimed.mechanism
    if scope.namespace is not None:
        return Whose("namespace", scope.namespace, kind, mechanism)
    return Whose("all", "", kind, mechanism)


def _lasting(holds: Iterable[Hold]) -> list[Hold]:
    """But for what passes within moments."""
    return [hold for hold in holds if not REASONS[hold.reason.code].passing]


def _is_of(brake: Brake, claim: Claim, *, stands_for: str = "") -> bool:
    """Whether letting it go lets go what is claimed so, wherever that is; one that `stands_for` other Holds names no rule."""
    scope = brake.scope
    meant = Scope(all=scope.all, mechanism=scope.mechanism, policy=None if stands_for else scope.policy)
    return covers(
        meant, resource=NAMESPACES, namespace="", name="", mechanism=claim.mechanism, rule=claim.rule
    )


def _held_then(end: Ended, row: Row, claim: Claim) -> bool:
    """A run is done again at a start, and its Claims are of then."""
    if end.held is not None:
        return True
    return concerns(end.brake, row, claim) and (claim.due < end.at or stops_a_run(end.brake))
