"""Ticks: the next run follows from what is remembered, and nothing is run twice or at the same time as itself."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.policy.policies import Policy
from skoupa.policy.reading import read_policy
from skoupa.runs.known import Known, Written
from skoupa.runs.ticks import Ticks

pytestmark = pytest.mark.unit

HOUR = 3600.0
# 2026-01-01T00:00:00Z
START = 1_767_225_600.0
SIZE = 20


def policy(
    schedule: str = "0 * * * *",
    *,
    generation: int = 1,
    uid: str = "u",
    created: str | None = None,
    **annotations: str,
) -> Policy:
    obj: dict[str, Any] = {
        "apiVersion": "kyverno.io/v2",
        "kind": "ClusterCleanupPolicy",
        "metadata": {
            "name": "tidy",
            "uid": uid,
            "generation": generation,
            **({"creationTimestamp": created} if created is not None else {}),
            "annotations": {f"skoupa.dev/{key.replace('_', '-')}": text for key, text in annotations.items()},
        },
        "spec": {"schedule": schedule, "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}},
    }
    read = read_policy(obj)
    assert read.policy is not None, read.problems
    return read.policy


def moments(ticks: Ticks, now: float) -> list[float]:
    return [tick.moment - START for tick in ticks.due(now)]


def test_a_new_policy_waits_for_its_next_tick() -> None:
    ticks = Ticks()
    ticks.learn(policy(), START + 60)
    assert moments(ticks, START + HOUR - 1) == []
    assert moments(ticks, START + HOUR) == [HOUR]


def test_a_run_is_never_overtaken_and_ticks_that_came_meanwhile_are_one() -> None:
    ticks = Ticks()
    ticks.learn(policy(), START)
    (tick,) = ticks.due(START + HOUR)
    assert ticks.due(START + 3.5 * HOUR) == []
    ticks.ended(tick)
    assert moments(ticks, START + 3.5 * HOUR) == [3 * HOUR]


def test_while_a_run_is_under_way_what_comes_next_is_the_tick_after_now() -> None:
    ticks = Ticks()
    ticks.learn(policy("* * * * *"), START)
    assert (ticks.under_way("u"), ticks.after_this("u", START + 5)) == (None, START + 60)
    (tick,) = ticks.due(START + 61)
    for passed, comes in ((62, 120), (119, 120), (200, 240)):
        assert (ticks.under_way("u"), ticks.after_this("u", START + passed)) == (START + 61, START + comes)
    assert ticks.longer_than(20, START + 80) == []
    assert ticks.longer_than(20, START + 81) == ["u"]
    ticks.ended(tick)
    assert (ticks.under_way("u"), ticks.longer_than(20, START + 200)) == (None, [])


def test_what_comes_after_a_run_keeps_its_distance() -> None:
    ticks = Ticks(minimum=300)
    ticks.learn(policy("* * * * *"), START)
    ticks.due(START + 60)
    assert ticks.after_this("u", START + 70) == START + 360


def test_what_was_missed_is_one_run_for_the_latest_tick() -> None:
    ticks = Ticks()
    ticks.remember({"u": Known(int(START), 1, int(START), ran=True)}, START + 5.5 * HOUR)
    ticks.learn(policy(), START + 5.5 * HOUR)
    assert moments(ticks, START + 5.5 * HOUR) == [5 * HOUR]


def test_what_was_missed_may_be_skipped_but_not_what_is_late() -> None:
    ticks = Ticks()
    ticks.remember({"u": Known(int(START), 1, int(START), ran=True)}, START + 5.5 * HOUR)
    ticks.learn(policy(missed_runs="Skip"), START + 5.5 * HOUR)
    assert moments(ticks, START + 5.5 * HOUR) == []
    assert moments(ticks, START + 6 * HOUR + 30) == [6 * HOUR]


def test_another_generation_or_schedule_begins_anew() -> None:
    ticks = Ticks()
    ticks.remember({"u": Known(int(START), 1, int(START), ran=True)}, START + 2.5 * HOUR)
    ticks.learn(policy(generation=2), START + 2.5 * HOUR)
    assert moments(ticks, START + 2.5 * HOUR) == []
    ticks.learn(policy("* * * * *", generation=2), START + 2.75 * HOUR)
    assert moments(ticks, START + 2.75 * HOUR) == []
    assert moments(ticks, START + 2.75 * HOUR + 60) == [2.75 * HOUR + 60]


def test_a_policy_that_was_broken_waits_for_its_next_tick() -> None:
    ticks = Ticks()
    ticks.learn(policy(), START)
    ticks.broken("u")
    assert ticks.due(START + 2 * HOUR) == []
    assert "u" in ticks.remembered()
    ticks.learn(policy(), START + 2.5 * HOUR)
    assert moments(ticks, START + 2.5 * HOUR) == []
    assert moments(ticks, START + 3 * HOUR) == [3 * HOUR]


def test_a_policy_that_is_gone_is_forgotten() -> None:
    ticks = Ticks()
    ticks.learn(policy(), START)
    ticks.gone("u")
    assert ticks.due(START + 2 * HOUR) == []
    assert ticks.remembered() == {}


def test_runs_keep_their_distance_and_it_is_known_that_they_do() -> None:
    ticks = Ticks(minimum=600)
    ticks.learn(policy("* * * * *"), START)
    (tick,) = ticks.due(START + 60)
    assert not ticks.spaced("u")
    ticks.ended(tick)
    assert ticks.next("u") == START + 660
    assert ticks.spaced("u")


def test_a_policy_that_was_made_while_nobody_led_counts_from_then() -> None:
    ticks = Ticks()
    ticks.remember({}, START + 2.5 * HOUR, all_seen=START + HOUR)
    ticks.learn(policy(created="2026-01-01T01:30:00Z"), START + 2.5 * HOUR)
    assert moments(ticks, START + 2.5 * HOUR) == [2 * HOUR]


@pytest.mark.parametrize(
    ("created", "generation", "all_seen"),
    [
        ("2026-01-02T00:30:00Z", 1, 25.0),
        ("2026-01-02T01:30:00Z", 2, 25.0),
        ("2026-01-02T01:30:00Z", 1, 0.0),
        ("2026-01-02T01:30:00Z", 1, None),
    ],
    ids=["older than the last lead", "written again since", "nobody led for long", "nobody ever led"],
)
def test_a_policy_that_may_be_an_old_one_waits_for_its_next_tick(
    created: str, generation: int, all_seen: float | None
) -> None:
    now, ticks = START + 26.5 * HOUR, Ticks()
    ticks.remember({}, now, all_seen=None if all_seen is None else START + all_seen * HOUR)
    ticks.learn(policy(created=created, generation=generation), now)
    assert moments(ticks, now) == []
    assert moments(ticks, START + 27 * HOUR) == [27 * HOUR]


def test_what_a_run_could_not_delete_is_run_again_after_a_restart_and_nothing_else() -> None:
    ticks = Ticks()
    known = Known(int(START + HOUR), 1, int(START), True, failing=("a", "b"))
    ticks.remember({"u": known}, START + 1.5 * HOUR, rests=True)
    ticks.learn(policy(), START + 1.5 * HOUR)
    (tick,) = ticks.due(START + 1.5 * HOUR)
    assert (tick.moment, tick.only) == (START + HOUR, frozenset({"a", "b"}))
    assert ticks.due(START + 1.6 * HOUR) == []
    ticks.ended(tick)
    (tick,) = ticks.due(START + 2 * HOUR)
    assert (tick.moment, tick.only) == (START + 2 * HOUR, frozenset())
    ticks.ended(tick)
    assert ticks.remembered()["u"].failing == ()


def test_what_a_run_could_not_delete_is_part_of_the_next_run_where_that_is_due() -> None:
    ticks = Ticks()
    known = Known(int(START + HOUR), 1, int(START), True, failing=("a",))
    ticks.remember({"u": known}, START + 3 * HOUR, rests=True)
    ticks.learn(policy(), START + 3 * HOUR)
    (tick,) = ticks.due(START + 3 * HOUR)
    assert (tick.moment, tick.only) == (START + 3 * HOUR, frozenset())
    ticks.ended(tick)
    assert ticks.due(START + 3.5 * HOUR) == []


def test_who_only_looks_when_policies_run_next_sees_no_rest_of_a_run() -> None:
    ticks = Ticks()
    known = Known(int(START + HOUR), 1, int(START), True, failing=("a",))
    ticks.remember({"u": known}, START + 1.5 * HOUR)
    ticks.learn(policy(), START + 1.5 * HOUR)
    assert ticks.due(START + 1.5 * HOUR) == []
    assert ticks.next("u") == START + 2 * HOUR


def test_a_clock_that_was_ahead_does_not_keep_a_policy_waiting() -> None:
    ticks = Ticks()
    ticks.remember({"u": Known(int(START + 9000 * HOUR), 1, int(START), ran=True)}, START)
    ticks.learn(policy(), START)
    assert moments(ticks, START + HOUR) == [HOUR]


@pytest.mark.parametrize("late", [False, True], ids=["after the run", "while it runs"])
def test_a_clock_that_is_set_back_does_not_keep_a_policy_waiting(*, late: bool) -> None:
    ticks, wrong = Ticks(), START + 9000 * HOUR
    ticks.learn(policy(observe="1h"), START)
    (tick,) = ticks.due(wrong)
    if not late:
        ticks.ended(tick)
    assert ticks.due(START + 60) == []
    if late:
        ticks.ended(tick)
    assert moments(ticks, START + HOUR) == [HOUR]
    known = ticks.known("u")
    assert known is not None
    assert known.since <= START + 60


def test_what_was_seen_first_by_a_clock_that_was_ahead_only_reports_as_long_as_was_said() -> None:
    ticks = Ticks()
    ticks.due(START + 9000 * HOUR)
    ticks.learn(policy(observe="1h"), START + 9000 * HOUR)
    assert ticks.due(START) == []
    known = ticks.known("u")
    assert known is not None
    assert known.since == START
    assert moments(ticks, START + HOUR) == [HOUR]


def test_a_small_step_back_runs_nothing_twice() -> None:
    ticks = Ticks()
    ticks.learn(policy(), START)
    (tick,) = ticks.due(START + HOUR)
    assert ticks.due(START + HOUR - 0.5) == []
    ticks.ended(tick)
    assert ticks.due(START + HOUR + 1) == []
    assert ticks.next("u") == START + 2 * HOUR


def test_a_wish_to_observe_counts_from_when_it_was_seen() -> None:
    ticks = Ticks()
    ticks.learn(policy(), START)
    ticks.learn(policy(observe="24h"), START + HOUR)
    known = ticks.known("u")
    assert known is not None
    assert known.since == START + HOUR
    ticks.learn(policy(observe="24h"), START + 2 * HOUR)
    known = ticks.known("u")
    assert known is not None
    assert known.since == START + HOUR


def test_a_tick_that_is_due_or_under_way_is_not_lost_by_a_change() -> None:
    for begun in (False, True):
        ticks = Ticks()
        ticks.learn(policy(), START)
        under_way = ticks.due(START + HOUR) if begun else []
        ticks.learn(policy(generation=2), START + HOUR + 0.02, written=Written(int(START + HOUR), SIZE))
        for tick in under_way:
            assert ticks.stands(tick)
            assert ticks.due(START + HOUR + 1) == []
            ticks.ended(tick, ran=False)
        (tick,) = ticks.due(START + HOUR + 20)
        assert tick.moment == START + HOUR
        ticks.ended(tick)
        assert ticks.next("u") == START + 2 * HOUR


@pytest.mark.parametrize(
    "changed",
    [
        policy("30 * * * *", generation=2),
        policy("0 5 * * *", time_zone="Asia/Tokyo"),
        policy(suspend="true"),
    ],
    ids=["another schedule", "another zone", "suspended"],
)
def test_a_tick_that_a_policy_does_not_have_any_more_is_not_run(changed: Policy) -> None:
    ticks = Ticks()
    ticks.learn(policy(), START)
    (tick,) = ticks.due(START + HOUR)
    ticks.learn(changed, START + HOUR + 6)
    assert not ticks.stands(tick)
    ticks.ended(tick, ran=False)
    assert not ticks.stands(tick)
    assert ticks.due(START + HOUR + 20) == []


def test_a_rest_that_was_not_run_is_run_again_unless_another_spec_came() -> None:
    for generation in (1, 2):
        ticks = Ticks()
        known = Known(int(START + HOUR), 1, int(START), True, failing=("a",))
        ticks.remember({"u": known}, START + 1.5 * HOUR, rests=True)
        ticks.learn(policy(), START + 1.5 * HOUR)
        (tick,) = ticks.due(START + 1.5 * HOUR)
        ticks.learn(policy(generation=generation, max_deletions="9"), START + 1.6 * HOUR)
        assert ticks.stands(tick) == (generation == 1)
        ticks.ended(tick, ran=False)
        again = ticks.due(START + 1.6 * HOUR)
        assert again == ([tick] if generation == 1 else [])


def changed_while_nobody_led(
    written: float,
    *,
    known: float = START - HOUR,
    generation: int = 2,
    size: int = SIZE,
    known_size: int = SIZE,
    suspended: bool = False,
    **options: str,
) -> tuple[Ticks, float]:
    """With a tick at one, until half past one."""
    ticks, now = Ticks(), START + 1.5 * HOUR
    before = Known(int(START), 1, int(START), written=int(known), size=known_size, suspended=suspended)
    ticks.remember({"u": before}, now)
    ticks.learn(policy(generation=generation, **options), now, written=Written(int(written), size))
    return ticks, now


@pytest.mark.parametrize("size", [SIZE, SIZE + 3])
def test_a_policy_that_was_changed_while_nobody_led_counts_from_then(size: int) -> None:
    ticks, now = changed_while_nobody_led(START + 0.9 * HOUR, size=size)
    assert moments(ticks, now) == [HOUR]
    assert ticks.left_out() == {}


@pytest.mark.parametrize(
    ("written", "known"),
    [
        (START + 1.1 * HOUR, START),
        (0.0, 0.0),
        (START + 0.9 * HOUR, START + 0.9 * HOUR),
        (START + 9 * HOUR, START),
    ],
    ids=["after the tick", "nobody knows when", "no newer time than before", "a clock that is ahead"],
)
def test_a_policy_that_may_have_been_changed_after_a_tick_waits_and_that_is_said_once(
    written: float, known: float
) -> None:
    ticks, now = changed_while_nobody_led(written, known=known)
    assert moments(ticks, now) == []
    assert ticks.left_out() == {"u": START + HOUR}
    assert ticks.left_out() == {}
    assert moments(ticks, START + 2 * HOUR) == [2 * HOUR]


@pytest.mark.parametrize(
    "unclear",
    [
        {"generation": 3},
        {"size": SIZE - 1},
        {"known": 0.0},
        {"known_size": 0},
        {"size": 0},
        {"suspended": True},
    ],
    ids=[
        "written twice",
        "something was taken out",
        "no time in the state",
        "no size in the state",
        "no spec",
        "suspended before",
    ],
)
def test_a_time_before_the_tick_is_not_believed_where_it_may_be_that_of_another_write(
    unclear: dict[str, Any],
) -> None:
    ticks, now = changed_while_nobody_led(START + 0.9 * HOUR, **unclear)
    assert moments(ticks, now) == []
    assert ticks.left_out() == {"u": START + HOUR}
    assert moments(ticks, START + 2 * HOUR) == [2 * HOUR]


def test_a_tick_at_which_a_policy_may_have_been_suspended_is_not_made_up_for() -> None:
    ticks, now = changed_while_nobody_led(START - HOUR, generation=1, suspended=True)
    assert moments(ticks, now) == []
    assert (ticks.left_out(), ticks.slept_through()) == ({}, {"u": START + HOUR})
    assert ticks.slept_through() == {}
    assert moments(ticks, START + 2 * HOUR) == [2 * HOUR]


def test_a_policy_whose_time_zone_was_changed_while_nobody_led_waits_for_its_next_tick() -> None:
    for zone, due in ((None, [HOUR]), ("", [HOUR]), ("Asia/Tokyo", [])):
        ticks, now = Ticks(), START + 1.5 * HOUR
        ticks.remember({"u": Known(int(START), 1, int(START), zone=zone)}, now)
        ticks.learn(policy(), now)
        assert moments(ticks, now) == due
        assert ticks.left_out() == ({} if due else {"u": START + HOUR})


def test_a_policy_that_is_suspended_still_sleeps_on_and_nothing_is_told_of_it() -> None:
    ticks, now = changed_while_nobody_led(START - HOUR, generation=1, suspended=True, suspend="true")
    assert moments(ticks, now) == []
    assert ticks.slept_through() == {}
    known = ticks.known("u")
    assert known is not None
    assert known.suspended


def test_what_is_remembered_is_readable_by_the_version_before_and_the_other_way_round() -> None:
    class Before(msgspec.Struct, frozen=True, array_like=True):
        counts_from: int
        generation: int
        since: int
        ran: bool = False
        observe: int = 0
        failing: tuple[str, ...] = ()
        written: int = 0

    known = Known(1, 2, 3, ran=True, written=4, size=5, suspended=True, zone="Asia/Tokyo")
    assert msgspec.json.decode(msgspec.json.encode(known), type=Before) == Before(1, 2, 3, True, written=4)
    before = msgspec.json.decode(msgspec.json.encode(Before(1, 2, 3, True, written=4)), type=Known)
    assert before == Known(1, 2, 3, ran=True, written=4)


def test_what_nobody_wants_to_be_made_up_for_is_not_told_as_left_out() -> None:
    suspended, _ = changed_while_nobody_led(START + 1.1 * HOUR, suspend="true")
    skipping, _ = changed_while_nobody_led(START + 1.1 * HOUR, missed_runs="Skip")
    assert (suspended.left_out(), skipping.left_out()) == ({}, {})


def test_a_policy_that_was_broken_and_changed_waits_whenever_it_was_written() -> None:
    ticks = Ticks()
    ticks.learn(policy(), START)
    ticks.broken("u")
    ticks.learn(policy(generation=2), START + 1.5 * HOUR, written=Written(int(START + 0.5 * HOUR), SIZE))
    assert moments(ticks, START + 1.5 * HOUR) == []


@given(
    stops=st.lists(st.tuples(st.floats(60, 5 * HOUR), st.booleans()), min_size=1, max_size=12),
    minutes=st.sampled_from([1, 7, 30]),
)
def test_whatever_is_restarted_when_ticks_come_in_order_and_none_is_run_twice(
    stops: list[tuple[float, bool]], minutes: int
) -> None:
    tidy = policy(f"*/{minutes} * * * *")
    ticks = Ticks()
    now, ran = START, []
    ticks.learn(tidy, now)
    for span, restarts in stops:
        now += span
        for tick in ticks.due(now):
            ran.append(tick.moment)
            ticks.ended(tick)
        latest = tidy.schedule.latest(now)
        assert not ran or latest is None or ran[-1] >= latest, "nothing that was due is left"
        if restarts:
            written = msgspec.json.decode(msgspec.json.encode(ticks.remembered()), type=dict[str, Known])
            ticks = Ticks()
            ticks.remember(written, now)
            ticks.learn(tidy, now)
    assert ran == sorted(set(ran))
