"""Letting go what a Brake held: it is counted, and written down as an allowance, before anything of it can go.

An allowance lets as much pass as was held, so that a release does not trip the same ceiling again at once. It is granted
once for each Brake, also when the process ends half-way, and forgotten when nobody used it in time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.state import ALLOWANCES, BRAKES_SEEN, State
from skoupa.errors import Forbidden
from skoupa.facts.rows import Row
from skoupa.facts.store import Store
from skoupa.judge.brakes import holding
from skoupa.judge.cascade import is_definition, is_namespace
from skoupa.judge.judge import Judge
from skoupa.kinds.brake import Scope
from skoupa.kinds.brake_reading import Brake
from skoupa.sweep.ceilings import Ceilings, Key, Span

ALLOWED_SECONDS: Final = 3600.0
# Judging very many at once would stop everything else for a while.
_ROWS_AT_ONCE: Final = 500
_REMEMBERED: Final = 100


async def _nobody_heard(_: Brake) -> None:
    return


def _nobody_saw(_: Brake) -> None:
    return


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of an allowance."""

    span: Span
    name: str
    number: int
    until: float


class Allowances(msgspec.Struct, kw_only=True):
    """As the state has them; `given` are the uids of Brakes whose release was counted already."""

    given: list[str] = msgspec.field(default_factory=list)
    left: list[Left] = msgspec.field(default_factory=list)


class Releases:
    """`weigh` counts what is in a Namespace or definition; `accept` ends the Holds that a Brake stands for."""

    def __init__(
        self,
        clock: Clock,
        *,
        state: State,
        ceilings: Ceilings,
        store: Store,
        judge: Judge,
        weigh: Callable[[Row], Awaitable[int]],
        accept: Callable[[str], Awaitable[None]],
        per_second: float,
    ) -> None:
        self._clock = clock
        self._state = state
        self._ceilings = ceilings
        self._store = store
        self._judge = judge
        self._weigh = weigh
        self._accept = accept
        self._per_second = per_second
        self._given: list[str] = []
        self._written: Allowances | None = None
        self._seen_written = False
        # Hear of a Brake that is about to go because somebody deleted it, and of one whose time is over.
        self.on_release: Callable[[Brake], Awaitable[None]] = _nobody_heard
        self.on_end: Callable[[Brake], None] = _nobody_saw

    def remember(self) -> None:
        """What was granted before a restart and is not used up."""
        known = self._state.get(ALLOWANCES, Allowances)
        self._seen_written = self._state.get(BRAKES_SEEN, int) is not None
        if known is None:
            return
        self._ceilings.allowances.clear()
        self._given = list(known.given)
        for left in known.left:
            self._ceilings.allow((left.span, left.name), left.number, until=left.until)
        self._written = self._present()

    @property
    def pending(self) -> bool:
        """Whether something is allowed, which is used up little by little."""
        return bool(self._ceilings.allowances)

    async def release(self, brake: Brake, *, code: str) -> int | None:
        """Grants as much as it holds; None: that was done before. `code` is that of the Holds that it stands for."""
        if brake.uid in self._given:
            return None
        held, weight = await self._count(brake, code)
        if code:
            await self._accept(brake.name)
        await self.on_release(brake)
        await self._grant(_key(brake.scope), weight, given=brake.uid)
        return held

    def ended(self, brake: Brake, *, held: int) -> None:
        """Its time is over, and what it held is about to go already: it is written down a moment later."""
        self.on_end(brake)
        if held:
            self._ceilings.allow(_key(brake.scope), held, until=self._until(held))

    async def accepted(self, number: int) -> None:
        """Somebody accepted a backlog of so many."""
        if number:
            await self._grant(("all", ""), number)

    async def write_down(self, *, seen: bool) -> None:
        """What changed since it was written last: a restart must neither forget an allowance nor grant it twice."""
        if seen and not self._seen_written:
            await self._put(BRAKES_SEEN, int(self._clock.now()))
            self._seen_written = True
        present = self._present()
        if present != (self._written or Allowances()):
            await self._put(ALLOWANCES, present)
            self._written = present

    async def _grant(self, key: Key, number: int, *, given: str = "") -> None:
        until = self._until(number)
        planned = self._present()
        if number:
            planned.left.append(Left(span=key[0], name=key[1], number=number, until=until))
        planned.given = [*self._given, *([given] if given else [])][-_REMEMBERED:]
        # Before it counts: once the Brake is gone nobody could tell what it held.
        await self._put(ALLOWANCES, planned)
        self._given = planned.given
        if number:
            self._ceilings.allow(key, number, until=until)
        self._written = self._present()

    def _until(self, number: int) -> float:
        return self._clock.now() + ALLOWED_SECONDS + 2 * number / self._per_second

    def _present(self) -> Allowances:
        now = self._clock.now()
        left = [
            Left(span=span, name=name, number=allowance.number, until=allowance.until)
            for (span, name), allowance in self._ceilings.allowances.items()
            if allowance.number and allowance.until > now
        ]
        return Allowances(given=list(self._given), left=left)

    async def _put(self, key: str, value: Any) -> None:
        try:
            await self._state.put(key, value)
        except Forbidden:
            # Who may write no state has none after a restart either; that must not keep a Brake for ever.
            return

    async def _count(self, brake: Brake, code: str) -> tuple[int, int]:
        """How many objects wait for nothing but this Brake, and how much they weigh."""
        held, weight = 0, 0
        for number, row in enumerate(list(self._store)):
            if number % _ROWS_AT_ONCE == _ROWS_AT_ONCE - 1:
                await self._clock.sleep(0)
            if self._waits(row, brake, code):
                held += 1
                weight += 1
                if is_namespace(row) or is_definition(row):
                    weight += await self._weigh(row)
        return held, weight

    def _waits(self, row: Row, brake: Brake, code: str) -> bool:
        now = self._clock.now()
        due = self._judge.due(row, now)
        if due is None or due > now or row.deleted_at:
            return False
        holds = self._judge.verdict(row, now).holds
        return bool(holds) and all(
            hold.reason.code == code if code else holding(hold) == brake.name for hold in holds
        )


def _key(scope: Scope) -> Key:
    """The narrowest span of the ceilings that has all of it."""
    if scope.policy is not None and scope.mechanism != "ttl":
        return "rule", scope.policy
    return ("namespace", scope.namespace) if scope.namespace is not None else ("all", "")
