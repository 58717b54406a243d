"""Finished objects go a while after their end: the label `skoupa.dev/ttl-after` on Jobs."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from tests.unit.controller.retaining.scene import (
    CRON_JOBS,
    JOBS,
    KINDS,
    ON,
    after,
    end,
    job,
    mark_of,
    patches,
    remove,
    resume,
    said,
    template,
)
from tests.unit.controller.stage import DAY, MINUTE, SHOP, Stage, definition, story

pytestmark = pytest.mark.unit

WORKFLOWS = Resource(
    group="argoproj.io", version="v1alpha1", plural="workflows", kind="Workflow", namespaced=True
)


@story(also=KINDS, features=ON)
async def test_old_jobs_go_ten_minutes_after_they_finished_and_others_stay(stage: Stage) -> None:
    play = await stage.play()
    for name in ("nightly", "weekly"):
        await job(stage, name, "finished-10m")
    await stage.later(30 * MINUTE)
    assert stage.found(JOBS) == {"nightly", "weekly"}
    await end(stage, "nightly")
    ended = stage.time()
    await stage.later(9 * MINUTE)
    assert mark_of(stage, "nightly", resource=JOBS) == ended
    assert stage.there("nightly", JOBS)
    await stage.later(2 * MINUTE)
    assert stage.found(JOBS) == {"weekly"}
    assert len(patches(play, "nightly")) == 1
    assert not patches(play, "weekly")


@story(also=KINDS, features=ON)
async def test_failed_jobs_stay_longer_where_the_label_says_so(stage: Stage) -> None:
    await stage.play()
    for name in ("good", "bad"):
        await job(stage, name, "succeeded-10m.failed-1h")
    await end(stage, "good")
    await end(stage, "bad", how="Failed")
    await stage.later(12 * MINUTE)
    assert stage.found(JOBS) == {"bad"}
    await stage.later(47 * MINUTE)
    assert stage.found(JOBS) == {"bad"}
    await stage.later(2 * MINUTE)
    assert not stage.found(JOBS)


@story(also=KINDS, features=ON)
async def test_one_that_finished_long_before_skoupa_came_counts_from_when_it_was_first_seen(
    stage: Stage,
) -> None:
    await job(stage, "old", "finished-10m")
    await end(stage, "old")
    await stage.later(30 * DAY)
    await stage.play()
    await stage.later(MINUTE)
    assert mark_of(stage, "old", resource=JOBS) is not None
    await stage.later(8 * MINUTE)
    assert stage.there("old", JOBS)
    await stage.later(2 * MINUTE)
    assert not stage.there("old", JOBS)


@story(also=KINDS, features=ON)
async def test_one_that_runs_again_loses_its_mark_and_its_time_starts_anew(stage: Stage) -> None:
    play = await stage.play()
    await job(stage, "again", "finished-10m")
    await end(stage, "again")
    await stage.later(5 * MINUTE)
    await resume(stage, "again")
    await stage.later(20 * MINUTE)
    assert stage.there("again", JOBS)
    assert mark_of(stage, "again", resource=JOBS) is None
    assert "it has not finished" in said(play, "again")
    await end(stage, "again")
    await stage.later(9 * MINUTE)
    assert stage.there("again", JOBS)
    await stage.later(2 * MINUTE)
    assert not stage.there("again", JOBS)
    assert len(patches(play, "again")) == 3


@story(also=KINDS, features=ON)
async def test_a_job_of_a_living_cron_job_stays_and_goes_a_while_after_that_is_gone(stage: Stage) -> None:
    play = await stage.play()
    body = {
        "metadata": {"name": "nightly"},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template("c")}}},
    }
    owner = await stage.people.create(CRON_JOBS, body, namespace=SHOP)
    await job(stage, "nightly-1", "finished-10m", owner=owner)
    await end(stage, "nightly-1")
    await stage.later(20 * MINUTE)
    assert stage.there("nightly-1", JOBS)
    assert mark_of(stage, "nightly-1", resource=JOBS) is None
    assert "its owner CronJob shop/nightly is alive" in said(play, "nightly-1")
    row = next(row for row in play.engine.knowledge.store if row.name == "nightly-1")
    verdict = play.engine.knowledge.verdict(row, stage.now)
    assert [hold.reason.code for hold in verdict.holds] == ["owner-lives"]
    (warned,) = stage.events("SkoupaLabelProblem", "nightly-1")
    assert "successfulJobsHistoryLimit" in str(warned)
    await stage.people.delete(
        CRON_JOBS, "nightly", namespace=SHOP, uid=owner["metadata"]["uid"], propagation="Orphan"
    )
    await stage.later(9 * MINUTE)
    assert stage.there("nightly-1", JOBS)
    await stage.later(2 * MINUTE)
    assert not stage.there("nightly-1", JOBS)


@story(also=KINDS, features=ON)
async def test_a_longer_time_of_the_job_itself_counts(stage: Stage) -> None:
    await stage.play()
    await job(stage, "own", "finished-10m")
    await stage.people.merge_patch(JOBS, "own", {"spec": {"ttlSecondsAfterFinished": 1800}}, namespace=SHOP)
    await end(stage, "own")
    await stage.later(25 * MINUTE)
    assert stage.there("own", JOBS)
    await stage.later(6 * MINUTE)
    assert not stage.there("own", JOBS)


@story(also=KINDS, features=ON)
async def test_a_value_that_is_not_understood_does_nothing_and_says_what_to_write(stage: Stage) -> None:
    play = await stage.play()
    await job(stage, "odd", "completed-1h")
    await end(stage, "odd")
    await stage.later(20 * MINUTE)
    assert stage.there("odd", JOBS)
    assert not patches(play, "odd")
    assert "finished-1h" in said(play, "odd")


@story(also=KINDS, features=ON)
async def test_a_job_that_somebody_deletes_meanwhile_is_nothing_to_tell_of(stage: Stage) -> None:
    play = await stage.play()
    await job(stage, "gone", "finished-10m")
    await end(stage, "gone")
    await remove(stage, "gone", resource=JOBS)
    await stage.later(12 * MINUTE)
    assert not play.told("failed", "gone")


@story(also=KINDS, features=ON)
async def test_a_workflow_that_is_retried_loses_its_mark_and_its_time_starts_with_its_second_end(
    stage: Stage,
) -> None:
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WORKFLOWS))
    await stage.play()
    body = {"apiVersion": WORKFLOWS.api_version, "kind": WORKFLOWS.kind}
    metadata = {"name": "build", "labels": after("failed-20m.succeeded-20m")}
    await stage.people.create(WORKFLOWS, {**body, "metadata": metadata}, namespace=SHOP)

    async def comes_to(phase: str, **status: Any) -> None:
        patch = {"status": {"phase": phase, "finishedAt": None, **status}}
        await stage.people.merge_patch(WORKFLOWS, "build", patch, namespace=SHOP)
        await stage.later(5)

    await comes_to("Running")
    await comes_to("Failed", finishedAt=stage.time())
    assert mark_of(stage, "build", resource=WORKFLOWS) is not None
    await stage.later(15 * MINUTE)
    await comes_to("Running")
    assert mark_of(stage, "build", resource=WORKFLOWS) is None
    await stage.later(30 * MINUTE)
    await comes_to("Succeeded", finishedAt=stage.time())
    await stage.later(19 * MINUTE)
    assert stage.there("build", WORKFLOWS)
    await stage.later(2 * MINUTE)
    assert not stage.there("build", WORKFLOWS)
