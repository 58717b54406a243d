"""The plan: every look that is taken, and every one that is not, leaves the next one planned."""

from __future__ import annotations

import pytest

from skoupa.facts.rows import Row
from skoupa.facts.store import Delta, Store
from skoupa.judge.judge import Judge
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.settings import Settings
from skoupa.sim.clock import VirtualClock, run
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
