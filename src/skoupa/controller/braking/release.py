"""Letting go what a Brake held: it is counted, and written down as an allowance, before anything of it can go.

An allowance lets as much pass as that Brake held, so that letting go does not trip the same ceiling again at once. It is
granted once for each Brake, and once for each end of its window, also when the process ends half-way, and forgotten when
nobody used it in time; while other Brakes hold what was approved, nobody could. What was granted is written down, and after
a restart the ledger tells how much of that was used.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.braking.held_counting import Counted, Ended, HeldCounting
from skoupa.controller.state import ALLOWANCES, State
from skoupa.errors import Forbidden
from skoupa.judge.mechanism import Run
from skoupa.kinds.brake_reading import Brake
from skoupa.sweep.allowances import Allowance, Grant, Span, Whose
from skoupa.sweep.ceilings import HOUR, Ceilings, Going

ALLOWED_SECONDS: Final = 3600.0
_REMEMBERED: Final = 100
# Writing it down costs a request.
_PROLONG_SECONDS: Final = 600.0
# Between two tries of a run that fails there is none for a while.
_RESTING_SECONDS: Final = 60.0


async def _nobody_heard(_: Brake) -> None:
    return


def _nobody_saw(_: Brake) -> None:
    return


class Left(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is left of an allowance."""

    span: Span
    name: str
    kind: str = ""
    mechanism: str = ""
    edition: str = ""
    number: int
    until: float

    @property
    def whose(self) -> Whose:
        return Whose(self.span, self.name, self.kind, self.mechanism, self.edition)


class Allowances(msgspec.Struct, kw_only=True):
    """As the state has them; `given` are the uids of Brakes whose release was counted already.

    `left` is as it was when it was written, `grants` are what it began with.
    """

    given: list[str] = msgspec.field(default_factory=list)
    left: list[Left] = msgspec.field(default_factory=list)
    grants: list[Grant] = msgspec.field(default_factory=list)


