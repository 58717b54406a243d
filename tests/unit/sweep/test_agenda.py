"""The agenda: whatever is added, everything is taken in time, in order, and nothing piles up."""

from __future__ import annotations

import time
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from skoupa.facts.rows import Uid
from skoupa.sweep.agenda import HOUR, PART, Agenda

pytestmark = pytest.mark.unit

NOW = 1_767_225_600.0


class World:
    """Objects with due times, and an agenda that is told of every change as the sweeper tells it."""

    def __init__(self) -> None:
        self.due: dict[Uid, float] = {}
        self.agenda = Agenda(due_of=self.due.get)

    def set(self, uid: Uid, due: float, now: float) -> None:
        before = self.due.get(uid)
        self.due[uid] = due
        self.agenda.plan(due, uid, now=now, instead_of=before)

    def take(self, now: float) -> list[Uid]:
        """As the sweeper does: what is not due yet is planned again."""
        gone = []
        while taken := self.agenda.take_due(now, most=7):
            for uid in taken:
                due = self.due.get(uid)
                if due is None:
                    continue
                if due <= now:
                    gone.append(uid)
                    del self.due[uid]
                else:
                    self.agenda.add(due, uid, now=now)
        return gone


UIDS = st.one_of(st.binary(min_size=16, max_size=16), st.text(max_size=3))


@given(st.dictionaries(UIDS, st.integers(-10 * HOUR, 30 * HOUR).map(lambda due: due / 4), max_size=50))
def test_everything_is_taken_exactly_once_in_order_and_not_before_its_time(dues: dict[Uid, float]) -> None:
    world = World()
    for uid, due in dues.items():
        world.set(uid, NOW + due, NOW)
    assert len(world.agenda) == len(dues)
    taken: list[Uid] = []
    now: float = NOW
    while True:
        following = world.agenda.next_time(now)
        if following is None:
            break
        now = max(now, following)
        gone = world.take(now)
        assert all(NOW + dues[uid] <= now for uid in gone)
        taken += gone
    assert len(taken) == len(dues) == len(set(taken))
    moments = [max(0.0, dues[uid]) for uid in taken]
    assert moments == sorted(moments)


@pytest.mark.parametrize("due", [HOUR - 1, HOUR, HOUR + 1, 2 * HOUR - 1, 2 * HOUR, 2 * HOUR + 1, 25.5 * HOUR])
def test_the_boundary_between_far_and_near_loses_nothing(due: float) -> None:
    for start in (NOW, NOW + 1, NOW + HOUR - 1, NOW + 0.5):
        world = World()
        world.set(b"x" * 16, start + due, start)
        assert world.take(start + due - 0.001) == []
        assert world.take(start + due) == [b"x" * 16]
        assert len(world.agenda) == 0


def test_next_time_never_sleeps_through_a_due_time() -> None:
    world = World()
    for number in range(200):
        world.set(bytes([number] * 16), NOW + 61 * number, NOW)
    now, taken = NOW, 0
    while (following := world.agenda.next_time(now)) is not None:
        assert following > now or world.agenda.next_time(now) == following
        now = max(now, following)
        taken += len(world.take(now))
        assert all(due > now for due in world.due.values())
    assert taken == 200


