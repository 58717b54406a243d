"""Two ways in which very many objects become due at once by mistake, and are held until somebody has looked.

First start: a cluster that Skoupa never swept may be full of forgotten labels. Retroactive labels: a TTL that slipped
into `commonLabels` makes everything old due at once, and so does another tool's annotation that is heeded. What became due
through a label that was written late waits until no more such labels arrive, so that the first of many is not gone before
the others are seen. Where the server does not tell when a label was written, it counts as written when it was first seen
here. Accepting the backlog releases what is there then; labels that are written later are counted anew. `backlog_brakes` makes both visible as Brakes, and
`first_readings` finds what is a first start of a single kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from skoupa.controller.backlogs.label_times import LabelTimes, is_unclear, same_times
from skoupa.controller.backlogs.late_labels import LABELLING_SECONDS, LateLabels, may_belong
from skoupa.controller.backlogs.masses import MOST_MASSES, Mass, add_mass, mass_at, put_in_order
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold

OVERDUE_SECONDS: Final = 3600
FIRST_START_LIMIT: Final = 100
SETTLE_SECONDS: Final = 10
MOST_READINGS: Final = 300


class FirstReading(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Of a kind that was never read before, in a namespace or (empty) in all: what was overdue `before` is held."""

    kind: str
    namespace: str
    before: float
    count: int


