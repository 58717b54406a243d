"""What is known after a process ended, was killed, or was away at a tick: nothing runs twice, nothing is missed or let go."""

from __future__ import annotations

import asyncio

from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from tests.cluster.controller.braking import all_gone, left, release
from tests.cluster.controller.policy_stories.braked import TIGHT, braked, claim, fewer
from tests.cluster.controller.shop import passed
from tests.cluster.controller.stages import Stage

ONCE, CRASH, LATE = "once", "crash", "late"
# Of each kind fewer than `brakes.share` looks at.
MANY = 20
# Nobody hands over the Lease of a process that was killed.
GIVEN = {**TIGHT, "lease__seconds": "5"}


async def nothing_runs_twice_or_is_missed_and_a_brake_is_known_after_a_crash(stage: Stage) -> None:
    yard = stage.yard
    shop, crowd = await stage.shop(), await stage.shop()
    process = await yard.started(**GIVEN)
    rule = await claim(crowd, CRASH, MANY)
    here = {"where": {"namespaces": [shop.namespace]}}
    await shop.people.make("web-1")
    shop.choose_tick()
    await shop.write(CLUSTER_CLEANUP_POLICIES, ONCE, shop.cleaning("web-*", **here))
    await shop.ticked()
    brake = await braked(crowd.people, rule, by="brakes.maxPerRun", number=MANY)
    await shop.left()
    await shop.ran(CLUSTER_CLEANUP_POLICIES, ONCE, matched=1, deleted=1)

    process.kill()
    process = await yard.started(**GIVEN)
    assert await braked(crowd.people, rule, by="brakes.maxPerRun", number=MANY) == brake
    await release(crowd.people, brake)
    await fewer(crowd.people, MANY - 4)
    process.kill()
    assert await left(crowd.people) > 5
    process = await yard.started(**{**GIVEN, "rate__deletionsPerSecond": "20"})
    await all_gone(crowd.people, seconds=60)

    # Not before: a run that had ended within the second before a crash is run again.
    await shop.people.make("web-2")
    await shop.people.make("late-1")
    shop.choose_tick()
    await shop.write(CLUSTER_CLEANUP_POLICIES, LATE, shop.cleaning("late-*", **here))
    await shop.ready(CLUSTER_CLEANUP_POLICIES, LATE)
    await asyncio.to_thread(process.end)
    await passed(shop.tick + 1)
    assert await shop.names() == {"web-2", "late-1"}
    await yard.started(**GIVEN)
    await shop.left("web-2")
    await shop.ran(CLUSTER_CLEANUP_POLICIES, LATE, matched=1, deleted=1)
    assert await shop.names() == {"web-2"}
