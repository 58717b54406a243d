"""The plan: every look that is taken, and every one that is not, leaves the next one planned."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from skoupa import names
from skoupa.clock import SystemClock
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta, Store
from skoupa.judge.judge import Judge
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold
from skoupa.settings import Settings
from skoupa.sim.clock import VirtualClock, run
from skoupa.sweep.agenda import HOUR
from skoupa.sweep.plan import Plan
from tests.unit.judge.rows import CREATED, row

pytestmark = pytest.mark.unit


class Planned:
    """A plan over a store, with a clock that starts when the objects are made."""

    def __init__(self, clock: VirtualClock, *, notice: float = 0.0) -> None:
        self.clock = clock
        self.store = Store()
        self._feed = self.store.add_feed(CONFIG_MAPS)
        self.plan = Plan(
            clock=clock,
            store=self.store,
            judge=Judge([TtlMechanism(Settings())], []),
            stuck_after=900.0,
            observing=False,
            notice_before=lambda _: notice,
        )

    def learn(self, found: Row) -> None:
        delta = self.store.changed(self._feed, found)
        if delta is not None:
            self.plan.learn([delta])

    def next_look(self) -> float | None:
        """Seconds from the creation."""
        moment = self.plan.agenda.next_time(self.clock.now())
        return None if moment is None else moment - CREATED


def test_what_is_not_to_be_looked_at_yet_is_planned_for_when_it_is() -> None:
    async def story(clock: VirtualClock) -> None:
        planned = Planned(clock)
        found = row(ttl="0")
        planned.learn(found)
        planned.plan.add(CREATED + 10.0, found.uid)
        planned.plan.postpone(found.uid, 45.0)
        assert planned.plan.take(most=5) == [found.uid]
        assert planned.plan.too_soon(found.uid)
        await clock.sleep(10)
        assert planned.plan.take(most=5) == [found.uid], "the earlier entry is still there"
        assert planned.plan.too_soon(found.uid)
        assert planned.next_look() == 45
        await clock.sleep(35)
        assert planned.plan.take(most=5) == [found.uid]
        assert not planned.plan.too_soon(found.uid)

    run(story, start=CREATED)


def test_retries_back_off_to_the_cap_and_a_success_ends_that() -> None:
    async def story(clock: VirtualClock) -> None:
        planned = Planned(clock)
        found = row(ttl="0")
        planned.learn(found)
        waits = [planned.plan.try_again(found.uid) for _ in range(300)]
        assert waits[0] <= 0.5
        assert max(waits) <= 45
        assert min(waits[20:]) >= 22.5
        assert planned.plan.failing == 1
        planned.plan.succeeded(found.uid)
        assert planned.plan.try_again(found.uid) <= 0.5

    run(story, start=CREATED)


def test_a_change_of_something_else_plans_nothing_and_one_of_its_time_does() -> None:
    async def story(clock: VirtualClock) -> None:
        planned = Planned(clock)
        planned.learn(row(ttl="30m", version=1))
        assert planned.next_look() == 1800
        planned.learn(row(ttl="30m", version=2, finalizers=("x",)))
        planned.learn(row(ttl="30m", version=3, labels={"team": "b"}))
        assert len(planned.plan.agenda) == 1
        planned.learn(row(ttl="10m", version=4))
        assert planned.next_look() == 600

    run(story, start=CREATED)


def test_the_notice_is_the_first_look_and_the_due_time_the_second() -> None:
    async def story(clock: VirtualClock) -> None:
        planned = Planned(clock, notice=600.0)
        found = row(ttl="30m")
        planned.learn(found)
        assert planned.next_look() == 1200
        planned.plan.memory.noticed[found.uid] = CREATED + 1800.0
        assert planned.plan.next_look(found, clock.now()) == CREATED + 1800

    run(story, start=CREATED)


def test_what_is_gone_is_forgotten() -> None:
    async def story(clock: VirtualClock) -> None:
        planned = Planned(clock)
        found = row(ttl="soon")
        planned.learn(found)
        planned.plan.try_again(found.uid)
        planned.plan.memory.overdue[found.uid] = (0.0, "failing")
        planned.plan.memory.remark(found.uid, ())
        planned.plan.learn([Delta(found, None)])
        assert planned.plan.failing == 0
        assert not planned.plan.memory.overdue
        assert not planned.plan.too_soon(found.uid)

    run(story, start=CREATED)


def test_asking_to_look_again_a_thousand_times_looks_once() -> None:
    async def story(clock: VirtualClock) -> None:
        planned = Planned(clock)
        rows = [row(f"web-{number}", "0") for number in range(50)]
        for found in rows:
            planned.plan.memory.overdue[found.uid] = (0.0, "kept")
        for _ in range(1000):
            planned.plan.look_again()
        assert len(planned.plan.take(most=1000)) == 50
        for _ in range(1000):
            planned.plan.look_again()
        assert planned.plan.take(most=1000) == [], "a moment has to pass in between"
        await clock.sleep(1)
        planned.plan.memory.reconsidering.clear()
        assert len(planned.plan.take(most=1000)) == 50

    run(story, start=CREATED)


# Together or one by one: what arrives in one piece shares an hour of the agenda.
OBJECTS = st.sets(st.integers(0, 2), min_size=1)


class Steered(SystemClock):
    """A clock that somebody sets: `ahead` is by how much it is wrong."""

    def __init__(self) -> None:
        super().__init__(seed=1)
        self.passed = 0.0
        self.ahead = 0.0

    def now(self) -> float:
        return CREATED + self.passed + self.ahead

    def monotonic(self) -> float:
        return self.passed


class Sweeping(RuleBasedStateMachine):
    """A plan, and who takes from it as the sweeper does; while the clock is wrong everything due is held."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Steered()
        self.store = Store()
        self._feed = self.store.add_feed(CONFIG_MAPS)
        self.judge = Judge([TtlMechanism(Settings())], [self])
        self.plan = Plan(
            clock=self.clock,
            store=self.store,
            judge=self.judge,
            stuck_after=900.0,
            observing=False,
            notice_before=lambda _: 0.0,
        )
        self.version = 0

    def holds(self, row: Row, claim: Claim, now: float) -> Iterator[Hold]:
        if self.clock.ahead:
            yield Hold(reason=reason("clock-skew", seconds=int(self.clock.ahead)))

    @rule(
        numbers=OBJECTS,
        due=st.one_of(st.integers(-60, 3 * HOUR), st.sampled_from((1800, HOUR + 300, HOUR + 3000, 3 * HOUR))),
        team=st.sampled_from("ab"),
    )
    def label(self, numbers: set[int], due: int, team: str) -> None:
        self.version += 1
        lifetime = max(0, int(self.clock.passed) + due)
        self._learn(
            row(f"web-{number}", f"{lifetime}s", labels={"team": team}, version=self.version)
            for number in sorted(numbers)
        )

    @rule(numbers=OBJECTS)
    def touch(self, numbers: set[int]) -> None:
        """Something else is written on them."""
        for number in sorted(numbers):
            known = self.store.get(row(f"web-{number}").uid)
            if known is not None:
                self.version += 1
                ttl = known.label(names.TTL_LABEL)
                touched = {"version": str(self.version)}
                self._learn([row(f"web-{number}", ttl, labels=touched, version=self.version)])

    @rule(seconds=st.one_of(st.floats(0, 2 * HOUR), st.sampled_from((10, 1750, HOUR + 10, 2 * HOUR))))
    def wait(self, seconds: float) -> None:
        self.clock.passed += seconds
        self.take()
        if not self.clock.ahead:
            self.all_that_is_due_is_gone()

    @rule(ahead=st.sampled_from((-HOUR, HOUR, 5 * HOUR)), looks=st.booleans())
    def set_wrong(self, ahead: int, *, looks: bool) -> None:
        self.clock.ahead = ahead
        if looks:
            self.take()

    @rule()
    def be_stood_in_for(self) -> None:
        """Another replica leads for a moment: what was taken is put back as it is."""
        for uid in self.plan.take(most=2):
            self.plan.add(self.clock.now(), uid)

    @rule(touched=st.one_of(st.just(set[int]()), OBJECTS))
    def set_right(self, touched: set[int]) -> None:
        """Within seconds somebody notices; what is written in between must not be lost."""
        if self.clock.ahead:
            self.clock.ahead = 0.0
            self.touch(touched)
            self.clock.passed += 5.0
            self.plan.look_again()
            self.take()
            self.clock.passed += 5.0
            self.take()
            self.all_that_is_due_is_gone()

    def all_that_is_due_is_gone(self) -> None:
        now = self.clock.now()
        late = [found.name for found in self.store if (self.judge.due(found, now) or now) < now]
        assert not late

    def take(self) -> None:
        while taken := self.plan.take(most=3):
            for uid in taken:
                self._look_at(uid)

    def _look_at(self, uid: Uid) -> None:
        now, known = self.clock.now(), self.store.get(uid)
        self.plan.memory.reconsidering.discard(uid)
        if known is None or self.plan.too_soon(uid):
            return
        verdict = self.judge.verdict(known, now)
        if verdict.claim(now) is not None:
            gone = self.store.deleted(self._feed, uid)
            assert gone is not None
            self.plan.learn([gone])
            return
        if verdict.due is None or verdict.due > now:
            self.plan.memory.not_overdue(uid)
        else:
            self.plan.memory.stays(uid, verdict)
        self.plan.after_stay(known, verdict, now)

    def _learn(self, rows: Iterator[Row] | list[Row]) -> None:
        deltas = [self.store.changed(self._feed, found) for found in rows]
        self.plan.learn(delta for delta in deltas if delta is not None)


TestWhatIsDueAndNotHeldGoesWhateverWasWrittenAndHoweverTheClockWasSet = Sweeping.TestCase
TestWhatIsDueAndNotHeldGoesWhateverWasWrittenAndHoweverTheClockWasSet.settings = settings(
    max_examples=200, stateful_step_count=25, deadline=None
)
