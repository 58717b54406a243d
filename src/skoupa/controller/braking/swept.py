"""Events that went by retention policies, without a row in the ledger: how many, in few words, so that the ceilings still count it after a restart or with another leader.

It is written down before it goes, once for many, and lowered afterwards where less went, and what can't be written does
not go. What is an hour old is forgotten. Where there is too much to tell apart it is put together so that more counts, and for longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

import msgspec

from skoupa.clock import Clock
from skoupa.controller.braking.held_events import HeldEvents
from skoupa.controller.state import EVENTS_SWEPT, State
from skoupa.errors import Forbidden
from skoupa.judge.retention import NAME
from skoupa.policy.retention.policies import EVENTS
from skoupa.sweep.ceilings import HOUR, MINUTE, Going
from skoupa.sweep.gate import Gate

# Of one rule, from one namespace.
Part = tuple[str, str]
_MOST: Final = 500


class SweptPart(msgspec.Struct, frozen=True, kw_only=True):
    at: int
    rule: str
    namespace: str
    number: int

    @property
    def part(self) -> Part:
        return self.rule, self.namespace


class Swept:
    """`epoch` is that of the lead: in each, what went before is counted before anything goes."""

    def __init__(self, state: State, *, clock: Clock, epoch: Callable[[], int]) -> None:
        self._state = state
        self._clock = clock
        self._epoch = epoch
        self._parts: list[SweptPart] = []
        self._counted_in: int | None = None

    def remember(self) -> None:
        """What the state says; it has to be read."""
        self._parts = _read(self._state)

    def counted(self) -> None:
        """The ceilings know now what went before this lead."""
        self._counted_in = self._epoch()

    @property
    def is_counted(self) -> bool:
        return self._counted_in == self._epoch()

    def goings(self) -> list[tuple[float, Going]]:
        """As the ceilings count it."""
        return _as_counted(self._fresh())

    async def intend(self, planned: Mapping[Part, int]) -> int:
        """Before so many go; raises where that can't be written down. Returns as of when they count."""
        at = int(self._clock.now())
        await self._write(_together([*self._fresh(), *_parts(planned, at)]))
        return at

    async def done(self, planned: Mapping[Part, int], went: Mapping[Part, int], *, at: int) -> None:
        """Afterwards: fewer went."""
        less = {part: went.get(part, 0) - number for part, number in planned.items()}
        if any(less.values()):
            await self._write(_together([*self._fresh(), *_parts(less, at)]))

    async def _write(self, parts: list[SweptPart]) -> None:
        # Who may write no state has none after a restart either.
        with suppress(Forbidden):
            await self._state.put(EVENTS_SWEPT, parts)
        self._parts = parts

    def _fresh(self) -> list[SweptPart]:
        return _fresh(self._parts, self._clock.now())


class WayOut(NamedTuple):
    """What Events pass before they go, where it is written down, and who is told of those that Brakes hold."""

    gate: Gate
    swept: Swept
    held: HeldEvents


def goings_before(state: State | None, now: float) -> list[tuple[float, Going]]:
    """For who counts beside the controller: what its state says; None, who may not read that knows nothing of it."""
    return _as_counted(_fresh(_read(state), now)) if state is not None else []


def _read(state: State) -> list[SweptPart]:
    return list(state.get(EVENTS_SWEPT, list[SweptPart]) or ())


def _fresh(parts: Iterable[SweptPart], now: float) -> list[SweptPart]:
    return [one for one in parts if one.at + HOUR >= now]


def _as_counted(parts: Iterable[SweptPart]) -> list[tuple[float, Going]]:
    return [
        (
            float(one.at),
            Going(
                namespace=one.namespace,
                rule=one.rule,
                weight=one.number,
                kind=EVENTS.qualified,
                mechanism=NAME,
            ),
        )
        for one in parts
        if one.number > 0
    ]


def _parts(numbers: Mapping[Part, int], at: int) -> list[SweptPart]:
    return [
        SweptPart(at=at, rule=rule, namespace=namespace, number=number)
        for (rule, namespace), number in numbers.items()
        if number
    ]


def _together(parts: list[SweptPart]) -> list[SweptPart]:
    found = _summed(parts, lambda one: (*one.part, one.at // MINUTE))
    if len(found) > _MOST:
        found = _summed(found, lambda one: one.part)
    # Nobody knows any more from which namespaces, and the other ceilings count it.
    return found if len(found) <= _MOST else _summed(found, lambda one: one.rule)


def _summed(parts: Iterable[SweptPart], key: Callable[[SweptPart], object]) -> list[SweptPart]:
    """Those of one key as one, as of the newest; without the namespace where that is not the same for all."""
    sums: Counter[object] = Counter()
    last: dict[object, SweptPart] = {}
    for one in parts:
        known = last.setdefault(key(one), one)
        namespace = one.namespace if known.namespace == one.namespace else ""
        last[key(one)] = msgspec.structs.replace(known, at=max(known.at, one.at), namespace=namespace)
        sums[key(one)] += one.number
    found = (msgspec.structs.replace(one, number=max(0, sums[name])) for name, one in last.items())
    return [one for one in found if one.number]
