"""Whatever happens in whatever order: nothing goes that something used less than its time ago, and in the end all goes that is free."""

from __future__ import annotations

import random

import pytest

from skoupa.sim.faults import asking
from tests.unit.controller.retaining.scene import KINDS, ON, after, remove, roll_out, workload
from tests.unit.controller.stage import DEPLOYMENTS, MINUTE, Play, Stage, story

pytestmark = pytest.mark.unit

TTL = 3 * MINUTE
CONFIGS = [f"config-{number}" for number in range(6)]


class Usage:
    """What Deployments use which ConfigMap, and until when each was in use as far as anybody could see.

    A use that began and ended while Deployments could not be read leaves no trace where the server forgot what happened.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.by: dict[str, str] = {}
        self._since: dict[str, float] = {}
        self.until: dict[str, float] = {}
        self._unseen = (0.0, 0.0)

    def use(self, user: str, config: str | None) -> None:
        now, before = self._stage.clock.now(), self.by.pop(user, None)
        if before is not None and not self._unseen[0] <= self._since[user] <= now <= self._unseen[1]:
            self.until[before] = now
        if config is not None:
            self.by[user], self._since[user] = config, now

    def break_off(self) -> None:
        """From a moment ago (a restart of the server may have come before) until the last try is over."""
        now = self._stage.clock.now()
        self._unseen = (now - 1.0, now + 2 * MINUTE)

    def check(self, gone: set[str]) -> None:
        now = self._stage.clock.now()
        for config in gone:
            assert config not in self.by.values(), f"{config} is in use"
            assert now - self.until.get(config, 0.0) >= TTL - 1, f"{config} was in use a moment ago"


async def trouble(stage: Stage, chance: random.Random, play: Play, usage: Usage) -> Play:
    """A restart, a broken connection, a server that refuses for a while, or none of it."""
    match chance.randrange(5):
        case 0:
            await play.stop()
            return await stage.play()
        case 1:
            stage.cluster.restart()
            usage.break_off()
        case 2:
            usage.break_off()
            stage.cluster.faults.answer(500, when=asking(method="GET", path="/apis/apps/v1"), seconds=MINUTE)
        case 3:
            stage.cluster.faults.answer(
                500, when=asking(method="PATCH", path="/api/v1/namespaces/shop/configmaps"), times=2
            )
    return play


@pytest.mark.parametrize("seed", range(4))
@story(also=KINDS, features=ON)
async def test_nothing_that_is_in_use_goes_and_what_is_free_does(stage: Stage, seed: int) -> None:
    chance = random.Random(seed)
    usage = Usage(stage)
    play = await stage.play()
    for config in CONFIGS:
        await stage.make(config, labels=after("unused-3m"))
    for _ in range(25):
        here = stage.found()
        user = f"web-{chance.randrange(4)}"
        if user in usage.by and chance.random() < 0.5:
            await remove(stage, user, resource=DEPLOYMENTS)
            usage.use(user, None)
        elif here:
            config = chance.choice(sorted(here))
            if user in usage.by:
                await roll_out(stage, user, config)
            else:
                await workload(stage, user, config)
            usage.use(user, config)
        if chance.random() < 0.4:
            play = await trouble(stage, chance, play, usage)
        await stage.later(chance.choice([0.5, 20.0, 70.0, 130.0]))
        gone = set(CONFIGS) - stage.found()
        usage.check(gone)
        for config in gone:
            # Each is checked in the step in which it went; another may be made under its name.
            await stage.make(config, labels=after("unused-3m"))
            usage.until[config] = stage.clock.now()
    await stage.later(10 * MINUTE)
    assert stage.found() == set(usage.by.values())
