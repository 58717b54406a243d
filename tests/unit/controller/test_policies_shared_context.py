"""Shared context of policies: a list that somebody else has just changed is read again before a delete leaves."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kinds.policies.global_context import GLOBAL_CONTEXT_ENTRIES
from skoupa.kube.resources import CONFIG_MAPS, PODS
from tests.unit.controller.braking import many
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, deleting
from tests.unit.controller.stage import HOUR, SHOP, Stage, story

pytestmark = pytest.mark.unit

WIDE = {"share": 100}
NAMELESS = {
    "all": [
        {"key": "{{ target.metadata.name }}", "operator": "AnyNotIn", "value": "{{ pods[].metadata.name }}"}
    ]
}
SHARED = [{"name": "pods", "globalReference": {"name": "pods"}}]
IN_CEL = "!globalContext.Get('pods', '').exists(pod, pod.metadata.name == object.metadata.name)"


async def entry_of_pods(stage: Stage) -> None:
    kind = GLOBAL_CONTEXT_ENTRIES
    spec = {"kubernetesResource": {"version": "v1", "resource": "pods", "namespace": SHOP}}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "pods"}, "spec": spec}
    await stage.people.create(kind, body)
    await pod(stage, "other")


async def pod(stage: Stage, name: str) -> None:
    body: dict[str, Any] = {"metadata": {"name": name}, "spec": {"containers": []}}
    await stage.people.create(PODS, body, namespace=SHOP)


@pytest.mark.parametrize("cel", [False, True], ids=["jmespath", "cel"])
@story(brakes=WIDE)
async def test_what_is_asked_again_is_asked_with_a_list_of_that_moment(stage: Stage, *, cel: bool) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    await entry_of_pods(stage)
    if cel:
        await deleting(stage, IN_CEL)
    else:
        await cleanup(stage, schedule=HOURLY, context=SHARED, conditions=NAMELESS)
    path = CONFIG_MAPS.path(namespace=SHOP)
    stage.cluster.faults.answer(
        500,
        when=lambda one: one.method == "DELETE" and one.path.startswith(path),
        times=None,
        seconds=HOUR + 12,
    )
    await stage.until(HOUR + 4)
    assert len(stage.found()) == 3
    await pod(stage, "web-1")
    await stage.until(HOUR + 60)
    assert stage.found() == {"web-1"}
