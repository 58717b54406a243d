"""Notices that the time of a Brake is over: what it held may go at once, as if somebody had released it, and that is told.

Asked at every look at the Brakes, and before a ceiling or a limit stops what such a Brake may have held: who finds it first
counts, and the others wait for that. Where this process did not see it hold, its status says that it did, which is
written only after what was allowed for its end: so an end during a restart is noticed too, and each one once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from skoupa.clock import Clock
from skoupa.controller.braking.brakes import Brakes
from skoupa.controller.braking.feed import Found
from skoupa.controller.braking.held_counting import Ended
from skoupa.controller.braking.held_now import HeldNow
from skoupa.controller.braking.of_runs import approved
from skoupa.controller.braking.release import Releases
from skoupa.expr.cron import latest
from skoupa.facts.rows import Uid
from skoupa.kinds.brake_effect import active
from skoupa.kinds.brake_reading import Brake, read_status
from skoupa.sweep.reporting import Report
from skoupa.sweep.weighing import stops_a_run


class BrakeEnds:
    """`held` knows what a Brake holds now, which is None where that is not for it to let go by time.

    `too_soon` says that what runs chose before a restart is not chosen again yet.
    """

    def __init__(
        self,
        clock: Clock,
        brakes: Brakes,
        *,
        releases: Releases,
        report: Report,
        held: HeldNow,
        too_soon: Callable[[], bool],
    ) -> None:
        self._clock = clock
        self._brakes = brakes
        self._releases = releases
        self._report = report
        self._held = held
        self._too_soon = too_soon
        self._was_active: dict[str, bool] = {}
        # What each held at the last look: when its time is over much of it is on its way at once.
        self._last_held: dict[str, set[Uid]] = {}
        self._noting = asyncio.Lock()

    def forget(self) -> None:
        """Another replica leads and looks after them."""
        self._was_active.clear()
        self._last_held.clear()

    def is_going(self, brake: Brake) -> None:
        """Somebody deleted it: its release counts what it holds."""
        self._last_held.pop(brake.uid, None)

    async def look(self, found: Found, brake: Brake, *, now_active: bool) -> bool:
        """Whether its status may say now what it does: not before its end is counted, nor before it is known what it holds."""
        if stops_a_run(brake) and self._too_soon():
            return False
        if not now_active and self._held_before(found, brake):
            await self.note()
            if self._held_before(found, brake):
                return False
        if not now_active and read_status(found).active:
            await self._releases.write_down()
        self._was_active[brake.uid] = now_active
        self._last_held[brake.uid] = (self._held.itself(brake) or set()) if now_active else set()
        return True

    async def note(self, rule: str = "") -> None:
        """Allows what was held by those whose time is over since somebody looked; `rule`: what a run of it claims is known."""
        async with self._noting:
            found = list(self._over(rule))
            if not found:
                return
            await self._releases.ended([end for end, _ in found])
            for end, holds in found:
                self._was_active[end.brake.uid] = False
                self._last_held.pop(end.brake.uid, None)
                if holds:
                    self._report.brake_ended(
                        end.brake.name, end.brake.uid, held=end.number, at=self._clock.now()
                    )
        # What is only known here has to be written down.
        self._brakes.changed.set()

    def _over(self, rule: str) -> Iterator[tuple[Ended, bool]]:
        now = self._clock.now()
        for found, brake in self._brakes.objects():
            if active(brake, now) or not self._held_before(found, brake):
                continue
            of_run = stops_a_run(brake)
            if of_run and self._too_soon() and brake.scope.policy != rule:
                continue
            known, held = brake.uid in self._was_active, self._held.itself(brake)
            status = read_status(found)
            seen = (held or set()) | self._last_held.get(brake.uid, set())
            uids = frozenset(seen) if known or held is None else None
            number = (status.held or 0) if uids is None else len(uids) + self._held.events(brake)
            if of_run:
                told = approved(brake, status)
                number = told if uids is None else min(len(uids), told)
            yield Ended(brake=brake, at=ended_at(brake, now), held=uids, number=number), held is not None

    def _held_before(self, found: Found, brake: Brake) -> bool:
        """Whether it was active at the last look, be that the look of another process."""
        known = self._was_active.get(brake.uid)
        return bool(read_status(found).active) if known is None else known


def ended_at(brake: Brake, now: float) -> float:
    """Since when one that is not active is so."""
    moment = now if brake.until is None else min(now, brake.until)
    if brake.window is not None:
        ends = [latest(one, moment, zone=brake.window.zone) for one in brake.window.all_ends]
        ended = max((one for one in ends if one is not None), default=None)
        began = latest(brake.window.begins, moment, zone=brake.window.zone)
        if ended is not None and (began is None or began < ended):
            return ended
    return moment
