"""A KindProfile teaches a running controller a kind: when it has finished, what it uses; a bad one holds, and says why."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from skoupa import names
from skoupa.controller.retaining import taught_ends
from skoupa.kinds.definition import document
from skoupa.kinds.retention.policy import RETENTION_POLICIES, RETENTION_POLICY
from skoupa.kinds.retention.profile import KIND_PROFILE, KIND_PROFILES
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from skoupa.sim.faults import asking
from skoupa.usage.finishing import Doubt
from tests.unit.controller.retaining.scene import JOBS, KINDS, ON, after, end, job, mark_of, said
from tests.unit.controller.stage import MINUTE, SECRETS, SHOP, Stage, definition, story

pytestmark = pytest.mark.unit

TRAININGS = Resource(group="example.com", version="v1", plural="trainings", kind="Training", namespaced=True)
ENDS: dict[str, Any] = {
    "succeeded": "has(object.status) && object.status.phase == 'Done'",
    "failed": "has(object.status) && object.status.phase == 'Broken'",
    "finishedAt": "status.endTime",
}
USES: dict[str, Any] = {"uses": [{"path": "spec.credentials", "kind": "Secret"}]}


async def bring_kinds(stage: Stage) -> None:
    for one in (document(KIND_PROFILE), definition(TRAININGS)):
        await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, one)
    await stage.later(5)


async def create(stage: Stage, resource: Resource, metadata: dict[str, Any], spec: dict[str, Any]) -> None:
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    place = SHOP if resource.namespaced else ""
    await stage.people.create(resource, {**head, "metadata": metadata, "spec": spec}, namespace=place)
    await stage.later(5)


async def teach(stage: Stage, name: str = "training", **spec: Any) -> None:
    await create(stage, KIND_PROFILES, {"name": name}, {"kind": "example.com/Training", **spec})


async def ready(stage: Stage, name: str = "training") -> dict[str, Any]:
    status = (await stage.people.get(KIND_PROFILES, name, view=WHOLE))["status"]
    (condition,) = status["conditions"]
    return {**condition, "replaces": status.get("replaces")}


async def training(stage: Stage, name: str = "night", label: str = "succeeded-10m.failed-1h") -> None:
    spec = {"credentials": "token", "other": {"where": "s3"}}
    await create(stage, TRAININGS, {"name": name, "labels": after(label)}, spec)


async def comes_to(stage: Stage, phase: str, name: str = "night", *, at: str = "") -> None:
    status = {"phase": phase, "endTime": at or stage.time()}
    await stage.people.merge_patch(TRAININGS, name, {"status": status}, namespace=SHOP)
    await stage.later(5)


@story(also=KINDS, features=ON)
async def test_one_of_a_taught_kind_goes_a_while_after_it_finished_and_takes_its_time_as_it_ended(
    stage: Stage,
) -> None:
    await bring_kinds(stage)
    play = await stage.play()
    await teach(stage, **ENDS)
    for name in ("night", "day"):
        await training(stage, name)
    await stage.later(30 * MINUTE)
    assert "it has not finished" in said(play, "night")
    ended = stage.time()
    await comes_to(stage, "Done", at=ended)
    await comes_to(stage, "Broken", "day")
    assert mark_of(stage, "night", resource=TRAININGS) == ended
    await stage.later(9 * MINUTE)
    assert stage.found(TRAININGS) == {"night", "day"}
    await stage.later(2 * MINUTE)
    assert stage.found(TRAININGS) == {"day"}
    await stage.later(50 * MINUTE)
    assert not stage.found(TRAININGS)


@story(also=KINDS, features=ON)
async def test_a_profile_counts_for_what_was_there_before_it(stage: Stage) -> None:
    await bring_kinds(stage)
    await training(stage)
    await comes_to(stage, "Done")
    play = await stage.play()
    await stage.later(5)
    assert "it has not finished" in said(play, "night")
    await teach(stage, **ENDS)
    await stage.later(9 * MINUTE)
    assert stage.there("night", TRAININGS)
    await stage.later(2 * MINUTE)
    assert not stage.there("night", TRAININGS)


@story(also=KINDS, features=ON)
async def test_what_a_taught_kind_uses_stays_and_goes_after_it(stage: Stage) -> None:
    await bring_kinds(stage)
    # A field that nothing but the profile says the meaning of.
    play = await stage.play()
    await teach(stage, **ENDS, **USES)
    await training(stage)
    await stage.make("token", labels=after("unused-20m"), resource=SECRETS)
    await stage.later(60 * MINUTE)
    assert stage.there("token", SECRETS)
    assert "Training shop/night" in said(play, "token")
    assert "spec.credentials" in said(play, "token")
    await comes_to(stage, "Done")
    await stage.later(12 * MINUTE)
    assert not stage.there("night", TRAININGS)
    assert stage.there("token", SECRETS)
    await stage.later(20 * MINUTE)
    assert not stage.there("token", SECRETS)


@story(also=KINDS, features=ON)
async def test_a_profile_that_comes_later_keeps_what_it_says_is_used(stage: Stage) -> None:
    # In a namespace that nothing but the profile speaks of.
    lab = "lab"
    await stage.namespace(lab)
    await bring_kinds(stage)
    await create(stage, TRAININGS, {"name": "night"}, {"output": {"of": {"it": "results-v1.2"}}})
    play = await stage.play()
    await stage.make("night", labels=after("unused-20m"), resource=SECRETS, namespace=lab)
    await stage.later(10 * MINUTE)

    def mark() -> str | None:
        (secret,) = stage.cluster.objects(SECRETS, namespace=lab)
        found: str | None = (secret["metadata"].get("annotations") or {}).get(names.UNNEEDED_SINCE_ANNOTATION)
        return found

    assert mark() is not None
    await teach(stage, produces=[{"path": "metadata.name", "kind": "Secret", "namespace": lab}])
    assert mark() is None
    await stage.later(60 * MINUTE)
    assert "Training shop/night" in said(play, "night")
    assert stage.there("night", SECRETS, lab)
    found = next(one for one in stage.cluster.objects(KIND_PROFILES))
    await stage.people.delete(
        KIND_PROFILES, "training", uid=found["metadata"]["uid"], propagation="Background"
    )
    await stage.later(22 * MINUTE)
    assert not stage.there("night", SECRETS, lab)


@story(also=KINDS, features=ON)
async def test_an_expression_that_fails_on_an_object_holds_it_and_is_named(stage: Stage) -> None:
    await bring_kinds(stage)
    play = await stage.play()
    await teach(stage, finished="object.status.phase == 'Done'")
    await training(stage, label="finished-10m")
    await stage.later(30 * MINUTE)
    assert stage.there("night", TRAININGS)
    told = said(play, "night")
    assert "KindProfile/training" in told
    assert "object.status.phase == 'Done'" in told
    assert "which is not there" in told
    await comes_to(stage, "Done")
    await stage.later(12 * MINUTE)
    assert not stage.there("night", TRAININGS)


@story(also=KINDS, features=ON)
async def test_one_that_says_two_things_at_once_stays(stage: Stage) -> None:
    await bring_kinds(stage)
    play = await stage.play()
    await teach(stage, succeeded="has(object.status)", failed="has(object.status)")
    await training(stage)
    await comes_to(stage, "Done")
    await stage.later(90 * MINUTE)
    assert stage.there("night", TRAININGS)
    assert "both that it succeeded and that it failed" in said(play, "night")


@story(also=KINDS, features=ON)
async def test_an_end_that_can_not_have_been_then_counts_from_when_it_was_first_seen(stage: Stage) -> None:
    await bring_kinds(stage)
    await stage.play()
    await teach(stage, **ENDS)
    times = {"soon": "soon", "zero": "0001-01-01T00:00:00Z", "early": "2001-01-01T00:00:00Z"}
    for name, at in {**times, "late": "2099-01-01T00:00:00Z"}.items():
        await training(stage, name)
        await comes_to(stage, "Done", name, at=at)
    await stage.later(9 * MINUTE)
    assert stage.found(TRAININGS) == {"soon", "zero", "early", "late"}
    await stage.later(2 * MINUTE)
    assert not stage.found(TRAININGS)


@story(also=KINDS, features=ON)
async def test_a_profile_says_whether_it_is_understood_and_one_that_is_mended_counts(stage: Stage) -> None:
    await bring_kinds(stage)
    play = await stage.play()
    await training(stage)
    await comes_to(stage, "Done")
    await teach(stage, succeeded="object.status.phase = 'Done'")
    condition = await ready(stage)
    assert (condition["status"], condition["reason"]) == ("False", "NotUnderstood")
    assert "spec.succeeded" in condition["message"]
    await stage.later(20 * MINUTE)
    assert stage.there("night", TRAININGS)
    assert "KindProfile/training" in said(play, "night")
    await stage.people.merge_patch(KIND_PROFILES, "training", {"spec": ENDS})
    await stage.later(5)
    condition = await ready(stage)
    assert (condition["status"], condition["replaces"]) == ("True", "Nothing")
    await stage.later(12 * MINUTE)
    assert not stage.there("night", TRAININGS)


@story(also=KINDS, features=ON)
async def test_what_a_profile_that_is_not_understood_may_mean_stays(stage: Stage) -> None:
    await bring_kinds(stage)
    play = await stage.play()
    await stage.make("token", labels=after("unused-10m"), resource=SECRETS)
    # A version is no part of a kind, which a schema can't say.
    await teach(stage, uses=[{"path": "spec.token", "kind": "v1/Secret"}])
    await stage.later(60 * MINUTE)
    assert stage.there("token", SECRETS)
    assert "trainings.example.com" in said(play, "token")
    assert (await ready(stage))["status"] == "False"


@story(also=KINDS, features=ON)
async def test_two_profiles_of_one_kind_are_both_told_and_hold(stage: Stage) -> None:
    await bring_kinds(stage)
    play = await stage.play()
    await training(stage)
    await comes_to(stage, "Done")
    await teach(stage, "one", **ENDS)
    await teach(stage, "two", finished="true")
    assert "KindProfile/two" in (await ready(stage, "one"))["message"]
    assert "KindProfile/one" in (await ready(stage, "two"))["message"]
    await stage.later(60 * MINUTE)
    assert stage.there("night", TRAININGS)
    assert "are both about it" in said(play, "night")


@story(also=KINDS, features=ON)
async def test_a_profile_in_the_place_of_a_shipped_one_says_so_and_counts(stage: Stage) -> None:
    await bring_kinds(stage)
    await stage.play()
    await teach(stage, "jobs", kind="batch/Job", finished="has(object.metadata.annotations)")
    condition = await ready(stage, "jobs")
    assert (condition["status"], condition["replaces"]) == ("True", "Shipped")
    assert "when it has finished" in condition["message"]
    await job(stage, "ended", "finished-10m")
    await end(stage, "ended")
    await stage.later(20 * MINUTE)
    assert stage.there("ended", JOBS)
    await stage.people.merge_patch(
        JOBS, "ended", {"metadata": {"annotations": {"done": "yes"}}}, namespace=SHOP
    )
    await stage.later(12 * MINUTE)
    assert not stage.there("ended", JOBS)


@story(also=KINDS, features=ON)
async def test_what_is_kept_holds_what_would_take_it_along_by_its_own_finalizer(stage: Stage) -> None:
    await bring_kinds(stage)
    play = await stage.play()
    await teach(stage, takes=[{"path": "spec.credentials", "kind": "Secret"}])
    await stage.make("token", keep="true", resource=SECRETS)
    await create(
        stage, TRAININGS, {"name": "night", "labels": {names.TTL_LABEL: "10m"}}, {"credentials": "token"}
    )
    await stage.later(30 * MINUTE)
    assert stage.there("night", TRAININGS)
    assert "Secret shop/token" in play.why_held("night")
    await stage.label("token", keep=None, resource=SECRETS)
    await stage.later(5 * MINUTE)
    assert not stage.there("night", TRAININGS)


@story(also=KINDS, features=ON)
async def test_while_profiles_can_not_be_read_nothing_goes_by_what_they_may_say(stage: Stage) -> None:
    await bring_kinds(stage)
    await teach(stage, **ENDS, **USES)
    await training(stage)
    await comes_to(stage, "Done")
    await stage.make("token", labels=after("unused-10m"), resource=SECRETS)
    await stage.make("lone", labels=after("unused-10m"), resource=SECRETS)
    stage.cluster.deny(user="skoupa", verbs=("list", "watch"), resources=("kindprofiles.skoupa.dev",))
    play = await stage.play(user="skoupa")
    await stage.later(60 * MINUTE)
    assert stage.found(SECRETS) == {"token", "lone"}
    assert stage.there("night", TRAININGS)
    assert "kindprofiles.skoupa.dev" in said(play, "lone")
    assert "kindprofiles.skoupa.dev" in said(play, "night")
    stage.cluster.plane.access.clear()
    await stage.later(15 * MINUTE)
    assert not stage.there("lone", SECRETS)
    assert not stage.there("night", TRAININGS)


@story(also=(*KINDS, SECRETS), features=ON, usage={"ignoreKinds": ["kindprofiles.skoupa.dev"]})
async def test_where_the_settings_waive_profiles_that_may_not_be_read_nothing_waits_for_them(
    stage: Stage,
) -> None:
    await bring_kinds(stage)
    stage.cluster.deny(user="skoupa", verbs=("list", "watch"), resources=("kindprofiles.skoupa.dev",))
    play = await stage.play(user="skoupa")
    await job(stage, "nightly", "finished-10m")
    await end(stage, "nightly")
    await stage.make("lone", labels=after("unused-10m"))
    await stage.later(12 * MINUTE)
    assert not stage.there("nightly", JOBS)
    assert not stage.there("lone")
    assert "what is labelled or retained stays" not in str(play.engine.outlook.degraded)


@story(also=KINDS, features=ON)
async def test_where_profiles_may_not_be_read_it_is_told_what_to_do(stage: Stage) -> None:
    await bring_kinds(stage)
    stage.cluster.deny(user="skoupa", verbs=("list", "watch"), resources=("kindprofiles.skoupa.dev",))
    play = await stage.play(user="skoupa")
    await job(stage, "nightly", "finished-10m")
    await end(stage, "nightly")
    await stage.later(12 * MINUTE)
    what = "grant list and watch on kindprofiles.skoupa.dev, or name it in usage.ignoreKinds"
    assert what in said(play, "nightly")
    assert what in str(play.engine.outlook.degraded)


@story(also=KINDS, features=ON)
async def test_many_that_change_together_are_read_with_a_few_lists_and_go(stage: Stage) -> None:
    await bring_kinds(stage)
    play = await stage.play()
    await teach(stage, **ENDS)
    stage.cluster.load(
        {
            "apiVersion": TRAININGS.api_version,
            "kind": TRAININGS.kind,
            "metadata": {"name": f"t{number}", "namespace": SHOP, "labels": after("succeeded-10m")},
            "status": {"phase": "Done", "endTime": stage.time()},
        }
        for number in range(60)
    )
    await stage.later(5 * MINUTE)
    sent = [request for _, request in play.sent("GET") if request.path.endswith("/trainings")]
    assert len(sent) < 40
    await stage.later(10 * MINUTE)
    assert not stage.found(TRAININGS)


@story(also=KINDS, features=ON)
async def test_one_that_runs_again_is_at_work_again(stage: Stage) -> None:
    await bring_kinds(stage)
    play = await stage.play()
    await teach(stage, **ENDS)
    await training(stage)
    await comes_to(stage, "Done")
    await stage.later(5 * MINUTE)
    await comes_to(stage, "Running")
    await stage.later(20 * MINUTE)
    assert "it has not finished" in said(play, "night")
    assert mark_of(stage, "night", resource=TRAININGS) is None


@story(also=KINDS, features=ON)
async def test_a_server_that_does_not_answer_for_a_while_only_delays_what_is_known(stage: Stage) -> None:
    await bring_kinds(stage)
    await stage.play()
    await teach(stage, **ENDS)
    await training(stage)
    finds = asking(method="GET", path="/apis/example.com/v1/namespaces/shop/trainings")
    stage.cluster.faults.answer(500, when=finds, seconds=2 * MINUTE)
    await comes_to(stage, "Done")
    await stage.later(20 * MINUTE)
    assert not stage.there("night", TRAININGS)


@story(also=KINDS, features=ON)
async def test_what_could_not_be_told_is_asked_again_however_often_others_change(stage: Stage) -> None:
    await bring_kinds(stage)
    await stage.play()
    await teach(stage, **ENDS)
    await training(stage)
    await training(stage, "busy")

    async def died(*asked: Any, **_: Any) -> list[Doubt]:
        return [Doubt("its child process ended") for _ in asked[3]]

    with patch.object(taught_ends, "evaluated", died):
        await comes_to(stage, "Done")
    for _ in range(25):
        await comes_to(stage, "Running", "busy", at=stage.time())
        await stage.later(MINUTE)
    assert not stage.there("night", TRAININGS)


@story(also=KINDS, features=ON)
async def test_a_retention_policy_knows_when_one_of_a_taught_kind_has_finished(stage: Stage) -> None:
    await bring_kinds(stage)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, document(RETENTION_POLICY))
    await stage.later(5)
    await stage.play()
    # It names no kinds: what has rules is meant.
    await create(stage, RETENTION_POLICIES, {"name": "ended"}, {"after": {"succeeded": "10m"}})
    await create(stage, TRAININGS, {"name": "night"}, {})
    await comes_to(stage, "Done")
    await stage.later(20 * MINUTE)
    assert stage.there("night", TRAININGS)
    await teach(stage, **ENDS)
    await stage.later(12 * MINUTE)
    assert not stage.there("night", TRAININGS)
