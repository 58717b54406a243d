"""An installation for some namespaces, and PolicyExceptions in others: beside a Kyverno they count, or hold while they are not known."""

from __future__ import annotations

import pytest

from skoupa.sim.faults import asking
from tests.unit.controller.braking import many
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, deleting
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Stage, story
from tests.unit.controller.test_policies_kyverno_filters import CLUSTER_POLICIES
from tests.unit.controller.test_policies_stopped_meanwhile import EXCEPTIONS

pytestmark = pytest.mark.unit

WEB = "object.metadata.name.startsWith('web-')"
EVERYWHERE = asking(path="/apis/policies.kyverno.io/v1beta1/policyexceptions")


async def spare(stage: Stage, name: str, *, place: str) -> None:
    body = {
        "apiVersion": EXCEPTIONS.api_version,
        "kind": EXCEPTIONS.kind,
        "metadata": {"name": name},
        "spec": {
            "policyRefs": [{"name": "cel", "kind": "NamespacedDeletingPolicy"}],
            "matchConditions": [{"name": "this", "expression": f"object.metadata.name == '{name}'"}],
        },
    }
    await stage.people.create(EXCEPTIONS, body, namespace=place)


async def begun(stage: Stage, *, beside_kyverno: bool) -> None:
    await bring_policies(stage)
    await stage.namespace("guards")
    if beside_kyverno:
        stage.cluster.install(CLUSTER_POLICIES)
    await spare(stage, "web-0", place="guards")
    await spare(stage, "web-1", place=SHOP)
    stage.old(many(3))


@story(brakes={"share": 100}, namespaces=[SHOP])
async def test_beside_a_kyverno_exceptions_in_all_namespaces_count(stage: Stage) -> None:
    await begun(stage, beside_kyverno=True)
    await stage.play()
    await deleting(stage, WEB, namespace=SHOP)
    await stage.until(HOUR + 5)
    assert stage.found() == {"web-0", "web-1"}


@story(brakes={"share": 100}, namespaces=[SHOP])
async def test_beside_a_kyverno_nothing_goes_by_deleting_policies_while_exceptions_are_not_known(
    stage: Stage,
) -> None:
    await begun(stage, beside_kyverno=True)
    refused = 'policyexceptions is forbidden: User "skoupa" cannot list it at the cluster scope'
    stage.cluster.faults.answer(403, when=EVERYWHERE, times=None, message=refused)
    play = await stage.play()
    await deleting(stage, WEB, namespace=SHOP)
    await stage.until(HOUR + 5 * MINUTE)
    assert stage.found() == {*many(3)}
    (said,) = [said for said in play.engine.outlook.degraded if "policyexceptions" in said]
    assert "deleting policies do not run, for exceptions are not known" in said
    # Others know no exceptions, and go on.
    await cleanup(
        stage,
        schedule=HOURLY,
        namespace=SHOP,
        match={"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["web-2"]}}]},
    )
    await stage.until(2 * HOUR + 5)
    assert stage.found() == {"web-0", "web-1"}
    # And once it is granted its tick is made up for.
    stage.cluster.faults.clear()
    stage.old(["web-9"])
    await stage.later(10 * MINUTE)
    assert stage.found() == {"web-0", "web-1"}


@story(brakes={"share": 100}, namespaces=[SHOP])
async def test_without_a_kyverno_those_in_its_own_namespaces_count_until_one_comes(stage: Stage) -> None:
    await begun(stage, beside_kyverno=False)
    stage.cluster.faults.answer(403, when=EVERYWHERE, times=None)
    await stage.play()
    await deleting(stage, WEB, namespace=SHOP)
    await stage.until(HOUR + 5)
    assert stage.found() == {"web-1"}
    stage.old(["web-0"])
    stage.cluster.install(CLUSTER_POLICIES)
    await stage.until(2 * HOUR + 5)
    assert stage.found() == {"web-0", "web-1"}
    stage.cluster.faults.clear()
    stage.old(["web-3"])
    await stage.until(3 * HOUR + 5)
    assert stage.found() == {"web-0", "web-1"}
