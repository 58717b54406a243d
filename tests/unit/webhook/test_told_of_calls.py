"""What a policy asks for, and as whom it acts, is looked at when it is written: what can never be is refused, the rest is told."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from skoupa.clock import SystemClock
from skoupa.kube.client import Client
from skoupa.settings import Settings, decode
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.webhook.desk import desk

pytestmark = pytest.mark.unit


async def says(
    call: dict[str, Any] | None,
    *,
    namespace: str = "",
    account: str = "",
    settings: Settings | None = None,
    powerless: str = "",
) -> tuple[str, list[str]]:
    """The refusal and the warnings; who is `powerless` may do nothing."""
    cluster = EmbeddedCluster(clock=SystemClock())
    if powerless:
        cluster.allow_only(powerless, ())
    client = Client(cluster, SystemClock())
    annotations = {"skoupa.dev/service-account": account} if account else {}
    policy = {
        "apiVersion": "kyverno.io/v2",
        "kind": "CleanupPolicy" if namespace else "ClusterCleanupPolicy",
        "metadata": {"name": "a", "annotations": annotations, "namespace": namespace},
        "spec": {
            "schedule": "@daily",
            "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["old-*"]}}]},
            "context": [{"name": "x", "apiCall": call}] if call else [],
        },
    }
    body = {"request": {"uid": "1", "namespace": namespace, "object": policy}}
    async with desk(client, settings or Settings()) as reviewer:
        answer = msgspec.json.decode(await reviewer.answer(msgspec.json.encode(body)))
    response = answer["response"]
    return response.get("status", {}).get("message", ""), response.get("warnings", [])


async def test_a_call_that_no_run_could_make_is_refused() -> None:
    refusal, _ = await says({"urlPath": "/api/v1/namespaces/shop/services/web/proxy/a"})
    assert "spec.context[0].apiCall.urlPath" in refusal
    assert "something else" in refusal


async def test_a_host_that_is_not_allowed_is_a_warning() -> None:
    refusal, (warning,) = await says({"service": {"url": "https://prices.shop/a"}})
    assert refusal == ""
    assert "the operator can add prices.shop to policies.allowedHosts" in warning
    allowed = decode({"policies": {"allowedHosts": ["prices.shop"]}}, source="the test")
    assert await says({"service": {"url": "https://prices.shop/a"}}, settings=allowed) == ("", [])


async def test_what_is_refused_to_a_policy_of_a_namespace_is_told_where_the_server_lets_it_in() -> None:
    refusal, warnings = await says({"service": {"url": "https://prices.shop/a"}}, namespace="default")
    assert refusal == ""
    assert any("allowHttpInNamespacedPolicies" in one for one in warnings)


async def test_an_account_that_is_not_there_is_a_warning() -> None:
    refusal, (warning,) = await says(None, namespace="default", account="tidier")
    assert refusal == ""
    assert 'there is no ServiceAccount "tidier" in default' in warning
    assert await says(None, namespace="default", account="default") == ("", [])


async def test_an_account_that_may_not_delete_what_matches_is_a_warning() -> None:
    known = "system:serviceaccount:default:default"
    refusal, (warning,) = await says(None, namespace="default", account="default", powerless=known)
    assert refusal == ""
    assert 'the ServiceAccount "default" may not delete configmaps in default, so that those stay' in warning


async def test_a_policy_that_has_to_name_an_account_is_refused_without_one() -> None:
    """It would run at no time."""
    wanted = decode({"policies": {"requireServiceAccount": True}}, source="the test")
    refusal, _ = await says(None, namespace="default", settings=wanted)
    assert "policies of a namespace have to name an account here" in refusal
    assert await says(None, namespace="default", account="default", settings=wanted) == ("", [])
    assert await says(None, settings=wanted) == ("", []), "one of the whole cluster has none"
