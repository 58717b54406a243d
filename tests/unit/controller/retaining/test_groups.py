"""What many objects decide together in a running controller, however they came to be known, and what keeps policies from doing harm."""

from __future__ import annotations

import pytest

from skoupa.kinds.retention.policy import CLUSTER_RETENTION_POLICIES, RETENTION_POLICIES
from tests.unit.controller.retaining.scene import JOBS, ON, end, mark_of, remove, said, workload
from tests.unit.controller.retaining.test_policies import (
    ALSO,
    QUOTAS,
    defined,
    job,
    kinds,
    policy,
    ready,
)
from tests.unit.controller.stage import DEPLOYMENTS, HOUR, MINUTE, SHOP, Stage, story

pytestmark = pytest.mark.unit


async def ended(stage: Stage, *names: str) -> None:
    """An hour apart, the oldest first."""
    for name in names:
        await job(stage, name)
        await end(stage, name)
        await stage.later(HOUR)


@story(also=ALSO, features=ON)
async def test_the_oldest_by_their_end_go_although_nobody_watched_them_end(stage: Stage) -> None:
    await defined(stage)
    await ended(stage, "z-old", "m-mid", "a-new")
    await stage.play()
    await policy(stage, "jobs", match=kinds("Job"), capacity={"atMost": 1})
    await stage.later(5 * MINUTE)
    assert stage.found(JOBS) == {"a-new"}


@story(also=ALSO, features=ON)
async def test_the_newest_by_their_end_stay_although_nobody_watched_them_end(stage: Stage) -> None:
    await defined(stage)
    await ended(stage, "z-old", "m-mid", "a-new")
    await stage.play()
    newest = {"count": 1, "per": "Namespace"}
    await policy(stage, "jobs", match=kinds("Job"), after={"finished": "30m"}, keepNewest=newest)
    await stage.later(HOUR)
    assert stage.found(JOBS) == {"a-new"}


@story(also=ALSO, features=ON)
async def test_one_that_came_while_nobody_looked_is_not_the_oldest(stage: Stage) -> None:
    await defined(stage)
    play = await stage.play()
    await policy(stage, "jobs", match=kinds("Job"), capacity={"atMost": 2})
    await ended(stage, "z-old", "m-mid")
    await play.stop()
    await ended(stage, "a-new")
    await stage.play()
    await stage.later(5 * MINUTE)
    assert stage.found(JOBS) == {"a-new", "m-mid"}


@story(also=ALSO, features=ON)
async def test_what_is_first_seen_together_is_told_apart_by_age_and_what_is_never_garbage_takes_no_place(
    stage: Stage,
) -> None:
    await defined(stage)
    for name in ("z-old", "m-mid", "a-new"):
        await stage.make(name)
        await stage.later(HOUR)
    await stage.play()
    newest = {"count": 1, "per": "Namespace"}
    await policy(stage, "configs", match=kinds("ConfigMap"), after={"unused": "30m"}, keepNewest=newest)
    await stage.later(HOUR)
    assert stage.found() == {"a-new"}


