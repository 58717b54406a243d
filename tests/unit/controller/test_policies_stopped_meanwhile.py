"""What people do to stop a policy while it looks: an exception, a label taken off a Namespace. It counts until the very last."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import DELETING_POLICIES
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.sim.faults import asking
from tests.unit.controller.braking import many, pull, release
from tests.unit.controller.policies import (
    HOURLY,
    bring_policies,
    cleanup,
    conditions,
    deleting,
    matching,
    read,
)
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Stage, story

pytestmark = pytest.mark.unit

EXCEPTIONS = Resource(
    group="policies.kyverno.io",
    version="v1beta1",
    plural="policyexceptions",
    kind="PolicyException",
    namespaced=True,
)
DEV = {"matchLabels": {"env": "dev"}}
WEB = "object.metadata.name.startsWith('web-')"
REVIEWS = asking(path="/apis/authorization.k8s.io/v1/subjectaccessreviews")


def slow_lists(stage: Stage, seconds: float = 8) -> None:
    """Kyverno's configuration is read first, which takes as long."""
    for path in ("/api/v1/configmaps", f"/api/v1/namespaces/{SHOP}/configmaps"):
        stage.cluster.faults.delay(seconds, when=asking(verb="list", path=path), times=None)


async def except_from(stage: Stage, policy: str, *, expression: str = "") -> None:
    body: dict[str, Any] = {
        "apiVersion": EXCEPTIONS.api_version,
        "kind": EXCEPTIONS.kind,
        "metadata": {"name": "spare"},
        "spec": {"policyRefs": [{"name": policy, "kind": "DeletingPolicy"}]},
    }
    if expression:
        body["spec"]["matchConditions"] = [{"name": "these", "expression": expression}]
    await stage.people.create(EXCEPTIONS, body, namespace=SHOP)
    await stage.settle()


@pytest.mark.parametrize("after", [3, 12], ids=["before its lists are read", "while they are"])
@story(brakes={"share": 100})
async def test_an_exception_that_is_made_while_a_run_looks_counts(stage: Stage, after: float) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await deleting(stage, WEB)
    slow_lists(stage)
    await stage.until(HOUR + after)
    assert len(stage.found()) == 3
    await except_from(stage, "cel", expression="object.metadata.name != 'web-0'")
    await stage.until(HOUR + 5 * MINUTE)
    assert stage.found() == {"web-1", "web-2"}
    assert {line["name"] for line in play.told("stays")} == {"web-1", "web-2"}
    said = (await conditions(stage, "cel", DELETING_POLICIES))["LastRunSucceeded"]["message"]
    assert "deleted 1" in said
    assert "asked again: 2 do not match any more" in said


@story(brakes={"share": 100})
async def test_an_exception_for_another_policy_does_not_have_a_run_asked_again(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await deleting(stage, WEB)
    slow_lists(stage)
    await stage.until(HOUR + 3)
    await except_from(stage, "another")
    await stage.until(HOUR + 20)
    assert not stage.found()
    assert play.told("stays") == []


@pytest.mark.parametrize("after", [4, 12], ids=["before", "while"])
@pytest.mark.parametrize("number", [3, 60], ids=["one by one", "all lists"])
@story(brakes={"share": 100})
async def test_an_exception_that_is_made_while_a_policy_is_asked_again_counts(
    stage: Stage, number: int, after: float
) -> None:
    await bring_policies(stage)
    stage.old(many(number))
    await stage.play()
    await pull(stage, "wait", policy="DeletingPolicy/cel")
    await deleting(stage, WEB)
    await stage.until(HOUR + MINUTE)
    slow_lists(stage)
    await release(stage, "wait", by="kim")
    await stage.later(after)
    assert len(stage.found()) == number
    await except_from(stage, "cel")
    await stage.later(20 * MINUTE)
    assert len(stage.found()) == number


@story(brakes={"share": 100})
async def test_a_label_that_is_taken_off_a_namespace_while_rights_are_asked_for_counts(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    await stage.label(SHOP, resource=NAMESPACES, env="dev")
    match = matching(names=["web-*"], namespaceSelector=DEV)
    account = {"service-account": "default"}
    await cleanup(stage, schedule=HOURLY, namespace=SHOP, match=match, annotations=account)
    stage.cluster.faults.delay(6, when=REVIEWS, times=None)
    await stage.until(HOUR + 3)
    assert len(stage.found()) == 3
    await stage.label(SHOP, resource=NAMESPACES, env=None)
    await stage.until(HOUR + 5 * MINUTE)
    assert len(stage.found()) == 3
    status = (await read(stage, kind=CLEANUP_POLICIES, namespace=SHOP))["status"]
    assert status["lastRun"]["matched"] == 0


@pytest.mark.parametrize("number", [3, 60], ids=["one by one", "all lists"])
@story(brakes={"share": 100})
async def test_a_label_that_is_taken_off_while_a_policy_is_asked_again_counts(
    stage: Stage, number: int
) -> None:
    await bring_policies(stage)
    stage.old(many(number))
    await stage.play()
    await stage.label(SHOP, resource=NAMESPACES, env="dev")
    await pull(stage, "wait", policy="ClusterCleanupPolicy/tidy")
    await cleanup(stage, schedule=HOURLY, match=matching(names=["web-*"], namespaceSelector=DEV))
    await stage.until(HOUR + MINUTE)
    slow_lists(stage)
    await release(stage, "wait", by="kim")
    await stage.later(12)
    assert len(stage.found()) == number
    await stage.label(SHOP, resource=NAMESPACES, env=None)
    await stage.later(20 * MINUTE)
    assert len(stage.found()) == number


@story(brakes={"share": 100})
async def test_a_label_that_an_expression_looks_at_and_that_is_taken_off_while_a_run_looks_counts(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    stage.old(many(1, "other"))
    await stage.play()
    await stage.label(SHOP, resource=NAMESPACES, env="dev")
    await deleting(stage, "namespaceObject.metadata.labels[?'env'].orValue('') == 'dev'", resource="*")
    # Lists of one run are read beside each other: this one takes longer than the one that is judged by the label.
    stage.cluster.faults.delay(8, when=asking(verb="list", kind="pods"), times=None)
    await stage.until(HOUR + 3)
    assert len(stage.found()) == 4
    await stage.label(SHOP, resource=NAMESPACES, env=None)
    await stage.until(HOUR + 5 * MINUTE)
    assert len(stage.found()) == 4
