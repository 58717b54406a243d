"""However many objects decide together or are counted, everybody else gets a turn meanwhile."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from skoupa.controller.retaining.counting import AT_A_TIME as COUNTED_AT_A_TIME
from skoupa.controller.retaining.gathered import AT_A_TIME, Gathered
from skoupa.facts.rows import Row
from skoupa.judge.grouping import Member
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.sim.clock import VirtualClock, run
from tests.unit.controller.retaining.scene import ON
from tests.unit.controller.retaining.test_policies import ALSO, defined, kinds, policy, status
from tests.unit.controller.stage import MINUTE, SHOP, Stage, story
from tests.unit.judge.rows import row

pytestmark = pytest.mark.unit

PARTS = 8


def test_what_is_known_of_many_is_put_together_a_few_at_a_time_and_once() -> None:
    rows = [row(name=f"config-{number}", uid=f"uid-{number}") for number in range(PARTS * AT_A_TIME)]
    made: list[str] = []

    def member(one: Row, now: float) -> Member | None:
        made.append(one.name)
        return Member(uid=one.uid, namespace=one.namespace, name=one.name, since=now, free=True)

    async def main(clock: VirtualClock) -> None:
        gathered = Gathered(clock, member)
        seen: list[int] = []

        async def others() -> None:
            while len(made) < len(rows):
                seen.append(len(made))
                await asyncio.sleep(0)

        other = asyncio.create_task(others())
        await gathered.gather(rows)
        await other
        assert len(seen) >= PARTS - 1
        assert max(after - before for before, after in itertools.pairwise(seen)) <= AT_A_TIME
        await gathered.gather(rows)
        assert len(made) == len(rows)
        gathered.doubt(rows[3].uid)
        await gathered.gather(rows)
        assert made[len(rows) :] == ["config-3"]

    run(main)


def test_what_is_not_known_yet_is_asked_again() -> None:
    answers = iter((None, Member(uid="a", namespace="shop", name="a", since=0.0, free=True)))

    async def main(clock: VirtualClock) -> None:
        gathered = Gathered(clock, lambda one, now: next(answers))
        asked = row(name="a")
        assert gathered.of(asked, 0.0) is None
        assert gathered.of(asked, 0.0) is not None

    run(main)


@story(also=ALSO, features=ON)
async def test_while_a_status_is_counted_others_get_their_turn(stage: Stage) -> None:
    await defined(stage)
    many = 4 * COUNTED_AT_A_TIME
    stage.old([f"config-{number}" for number in range(many)])
    play = await stage.play()
    await policy(stage, "configs", match=kinds("ConfigMap"), after={"unused": "30d"})
    await stage.later(MINUTE)
    assert status(stage, "configs")["matched"] == len(stage.cluster.objects(CONFIG_MAPS, namespace=SHOP))
    assert play.engine.retention is not None
    rules = play.engine.retention.rules
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(others())
    (entry,) = rules.book
    await rules.counting.of(entry)
    other.cancel()
    assert turns >= 3
