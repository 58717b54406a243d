"""When policies run: one schedule each, and no tick of it lost.

Ticks count from a moment that is remembered across restarts: the last run, or when the policy was first seen; one that was made
while nobody led counts from then. So whatever was missed meanwhile is found by the clock alone, and is one run or none
(`skoupa.dev/missed-runs`). A clock that was ahead for a while costs no tick either. A policy whose spec or schedule is new waits for its next tick after it was written; a tick that is due
or under way when it changes is still its own where the new schedule has it too. Two runs of one policy keep a distance; a run that
is under way is never overtaken by the next. What failed of a run is run again by itself after a restart.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Container, Iterator, Mapping
from typing import Final

import msgspec

from skoupa.policy.policies import Policy
from skoupa.runs.known import NOT_KNOWN, Known, Written, as_seen, changed, counts_again, renewed, resumed

# Who did not lead for longer than that was turned off: what was made meanwhile waits for its next tick.
LATELY_SECONDS: Final = 86_400.0


class Tick(msgspec.Struct, frozen=True):
    """A policy that is to run, for that moment of its schedule; where `only` is not empty, for objects with these uids alone."""

    uid: str
    moment: float
    only: frozenset[str] = frozenset()

    @property
    def rest_of(self) -> float | None:
        """The run of which this is what was left."""
        return self.moment if self.only else None


class _UnderWay(msgspec.Struct, frozen=True):
    since: float
    moment: float


class Ticks:
    """`minimum` is the shortest time between two runs. Policies are known by their uid."""

    def __init__(self, *, minimum: int = 60) -> None:
        self._minimum = minimum
        self._policies: dict[str, Policy] = {}
        self._written: dict[str, Written] = {}
        self._known: dict[str, Known] = {}
        self._next: dict[str, float | None] = {}
        self._order: list[tuple[float, str]] = []
        self._running: dict[str, _UnderWay] = {}
        self._broken: set[str] = set()
        # Of which something failed before this process led.
        self._unfinished: set[str] = set()
        # The tick that is not made up for, of those that changed while nobody led, and of those that were suspended before.
        self._left_out: dict[str, float] = {}
        self._slept_through: dict[str, float] = {}
        self._led_since = 0.0
        # When somebody asked last what is due, and what counts anew since the clock was set back.
        self._asked, self._turned_back = -math.inf, list[str]()
        # By then all policies that there were had been seen.
        self._all_seen = math.inf

    def remember(
        self, known: Mapping[str, Known], now: float, *, all_seen: float | None = None, rests: bool = False
    ) -> None:
        """This process acts from now on; `known` is what was written down, and `all_seen` by when that was all there was.

        `rests`: what failed before is due too. Who only looks when policies run next does not want that.
        """
        self._led_since = now
        lately = all_seen is not None and 0 <= now - all_seen <= LATELY_SECONDS
        self._all_seen = all_seen if all_seen is not None and lately else now
        self._running.clear()
        self._left_out.clear()
        self._slept_through.clear()
        self._known = dict(known)
        self._unfinished = {uid for uid, one in known.items() if rests and one.failing}
        policies, self._policies = self._policies, {}
        for policy in policies.values():
            self.learn(policy, now, written=self._written.get(policy.uid, NOT_KNOWN))

    def remembered(self) -> dict[str, Known]:
        """To be written down."""
        return dict(self._known)

    def keep_only(self, uids: Container[str]) -> None:
        """These are all the policies that there are."""
        self._known = {uid: known for uid, known in self._known.items() if uid in uids}

    def known(self, uid: str) -> Known | None:
        return self._known.get(uid)

    def learn(self, policy: Policy, now: float, *, written: Written = NOT_KNOWN) -> None:
        """A policy that is new, or not the same as before; `written` is what the server tells of its spec."""
        before, known = self._policies.get(policy.uid), self._known.get(policy.uid)
        due = self._due_or_under_way(policy.uid, now)
        self._policies[policy.uid], self._written[policy.uid] = policy, written
        observe, moment = policy.options.observe_seconds, int(now)
        if known is None:
            known = Known(self._first(policy, moment), policy.generation, moment, observe=observe)
        elif policy.uid in self._broken or known.counts_from > now:
            known = renewed(known, policy, moment, counts_from=moment)
        elif changed(policy, known) or (before and before.schedule != policy.schedule):
            if due is not None and policy.schedule.latest(due) == due:
                known = renewed(known, policy, moment, counts_from=known.counts_from, ran=known.ran)
            else:
                first = counts_again(policy, known, written=written, moment=moment)
                if before is None:
                    self._leave_out(policy, known, first, now, to=self._left_out)
                known = renewed(known, policy, moment, counts_from=first)
        elif before is None and resumed(policy, known):
            self._leave_out(policy, known, moment, now, to=self._slept_through)
            known = msgspec.structs.replace(known, counts_from=moment, ran=False)
        if known.observe != observe:
            known = msgspec.structs.replace(known, since=moment, observe=observe)
        self._known[policy.uid] = as_seen(known, policy, written)
        self._broken.discard(policy.uid)
        self._plan(policy)

    def _due_or_under_way(self, uid: str, now: float) -> float | None:
        """The tick of a policy that runs or is about to; a change of it must not cost that one."""
        policy, moment = self._policies.get(uid), self.next(uid)
        if uid in self._running:
            return self._running[uid].moment
        return (
            policy.schedule.latest(now)
            if policy is not None and moment is not None and moment <= now
            else None
        )

    def _leave_out(
        self, policy: Policy, known: Known, first: int, now: float, *, to: dict[str, float]
    ) -> None:
        """Who changed it after a tick that nobody ran does not know that it was missed."""
        missed = policy.schedule.latest(now)
        wanted = not policy.options.suspended and policy.options.missed_runs != "Skip"
        if wanted and missed is not None and self._earliest(known) < missed <= first:
            to[policy.uid] = missed

    def left_out(self) -> dict[str, float]:
        """Ticks that nobody runs, for their policies were changed after them and before anybody led; each is told once."""
        found, self._left_out = self._left_out, {}
        return found

    def slept_through(self) -> dict[str, float]:
        """The same for policies that were suspended when somebody saw them last: nobody knows whether they were at the tick."""
        found, self._slept_through = self._slept_through, {}
        return found

    def _first(self, policy: Policy, moment: int) -> int:
        """From when the ticks of a policy count that nobody has seen before.

        One that may be older than Skoupa's last lead waits for its next tick, or all would run at once at a first install. So
        does one that was written again since: nobody knows when.
        """
        created, new = policy.created, policy.generation <= 1 and policy.uid not in self._broken
        unseen = created is not None and created > self._all_seen
        return min(int(created), moment) if created is not None and unseen and new else moment

    def broken(self, uid: str) -> None:
        """It can't be understood. When that changes it waits for its next tick."""
        self._policies.pop(uid, None)
        self._next.pop(uid, None)
        self._broken.add(uid)

    def gone(self, uid: str) -> None:
        self.broken(uid)
        self._broken.discard(uid)
        self._known.pop(uid, None)
        self._written.pop(uid, None)
        self._left_out.pop(uid, None)
        self._slept_through.pop(uid, None)

    def next(self, uid: str) -> float | None:
        """When it runs next; None: it does not."""
        policy = self._policies.get(uid)
        return None if policy is None or policy.options.suspended else self._next.get(uid)

    def under_way(self, uid: str) -> float | None:
        """Since when it runs; None: it does not now."""
        running = self._running.get(uid)
        return running.since if running is not None else None

    def longer_than(self, seconds: float, now: float) -> list[str]:
        """Those that run for so long already."""
        return [uid for uid, running in self._running.items() if now - running.since >= seconds]

    def after_this(self, uid: str, now: float) -> float | None:
        """The same as `next` but for what is under way: that is what comes after it."""
        policy, running, known = self._policies.get(uid), self._running.get(uid), self.next(uid)
        if policy is None or running is None or known is None:
            return known
        return policy.schedule.following(max(now, running.moment + self._minimum - 1))

    def spaced(self, uid: str) -> bool:
        """Whether a tick is left out because it comes too soon after the last run."""
        policy, known = self._policies.get(uid), self._known.get(uid)
        if policy is None or known is None or not known.ran:
            return False
        return policy.schedule.following(known.counts_from) != self._next.get(uid)

    def stands(self, tick: Tick) -> bool:
        """Whether the policy as it is now is to be run for that tick."""
        policy, known = self._policies.get(tick.uid), self._known.get(tick.uid)
        if policy is None or known is None or policy.options.suspended:
            return False
        if tick.only:
            return tick.only == frozenset(known.failing)
        moment = self._next.get(tick.uid)
        return moment is not None and moment <= tick.moment

    def overtaken(self, tick: Tick, now: float) -> bool:
        """Whether a later tick runs or has run: what is read for this one only now would take the place of that.

        Or the clock was set back while it ran, so that it is still to come.
        """
        if tick.moment > now + self._minimum:
            return True
        running, known = self._running.get(tick.uid), self._known.get(tick.uid)
        began = running is not None and running.moment > tick.moment
        return began or (known is not None and known.ran and known.counts_from > tick.moment)

    def next_time(self) -> float | None:
        """When the next of all is due, or some earlier moment."""
        return self._order[0][0] if self._order else None

    def due(self, now: float) -> list[Tick]:
        """What is to begin now, the longest overdue first; it counts as under way until `ended`."""
        if now < self._asked:
            self._turn_back(now)
        self._asked = now
        found = []
        while self._order and self._order[0][0] <= now:
            moment, uid = heapq.heappop(self._order)
            if self._next.get(uid) != moment or uid in self._running:
                continue
            policy = self._policies[uid]
            tick = policy.schedule.latest(now) or moment
            missed = tick < self._led_since and policy.options.missed_runs == "Skip"
            if policy.options.suspended or missed:
                self._count_from(policy, tick, ran=self._known[uid].ran)
                continue
            self._running[uid] = _UnderWay(now, tick)
            found.append(Tick(uid, tick))
        return [*found, *self._rests(now)]

    def _turn_back(self, now: float) -> None:
        """The clock was set back: what counts from a time that is to come would wait for it. A step within the distance does no harm."""
        for uid, known in list(self._known.items()):
            if known.counts_from > now + self._minimum and uid in self._policies:
                since = min(known.since, int(now))
                self._known[uid] = msgspec.structs.replace(known, counts_from=int(now), since=since)
                self._plan(self._policies[uid])
                self._turned_back.append(uid)

    def turned_back(self) -> list[str]:
        """Policies that run sooner than they would have; each is told once."""
        found, self._turned_back = self._turned_back, []
        return found

    def _rests(self, now: float) -> Iterator[Tick]:
        """Runs before this process led of which something failed; the next run of a policy is about all of it."""
        for uid in [uid for uid in self._unfinished if uid in self._policies]:
            self._unfinished.discard(uid)
            failing = self._known[uid].failing
            if failing and uid not in self._running and not self._policies[uid].options.suspended:
                moment = self._known[uid].counts_from
                self._running[uid] = _UnderWay(now, moment)
                yield Tick(uid, moment, frozenset(failing))

    def ended(self, tick: Tick, *, ran: bool = True) -> None:
        """Its run is over, as well as it went, or did not take place; ticks that came meanwhile are one."""
        self._running.pop(tick.uid, None)
        policy, known = self._policies.get(tick.uid), self._known.get(tick.uid)
        if policy is None or known is None:
            return
        if tick.only and not ran:
            self._unfinished.add(tick.uid)
        if not ran or tick.only or known.counts_from > tick.moment:
            # Its schedule or its spec changed while it ran.
            self._plan(policy)
        else:
            self._known[tick.uid] = msgspec.structs.replace(known, failing=())
            self._count_from(policy, tick.moment, ran=True)

    def _count_from(self, policy: Policy, moment: float, *, ran: bool) -> None:
        known = self._known[policy.uid]
        if moment > self._asked + self._minimum:
            # The clock was set back while it ran.
            moment = self._asked
        self._known[policy.uid] = msgspec.structs.replace(known, counts_from=int(moment), ran=ran)
        self._plan(policy)

    def _plan(self, policy: Policy) -> None:
        moment = policy.schedule.following(self._earliest(self._known[policy.uid]))
        self._next[policy.uid] = moment
        if moment is not None and policy.uid not in self._running:
            heapq.heappush(self._order, (moment, policy.uid))

    def _earliest(self, known: Known) -> int:
        return known.counts_from + (self._minimum - 1 if known.ran else 0)
