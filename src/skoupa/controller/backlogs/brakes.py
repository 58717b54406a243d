"""The backlogs that are held, made visible as Brakes: deleting the Brake accepts that backlog and no other.

A Brake's scope can't name single objects, so what is held is decided by `backlog`, object by object. The Brake stands for
it: its scope names no rule that there is, so by itself it holds nothing. When a backlog is over in another way, its
Brake ends itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

from skoupa.clock import Clock
from skoupa.controller.backlogs.backlog import Backlog
from skoupa.controller.backlogs.late_labels import RETROACTIVE_LIMIT
from skoupa.controller.backlogs.masses import Mass
from skoupa.controller.state import FIRST_SWEEP, MASS_LABELLINGS, MASSES_ACCEPTED, READINGS_HELD
from skoupa.facts.rows import Uid
from skoupa.kinds.brake import BrakeSpec, Scope
from skoupa.kinds.brake_reading import Brake
from skoupa.kube.timestamps import whole_seconds
from skoupa.sweep.tripping import Tripped

FIRST_START: Final = "first-start"
NAMED_KINDS: Final = 5


class BacklogBrakes:
    """`put` writes state, and raises where that failed."""

    def __init__(self, backlog: Backlog, clock: Clock, *, put: Callable[[str, Any], Awaitable[None]]) -> None:
        self._backlog = backlog
        self._clock = clock
        self._put = put

    def wanted(self) -> Iterator[Tripped]:
        count = self._backlog.first_start
        if count:
            kinds = ", ".join(sorted({one.kind for one in self._backlog.first_readings})[:NAMED_KINDS])
            what = f"at {kinds}" if kinds else "at this cluster"
            why = f"{count} objects were overdue when Skoupa first looked {what}"
            yield _handle(FIRST_START, why, count=count)
        for mass in self._backlog.masses:
            since = whole_seconds(mass.start)
            # Found while labels still arrive, and told once: how many there are in the end the Brake's status counts.
            many = f"more than {RETROACTIVE_LIMIT} objects"
            why = f"{many} became overdue together through labels written since {since}"
            yield _handle(mass.brake, why)

    def code(self, name: str) -> str:
        if name == FIRST_START and self._backlog.first_start:
            return "first-start-backlog"
        return "retroactive-label" if self._mass(name) is not None else ""

    def stands_for(self, name: str, uid: Uid) -> bool:
        if name == FIRST_START or len(self._backlog.masses) == 1:
            return True
        mass = self._backlog.mass_of(uid, self._clock.now())
        return mass is not None and mass.brake == name

    def is_over(self, brake: Brake) -> bool:
        return stands_for_backlog(brake) and brake.until is None and not self.code(brake.name)

    async def accept(self, name: str) -> None:
        now = self._clock.now()
        mass = self._mass(name)
        if mass is not None:
            accepted = self._backlog.accepting(mass, now)
            await self._put(MASSES_ACCEPTED, accepted)
            self._backlog.remember_accepted(accepted, first_start=False)
            await self._put(MASS_LABELLINGS, self._backlog.masses)
        elif name == FIRST_START:
            await self._put(FIRST_SWEEP, int(now))
            if self._backlog.first_readings:
                await self._put(READINGS_HELD, [])
            self._backlog.accept_first_start()

    def _mass(self, name: str) -> Mass | None:
        return next((mass for mass in self._backlog.masses if mass.brake == name), None)


def stands_for_backlog(brake: Brake) -> bool:
    """Its scope names itself, and so holds nothing: what is held is decided object by object."""
    return brake.scope == _scope(brake.name)


def _scope(name: str) -> Scope:
    return Scope(mechanism="ttl", policy=name)


def _handle(name: str, why: str, *, count: int = 1) -> Tripped:
    told = f"{why}; look at them with `skoupa plan -A`, then delete this Brake to let them go"
    spec = BrakeSpec(scope=_scope(name), reason=told)
    return Tripped(name=name, spec=spec, span="backlog", by=why, count=count)
