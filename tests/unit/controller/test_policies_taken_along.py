"""Policies are Skoupa's own and do not go by a label; those of a namespace go along with it."""

from __future__ import annotations

import pytest

from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES
from skoupa.kube.resources import NAMESPACES
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, deleting
from tests.unit.controller.stage import MINUTE, SHOP, Stage, story

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("marked", ["", "keep", "installed"])
@story()
async def test_a_policy_of_a_namespace_goes_with_it_unless_it_is_kept_or_installed(
    stage: Stage, *, marked: str
) -> None:
    await bring_policies(stage)
    play = await stage.play()
    await stage.namespace("lab", labels={"cleanup.kyverno.io/ttl": "10m"})
    await cleanup(stage, "tidy", namespace="lab", schedule=HOURLY)
    await deleting(stage, "true", name="cel", namespace="lab", schedule=HOURLY)
    if marked == "keep":
        await stage.label("tidy", resource=CLEANUP_POLICIES, namespace="lab", keep="true")
    elif marked == "installed":
        marks = {"app.kubernetes.io/part-of": "skoupa"}
        await stage.label("tidy", resource=CLEANUP_POLICIES, namespace="lab", **marks)
    await stage.until(16 * MINUTE)
    assert stage.there("lab", NAMESPACES) is bool(marked)
    if marked:
        assert "CleanupPolicy lab/tidy" in play.why_held("lab")


@story()
async def test_a_policy_of_a_namespace_does_not_go_by_a_label_on_itself(stage: Stage) -> None:
    await bring_policies(stage)
    await stage.play()
    await cleanup(stage, "tidy", namespace=SHOP, schedule=HOURLY)
    await stage.label("tidy", resource=CLEANUP_POLICIES, ttl="1m")
    await stage.until(30 * MINUTE)
    assert stage.there("tidy", CLEANUP_POLICIES)
