"""Lists that get no answer: policies which need them wait for each other, and nobody else does."""

from __future__ import annotations

import pytest

from skoupa.kube.transport import Request
from tests.unit.controller.braking import many
from tests.unit.controller.policies import EVERY_MINUTE, bring_policies, cleanup, conditions, matching
from tests.unit.controller.replicas import ALONE, replicas
from tests.unit.controller.stage import HOUR, Stage, story

pytestmark = pytest.mark.unit


def _pods_of_teams(request: Request) -> bool:
    return request.path.endswith("/pods") and "/namespaces/team-" in request.path


@story(also=(), brakes={"share": 100})
async def test_policies_whose_lists_hang_delay_no_other(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    async with replicas(stage, 1, lease=ALONE, brakes={"share": 100}):
        for number in range(16):
            await stage.namespace(f"team-{number}")
            pods = matching(kinds=["Pod"], namespaces=[f"team-{number}"])
            await cleanup(stage, f"hangs-{number}", schedule=EVERY_MINUTE, match=pods)
        await cleanup(stage, schedule="0 1 * * *")
        stage.cluster.faults.delay(1000, when=_pods_of_teams, times=None)
        await stage.until(HOUR - 1)
        assert len(stage.found()) == 3
        await stage.until(HOUR + 10)
        assert not stage.found()
        assert "no answer within 60 s" in (await conditions(stage, "hangs-0"))["LastRunSucceeded"]["message"]