class Relabelling(RuleBasedStateMachine):
    """Objects whose due times change all the while; the model is a plain dict."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.now = NOW
        self.changes = 0

    @rule(number=st.integers(0, 5), due=st.floats(-HOUR, 6 * HOUR))
    def label(self, number: int, due: float) -> None:
        self.changes += 1
        self.world.set(bytes([number] * 16), self.now + due, self.now)

    @rule(number=st.integers(0, 5))
    def cancel(self, number: int) -> None:
        self.world.due.pop(bytes([number] * 16), None)

    @rule(seconds=st.one_of(st.floats(0, 100), st.floats(0, 3 * HOUR)))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        expected = {uid for uid, due in self.world.due.items() if due <= self.now}
        gone = self.world.take(self.now)
        assert set(gone) == expected
        assert len(gone) == len(expected)

    @rule(seconds=st.floats(0, 2 * HOUR))
    def jump_back(self, seconds: float) -> None:
        self.now -= seconds

    @invariant()
    def nothing_due_was_forgotten(self) -> None:
        following = self.world.agenda.next_time(self.now)
        if self.world.due:
            assert following is not None
            assert following <= max(self.now, min(self.world.due.values()))


TestRelabelling = Relabelling.TestCase
TestRelabelling.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


class InParts(Relabelling):
    """The same where each hour that is still to come is taken apart one by one."""

    def __init__(self) -> None:
        super().__init__()
        self._part = patch("skoupa.sweep.agenda.PART", 1)
        self._part.start()

    def teardown(self) -> None:
        self._part.stop()


TestInParts = InParts.TestCase
TestInParts.settings = TestRelabelling.settings


@pytest.mark.parametrize("ttl", [10 * 60, 50 * 60, 5 * HOUR, 7 * 24 * HOUR])
def test_an_object_that_is_refreshed_every_minute_does_not_pile_up(ttl: float) -> None:
    world, now, most = World(), NOW, 0
    for _ in range(24 * 60):
        world.set(b"x" * 16, now + ttl, now)
        now += 60
        assert world.take(now) == []
        most = max(most, len(world.agenda))
    assert most <= 30


@pytest.mark.parametrize("due", [1.5 * HOUR, 5 * HOUR, 30 * 24 * HOUR])
def test_objects_that_are_looked_at_every_minute_do_not_pile_up(due: float) -> None:
    world = World()
    uids: list[Uid] = [bytes([number] * 16) for number in range(10)]
    for uid in uids:
        world.set(uid, NOW + due, NOW)
    for minute in range(60):
        now = NOW + 60.0 * minute
        for uid in uids:
            # Held until an hour or another, as Holds come and go.
            world.agenda.add(NOW + due + HOUR * (minute % 2), uid, now=now)
        assert world.take(now) == []
    assert len(world.agenda) <= 3 * len(uids)
    assert set(world.take(NOW + due)) == set(uids)


def test_an_hour_of_very_many_is_taken_apart_a_part_at_a_time_and_nothing_of_it_is_late() -> None:
    asked = 0

    def due_of(uid: Uid) -> float:
        nonlocal asked
        asked += 1
        number = int.from_bytes(uid, "big") if isinstance(uid, bytes) else 0
        # Every third was put off by a day since it was planned.
        return start + number / 10 + (24 * HOUR if number % 3 == 0 else 0)

    start, count = NOW + 2 * HOUR, 5 * PART
    agenda = Agenda(due_of=due_of)
    for number in range(count):
        agenda.plan(start + number / 10, number.to_bytes(16, "big"), now=NOW)
    now, parts = NOW + HOUR, 0
    while (following := agenda.next_time(now)) is not None and following <= now:
        assert asked <= PART * (parts + 1)
        assert len(agenda) == count
        parts += 1
    assert parts in {4, 5}
    taken = {uid for tenth in range(count) for uid in agenda.take_due(start + tenth / 10, most=10)}
    assert len(taken) == count - len(range(0, count, 3)) == count - len(agenda)


def test_an_object_that_gets_an_earlier_time_within_an_hour_that_was_taken_apart_is_taken_then() -> None:
    world = World()
    uids: set[Uid] = {bytes([number] * 16) for number in range(3)}
    for uid in uids:
        world.set(uid, NOW + 2 * HOUR + 3000, NOW)
    now = NOW + HOUR + 10
    assert world.take(now) == []
    for uid in uids:
        world.set(uid, NOW + 2 * HOUR + 300, now)
    assert world.take(NOW + 2 * HOUR + 299) == []
    assert set(world.take(NOW + 2 * HOUR + 300)) == uids


def test_an_object_that_is_found_to_be_due_later_is_not_forgotten_although_nobody_added_that() -> None:
    world = World()
    world.set(b"x" * 16, NOW + 3 * HOUR, NOW)
    world.set(b"y" * 16, NOW + 9 * HOUR, NOW)
    world.due[b"x" * 16] = NOW + 9 * HOUR + 60
    for hour in range(1, 9):
        assert world.take(NOW + hour * HOUR) == []
    assert len(world.agenda) == 2
    assert world.take(NOW + 9 * HOUR + 60) == [b"y" * 16, b"x" * 16]


def test_what_is_wanted_at_once_does_not_wait_for_a_clock_that_was_ahead_when_it_was_asked_for() -> None:
    world = World()
    wanted: list[Uid] = [bytes([number] * 16) for number in range(3)]
    for uid in wanted:
        world.due[uid] = NOW - 1
        world.agenda.add(NOW + HOUR, uid, now=NOW + HOUR)
    world.set(b"later" + bytes(11), NOW + 60, NOW)
    assert world.agenda.next_time(NOW) == NOW
    assert sorted(world.take(NOW), key=str) == wanted
    assert world.agenda.next_time(NOW) == NOW + 60


def test_a_million_entries_are_cheap() -> None:
    agenda = Agenda(due_of=lambda _: None)
    uids = [number.to_bytes(16, "big") for number in range(1_000_000)]
    started = time.process_time()
    for number, uid in enumerate(uids):
        agenda.plan(NOW + 2 * HOUR + number, uid, now=NOW)
    assert time.process_time() - started < 5.0
    assert len(agenda) == 1_000_000
    started = time.process_time()
    assert agenda.take_due(NOW, most=10) == []
    assert agenda.next_time(NOW) is not None
    assert time.process_time() - started < 0.05
