"""What a policy has chosen: it goes only as it was looked at, only by the policy as it is, and never against a Hold."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, PODS
from skoupa.kube.transport import Request
from skoupa.sim.faults import asking
from tests.unit.controller.braking import brakes, many, pull, release
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, conditions, matching, read
from tests.unit.controller.stage import HOUR, MINUTE, SECRETS, SHOP, Stage, story

pytestmark = pytest.mark.unit

OLD = {"all": [{"key": "{{ target.metadata.labels.state || '' }}", "operator": "Equals", "value": "old"}]}


def status(found: dict[str, Any]) -> dict[str, int]:
    counts: dict[str, int] = found["status"]["lastRun"]
    return counts


@story()
async def test_conditions_decide_and_what_is_unclear_stays_alone(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3), labels={"state": "old"})
    stage.old(many(3, "web-new"), labels={"state": "new"})
    stage.old(["web-bare"])
    await stage.play()
    unclear = {"all": [{**OLD["all"][0], "key": "{{ target.metadata.labels.state }}"}]}
    await cleanup(stage, schedule=HOURLY, conditions=unclear)
    await stage.until(HOUR + 5)
    assert stage.found() == {*many(3, "web-new"), "web-bare"}
    said = (await conditions(stage))["LastRunSucceeded"]
    assert (said["status"], said["reason"]) == ("False", "NotAllJudged")
    assert "1 object stays, for it could not be judged; shop/web-bare" in said["message"]
    assert status(await read(stage)) == {"matched": 4, "deleted": 3, "held": 0, "failed": 1}


@story()
async def test_an_object_that_changed_is_judged_anew_before_it_goes(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(4), labels={"state": "old"})
    play = await stage.play()
    await pull(stage, "wait", policy="ClusterCleanupPolicy/tidy")
    await cleanup(stage, schedule=HOURLY, conditions=OLD)
    await stage.until(HOUR + 5)
    await stage.label("web-0", state="new")
    await stage.annotate("web-1", "note", "touched")
    await stage.label("web-2", keep="true")
    await release(stage, "wait", by="kim")
    await stage.later(MINUTE)
    assert stage.found() == {"web-0", "web-2"}
    assert play.why_held("web-2").startswith("kept by its label")


@story()
async def test_a_policy_that_changed_or_went_has_chosen_nothing(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old([*many(2, "web-a"), *many(2, "web-b"), *many(2, "web-c")])
    await stage.play()
    await pull(stage, "wait", mechanism="policies")
    for name in "abc":
        match = matching(names=[f"web-{name}*"], namespaces=[SHOP])
        await cleanup(stage, name, schedule=HOURLY, match=match)
    await stage.until(HOUR + 5)
    found = await stage.people.get(CLUSTER_CLEANUP_POLICIES, "a", view=METADATA)
    await stage.people.delete(CLUSTER_CLEANUP_POLICIES, "a", uid=found.metadata.uid, propagation="Background")
    suspended = {"metadata": {"annotations": {names.SUSPEND_ANNOTATION: "true"}}}
    await stage.people.merge_patch(CLUSTER_CLEANUP_POLICIES, "b", suspended)
    await stage.settle()
    await release(stage, "wait", by="kim")
    await stage.later(MINUTE)
    assert stage.found() == {*many(2, "web-a"), *many(2, "web-b")}


@story()
async def test_a_time_of_its_own_that_is_still_to_come_keeps_an_object_from_policies(stage: Stage) -> None:
    await bring_policies(stage)
    play = await stage.play()
    await stage.make("web-late", "2h")
    await stage.make("web-none")
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + 10)
    assert stage.found() == {"web-late"}
    assert play.why_held("web-late").startswith(
        "its own time is still to come: cleanup.kyverno.io/ttl=2h lets it stay until"
    )
    assert status(await read(stage))["held"] == 1
    await stage.until(2 * HOUR + MINUTE)
    assert not stage.found()


@story(policies={"respectTtl": False})
async def test_policies_may_be_told_not_to_heed_times_on_objects(stage: Stage) -> None:
    await bring_policies(stage)
    await stage.play()
    await stage.make("web-late", "2h")
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + 10)
    assert not stage.found()


@story()
async def test_a_policy_may_allow_itself_less(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    await stage.play()
    await cleanup(stage, schedule=HOURLY, annotations={"max-deletions": "4"})
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 5
    (name,) = await brakes(stage)
    assert status(await read(stage)) == {"matched": 5, "deleted": 0, "held": 5, "failed": 0}
    said = (await conditions(stage))["LastRunSucceeded"]
    assert said["reason"] == "Held"
    assert f"5 held: brake {name}: " in said["message"]
    (event,) = stage.events("SkoupaPolicyRan", "tidy")
    assert event["type"] == "Warning"
    assert f"matched 5, deleted 0, held 5, failed 0; 5 held: brake {name}: " in event["note"]
    await release(stage, name, by="kim")
    await stage.later(2 * MINUTE)
    assert not stage.found()
    assert status(await read(stage)) == {"matched": 5, "deleted": 5, "held": 0, "failed": 0}


@story()
async def test_a_policy_that_observes_reports_for_that_long_and_then_acts(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY, annotations={"observe": "90m"})
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 5
    assert len(play.told("would delete")) == 5
    ready = (await conditions(stage))["Ready"]
    assert (ready["status"], ready["reason"]) == ("True", "Observing")
    await stage.until(2 * HOUR - 1)
    assert len(stage.found()) == 5
    await stage.until(2 * HOUR + 5)
    assert not stage.found()


@story(policies={"observeNew": "30m"})
async def test_new_and_changed_policies_may_only_report_for_a_while(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    await stage.play()
    await stage.until(HOUR - 10 * MINUTE)
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 5
    await stage.until(2 * HOUR + 5)
    assert not stage.found()


@story()
async def test_an_observer_tells_and_writes_nothing(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    play = await stage.play(mode="observe")
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 5
    assert len(play.told("would delete")) == 5
    written = {request.method for _, request in play.wire.seen if "reviews" not in request.path}
    assert written == {"GET"}
    assert "status" not in await read(stage)


@story(also=[SECRETS])
async def test_a_kind_that_can_not_be_read_costs_its_own_objects_alone(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    stage.old(many(3), resource=SECRETS)
    await stage.play()
    match = {"any": [{"resources": {"kinds": ["ConfigMap", "Secret"], "names": ["web-*"]}}]}
    await cleanup(stage, schedule=HOURLY, match=match)
    await stage.until(HOUR - 5)
    when = asking(kind="secrets", path="/api/v1/secrets")
    stage.cluster.faults.answer(500, when=lambda request: _lists(request) and when(request), times=None)
    await stage.until(HOUR + MINUTE)
    assert not stage.found()
    assert len(stage.found(SECRETS)) == 3
    said = (await conditions(stage))["LastRunSucceeded"]
    assert said["reason"] == "NotAllRead"
    assert "secrets: " in said["message"]


def _lists(request: Request) -> bool:
    return request.verb == "list"


@story()
async def test_policies_that_are_due_together_share_their_lists(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(20))
    play = await stage.play()
    for number in range(20):
        match = matching(names=[f"web-{number}", "web-x*"], namespaces=[SHOP])
        await cleanup(stage, f"tidy-{number}", schedule=HOURLY, match=match)
    await stage.until(HOUR + MINUTE)
    assert not stage.found()
    lists = [
        request
        for _, request in play.wire.seen
        if request.verb == "list"
        and request.path.endswith(f"namespaces/{SHOP}/configmaps")
        and not any(key == "watch" for key, _ in request.query)
        and ("labelSelector", names.TTL_LABEL) not in request.query
        and ("labelSelector", names.KEEP_LABEL) not in request.query
    ]
    assert len(lists) == 1


@story()
async def test_a_namespaced_policy_deletes_in_its_own_namespace_alone(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    stage.old(many(3), namespace="default")
    await stage.play()
    await cleanup(stage, schedule=HOURLY, namespace=SHOP)
    await stage.until(HOUR + 5)
    assert not stage.found()
    assert stage.found(namespace="default") == set(many(3))
    found = await read(stage, kind=CLEANUP_POLICIES, namespace=SHOP)
    assert status(found)["deleted"] == 3


@story()
async def test_a_policy_says_what_becomes_of_dependents(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(1))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY, deletionPropagationPolicy="Foreground")
    await stage.until(HOUR + 5)
    ((_, request), *_) = play.sent("DELETE", path="/configmaps/web-0")
    assert request.body is not None
    assert b'"propagationPolicy":"Foreground"' in request.body


@story()
async def test_what_finalizers_keep_is_followed_until_it_is_gone(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(["web-0"], finalizers=["example.com/slow"])
    play = await stage.play(stuckAfter="10m")
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + 20 * MINUTE)
    assert stage.there("web-0")
    assert len(play.told("stuck", "web-0")) >= 1
    assert status(await read(stage))["deleted"] == 1
    await stage.people.merge_patch(CONFIG_MAPS, "web-0", {"metadata": {"finalizers": None}}, namespace=SHOP)
    await stage.later(5 * MINUTE)
    assert not stage.found()
    assert play.engine.policies is not None
    assert len(play.engine.knowledge.store) == 0 or not [
        row for row in play.engine.knowledge.store if row.name == "web-0"
    ]


@story()
async def test_what_goes_leaves_nothing_behind_in_memory(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(10))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + MINUTE)
    assert not [row for row in play.engine.knowledge.store if row.name.startswith("web-")]


@story()
async def test_what_others_delete_first_is_no_failure(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await pull(stage, "wait", mechanism="policies")
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + 5)
    found = await stage.people.get(CONFIG_MAPS, "web-0", namespace=SHOP, view=METADATA)
    await stage.people.delete(
        CONFIG_MAPS, "web-0", namespace=SHOP, uid=found.metadata.uid, propagation="Background"
    )
    await release(stage, "wait", by="kim")
    await stage.later(2 * MINUTE)
    assert not stage.found()
    assert status(await read(stage)) == {"matched": 3, "deleted": 2, "held": 0, "failed": 0}
    assert len(play.told("gone already", "web-0")) == 1


@story()
async def test_kyvernos_own_filters_hold(stage: Stage) -> None:
    await bring_policies(stage)
    await stage.namespace("kyverno")
    body = {"metadata": {"name": "kyverno"}, "data": {"resourceFilters": "[ConfigMap,shop,web-0]"}}
    await stage.people.create(CONFIG_MAPS, body, namespace="kyverno")
    own = {"metadata": {"name": "kyverno"}, "data": {"resourceFilters": "[*,*,*]"}}
    await stage.people.create(CONFIG_MAPS, own, namespace="default")
    stage.old(many(3))
    await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + 5)
    assert stage.found() == {"web-0"}
    assert status(await read(stage))["held"] == 1


@story()
async def test_failed_deletes_are_tried_again_by_themselves(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR - 5)
    refused = asking(method="DELETE", kind="configmaps")
    stage.cluster.faults.answer(500, when=refused, times=None, seconds=3 * MINUTE)
    await stage.until(HOUR + MINUTE)
    assert status(await read(stage))["failed"] == 3
    said = (await conditions(stage))["LastRunSucceeded"]
    assert (said["status"], said["reason"]) == ("False", "NotAllDeleted")
    await stage.until(HOUR + 5 * MINUTE)
    assert not stage.found()
    assert status(await read(stage)) == {"matched": 3, "deleted": 3, "held": 0, "failed": 0}
    assert (await conditions(stage))["LastRunSucceeded"]["status"] == "True"


@story()
async def test_a_kind_that_does_not_exist_is_told(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3), resource=PODS)
    await stage.play()
    match = {"any": [{"resources": {"kinds": ["Pood"]}}]}
    await cleanup(stage, schedule=HOURLY, match=match)
    await stage.until(HOUR + 5)
    said = (await conditions(stage))["LastRunSucceeded"]
    assert said["reason"] == "KindsMissing"
    assert "Pood" in said["message"]


@story(policies={"requireServiceAccount": True})
async def test_policies_of_a_namespace_may_have_to_name_an_account(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    stage.old(many(3), namespace="default")
    await stage.play()
    await cleanup(stage, schedule=HOURLY, namespace=SHOP)
    await cleanup(stage, schedule=HOURLY, match=matching(names=["web-*"], namespaces=["default"]))
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 3
    assert not stage.found(namespace="default") - {"kube-root-ca.crt"}
    told = (await read(stage, kind=CLEANUP_POLICIES, namespace=SHOP))["status"]["conditions"]
    assert "have to name an account here" in told[0]["message"]


@story(rate={"deletionsPerSecond": 2}, brakes={"share": 100})
async def test_what_goes_by_a_label_does_not_wait_for_all_that_a_policy_chose(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(100))
    play = await stage.play()
    await stage.until(HOUR - 10)
    await stage.make("labelled", "30s")
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + 25)
    assert not stage.there("labelled")
    assert len(stage.found()) > 40
    await stage.until(HOUR + 2 * MINUTE)
    assert not stage.found()
    (line,) = play.told("deleted", "labelled")
    assert float(line["lag"]) < 3


@story()
async def test_who_may_not_follow_policies_says_so(stage: Stage) -> None:
    await bring_policies(stage)
    stage.cluster.deny(
        user="skoupa", verbs=["list", "watch"], resources=["clustercleanuppolicies.kyverno.io"]
    )
    stage.old(many(3))
    play = await stage.play(user="skoupa")
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 3
    assert any("clustercleanuppolicies.kyverno.io" in said for said in play.engine.outlook.degraded)
