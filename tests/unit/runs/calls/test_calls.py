"""What one run of a policy gets when it asks the API server, on the embedded cluster."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import msgspec
import pytest
from aiohttp import web

from skoupa.clock import SystemClock
from skoupa.errors import BadReply, Forbidden, NotFound, SkoupaError, TimedOut, UsageError
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.transport import Request, Response
from skoupa.runs.calls.outside import Outside
from skoupa.runs.calls.protocol import Calls, NoCalls, ServiceCall
from skoupa.settings import PolicySettings
from skoupa.sim.cluster import EmbeddedCluster
from tests.unit.runs.calls.asking import Endless, staged
from tests.unit.runs.calls.serving import AUTHORITY, Hasty, hanging, here, prices, served

pytestmark = pytest.mark.unit

PRICES = "/api/v1/namespaces/shop/configmaps/prices"
VAULT = "/api/v1/namespaces/bank/configmaps/vault"


async def test_a_policy_reads_objects_and_lists_by_path() -> None:
    async with staged() as stage:
        calls: Calls = await stage.calls()
        assert (await calls.api("GET", VAULT))["data"] == {"pin": "1234"}
        listed = await calls.api("GET", "/api/v1/configmaps?labelSelector=app%3Dprices")
        assert [item["metadata"]["name"] for item in listed["items"]] == ["prices"]


async def test_a_policy_of_a_namespace_reads_what_is_in_it_and_nothing_else() -> None:
    async with staged() as stage:
        calls = await stage.calls("shop")
        assert (await calls.api("GET", PRICES))["data"] == {"pear": "3"}
        assert (await calls.api("GET", "/api/v1/namespaces/shop"))["kind"] == "Namespace"
        stage.wire.paths.clear()
        for path in (
            VAULT,
            "/api/v1/configmaps",
            f"{PRICES}/../../../bank/configmaps/vault",
            "/api/v1/namespaces",
        ):
            with pytest.raises(UsageError):
                await calls.api("GET", path)
        assert stage.wire.paths == []


async def test_a_run_asks_for_the_same_thing_once() -> None:
    async with staged() as stage:
        calls = await stage.calls()
        before = stage.asked("shop/configmaps")
        for _ in range(3):
            await calls.api("GET", PRICES)
            await calls.api("GET", f"{PRICES}/")
        assert stage.asked("shop/configmaps") == before + 1
        assert calls.made == 1
        await (await stage.calls()).api("GET", PRICES)
        assert stage.asked("shop/configmaps") == before + 2


async def test_what_is_not_there_is_not_found_and_what_is_forbidden_is_forbidden() -> None:
    async with staged() as stage:
        calls = await stage.calls()
        with pytest.raises(NotFound):
            await calls.api("GET", "/api/v1/namespaces/shop/configmaps/other")
        stage.cluster.deny(verbs=["list"], resources=["secrets"])
        with pytest.raises(Forbidden, match="role"):
            await calls.api("GET", "/api/v1/secrets")


async def test_a_review_is_answered_and_nothing_is_made() -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    body = {"spec": {"resourceAttributes": {"verb": "delete", "resource": "pods", "namespace": "shop"}}}
    async with staged() as stage:
        calls = await stage.calls()
        found = await calls.api("POST", path, msgspec.json.encode(body))
        assert found["status"]["allowed"] is True
        with pytest.raises(UsageError, match="makes nothing"):
            await calls.api("POST", "/api/v1/namespaces/shop/configmaps", b'{"metadata":{"name":"x"}}')
        with pytest.raises(NotFound):
            await calls.api("GET", "/api/v1/namespaces/shop/configmaps/x")


async def test_an_answer_over_the_limit_is_an_error_and_is_not_read_to_its_end() -> None:
    server = Endless(b" " * 100_000)
    outside = Outside(Client(server, SystemClock()), settings=PolicySettings())
    calls = outside.calls(namespace="", discovery=Discovery(resources=()))
    with pytest.raises(BadReply, match="2,000,000"):
        await calls.api("GET", "/api/v1/pods")
    assert server.sent <= 2_200_000


async def test_an_answer_that_never_ends_is_given_up() -> None:
    server = Endless(wait=asyncio.Event())
    outside = Outside(Client(server, Hasty()), settings=PolicySettings(call_timeout="1s"))
    calls = outside.calls(namespace="", discovery=Discovery(resources=()))
    with pytest.raises(TimedOut, match="callTimeout"):
        await calls.api("GET", "/api/v1/pods")


@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("/apis/batch/v1beta1/cronjobs", "/apis/batch/v1/namespaces/NAMESPACE/cronjobs"),
        ("/apis/batch/v1beta1/namespaces/shop/cronjobs", "/apis/batch/v1/namespaces/NAMESPACE/cronjobs"),
        ("/apis/extensions/v1beta1/ingresses", "/apis/networking.k8s.io/v1/namespaces/NAMESPACE/ingresses"),
        ("/api/v1/pod", "/api/v1/namespaces/NAMESPACE/pods"),
        ("/api/v1/namespaces/shop/po", "/api/v1/namespaces/NAMESPACE/pods"),
        ("/api/v1/namespaces/shop/nodes", "/api/v1/nodes"),
        ("/api/v1/configmaps/prices", "/api/v1/namespaces/NAMESPACE/configmaps"),
    ],
)
async def test_a_kind_that_is_there_otherwise_is_no_kind_of_which_nothing_is_there(
    path: str, right: str
) -> None:
    async with staged() as stage:
        with pytest.raises(UsageError, match="nothing is ever there") as raised:
            await (await stage.calls()).api("GET", path)
        assert raised.value.advice == f"write {right}"


@pytest.mark.parametrize(
    "path",
    [
        "/apis/gone.example/v1/foos",
        "/api/v1/namespaces/shop/configmaps/nothing",
        "/api/v1/nodes/nothing",
        "/api/v1/namespaces/nowhere",
    ],
)
async def test_what_is_not_there_is_not_found(path: str) -> None:
    async with staged() as stage:
        with pytest.raises(NotFound):
            await (await stage.calls()).api("GET", path)


class Failing(EmbeddedCluster):
    """Fails a few times, then answers."""

    failures = 2

    async def serve(self, request: Request, user: Any) -> Response:
        if "configmaps/prices" in request.path and self.failures:
            self.failures -= 1
            return Response(status=503, body=b"{}")
        return await super().serve(request, user)


async def test_a_server_that_fails_for_a_moment_is_asked_again() -> None:
    cluster = Failing(clock=SystemClock())
    outside = Outside(Client(cluster, cluster.clock), settings=PolicySettings())
    calls = outside.calls(namespace="", discovery=Discovery(resources=()))
    with pytest.raises(NotFound):
        await calls.api("GET", PRICES)
    assert cluster.failures == 0


@pytest.mark.parametrize(
    ("code", "passes"), [(403, False), (404, False), (422, False), (429, True), (500, True), (503, True)]
)
async def test_whether_a_refusal_passes_is_remembered(code: int, passes: bool) -> None:  # noqa: FBT001 - parametrized
    async with staged() as stage:
        calls = await stage.calls()
        assert await calls.api("GET", VAULT)
        assert not calls.unanswered
        stage.cluster.faults.answer(code, times=None)
        with pytest.raises(SkoupaError):
            await calls.api("GET", PRICES)
        assert calls.unanswered is passes


@pytest.mark.parametrize(
    ("code", "passes"), [(200, False), (403, False), (404, False), (429, True), (500, True), (503, True)]
)
async def test_so_is_that_of_a_service_and_of_shared_context(code: int, passes: bool) -> None:  # noqa: FBT001 - parametrized
    async def answering(_: web.Request) -> web.StreamResponse:
        return web.json_response({}, status=code)

    async with served(answering) as service, staged(service.settings(), lookup=here()) as stage:
        calls = await stage.calls()
        with contextlib.suppress(BadReply):
            await calls.service(ServiceCall(url=service.origin, ca_bundle=AUTHORITY.certificate))
        assert calls.unanswered is passes
        asked = {"url": service.origin, "caBundle": AUTHORITY.certificate}
        await stage.entry("fruit", apiCall={"service": asked, "retryLimit": 1})
        calls = await stage.calls()
        with contextlib.suppress(UsageError):
            await calls.shared("fruit")
        assert calls.unanswered is passes


async def test_a_run_has_a_bounded_number_of_calls() -> None:
    async with staged(PolicySettings(max_calls_per_run=2)) as stage:
        calls = await stage.calls()
        await calls.api("GET", PRICES)
        await calls.api("GET", VAULT)
        with pytest.raises(UsageError, match="maxCallsPerRun"):
            await calls.api("GET", "/api/v1/pods")


async def test_a_policy_of_the_cluster_calls_a_service() -> None:
    async with served() as service, staged(service.settings(), lookup=here()) as stage:
        calls = await stage.calls()
        call = ServiceCall(url=f"{service.origin}/fruit", ca_bundle=AUTHORITY.certificate)
        for _ in range(2):
            assert (await calls.service(call, headers={"X-Team": "shop"}))["pear"] == 3
        assert len(service.requests) == 1


async def test_a_policy_of_a_namespace_calls_services_only_if_the_operator_lets_it() -> None:
    async with served() as service:
        call = ServiceCall(url=f"{service.origin}/fruit", ca_bundle=AUTHORITY.certificate)
        async with staged(service.settings(), lookup=here()) as stage:
            with pytest.raises(UsageError, match="allowHttpInNamespacedPolicies"):
                await (await stage.calls("shop")).service(call)
            assert service.requests == []
        settings = service.settings(allow_http_in_namespaced_policies=True)
        async with staged(settings, lookup=here()) as stage:
            assert (await (await stage.calls("shop")).service(call))["pear"] == 3


async def test_a_service_that_hangs_costs_a_run_three_waits_and_not_one_per_object() -> None:
    async with (
        served(hanging) as service,
        staged(service.settings(call_timeout="1s"), clock=Hasty(), lookup=here()) as stage,
    ):
        calls = await stage.calls()
        for number in range(50):
            call = ServiceCall(url=f"{service.origin}/{number}", ca_bundle=AUTHORITY.certificate)
            with pytest.raises(TimedOut):
                await calls.service(call)
        assert len(service.requests) == 3
        assert calls.unanswered


async def test_a_plan_asks_the_cluster_and_nobody_else() -> None:
    async with served(prices) as service, staged(service.settings(), services=False, lookup=here()) as stage:
        calls = await stage.calls()
        assert await calls.api("GET", PRICES)
        with pytest.raises(UsageError, match="--allow-calls"):
            await calls.service(ServiceCall(url=f"{service.origin}/fruit", ca_bundle=AUTHORITY.certificate))
        assert service.requests == []


async def test_without_a_cluster_everything_is_refused_in_words() -> None:
    from skoupa.expr.cel.messages import GetResource, HttpCall

    calls: Calls = NoCalls()
    question = GetResource(api_version="v1", resource="pods", namespace="shop", name="web")
    for asked in (
        calls.api("GET", PRICES),
        calls.service(ServiceCall(url="https://prices.shop/s3cr3t")),
        calls.shared("fruit"),
        calls.broker.answer(question),
        calls.broker.answer(HttpCall(method="GET", url="https://prices.shop/s3cr3t")),
    ):
        with pytest.raises(SkoupaError) as caught:
            await asked
        assert caught.value.advice
        assert "s3cr3t" not in str(caught.value)
