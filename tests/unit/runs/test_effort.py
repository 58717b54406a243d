"""Conditions that are worked out in the process itself: a costly policy leaves room for others, and every run of it ends."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from skoupa.runs import comparing
from skoupa.runs.effort import STEPS_A_SECOND, Effort, Pace
from skoupa.sim.clock import VirtualClock, run
from tests.unit.policy.world import cleanup
from tests.unit.runs.evaluating import Moment, ask, evaluation, outcomes, thing, whys

pytestmark = pytest.mark.unit


def each_with_each(count: int) -> str:
    """Some three steps for each pair."""
    numbers = f"`{list(range(count))}`"
    return f"{{{{ length(map(&length(map(&@, {numbers})), {numbers})) }}}}"


COSTLY = each_with_each(700)
SEVEN_HUNDRED = {"key": COSTLY, "operator": "Equals", "value": 700}


@pytest.fixture(autouse=True)
def steps_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is."""
    monkeypatch.setattr(comparing, "Effort", partial(Effort, cpu=lambda: 0.0))


class Resting(Moment):
    """Its time does not pass by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        # To let others go first takes no time.
        if seconds:
            self.slept.append(seconds)


def policy(*conditions: dict[str, Any], context: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return cleanup({"kinds": ["Pod"]}, conditions={"all": list(conditions)}, context=context or [])


async def test_after_each_costly_condition_others_get_as_long() -> None:
    clock = Resting()
    asked = evaluation(policy(SEVEN_HUNDRED, SEVEN_HUNDRED), clock=clock)
    assert outcomes(await ask(asked, thing("a"), thing("b"))) == ["claimed", "claimed"]
    assert len(clock.slept) == 4
    assert all(400_000 / STEPS_A_SECOND < seconds < 1 for seconds in clock.slept)


def test_runs_side_by_side_rest_from_one_another_and_cheap_ones_go_on_meanwhile() -> None:
    """A lease that is to be renewed waits for one costly condition, and not for one of each run."""
    cheap = {"key": "{{ target.metadata.name }}", "operator": "Equals", "value": "p*"}
    done: list[tuple[str, float]] = []

    async def main(clock: VirtualClock) -> None:
        pace, began = Pace(clock), clock.monotonic()

        async def one(name: str, condition: dict[str, Any], objects: int) -> None:
            asked = evaluation(policy(condition), clock=clock, pace=pace)
            found = await ask(asked, *(thing(f"p{number}") for number in range(objects)))
            assert set(outcomes(found)) == {"claimed"}
            done.append((name, clock.monotonic() - began))

        async with asyncio.TaskGroup() as group:
            for number in range(4):
                group.create_task(one(f"costly-{number}", SEVEN_HUNDRED, 2))
            group.create_task(one("cheap", cheap, 300))

    run(main)
    piece = 700 * 700 * 3 / STEPS_A_SECOND
    ended = dict(done)
    assert max(ended.values()) > 4 * 2 * piece * 0.9
    assert ended["cheap"] < max(ended.values()) / 2


async def test_so_do_variables_of_the_context_each_by_itself() -> None:
    clock = Resting()
    context = [{"name": f"v{number}", "variable": {"value": COSTLY}} for number in range(3)]
    all_of_them = {"key": "{{ [v0, v1, v2] }}", "operator": "Equals", "value": [700, 700, 700]}
    asked = evaluation(policy(all_of_them, context=context), clock=clock)
    assert outcomes(await ask(asked, thing("a"))) == ["claimed"]
    assert len(clock.slept) == 3


async def test_cheap_conditions_rest_never() -> None:
    clock = Resting()
    named = {"key": "{{ target.metadata.name }}", "operator": "Equals", "value": "p*"}
    found = await ask(evaluation(policy(named), clock=clock), *(thing(f"p{n}") for n in range(300)))
    assert set(outcomes(found)) == {"claimed"}
    assert clock.slept == []


async def test_a_run_that_costs_too_much_comes_to_an_end_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "Effort", partial(Effort, steps=4_000_000, cpu=lambda: 0.0))
    asked = evaluation(policy(SEVEN_HUNDRED), clock=Resting())
    found = await ask(asked, *(thing(f"p{number}") for number in range(10)))
    assert outcomes(found) == ["claimed"] * 3 + ["unclear"] * 7
    why = "the conditions of this run took more than 4,000,000 steps together: make them cheaper"
    assert all(why in text for text in whys(found)[3:])
    assert why in asked.troubles[0]


async def test_what_fails_for_its_cost_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "Effort", partial(Effort, steps=6_000_000, cpu=lambda: 0.0))
    endless = {"key": each_with_each(1_500), "operator": "Equals", "value": 1}
    found = await ask(evaluation(policy(endless), clock=Resting()), *(thing(f"p{n}") for n in range(4)))
    assert outcomes(found) == ["unclear"] * 4
    told = whys(found)
    assert all("this takes more than 5,000,000 steps" in text for text in told[:2])
    assert all("of this run took more than 6,000,000 steps" in text for text in told[2:])


async def test_comparing_counts_by_the_time_that_it_takes_where_that_is_more() -> None:
    clock, passed = Resting(), iter([0.0, 0.5, 10.0, 10.0, 20.0, 60.0])
    effort = Effort(Pace(clock), cpu=lambda: next(passed))
    with effort.work():
        effort.budget.left -= 1_000
    await effort.rest()
    assert clock.slept == [0.5]
    with effort.work():
        effort.budget.left -= STEPS_A_SECOND
    await effort.rest()
    assert clock.slept == [0.5, 1.0]
    assert not effort.closed
    with pytest.raises(KeyError), effort.work():
        raise KeyError
    assert effort.closed
