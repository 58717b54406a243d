"""Retention policies in a running controller: times, owners, the newest, limits, precedence, and what stops them."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.controller.opinions import EngineOpinions
from skoupa.kinds.definition import document
from skoupa.kinds.retention.policy import (
    CLUSTER_RETENTION_POLICIES,
    CLUSTER_RETENTION_POLICY,
    RETENTION_POLICIES,
    RETENTION_POLICY,
)
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from skoupa.policy.retention.policies import EVENTS
from skoupa.sim.faults import asking
from skoupa.web.dashboard.known_policies import shown_policy
from tests.unit.controller.retaining.scene import (
    CRON_JOBS,
    JOBS,
    KINDS,
    ON,
    after,
    end,
    mark_of,
    remove,
    said,
    template,
    workload,
)
from tests.unit.controller.stage import (
    DEPLOYMENTS,
    HOUR,
    MINUTE,
    SECRETS,
    SHOP,
    Play,
    Stage,
    owned_by,
    story,
)

pytestmark = pytest.mark.unit

QUOTAS = Resource(version="v1", plural="resourcequotas", kind="ResourceQuota", namespaced=True)
ALSO = (*KINDS, QUOTAS)


async def defined(stage: Stage) -> None:
    for definition in (RETENTION_POLICY, CLUSTER_RETENTION_POLICY):
        await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, document(definition))
    await stage.later(5)


def kinds(*found: str, **more: Any) -> dict[str, Any]:
    return {"any": [{"resources": {"kinds": list(found), **more}}]}


async def policy(stage: Stage, name: str, *, cluster: bool = False, **spec: Any) -> dict[str, Any]:
    resource = CLUSTER_RETENTION_POLICIES if cluster else RETENTION_POLICIES
    body = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name},
        "spec": spec,
    }
    made = await stage.people.create(resource, body, namespace="" if cluster else SHOP)
    await stage.later(5)
    return made


async def job(
    stage: Stage, name: str, *, owner: dict[str, Any] | None = None, labels: dict[str, str] | None = None
) -> None:
    metadata: dict[str, Any] = {"name": name, "labels": labels or {}}
    if owner is not None:
        metadata["ownerReferences"] = [owned_by(owner)]
    await stage.people.create(
        JOBS, {"metadata": metadata, "spec": {"template": template("elsewhere")}}, namespace=SHOP
    )
    await stage.settle()


def status(stage: Stage, name: str, *, cluster: bool = False) -> dict[str, Any]:
    resource = CLUSTER_RETENTION_POLICIES if cluster else RETENTION_POLICIES
    found = next(one for one in stage.cluster.objects(resource) if one["metadata"]["name"] == name)
    told: dict[str, Any] = found.get("status") or {}
    return told


def ready(stage: Stage, name: str, *, cluster: bool = False) -> dict[str, Any]:
    (one,) = [one for one in status(stage, name, cluster=cluster)["conditions"] if one["type"] == "Ready"]
    found: dict[str, Any] = one
    return found


@story(also=ALSO, features=ON)
async def test_jobs_go_an_hour_after_they_succeeded_and_later_where_they_failed(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    await policy(stage, "jobs", match=kinds("Job"), after={"succeeded": "1h", "failed": "3h"})
    for name in ("good", "bad", "runs"):
        await job(stage, name)
    await end(stage, "good")
    await end(stage, "bad", how="Failed")
    await stage.later(30 * MINUTE)
    assert mark_of(stage, "good", resource=JOBS) is not None
    told = status(stage, "jobs")
    assert (told["matched"], told["waiting"]) == (3, 2)
    assert ready(stage, "jobs")["status"] == "True"
    await stage.later(31 * MINUTE)
    assert stage.found(JOBS) == {"bad", "runs"}
    assert status(stage, "jobs")["deleted"] == 1
    await stage.later(1.9 * HOUR)
    assert stage.there("bad", JOBS)
    await stage.later(0.2 * HOUR)
    assert stage.found(JOBS) == {"runs"}


@story(also=ALSO, features=ON)
async def test_what_nothing_uses_goes_and_what_is_used_stays(stage: Stage) -> None:
    await defined(stage)
    play = await stage.play()
    await workload(stage, "web", "used")
    for name in ("used", "left"):
        await stage.make(name)
    await policy(stage, "configs", match=kinds("ConfigMap"), after={"unused": "30m"})
    await stage.later(29 * MINUTE)
    assert {"used", "left"} <= stage.found()
    assert "Deployment shop/web uses it" in said(play, "used")
    await stage.later(3 * MINUTE)
    assert "left" not in stage.found()
    assert "used" in stage.found()
    (gone,) = play.told("deleted", "left")
    assert "RetentionPolicy/shop/configs: 30m counted from" in gone["why"]


@story(also=ALSO, features=ON)
async def test_a_policy_that_names_no_kinds_never_takes_secrets_and_only_what_has_rules(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    await stage.make("config")
    await stage.people.create(KINDS[4], {"metadata": {"name": "secret"}}, namespace=SHOP)
    await workload(stage, "web", "other")
    await policy(stage, "all", after={"unused": "10m"})
    await stage.later(15 * MINUTE)
    assert "config" not in stage.found()
    assert stage.there("secret", KINDS[4])
    assert stage.there("web", DEPLOYMENTS)
    there = {one["metadata"]["name"] for one in stage.cluster.objects(CONFIG_MAPS, namespace=SHOP)}
    assert there == {"kube-root-ca.crt"}


@story(also=ALSO, features=ON)
async def test_the_type_of_a_secret_keeps_it_from_a_policy_as_from_a_label(stage: Stage) -> None:
    await defined(stage)
    play = await stage.play()
    for name, type_ in (
        ("keyring", "kubernetes.io/rook"),
        ("cluster", "cluster.x-k8s.io/secret"),
        ("left", "Opaque"),
    ):
        await stage.people.create(SECRETS, {"metadata": {"name": name}, "type": type_}, namespace=SHOP)
    await policy(stage, "secrets", match=kinds("Secret"), after={"unused": "10m"})
    await stage.later(30 * MINUTE)
    assert stage.found(SECRETS) == {"keyring", "cluster"}
    assert "Rook finds it by its name" in said(play, "keyring")


@story(also=ALSO, features=ON)
async def test_a_living_owner_holds_unless_the_policy_ignores_owners(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    body = {"metadata": {"name": "nightly"}, "spec": {"schedule": "0 3 * * *"}}
    owner = await stage.people.create(CRON_JOBS, body, namespace=SHOP)
    await job(stage, "nightly-1", owner=owner)
    await end(stage, "nightly-1")
    made = await policy(stage, "jobs", match=kinds("Job"), after={"finished": "10m"})
    await stage.later(20 * MINUTE)
    assert stage.there("nightly-1", JOBS)
    assert status(stage, "jobs")["heldByOwners"] == 1
    assert "owners: Ignore" in ready(stage, "jobs")["message"]
    await stage.people.merge_patch(
        RETENTION_POLICIES, made["metadata"]["name"], {"spec": {"owners": "Ignore"}}, namespace=SHOP
    )
    await stage.later(9 * MINUTE)
    assert stage.there("nightly-1", JOBS)
    await stage.later(3 * MINUTE)
    assert not stage.there("nightly-1", JOBS)


@story(also=ALSO, features=ON)
async def test_the_newest_of_each_family_stay(stage: Stage) -> None:
    await defined(stage)
    play = await stage.play()
    await policy(stage, "configs", match=kinds("ConfigMap"), after={"unused": "5m"}, keepNewest={"count": 2})
    for number in range(4):
        await stage.make(f"web-v{number}")
        await stage.later(2 * MINUTE)
    await stage.make("single")
    await stage.later(30 * MINUTE)
    assert stage.found() == {"web-v2", "web-v3", "single"}
    assert "one of the newest that RetentionPolicy/shop/configs keeps" in said(play, "web-v3")


@story(also=ALSO, features=ON)
async def test_what_is_used_is_among_the_newest_and_one_more_makes_an_old_one_go(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    await stage.make("web-v0")
    await workload(stage, "web", "web-v0")
    for number in (1, 2):
        await stage.make(f"web-v{number}")
        await stage.later(MINUTE)
    await policy(stage, "configs", match=kinds("ConfigMap"), after={"unused": "5m"}, keepNewest={"count": 2})
    await stage.later(20 * MINUTE)
    assert stage.found() == {"web-v0", "web-v2"}
    await remove(stage, "web", resource=DEPLOYMENTS)
    await stage.make("web-v3")
    await stage.later(20 * MINUTE)
    assert stage.found() == {"web-v0", "web-v3"}


@story(also=ALSO, features=ON)
async def test_those_that_ended_before_anybody_looked_are_sorted_by_their_end(stage: Stage) -> None:
    await defined(stage)
    for name in ("z-first", "a-second", "m-third"):
        await job(stage, name)
        await end(stage, name)
        await stage.later(MINUTE)
    await policy(stage, "jobs", match=kinds("Job"), capacity={"atMost": 1})
    await stage.play()
    await stage.later(MINUTE)
    assert stage.found(JOBS) == {"m-third"}


@story(also=ALSO, features=ON)
async def test_beyond_a_limit_the_oldest_that_nobody_needs_go_at_once_and_without_marks(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    for number in range(5):
        await job(stage, f"job-{number}")
        if number != 1:
            await end(stage, f"job-{number}")
        await stage.later(MINUTE)
    await policy(stage, "jobs", match=kinds("Job"), capacity={"atMost": 2})
    await stage.later(MINUTE)
    # The one that runs does not count.
    assert stage.found(JOBS) == {"job-1", "job-3", "job-4"}
    assert mark_of(stage, "job-4", resource=JOBS) is None
    for number in (5, 6):
        await job(stage, f"job-{number}")
        await end(stage, f"job-{number}")
        await stage.later(MINUTE)
    assert stage.found(JOBS) == {"job-1", "job-5", "job-6"}


@story(also=ALSO, features=ON)
async def test_a_quota_is_a_limit_that_leaves_room(stage: Stage) -> None:
    await defined(stage)
    play = await stage.play()
    await policy(
        stage, "jobs", match=kinds("Job", names=["job-*"]), capacity={"fromQuota": "count/jobs.batch"}
    )
    await stage.later(MINUTE)
    nothing = "there is no ResourceQuota with count/jobs.batch in its namespace, so nothing is too many."
    assert ready(stage, "jobs")["message"] == nothing
    quota = {"metadata": {"name": "quota"}, "spec": {"hard": {"count/jobs.batch": "4"}}}
    await stage.people.create(QUOTAS, quota, namespace=SHOP)
    await job(stage, "other")
    for number in range(3):
        await job(stage, f"job-{number}")
        await end(stage, f"job-{number}")
        await stage.later(MINUTE)
    await stage.later(2 * MINUTE)
    assert stage.found(JOBS) == {"other", "job-1", "job-2"}
    (deleted,) = play.told("deleted")
    assert "has room for 3 below the quota count/jobs.batch of its namespace" in deleted["why"]
    assert ready(stage, "jobs")["message"] == "it is understood"


@story(also=ALSO, features=ON)
async def test_the_policy_of_the_namespace_beats_that_of_the_cluster_and_a_label_beats_both(
    stage: Stage,
) -> None:
    await defined(stage)
    await stage.play()
    await policy(stage, "cluster", cluster=True, match=kinds("Job"), after={"finished": "5m"})
    await policy(stage, "here", match=kinds("Job", names=["mine-*"]), after={"finished": "30m"})
    for name in ("mine-1", "theirs-1"):
        await job(stage, name)
        await end(stage, name)
    await job(stage, "mine-2", labels=after("finished-1h"))
    await end(stage, "mine-2")
    await stage.later(7 * MINUTE)
    assert stage.found(JOBS) == {"mine-1", "mine-2"}
    assert status(stage, "cluster", cluster=True)["overridden"] == 2
    await stage.later(25 * MINUTE)
    assert stage.found(JOBS) == {"mine-2"}
    await stage.later(30 * MINUTE)
    assert not stage.found(JOBS)


@story(also=ALSO, features=ON)
async def test_a_label_replaces_the_times_of_a_policy_but_not_that_it_ignores_owners(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    body = {"metadata": {"name": "nightly"}, "spec": {"schedule": "0 3 * * *"}}
    owner = await stage.people.create(CRON_JOBS, body, namespace=SHOP)
    await job(stage, "nightly-1", owner=owner, labels=after("finished-20m"))
    await end(stage, "nightly-1")
    await stage.later(30 * MINUTE)
    assert stage.there("nightly-1", JOBS)
    (warned,) = stage.events("SkoupaLabelProblem", "nightly-1")
    assert "owners: Ignore" in str(warned)
    made = await policy(
        stage, "jobs", match=kinds("Job"), after={"finished": "5m"}, owners="Ignore", suspend=True
    )
    await stage.later(30 * MINUTE)
    assert stage.there("nightly-1", JOBS), "while it rests its owner holds"
    await stage.people.merge_patch(
        RETENTION_POLICIES, made["metadata"]["name"], {"spec": {"suspend": False}}, namespace=SHOP
    )
    await stage.later(18 * MINUTE)
    assert stage.there("nightly-1", JOBS)
    await stage.later(4 * MINUTE)
    assert not stage.there("nightly-1", JOBS)


@story(also=ALSO, features=ON)
async def test_who_ignores_owners_beside_one_that_does_not_is_told_what_holds(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    body = {"metadata": {"name": "nightly"}, "spec": {"schedule": "0 3 * * *"}}
    owner = await stage.people.create(CRON_JOBS, body, namespace=SHOP)
    await job(stage, "nightly-1", owner=owner)
    await end(stage, "nightly-1")
    await policy(stage, "heeds", match=kinds("Job"), after={"finished": "5m"})
    await policy(stage, "ignores", match=kinds("Job"), after={"finished": "5m"}, owners="Ignore")
    await stage.later(10 * MINUTE)
    assert stage.there("nightly-1", JOBS)
    assert "(owners: Ignore lets them go)" in ready(stage, "heeds")["message"]
    told = ready(stage, "ignores")["message"]
    assert "(owners: Ignore where all policies that count as much have it)" in told


@story(also=ALSO, features=ON)
async def test_what_one_says_of_every_end_holds_for_the_outcome_that_another_speaks_of(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    await policy(stage, "a-short", match=kinds("Job"), after={"succeeded": "5m"})
    await policy(stage, "b-long", match=kinds("Job"), after={"finished": "20m"})
    await job(stage, "job")
    await end(stage, "job")
    await stage.later(15 * MINUTE)
    assert stage.there("job", JOBS)
    await stage.later(7 * MINUTE)
    assert not stage.there("job", JOBS)


@story(also=ALSO, features=ON)
async def test_quotas_that_may_not_be_read_hold_and_it_is_told_what_to_grant(stage: Stage) -> None:
    await defined(stage)
    stage.cluster.deny(user="skoupa", verbs=("list",), resources=(QUOTAS.qualified,))
    play = await stage.play(user="skoupa")
    for number in range(3):
        await job(stage, f"job-{number}")
        await end(stage, f"job-{number}")
    await policy(stage, "jobs", match=kinds("Job"), capacity={"fromQuota": "count/jobs.batch"})
    await stage.later(20 * MINUTE)
    assert len(stage.found(JOBS)) == 3
    told = ready(stage, "jobs")
    assert (told["status"], told["reason"]) == ("False", "Unreadable")
    assert "grant list on resourcequotas" in told["message"]
    assert any("grant list on resourcequotas" in why for why in _undecided(play))


def _undecided(play: Play) -> list[str]:
    rules = play.engine.knowledge.retention_rules
    assert rules is not None
    return [rules.rules.undecided(row) for row in play.engine.knowledge.store]


@story(also=ALSO, features=ON)
async def test_two_of_one_rank_have_to_agree_and_their_status_says_so(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    await policy(stage, "a-short", match=kinds("Job"), after={"finished": "5m"})
    await policy(stage, "b-long", match=kinds("Job"), after={"finished": "20m"})
    await job(stage, "job")
    await end(stage, "job")
    await stage.later(15 * MINUTE)
    assert stage.there("job", JOBS)
    assert "RetentionPolicy/shop/b-long" in ready(stage, "a-short")["message"]
    await stage.later(7 * MINUTE)
    assert not stage.there("job", JOBS)


@story(also=ALSO, features=ON)
async def test_a_suspended_policy_takes_nothing_and_goes_on_where_it_was(stage: Stage) -> None:
    await defined(stage)
    play = await stage.play()
    await policy(stage, "jobs", match=kinds("Job"), after={"finished": "10m"}, suspend=True)
    await job(stage, "job")
    await end(stage, "job")
    await stage.later(30 * MINUTE)
    assert stage.there("job", JOBS)
    assert "RetentionPolicy/shop/jobs is suspended" in said(play, "job")
    assert ready(stage, "jobs")["reason"] == "Suspended"
    await stage.people.merge_patch(RETENTION_POLICIES, "jobs", {"spec": {"suspend": False}}, namespace=SHOP)
    await stage.later(MINUTE)
    assert not stage.there("job", JOBS)


@story(also=ALSO, features=ON)
async def test_annotations_that_hold_other_policies_back_hold_this_one_too(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    made = await policy(stage, "jobs", match=kinds("Job"), after={"finished": "10m"})
    await job(stage, "done")
    await end(stage, "done")
    for mark, reason in ((names.SUSPEND_ANNOTATION, "Suspended"), (names.OBSERVE_ANNOTATION, "Invalid")):
        await annotate(stage, made, {mark: "true"})
        await stage.later(20 * MINUTE)
        assert stage.there("done", JOBS)
        assert ready(stage, "jobs")["reason"] == reason
        await annotate(stage, made, {mark: None})
    await stage.later(MINUTE)
    assert not stage.there("done", JOBS)


async def annotate(stage: Stage, made: dict[str, Any], marks: dict[str, str | None]) -> None:
    name = made["metadata"]["name"]
    patch = {"metadata": {"annotations": marks}}
    await stage.people.merge_patch(RETENTION_POLICIES, name, patch, namespace=SHOP)
    await stage.settle()


@story(also=ALSO, features=ON)
async def test_a_policy_that_is_not_understood_takes_nothing_and_says_what_to_write(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    await job(stage, "job")
    await end(stage, "job")
    match = {"any": [{"resources": {"kinds": ["Job"], "names": ["a"], "name": "b"}}]}
    await policy(stage, "jobs", match=match, after={"finished": "1m"})
    await stage.later(10 * MINUTE)
    assert stage.there("job", JOBS)
    told = ready(stage, "jobs")
    assert (told["status"], told["reason"]) == ("False", "Invalid")
    assert "spec.match" in told["message"]


@story(also=ALSO, features=ON)
async def test_what_is_unused_is_weighed_and_a_policy_that_would_take_too_much_is_stopped(
    stage: Stage,
) -> None:
    await defined(stage)
    play = await stage.play()
    for number in range(40):
        await stage.make(f"config-{number}")
    await policy(stage, "configs", match=kinds("ConfigMap"), after={"unused": "5m"})
    await stage.later(20 * MINUTE)
    assert len(stage.found()) == 40
    assert "brake" in said(play, "config-0")


@story(also=ALSO, features=ON)
async def test_finished_objects_are_not_held_against_the_share_of_their_kind(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    for number in range(40):
        await job(stage, f"job-{number}")
        await end(stage, f"job-{number}")
    await policy(stage, "jobs", match=kinds("Job"), after={"finished": "5m"})
    await stage.later(10 * MINUTE)
    assert not stage.found(JOBS)


@story(also=ALSO, features=ON)
async def test_labels_of_a_namespace_decide_and_change_what_it_is_about(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    match = kinds("Job", namespaceSelector={"matchLabels": {"env": "ci"}})
    await policy(stage, "ci", cluster=True, match=match, after={"finished": "5m"})
    await job(stage, "job")
    await end(stage, "job")
    await stage.later(10 * MINUTE)
    assert stage.there("job", JOBS)
    await stage.label(SHOP, resource=NAMESPACES, env="ci")
    await stage.later(4 * MINUTE)
    assert stage.there("job", JOBS)
    await stage.later(2 * MINUTE)
    assert not stage.there("job", JOBS)


@story(also=ALSO, features=ON)
async def test_annotations_decide_too(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    await stage.make("marked", annotations={"example.com/scratch": "yes"})
    await stage.make("plain")
    match = kinds("ConfigMap", annotations={"example.com/scratch": "y*"})
    await policy(stage, "scratch", match=match, after={"unused": "5m"})
    await stage.later(10 * MINUTE)
    assert "marked" not in stage.found()
    assert "plain" in stage.found()


@story(also=ALSO, features=ON)
async def test_what_is_excluded_by_an_annotation_stays_although_its_kind_was_read_before(
    stage: Stage,
) -> None:
    await defined(stage)
    await stage.play()
    await policy(stage, "a-first", match=kinds("ConfigMap", names=["first-*"]), after={"unused": "1h"})
    await stage.make("wanted", annotations={"example.com/keep": "yes"})
    await stage.make("left")
    await stage.later(MINUTE)
    exclude = {"any": [{"resources": {"annotations": {"example.com/keep": "*"}}}]}
    await policy(stage, "b-second", match=kinds("ConfigMap"), exclude=exclude, after={"unused": "5m"})
    await stage.later(20 * MINUTE)
    assert stage.found() == {"wanted"}


@story(also=ALSO, features=ON)
async def test_what_is_due_later_is_not_weighed_with_what_is_due_now(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    await policy(stage, "configs", match=kinds("ConfigMap"), after={"unused": "1h"})
    for number in range(30):
        await stage.make(f"config-{number}")
        await stage.later(3 * MINUTE)
    assert "config-0" not in stage.found()
    assert len(stage.found()) < 25


@story(also=ALSO, features=ON)
async def test_a_policy_that_is_deleted_claims_nothing_any_more(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    await policy(stage, "jobs", match=kinds("Job"), after={"finished": "10m"})
    await job(stage, "job")
    await end(stage, "job")
    await stage.later(8 * MINUTE)
    await stage.remove("jobs", resource=RETENTION_POLICIES)
    await stage.later(30 * MINUTE)
    assert stage.there("job", JOBS)


@story(also=ALSO, features=ON)
async def test_age_alone_takes_nothing_that_is_needed(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    stage.old(["old", "used"], age=48 * HOUR)
    await workload(stage, "web", "used")
    await stage.make("young")
    await policy(stage, "configs", match=kinds("ConfigMap"), after={"created": "1d"})
    await stage.later(10 * MINUTE)
    assert {"used", "young"} <= stage.found()
    assert "old" not in stage.found()


@story(also=ALSO, features={"retention": False})
async def test_without_the_feature_policies_are_not_read(stage: Stage) -> None:
    await defined(stage)
    play: Play = await stage.play()
    await policy(stage, "jobs", match=kinds("Job"), after={"finished": "1m"})
    await job(stage, "job")
    await end(stage, "job")
    await stage.later(10 * MINUTE)
    assert stage.there("job", JOBS)
    read = [one for _, one in play.wire.seen if "retentionpolicies" in one.path]
    assert all(any(key == "labelSelector" for key, _ in one.query) for one in read)
    assert mark_of(stage, "job", resource=JOBS) is None


@story(also=ALSO, features=ON, mode="observe")
async def test_observing_tells_and_writes_nothing(stage: Stage) -> None:
    await defined(stage)
    play = await stage.play(mode="observe")
    await policy(stage, "jobs", match=kinds("Job"), after={"finished": "5m"})
    await job(stage, "job")
    await end(stage, "job")
    await stage.later(10 * MINUTE)
    assert stage.there("job", JOBS)
    assert play.told("would delete", "job")
    assert not status(stage, "jobs")
    assert mark_of(stage, "job", resource=JOBS) is None


@story(also=(*ALSO, EVENTS), features=ON)
async def test_events_go_by_their_age_alone_unwatched_untold_and_unrecorded(stage: Stage) -> None:
    await defined(stage)
    play = await stage.play()
    await policy(stage, "events", cluster=True, match=kinds("Event"), after={"created": "10m"})
    for name in ("old", "again", "kept"):
        body = {
            "metadata": {"name": name, "labels": {"skoupa.dev/keep": "true"} if name == "kept" else {}},
            "involvedObject": {"kind": "ConfigMap", "namespace": SHOP, "name": "any"},
            "reason": "Seen",
        }
        await stage.people.create(EVENTS, body, namespace=SHOP)
    await stage.later(8 * MINUTE)
    await stage.people.merge_patch(EVENTS, "again", {"lastTimestamp": stage.time()}, namespace=SHOP)
    await stage.later(4 * MINUTE)
    left = {one["metadata"]["name"] for one in stage.cluster.objects(EVENTS, namespace=SHOP)}
    assert left & {"old", "again", "kept"} == {"again", "kept"}
    assert play.told("swept")[0]["number"] == "1"
    assert not stage.events("SkoupaDeleted")
    watched = [
        one for _, one in play.wire.seen if one.verb == "watch" and one.path.endswith("/api/v1/events")
    ]
    assert all(any(key == "labelSelector" for key, _ in one.query) for one in watched)
    assert status(stage, "events", cluster=True)["deleted"] == 1


async def event(stage: Stage, name: str) -> None:
    body = {
        "metadata": {"name": name},
        "involvedObject": {"kind": "ConfigMap", "namespace": SHOP, "name": "any"},
        "reason": "Seen",
    }
    await stage.people.create(EVENTS, body, namespace=SHOP)


def events_left(stage: Stage) -> set[str]:
    return {one["metadata"]["name"] for one in stage.cluster.objects(EVENTS, namespace=SHOP)}


@story(also=(*ALSO, EVENTS), features=ON)
async def test_while_a_policy_of_the_namespace_is_not_understood_no_other_takes_its_events(
    stage: Stage,
) -> None:
    await defined(stage)
    await stage.play()
    await policy(stage, "events", cluster=True, match=kinds("Event"), after={"created": "10m"})
    await policy(stage, "broken", match=kinds("Event", names=["*"], name="b"), after={"created": "50m"})
    await event(stage, "old")
    await stage.later(13 * MINUTE)
    assert "old" in events_left(stage)
    await stage.remove("broken", resource=RETENTION_POLICIES)
    await stage.later(2 * MINUTE)
    assert "old" not in events_left(stage)


@story(also=(*ALSO, EVENTS), features=ON)
async def test_events_that_went_are_counted_although_the_next_could_not_be_deleted(stage: Stage) -> None:
    await defined(stage)
    play = await stage.play()
    await policy(stage, "events", match=kinds("Event"), after={"created": "10m"})
    for name in ("a-goes", "b-fails"):
        await event(stage, name)
    fails = asking(method="DELETE", path=f"/api/v1/namespaces/{SHOP}/events/b-fails")
    stage.cluster.faults.answer(500, when=fails, seconds=HOUR)
    await stage.later(12 * MINUTE)
    assert events_left(stage) & {"a-goes", "b-fails"} == {"b-fails"}
    assert sum(int(line["number"]) for line in play.told("swept")) == 1
    assert status(stage, "events")["deleted"] == 1


@story(also=(*ALSO, EVENTS), features=ON)
async def test_events_by_another_moment_are_refused_with_what_to_write(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    await policy(stage, "events", match=kinds("Event"), after={"unused": "10m"})
    await stage.later(MINUTE)
    assert "created: 10m" in ready(stage, "events")["message"]


@story(also=ALSO, features=ON)
async def test_the_page_of_policies_shows_what_each_is_about_and_what_went(stage: Stage) -> None:
    await defined(stage)
    play = await stage.play()
    await policy(stage, "jobs", match=kinds("Job"), after={"succeeded": "1h", "failed": "7d"})
    for name in ("good", "bad"):
        await job(stage, name)
    await end(stage, "good")
    await end(stage, "bad", how="Failed")
    await stage.later(62 * MINUTE)
    known = EngineOpinions(play.engine, clock=stage.clock, observing=False).policies() or []
    (shown,) = [shown_policy(one) for one in known if one.name == "jobs"]
    assert shown.retained is not None
    assert shown.retained.says == "succeeded 1h, failed 7d"
    counts = (shown.retained.matched, shown.retained.waiting, shown.retained.deleted)
    assert counts == (1, 1, 1)
    assert shown.retained.next_time is not None