@story(also=ALSO, features=ON)
async def test_when_one_of_the_newest_goes_by_another_hand_the_next_takes_its_place(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    for number in range(5):
        await stage.make(f"web-v{number}")
        await stage.later(MINUTE)
    await policy(stage, "configs", match=kinds("ConfigMap"), after={"unused": "1h"}, keepNewest={"count": 2})
    await stage.later(10 * MINUTE)
    await stage.remove("web-v4")
    await stage.later(2 * HOUR)
    assert stage.found() == {"web-v2", "web-v3"}


@story(also=ALSO, features=ON)
async def test_a_quota_limits_the_kind_that_it_names_and_no_other(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    quota = {"metadata": {"name": "quota"}, "spec": {"hard": {"count/jobs.batch": "2"}}}
    await stage.people.create(QUOTAS, quota, namespace=SHOP)
    for number in range(4):
        await stage.make(f"config-{number}")
    match = kinds("Job", "ConfigMap")
    await policy(stage, "few", match=match, capacity={"fromQuota": "count/jobs.batch"})
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 4


@story(also=ALSO, features=ON)
async def test_a_policy_that_can_not_be_understood_any_more_hands_its_objects_to_nobody(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    await policy(stage, "cluster", cluster=True, match=kinds("Job"), after={"finished": "5m"})
    await policy(stage, "here", match=kinds("Job"), after={"finished": "90d"})
    await job(stage, "precious")
    await end(stage, "precious")
    await stage.later(10 * MINUTE)
    broken = {"any": [{"resources": {"kinds": ["Job"], "names": ["*"], "name": "b"}}]}
    await stage.people.merge_patch(RETENTION_POLICIES, "here", {"spec": {"match": broken}}, namespace=SHOP)
    await stage.later(HOUR)
    assert ready(stage, "here")["reason"] == "Invalid"
    assert stage.there("precious", JOBS)
    await stage.remove("here", resource=RETENTION_POLICIES)
    await stage.later(10 * MINUTE)
    assert not stage.there("precious", JOBS)


@story(also=ALSO, features=ON)
async def test_one_that_was_broken_from_the_start_holds_what_is_in_its_namespace(stage: Stage) -> None:
    await defined(stage)
    broken = {"any": [{"resources": {"kinds": ["Job"], "names": ["*"], "name": "b"}}]}
    await policy(stage, "here", match=broken, after={"finished": "90d"})
    await policy(stage, "cluster", cluster=True, match=kinds("Job"), after={"finished": "5m"})
    await stage.play()
    await job(stage, "precious")
    await end(stage, "precious")
    await stage.later(HOUR)
    assert stage.there("precious", JOBS)


@story(also=ALSO, features=ON)
async def test_a_mark_of_another_time_does_not_count_for_a_policy_that_comes_later(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    await stage.make("config")
    await policy(stage, "first", match=kinds("ConfigMap"), after={"unused": "30m"})
    await stage.later(MINUTE)
    assert mark_of(stage, "config") is not None
    await stage.remove("first", resource=RETENTION_POLICIES)
    await stage.later(MINUTE)
    assert mark_of(stage, "config") is None
    await workload(stage, "web", "config")
    await stage.later(40 * MINUTE)
    await remove(stage, "web", resource=DEPLOYMENTS)
    await policy(stage, "again", match=kinds("ConfigMap"), after={"unused": "30m"})
    await stage.later(20 * MINUTE)
    assert stage.there("config")
    await stage.later(15 * MINUTE)
    assert not stage.there("config")


@story(also=ALSO, features=ON)
async def test_suspending_counts_for_every_object_however_many_there_are(stage: Stage) -> None:
    await defined(stage)
    play = await stage.play()
    for number in range(20):
        await job(stage, f"job-{number}")
        await end(stage, f"job-{number}")
    await policy(stage, "jobs", match=kinds("Job"), after={"finished": "10m"})
    await stage.later(5 * MINUTE)
    await stage.people.merge_patch(RETENTION_POLICIES, "jobs", {"spec": {"suspend": True}}, namespace=SHOP)
    await stage.later(30 * MINUTE)
    assert len(stage.found(JOBS)) == 20
    rules = play.engine.retention.rules if play.engine.retention is not None else None
    assert rules is not None
    rows = [row for row in play.engine.knowledge.store if row.resource.qualified == JOBS.qualified]
    assert all((wish := rules.wish(row)) is not None and wish.rests for row in rows)


BROKEN = {"any": [{"resources": {"kinds": ["Job"], "names": ["*"], "name": "b"}}]}


@story(also=ALSO, features=ON)
async def test_a_broken_one_of_the_cluster_is_named_with_what_to_do_and_counts_for_no_namespace_that_has_its_own(
    stage: Stage,
) -> None:
    await defined(stage)
    await policy(stage, "broken", cluster=True, match=BROKEN, after={"finished": "90d"})
    await policy(stage, "cluster", cluster=True, match=kinds("Job"), after={"finished": "5m"})
    await policy(stage, "here", match=kinds("Job", names=["mine"]), after={"finished": "5m"})
    play = await stage.play()
    for name in ("mine", "theirs"):
        await job(stage, name)
        await end(stage, name)
    await stage.later(10 * MINUTE)
    assert stage.found(JOBS) == {"theirs"}
    told = said(play, "theirs")
    assert "ClusterRetentionPolicy/broken is not understood and may be about it" in told
    assert "as its condition Ready says, or delete it" in told
    assert "suspended" not in told
    await stage.remove("broken", resource=CLUSTER_RETENTION_POLICIES)
    await stage.later(MINUTE)
    assert not stage.found(JOBS)


@story(also=ALSO, features=ON)
async def test_what_could_not_be_decided_for_a_moment_is_decided_soon_after_although_nothing_changed(
    stage: Stage,
) -> None:
    await defined(stage)
    await ended(stage, "old", "new")
    play = await stage.play()
    newest = {"count": 1, "per": "Namespace"}
    await policy(stage, "jobs", match=kinds("Job"), after={"finished": "1h"}, keepNewest=newest)
    await stage.later(30)
    retention = play.engine.retention
    assert retention is not None
    row = next(row for row in play.engine.knowledge.store if row.name == "old")
    assert not retention.rules.undecided(row)
    # Somebody has something decided while what could need them is being read, and nobody looks at them meanwhile.
    retention.feeds._awaited = True
    retention.rules.doubt((row.uid,))
    await stage.later(3)
    assert "it is not known yet" in retention.rules.undecided(row)
    retention.feeds._awaited = None
    await stage.later(8)
    assert not retention.rules.undecided(row)
