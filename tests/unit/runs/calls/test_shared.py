"""GlobalContextEntries: fetched when asked for, kept as long as they count, and an error where there is no value."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from skoupa.errors import SkoupaError, UsageError
from skoupa.expr.cel.messages import GlobalContext
from skoupa.kinds.policies.global_context import GLOBAL_CONTEXT_ENTRIES
from skoupa.runs.calls.shared import FAILURE_SECONDS, LIST_SECONDS
from skoupa.settings import PolicySettings
from tests.unit.kube.login.pki import HandClock
from tests.unit.runs.calls.asking import Stage, answer, staged
from tests.unit.runs.calls.serving import AUTHORITY, here, served

pytestmark = pytest.mark.unit

CONFIG_MAPS = {"version": "v1", "resource": "configmaps"}
OF_SHOP = {**CONFIG_MAPS, "namespace": "shop"}


@asynccontextmanager
async def moved(settings: PolicySettings | None = None) -> AsyncIterator[tuple[Stage, HandClock]]:
    clock = HandClock()
    async with staged(settings, clock=clock) as stage:
        yield stage, clock


async def value(stage: Stage, name: str, projection: str = "", *, namespace: str = "") -> Any:
    """As a run sees it that begins now."""
    return await (await stage.calls(namespace)).shared(name, projection)


async def refused(stage: Stage, name: str, projection: str = "", *, namespace: str = "") -> str:
    with pytest.raises(SkoupaError) as caught:
        await value(stage, name, projection, namespace=namespace)
    return str(caught.value)


async def test_a_list_holds_the_objects_with_kind_and_version() -> None:
    async with staged() as stage:
        await stage.entry("maps", kubernetesResource=OF_SHOP)
        found = await value(stage, "maps")
        assert [(one["metadata"]["name"], one["kind"], one["apiVersion"]) for one in found] == [
            ("prices", "ConfigMap", "v1")
        ]
        assert await answer(await stage.calls(), GlobalContext(name="maps")) == found


async def test_a_list_is_shared_by_runs_and_fetched_anew_after_a_while() -> None:
    async with moved() as (stage, clock):
        await stage.entry("maps", kubernetesResource=OF_SHOP)
        for _ in range(3):
            assert len(await value(stage, "maps")) == 1
        await stage.config_map("more", "shop")
        assert len(await value(stage, "maps")) == 1
        clock.pass_time(LIST_SECONDS)
        assert len(await value(stage, "maps")) == 2


async def test_a_list_counts_for_policies_that_are_due_together_and_not_for_a_run_seconds_later() -> None:
    async with moved() as (stage, clock):
        await stage.entry("maps", kubernetesResource=OF_SHOP)
        assert len(await value(stage, "maps")) == 1
        await stage.config_map("more", "shop")
        clock.pass_time(3)
        assert len(await value(stage, "maps")) == 2


async def test_who_asks_anew_gets_a_list_that_was_read_since_and_who_asks_along_the_same() -> None:
    async with moved() as (stage, clock):
        await stage.entry("maps", kubernetesResource=OF_SHOP)
        assert len(await value(stage, "maps")) == 1
        await stage.config_map("more", "shop")
        clock.pass_time(0.1)
        since = clock.monotonic()
        before = stage.asked("/namespaces/shop/configmaps")
        anew = [await stage.calls(since=since) for _ in range(5)]
        found = await asyncio.gather(*(calls.shared("maps") for calls in anew))
        assert [len(one) for one in found] == [2] * 5
        assert stage.asked("/namespaces/shop/configmaps") == before + 1


async def test_an_answer_that_is_kept_for_an_interval_of_its_own_counts_for_who_asks_anew() -> None:
    async with moved() as (stage, clock):
        call = {"urlPath": "/api/v1/namespaces/shop/configmaps", "refreshInterval": "10m"}
        await stage.entry("maps", apiCall=call)
        assert len((await value(stage, "maps"))["items"]) == 1
        await stage.config_map("more", "shop")
        clock.pass_time(60)
        anew = await stage.calls(since=clock.monotonic())
        assert len((await anew.shared("maps"))["items"]) == 1


async def test_a_changed_entry_counts_at_once() -> None:
    async with staged() as stage:
        await stage.entry("maps", kubernetesResource=OF_SHOP)
        assert {one["metadata"]["namespace"] for one in await value(stage, "maps")} == {"shop"}
        patch = {"spec": {"kubernetesResource": {"namespace": "bank"}}}
        await stage.client.merge_patch(GLOBAL_CONTEXT_ENTRIES, "maps", patch)
        assert {one["metadata"]["namespace"] for one in await value(stage, "maps")} == {"bank"}


async def test_one_run_sees_one_value_and_asks_once() -> None:
    async with moved() as (stage, clock):
        await stage.entry("maps", kubernetesResource=OF_SHOP)
        calls = await stage.calls()
        assert len(await calls.shared("maps")) == 1
        await stage.config_map("more", "shop")
        clock.pass_time(LIST_SECONDS)
        before = len(stage.wire.paths)
        assert len(await calls.shared("maps")) == 1
        assert len(stage.wire.paths) == before


async def test_projections_are_parts_of_the_value() -> None:
    async with staged() as stage:
        projections = [
            {"name": "names", "jmesPath": "[].metadata.name"},
            {"name": "wrong", "jmesPath": "[0].nothing"},
        ]
        await stage.entry("maps", kubernetesResource=OF_SHOP, projections=projections)
        assert await value(stage, "maps", "names") == ["prices"]
        assert await value(stage, "maps", "maps") == await value(stage, "maps")
        assert "nothing" in await refused(stage, "maps", "wrong")
        assert "names, wrong" in await refused(stage, "maps", "other")


async def test_an_entry_that_can_not_be_fetched_is_an_error_and_not_empty() -> None:
    async with staged() as stage:
        await stage.entry("unknown", kubernetesResource={"version": "v1", "resource": "fruits"})
        await stage.entry("secrets", kubernetesResource={"version": "v1", "resource": "secrets"})
        await stage.entry("nothing")
        await stage.entry(
            "placed", kubernetesResource={"version": "v1", "resource": "nodes", "namespace": "shop"}
        )
        stage.cluster.deny(verbs=["list"], resources=["secrets"])
        for name in ("unknown", "secrets", "nothing", "placed"):
            assert "not ready" in await refused(stage, name)
        assert "there is no GlobalContextEntry" in await refused(stage, "absent")


async def test_an_entry_that_failed_is_tried_again_after_a_moment_and_not_before() -> None:
    async with moved() as (stage, clock):
        await stage.entry(
            "maps", apiCall={"urlPath": "/api/v1/namespaces/shop/configmaps/late", "retryLimit": 1}
        )
        assert "not ready" in await refused(stage, "maps")
        asked = stage.asked("/late")
        await stage.config_map("late", "shop", a="1")
        assert "not ready" in await refused(stage, "maps")
        assert stage.asked("/late") == asked
        clock.pass_time(FAILURE_SECONDS)
        assert (await value(stage, "maps"))["data"] == {"a": "1"}


async def test_a_service_that_fails_is_tried_again_as_often_as_the_entry_says() -> None:
    async def failing(_: web.Request) -> web.StreamResponse:
        return web.Response(status=500)

    async with served(failing) as service, staged(service.settings(), lookup=here()) as stage:
        await stage.entry(
            "fruit",
            apiCall={
                "service": {"url": service.origin, "caBundle": AUTHORITY.certificate},
                "retryLimit": 2,
            },
        )
        assert "500" in await refused(stage, "fruit")
        assert len(service.requests) == 3


async def test_an_old_answer_is_never_given_for_a_new_one() -> None:
    async with moved() as (stage, clock):
        await stage.entry(
            "maps",
            apiCall={"urlPath": "/api/v1/namespaces/shop/configmaps/prices", "refreshInterval": "1h30m"},
        )
        assert (await value(stage, "maps"))["data"] == {"pear": "3"}
        stage.cluster.deny(verbs=["get", "list"], resources=["configmaps"])
        clock.pass_time(5399)
        assert (await value(stage, "maps"))["data"] == {"pear": "3"}
        clock.pass_time(1)
        assert "not ready" in await refused(stage, "maps")


async def test_a_service_is_asked_by_the_entry_with_its_headers_and_data() -> None:
    async def echo(request: web.Request) -> web.StreamResponse:
        return web.json_response({"team": request.headers["X-Team"], "sent": await request.json()})

    async with served(echo) as service, staged(service.settings(), lookup=here()) as stage:
        await stage.entry(
            "fruit",
            apiCall={
                "method": "POST",
                "data": [{"key": "name", "value": "pear"}, {"key": "count", "value": 3}],
                "service": {
                    "url": f"{service.origin}/fruit",
                    "caBundle": AUTHORITY.certificate,
                    "headers": [{"key": "X-Team", "value": "shop"}],
                },
            },
        )
        assert await value(stage, "fruit") == {"team": "shop", "sent": {"name": "pear", "count": 3}}
        assert await value(stage, "fruit", "fruit")
        assert len(service.requests) == 1


async def test_an_entry_makes_nothing_and_goes_to_no_other_host() -> None:
    async with staged() as stage:
        await stage.entry(
            "maker", apiCall={"method": "POST", "urlPath": "/api/v1/namespaces/shop/configmaps"}
        )
        await stage.entry("caller", apiCall={"service": {"url": "https://evil.example/"}})
        await stage.entry("looker", apiCall={"urlPath": "/api/v1/nodes/n1/proxy/"})
        assert "makes nothing" in await refused(stage, "maker")
        assert "allowedHosts" in await refused(stage, "caller")
        assert "something else" in await refused(stage, "looker")


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"apiCall": {"urlPath": "/api/v1/namespaces/{{request.namespace}}/configmaps"}},
            "nobody fills it in: all policies share one value",
        ),
        (
            {"apiCall": {"urlPath": "/api/v1/namespaces/Shop/configmaps"}},
            "'Shop' can't be the name of a namespace",
        ),
        ({"kubernetesResource": {**CONFIG_MAPS, "namespace": "Shop"}}, "can't be the name of a namespace"),
    ],
)
async def test_what_can_never_be_found_is_no_empty_list(spec: dict[str, Any], why: str) -> None:
    async with staged() as stage:
        await stage.entry("never", **spec)
        assert why in await refused(stage, "never")


async def test_a_policy_of_a_namespace_reads_entries_about_its_namespace_only() -> None:
    async with staged() as stage:
        await stage.entry("own", kubernetesResource=OF_SHOP)
        await stage.entry("all", kubernetesResource=CONFIG_MAPS)
        await stage.entry("path", apiCall={"urlPath": "/api/v1/namespaces/shop/configmaps"})
        await stage.entry("other", apiCall={"urlPath": "/api/v1/namespaces/shop/../bank/configmaps"})
        assert len(await value(stage, "own", namespace="shop")) == 1
        assert (await value(stage, "path", namespace="shop"))["items"]
        for name in ("all", "other"):
            assert "allowGlobalContextInNamespacedPolicies" in await refused(stage, name, namespace="shop")
        assert "allowGlobalContext" in await refused(stage, "own", namespace="bank")
    async with staged(PolicySettings(allow_global_context_in_namespaced_policies=True)) as stage:
        await stage.entry("all", kubernetesResource=CONFIG_MAPS)
        found = await value(stage, "all", namespace="shop")
        assert {one["metadata"]["namespace"] for one in found} >= {"shop", "bank"}


async def test_a_list_over_the_limit_is_an_error() -> None:
    async with staged(PolicySettings(global_context_max_bytes=100)) as stage:
        await stage.entry("maps", kubernetesResource=CONFIG_MAPS)
        assert "globalContextMaxBytes" in await refused(stage, "maps")


async def test_a_cluster_without_the_kind_says_so() -> None:
    from skoupa.clock import SystemClock
    from skoupa.sim.cluster import EmbeddedCluster

    stage = Stage(EmbeddedCluster(clock=SystemClock()), PolicySettings())
    with pytest.raises(UsageError, match="CustomResourceDefinition"):
        await value(stage, "maps")


async def test_names_may_have_dots_and_what_stands_behind_the_last_fitting_one_is_a_projection() -> None:
    projections = [
        {"name": "names", "jmesPath": "[].metadata.name"},
        {"name": "a.b", "jmesPath": "length(@)"},
    ]
    async with staged() as stage:
        await stage.entry("maps.of.shop", kubernetesResource=OF_SHOP, projections=projections)
        assert len(await value(stage, "maps.of.shop")) == 1
        assert await value(stage, "maps.of.shop.names") == ["prices"]
        assert await value(stage, "maps.of.shop.a.b") == 1
        assert await value(stage, "maps.of.shop", "names") == ["prices"]
        assert "has no projection nothing" in await refused(stage, "maps.of.shop.nothing")
        assert "there is no GlobalContextEntry maps.of" in await refused(stage, "maps.of")
        for odd in ("", "..", ".maps", "maps,metadata.name!=x", "MAPS", "a/b"):
            assert "is no name of a GlobalContextEntry" in await refused(stage, odd)


async def test_an_entry_whose_whole_name_fits_comes_before_a_projection() -> None:
    async with staged() as stage:
        await stage.entry(
            "maps", kubernetesResource=OF_SHOP, projections=[{"name": "more", "jmesPath": "length(@)"}]
        )
        assert await value(stage, "maps.more") == 1
        await stage.entry("maps.more", kubernetesResource=OF_SHOP)
        assert len(await value(stage, "maps.more")) == 1
        assert isinstance(await value(stage, "maps.more"), list)
