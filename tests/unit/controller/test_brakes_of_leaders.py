"""What a Brake of a run says is the word of whoever leads: who led before has seen other runs, and does not repeat them."""

from __future__ import annotations

import pytest

from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS
from tests.unit.controller.braking import brake, many
from tests.unit.controller.policies import bring_policies, cleanup
from tests.unit.controller.replicas import Replica, replicas
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Stage, story
from tests.unit.controller.test_brakes_ended import braked_run, end

pytestmark = pytest.mark.unit


async def lead_instead(stage: Stage, first: Replica, second: Replica) -> None:
    """The second comes to lead, and the first lives on."""
    first.cable.pulled, second.cable.pulled = True, False
    await stage.later(2 * MINUTE)
    assert second.leads
    first.cable.pulled = False
    await stage.later(10)
    assert not first.leads


@story()
async def test_who_leads_again_does_not_say_the_numbers_of_then(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(60))
    async with replicas(stage, 2, mode="enforce", brakes={"shareOver": 5}) as both:
        one, other = sorted(both, key=lambda replica: not replica.leads)
        await cleanup(stage)
        await stage.later(HOUR + 2 * MINUTE)
        name = await braked_run(stage)
        assert (await brake(stage, name))["status"]["held"] == 60
        await lead_instead(stage, one, other)
        for gone in many(60)[20:]:
            found = await stage.people.get(CONFIG_MAPS, gone, namespace=SHOP, view=METADATA)
            uid = found.metadata.uid
            await stage.people.delete(CONFIG_MAPS, gone, namespace=SHOP, uid=uid, propagation="Background")
        await stage.later(HOUR)
        assert (await brake(stage, name))["status"]["held"] == 20
        await end(stage, name, 3 * HOUR)
        await stage.later(MINUTE)
        await lead_instead(stage, other, one)
        await stage.later(10 * MINUTE)
        said = (await brake(stage, name))["status"]
        assert said["held"] == 20
        assert "60" not in said["trippedBy"]
