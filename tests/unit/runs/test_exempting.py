"""What a PolicyException may ask: no more than a policy of its own namespace, whatever the policy that it is about may ask."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from skoupa.clock import SystemClock
from skoupa.expr.cel.pool import Pool
from skoupa.kube.resources import Resource
from skoupa.policy.exemptions import Exemption, read_exemption
from skoupa.runs.evaluation import Evaluation, Found
from skoupa.settings import PolicySettings
from tests.unit.policy.world import deleting, kind, read
from tests.unit.runs.calls.asking import Stage, staged
from tests.unit.runs.evaluating import outcomes, thing, whys

pytestmark = [pytest.mark.unit, pytest.mark.asyncio(loop_scope="module")]

SECRETS = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
PIN = 'resource.Get("v1", "configmaps", "bank", "vault").data.pin.startsWith("1")'
PRICE = 'resource.Get("v1", "configmaps", "shop", "prices").data.pear == object.metadata.labels.price'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[Pool]:
    async with Pool(clock=SystemClock()) as shared:
        yield shared


def exception(expression: str, *, namespace: str = "shop") -> Exemption:
    references = [{"kind": kind, "name": "old"} for kind in ("DeletingPolicy", "NamespacedDeletingPolicy")]
    conditions = [{"name": "spare", "expression": expression}]
    return read_exemption(
        {
            "metadata": {"name": "spare", "namespace": namespace},
            "spec": {"policyRefs": references, "matchConditions": conditions},
        }
    )


async def asked(
    stage: Stage,
    pool: Pool,
    exemption: Exemption,
    *objects: dict[str, Any],
    condition: str = "true",
    scope: str = "DeletingPolicy",
    what: str = "Pod",
) -> tuple[list[Found], Evaluation]:
    body = deleting({"resources": ["pods", "secrets"]}, scope=scope)
    body["spec"]["conditions"] = [{"name": "c", "expression": condition}]
    policy = read(body)
    evaluation = Evaluation(
        policy,
        pool=pool,
        calls=await stage.calls(policy.namespace),
        clock=stage.client.clock,
        exemptions=[exemption],
        namespaces={"shop": {}, "bank": {}},
    )
    await evaluation.begin()
    page = msgspec.json.encode({"items": objects or [thing()]})
    return await evaluation.page(kind(what), page), evaluation


async def test_an_exception_learns_nothing_of_other_namespaces_though_its_policy_may(pool: Pool) -> None:
    async with staged() as stage:
        found, _ = await asked(stage, pool, exception("true"), condition=PIN)
        assert outcomes(found) == ["left"], "the policy itself may ask, or it would be unclear"
        for pin in ("1", "2"):
            stage.wire.paths.clear()
            found, _ = await asked(stage, pool, exception(PIN.replace('"1"', f'"{pin}"')))
            assert outcomes(found) == ["unclear"], "the same answer whatever the value"
            assert "no more than a policy of its namespace" in whys(found)[0]
            assert stage.asked("vault") == 0
            assert stage.asked("bank") == 0


async def test_an_exception_asks_in_its_own_namespace(pool: Pool) -> None:
    async with staged() as stage:
        cheap, dear = thing("a", labels={"price": "3"}), thing("b", labels={"price": "4"})
        found, _ = await asked(stage, pool, exception(PRICE), cheap, dear)
        assert outcomes(found) == ["left", "claimed"]
        elsewhere, _ = await asked(stage, pool, exception(PRICE, namespace="bank"), cheap, dear)
        assert outcomes(elsewhere) == ["unclear", "unclear"]


async def test_an_exception_elsewhere_learns_nothing_through_a_policy_of_a_namespace(pool: Pool) -> None:
    inside = 'resource.Get("v1", "configmaps", "prices").data.pear == "3"'
    async with staged() as stage:
        scope = "NamespacedDeletingPolicy"
        found, _ = await asked(stage, pool, exception(inside), scope=scope)
        assert outcomes(found) == ["left"]
        found, _ = await asked(stage, pool, exception(inside, namespace="bank"), scope=scope)
        assert outcomes(found) == ["unclear"]


@pytest.mark.parametrize(("open_to_all", "outcome"), [(False, "unclear"), (True, "left")])
async def test_values_of_secrets_are_for_no_exception_unless_a_setting_says_so(
    pool: Pool,
    open_to_all: bool,  # noqa: FBT001 - a parameter
    outcome: str,
) -> None:
    settings = PolicySettings(allow_secrets_in_namespaced_policies=open_to_all)
    async with staged(settings) as stage:
        await stage.client.create(
            SECRETS, {"metadata": {"name": "key"}, "data": {"k": "aHVudGVyMg=="}}, namespace="shop"
        )
        asking = exception('has(resource.Get("v1", "secrets", "shop", "key").data.k)')
        found, _ = await asked(stage, pool, asking)
        assert outcomes(found) == [outcome]
        judged = exception('object.data.k.startsWith("a")')
        found, _ = await asked(stage, pool, judged, thing(data={"k": "aHVudGVyMg=="}), what="Secret")
        assert outcomes(found) == [outcome]
        assert "aHVudGVyMg" not in whys(found)[0]
        named = exception('object.metadata.name == "web"')
        found, _ = await asked(stage, pool, named, thing(data={"k": "a"}), what="Secret")
        assert outcomes(found) == ["left"]


async def test_an_exception_calls_no_service_through_its_policy(pool: Pool) -> None:
    settings = PolicySettings(allowed_hosts=("*",))
    async with staged(settings) as stage:
        found, _ = await asked(stage, pool, exception('http.Get("https://example.org/").body == "x"'))
        assert outcomes(found) == ["unclear"]
        assert "may not call services" in whys(found)[0]


async def test_what_an_exception_has_no_answer_to_for_now_is_asked_again(pool: Pool) -> None:
    async with staged() as stage:
        await stage.entry(
            "maps", kubernetesResource={"version": "v1", "resource": "nothings", "namespace": "shop"}
        )
        found, evaluation = await asked(stage, pool, exception('size(globalContext.Get("maps", "")) == 0'))
        assert outcomes(found) == ["unclear"]
        assert not evaluation.unanswered
        found, evaluation = await asked(stage, pool, exception("skoupa_used_by(object) == []"))
        assert evaluation.looked_around