class Backlog:
    """`due` gives an object's due time; `may_go` says that nobody keeps or protects it.

    `starting` says that the first lists are not complete yet, so that what is seen was mostly there before.
    """

    def __init__(
        self,
        *,
        due: Callable[[Row, float], float | None],
        may_go: Callable[[Row, float], bool],
        starting: Callable[[], bool],
    ) -> None:
        self._due = due
        self._may_go = may_go
        self._times = LabelTimes(due=due, may_go=may_go, starting=starting)
        self._first_start: tuple[float, int] | None = None
        self._first_readings: dict[tuple[str, str], FirstReading] = {}
        # Labels written up to then were accepted.
        self._accepted_at = -math.inf
        self.masses: list[Mass] = []
        # The Brakes of those that were written down before this process had read all that may be of them.
        self._unread: set[str] = set()
        # Labels that were written within these times were accepted by themselves.
        self.accepted: list[tuple[int, int]] = []
        self._late = LateLabels()

    def accept(self, at: float) -> None:
        self._accepted_at = max(self._accepted_at, at)
        self._first_start = None
        self.masses = [mass for mass in self.masses if mass.end > self._accepted_at]

    @property
    def first_start(self) -> int:
        """How many are held because this cluster was never swept, or some kind of it never read."""
        count = self._first_start[1] if self._first_start is not None else 0
        return count + sum(one.count for one in self._first_readings.values())

    def accept_first_start(self) -> None:
        self._first_start = None
        self._first_readings = {}

    @property
    def first_readings(self) -> list[FirstReading]:
        return list(self._first_readings.values())

    def hold_first_readings(self, readings: Iterable[FirstReading], *, instead: bool = False) -> None:
        """These too, or `instead` of those that are held."""
        known = {} if instead else self._first_readings
        held = {**known, **{(one.kind, one.namespace): one for one in readings}}
        if len(held) > MOST_READINGS:
            # What was overdue in other namespaces then is held as well.
            whole: dict[str, list[FirstReading]] = {}
            for one in held.values():
                whole.setdefault(one.kind, []).append(one)
            held = {(kind, ""): _together(kind, some) for kind, some in whole.items()}
        self._first_readings = held

    def accepting(self, mass: Mass, at: float) -> list[tuple[int, int]]:
        """What `accepted` is to be so that this one labelling goes and others stay held.

        Its labels may have got a newer time since: up to the next labelling all of them are its own, unless they may be of an
        earlier one that is still held.
        """
        earlier = any(one.start < mass.start for one in self.masses)
        end = mass.end if earlier else max(int(at), mass.end)
        following = (one.start - 1 for one in self.masses if one.start > mass.start)
        return [*self.accepted, (mass.start, min((end, *following)))][-MOST_MASSES:]

    def remember_accepted(self, accepted: list[tuple[int, int]], *, first_start: bool) -> None:
        """What was accepted before this process led."""
        self.accepted = accepted
        self.masses = [mass for mass in self.masses if not self._is_accepted(mass.start)]
        if first_start:
            self._first_start = None

    def remember(self, masses: Iterable[Mass]) -> None:
        """Masses that were written down before a restart; what was counted since may be the same ones."""
        for mass in masses:
            mass.brake = mass.brake or f"mass-labels-{mass.start}"
            self._unread.add(mass.brake)
            add_mass(self.masses, mass, accepted_at=self._accepted_at)
        put_in_order(self.masses)

    def remember_first_start(self, before: float, count: int) -> None:
        """What a process before this one held."""
        self._first_start = (before, count)

    def assess_first_start(self, rows: Iterable[Row], now: float, *, anew: bool = False) -> int:
        """Called once on a cluster that was never swept; how many objects are held, 0 when there are few.

        A backlog that was held before stays held however few are left of it, until somebody has accepted it. `anew`:
        what was accepted earlier was another one.
        """
        if self._accepted_at > -math.inf and not anew:
            self._first_start = None
            return 0
        held = self._first_start
        before = held[0] if held is not None else now - OVERDUE_SECONDS
        overdue = self.overdue(rows, before, now)
        if not overdue or (held is None and overdue <= FIRST_START_LIMIT):
            self._first_start = None
            return 0
        self._first_start = (before, held[1] if held is not None else overdue)
        return overdue

    def overdue(self, rows: Iterable[Row], before: float, now: float) -> int:
        """How many, whatever else holds them now: a right that is granted later must not let a thousand go at once."""
        dues = ((row, self._due(row, now)) for row in rows)
        return sum(due is not None and due < before and self._may_go(row, now) for row, due in dues)

    def learn(self, deltas: Iterable[Delta], now: float) -> bool:
        """Whether a new labelling of many was found, a known one grew, or one is over."""
        grown = lost = False
        for delta in deltas:
            row, before = delta.after, delta.before
            if row is None:
                # What is only followed no more may be there still.
                if before is not None and not delta.unfollowed:
                    lost = self._late.went(before.uid, now) or lost
                continue
            if before is not None and same_times(row, before):
                more_time, counted = self._learn_moved(row, before, now)
                lost, grown = lost or more_time, grown or counted
                continue
            known = self._late.take_out(row.uid)
            moment = self._times.late(row, before, now)
            if moment and lost and not known:
                # What is over by now is not taken up again by the next label.
                grown, lost = self._end_masses() or grown, False
            lost = lost or known
            if moment and before is None and is_unclear(row):
                self._late.unclear.add(row.uid)
            elif moment:
                witnessed = delta.watched and not known and self._times.saw_written(row, before, now)
                self._late.add(row.uid, moment, now, witnessed=witnessed)
                grown = self._count(moment) or grown
        grown = (lost and self._end_masses()) or grown
        if len(self._late.gone) > 1000:
            self._late.forget_gone(now)
        return grown

    def _learn_moved(self, row: Row, before: Row, now: float) -> tuple[bool, bool]:
        """Whether a refresh gave it so much time that it is of no labelling any more; whether one that is gone made it late.

        One that is used all the time is refreshed all the time: more time alone never makes anything late. Nobody saw
        just now when its label was written, so it may be of any labelling.
        """
        moved = self._times.moved(row, before, now)
        late = self._times.told(row, now) if moved else 0
        if moved > 0 and not late and self._late.knows(row.uid):
            return self._late.take_out(row.uid), False
        if moved < 0 and late and not self._late.knows(row.uid):
            self._late.add(row.uid, late, now, witnessed=False)
            return False, self._count(late)
        return False, False

    def _count(self, moment: int) -> bool:
        if self._is_accepted(moment):
            return False
        for mass in self.masses:
            if mass.start - LABELLING_SECONDS <= moment <= mass.end + LABELLING_SECONDS:
                mass.start, mass.end = min(mass.start, moment), max(mass.end, moment)
                mass.count = max(mass.count, self._late.between(mass.start, mass.end))
                return True
        return self._found_mass(moment)

    def _found_mass(self, moment: int) -> bool:
        """Whether some ten minutes around this moment saw too many."""
        accepted = max((end for _, end in self.accepted if end < moment), default=-math.inf)
        crowd = self._late.crowd_at(moment, since=max(self._accepted_at, accepted) + 1)
        if crowd is not None:
            begin, end = crowd
            count = self._late.between(begin, end)
            self.masses.append(Mass(start=begin, end=end, count=count, brake=f"mass-labels-{begin}"))
        return crowd is not None

    def _end_masses(self) -> bool:
        """One whose objects are all gone, or have lost the label or got more time, is over: the next label is a wish again."""
        seen = (mass for mass in self.masses if mass.brake not in self._unread)
        over = [mass for mass in seen if not self._late.is_left(mass.start, mass.end)]
        for mass in over:
            self.masses.remove(mass)
            # They are no part of the next labelling either.
            self._late.forget_gone_of(mass.start, mass.end)
        return bool(over)

    def end_what_is_over(self) -> bool:
        """For who has read all that there is: labels may have been taken off while nobody watched."""
        self._unread.clear()
        return self._end_masses()

    def _is_accepted(self, moment: int) -> bool:
        return moment <= self._accepted_at or any(start <= moment <= end for start, end in self.accepted)

    def hold(self, row: Row, now: float) -> Hold | None:
        if row.uid in self._late.unclear:
            return self._hold_as_found(row, now, moment=int(now))
        moment, seen = self._late.written.get(row.uid, (0, 0.0))
        held = self._hold_as_found(row, now, moment=moment, witnessed=row.uid in self._late.witnessed)
        if held is not None or not moment or self._is_accepted(moment):
            return held
        settled = min(max(self._late.newest_seen, moment), seen + LABELLING_SECONDS) + SETTLE_SECONDS
        if settled > now:
            return Hold(reason=reason("just-labelled", seconds=SETTLE_SECONDS), until=settled)
        return None

    def hold_as_told(self, row: Row, now: float) -> Hold | None:
        """For who did not watch and has found nothing itself: what is remembered holds what it did, and no more."""
        return self._hold_as_found(row, now, moment=self._times.told(row, now), told=True)

    def mass_of(self, uid: Uid, now: float) -> Mass | None:
        """The labelling that holds it."""
        if uid in self._late.unclear:
            return self._mass_at(int(now), witnessed=False)
        moment, _ = self._late.written.get(uid, (0, 0.0))
        return self._mass_at(moment, witnessed=uid in self._late.witnessed)

    def _mass_at(self, moment: int, *, witnessed: bool) -> Mass | None:
        if not moment or self._is_accepted(moment):
            return None
        return mass_at(self.masses, moment, witnessed=witnessed)

    def _hold_as_found(
        self, row: Row, now: float, *, moment: int, witnessed: bool = False, told: bool = False
    ) -> Hold | None:
        """By a backlog that was found; `moment` is when a late label made it due, 0: none did. `told`: nobody here watched."""
        if self._first_start is not None:
            before, count = self._first_start
            due = self._due(row, now)
            if due is not None and due < before:
                return Hold(reason=reason("first-start-backlog", count=count))
        if self._first_readings:
            kind, places = row.resource.qualified, self._first_readings
            held = places.get((kind, row.namespace)) or places.get((kind, ""))
            due = self._due(row, now) if held is not None else None
            if held is not None and due is not None and due < held.before:
                return Hold(reason=reason("first-start-backlog", count=self.first_start))
        mass = self._mass_at(moment, witnessed=witnessed)
        if mass is None:
            return None
        # What was written since, a refresh too, only the controller saw.
        later = row.refresh_written > moment or not may_belong(moment, mass.start, mass.end, witnessed=True)
        code = "perhaps-retroactive" if told and later else "retroactive-label"
        return Hold(reason=reason(code, count=mass.count, brake=mass.brake))


def _together(kind: str, some: list[FirstReading]) -> FirstReading:
    before, count = max(one.before for one in some), sum(one.count for one in some)
    return FirstReading(kind=kind, namespace="", before=before, count=count)