class Releases:
    """`held` counts what a Brake holds; `accept` ends the Holds that a Brake stands for.

    `editions` gives by name the rules that have chosen something, as they are now, and `coming` says that more are about to;
    `standing` the names of Brakes that hold now, None while nobody knows them.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        state: State,
        ceilings: Ceilings,
        held: HeldCounting,
        accept: Callable[[str], Awaitable[None]],
        per_second: float,
        editions: Callable[[], Mapping[str, str]] = dict,
        coming: Callable[[], bool] = bool,
        standing: Callable[[], Collection[str] | None] = tuple,
    ) -> None:
        self._clock = clock
        self._state = state
        self._ceilings = ceilings
        self._accept = accept
        self._per_second = per_second
        self._standing = standing
        self._editions = editions
        self._coming = coming
        self._held = held
        self._given: list[str] = []
        self._grants: list[Grant] = []
        self._written: Allowances | None = None
        # Rules for which something is allowed and that have no run: since when.
        self._resting: dict[str, float] = {}
        # Hear of a Brake that is about to go because somebody deleted it, and of one whose time is over.
        self.on_release: Callable[[Brake], Awaitable[None]] = _nobody_heard
        self.on_end: Callable[[Brake], None] = _nobody_saw

    def remember(self) -> None:
        """What was granted before a restart and is not used up, as far as that was written down."""
        known = self._state.get(ALLOWANCES, Allowances)
        if known is None:
            return
        self._given, self._grants = list(known.given), list(known.grants)
        self._resting = {}
        parts: defaultdict[Whose, list[tuple[int, float]]] = defaultdict(list)
        for left in known.left:
            parts[left.whose].append((left.number, left.until))
        self._ceilings.allowances = {whose: Allowance(found) for whose, found in parts.items()}
        self._prolong()
        self._written = self._present()

    def since(self) -> float:
        """From when on it has to be known what went."""
        return min((grant.at for grant in self._fresh_grants()), default=math.inf)

    def replay(self, gone: Iterable[tuple[float, Going]]) -> None:
        """Counts what the ledger says went: what an allowance was used for is not left of it, and fills no window."""
        written = self._ceilings.allowances
        self._ceilings.rebuild(gone, self._fresh_grants())
        granted = {grant.whose for grant in self._grants}
        found = self._ceilings.allowances
        now = self._clock.now()
        for whose, allowance in found.items():
            # What was used without a ledger is only written here.
            allowance.lower(written[whose].left(now) if whose in written else 0, now)
        for whose, left in written.items():
            if whose not in granted:
                found[whose] = left

    @property
    def pending(self) -> bool:
        """Whether something is allowed, which is used up little by little, or is written down as if it were."""
        return bool(self._ceilings.allowances or (self._written is not None and self._written.left))

    async def release(
        self, brake: Brake, *, code: str, going: Iterable[Brake] = (), most: int | None = None
    ) -> int | None:
        """Grants as much as it holds; None: that was done before. `code` is that of the Holds that it stands for.

        For no more than `most` objects, where that is not None. Of those that are `going` too, whoever was let go before holds
        nothing any more.
        """
        if brake.uid in self._given:
            return None
        over = {one.name for one in going if one.uid in self._given}
        counted = await self._held.held_by(brake, code=code, over=over, most=most)
        if code:
            await self._accept(brake.name)
        await self.on_release(brake)
        await self._grant(self._granting(counted), given=brake.uid)
        self._held.forget(brake.name)
        return counted.held

    async def ended(self, ends: Sequence[Ended]) -> None:
        """Their time is over, and of what each held much is about to go already.

        It is written down a moment later (`write_down`); until then the status of each has to say that it holds.
        """
        news = [end for end in ends if end.mark not in self._given]
        counted = await self._held.let_go_by(news)
        for end in ends:
            self.on_end(end.brake)
            self._held.forget(end.brake.name)
        self._given = [*self._given, *(end.mark for end in news)][-_REMEMBERED:]
        self._allow(self._granting(counted))

    def outdate(self, run: Run) -> None:
        """A run of the rule as it is now is about to be weighed: nobody has released what another edition of it would take."""
        self._outdate(run.rule, edition=run.edition)

    def _outdate(self, rule: str, *, edition: str) -> None:
        if not self._ceilings.outdate(rule, edition=edition):
            return
        now = self._clock.now()
        # What went by it until now still fills no window after a restart.
        self._grants = [
            msgspec.structs.replace(grant, until=min(grant.until, now), behind=())
            if (grant.span, grant.name) == ("rule", rule) and grant.edition != edition
            else grant
            for grant in self._grants
        ]

    async def accepted(self, number: int) -> None:
        """Somebody accepted a backlog of so many."""
        if number:
            await self._grant(self._granting(Counted(weights=Counter({Whose("all"): number}))))

    async def write_down(self) -> None:
        """What changed since it was written last: a restart must neither forget an allowance nor grant it twice."""
        self._prolong()
        self._forget_resting()
        present = self._present()
        if present != (self._written or Allowances()):
            await self._put(ALLOWANCES, present)
            self._written = present

    async def _grant(self, grants: Sequence[Grant], *, given: str = "") -> None:
        planned = self._present(and_then=grants)
        planned.given = [*self._given, *([given] if given else [])][-_REMEMBERED:]
        # Before it counts: once the Brake is gone nobody could tell what it held.
        await self._put(ALLOWANCES, planned)
        self._given = planned.given
        self._allow(grants)
        self._written = self._present()

    def _granting(self, counted: Counted) -> list[Grant]:
        now = self._clock.now()
        until = now + self._seconds(sum(counted.weights.values()))
        return [
            Grant(
                **whose._asdict(),
                number=number,
                at=now,
                until=until,
                behind=tuple(sorted(counted.behind.get(whose, ()))),
            )
            for whose, number in counted.weights.items()
        ]

    def _seconds(self, number: int) -> float:
        return ALLOWED_SECONDS + 2 * number / self._per_second

    def _prolong(self) -> None:
        """What other Brakes hold still can't go: its time begins when they let go for the first time, and then it runs."""
        if not any(grant.behind for grant in self._grants):
            return
        standing = self._standing()
        now = self._clock.now()
        for number, grant in enumerate(self._grants):
            behind = tuple(name for name in grant.behind if standing is None or name in standing)
            until, found = grant.until, self._ceilings.allowances.get(grant.whose)
            if behind and found is not None:
                later = now + self._seconds(grant.number)
                until = later if later >= until + _PROLONG_SECONDS else until
                found.prolong(grant.until, until=until)
            self._grants[number] = msgspec.structs.replace(grant, until=until, behind=behind)

    def _forget_resting(self) -> None:
        """A rule that claims nothing any more uses nothing of what was allowed: that would be left for what nobody has seen."""
        rules = {whose.name for whose in self._ceilings.allowances if whose.span == "rule"}
        chosen = self._editions() if rules and not self._coming() else rules
        now = self._clock.now()
        self._resting = {rule: self._resting.get(rule, now) for rule in rules if rule not in chosen}
        for rule, since in self._resting.items():
            if now >= since + _RESTING_SECONDS:
                self._outdate(rule, edition="")

    def _allow(self, grants: Iterable[Grant]) -> None:
        for grant in grants:
            self._grants.append(grant)
            self._ceilings.grant(grant)

    def _fresh_grants(self) -> list[Grant]:
        """Those by which something may have gone within the longest window."""
        now = self._clock.now()
        return [grant for grant in self._grants if grant.until + HOUR > now][-_REMEMBERED:]

    def _present(self, *, and_then: Sequence[Grant] = ()) -> Allowances:
        """As it is now, or would be with these."""
        now = self._clock.now()
        found = {
            whose: Allowance(one.parts) for whose, one in self._ceilings.allowances.items() if one.left(now)
        }
        for grant in and_then:
            found.setdefault(grant.whose, Allowance()).grant(grant.number, until=grant.until, now=now)
        left = [
            Left(**whose._asdict(), number=number, until=until)
            for whose, allowance in found.items()
            for number, until in allowance.parts
        ]
        self._grants = self._fresh_grants()
        return Allowances(given=list(self._given), left=left, grants=[*self._grants, *and_then])

    async def _put(self, key: str, value: Any) -> None:
        try:
            await self._state.put(key, value)
        except Forbidden:
            # Who may write no state has none after a restart either; that must not keep a Brake for ever.
            return
