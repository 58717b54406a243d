"""What Kubernetes itself would take sooner than a policy stands in the policy's status: times of the kind, limits of owners."""

from __future__ import annotations

import pytest

from tests.unit.controller.retaining.scene import CRON_JOBS, JOBS, ON, end, template
from tests.unit.controller.retaining.test_policies import ALSO, defined, job, kinds, policy, ready
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Stage, story

pytestmark = pytest.mark.unit


@story(also=ALSO, features=ON)
async def test_a_time_of_the_kind_that_is_earlier_is_told_and_one_that_is_later_counts(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    await policy(stage, "jobs", match=kinds("Job"), after={"finished": "1h"})
    for name, seconds in (("sooner", 600), ("later", 7200)):
        body = {
            "metadata": {"name": name},
            "spec": {"template": template("elsewhere"), "ttlSecondsAfterFinished": seconds},
        }
        await stage.people.create(JOBS, body, namespace=SHOP)
        await end(stage, name)
    await stage.later(5 * MINUTE)
    assert "1 may go sooner by their own spec.ttlSecondsAfterFinished." in ready(stage, "jobs")["message"]
    await stage.later(HOUR)
    # The controller of Jobs is not there, so that it is the policy that lets go of the first one.
    assert stage.found(JOBS) == {"later"}
    await stage.later(HOUR)
    assert not stage.found(JOBS)


@story(also=ALSO, features=ON)
async def test_the_history_limits_of_owners_are_told_for_what_has_ended(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    body = {"metadata": {"name": "nightly"}, "spec": {"schedule": "0 3 * * *"}}
    owner = await stage.people.create(CRON_JOBS, body, namespace=SHOP)
    for name in ("done", "runs"):
        await job(stage, name, owner=owner)
    await end(stage, "done")
    await policy(stage, "jobs", match=kinds("Job"), after={"finished": "30d"}, owners="Ignore")
    await stage.later(MINUTE)
    told = ready(stage, "jobs")["message"]
    assert (
        "1 may go sooner by spec.successfulJobsHistoryLimit and spec.failedJobsHistoryLimit of their CronJob."
        in told
    )
