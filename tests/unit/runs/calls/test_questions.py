"""What CEL asks is answered under the same confinement as what paths ask for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from skoupa.clock import SystemClock
from skoupa.errors import BadReply, KindUnreadable, NotFound, SkoupaError, UnknownKind, UsageError
from skoupa.expr.cel.messages import (
    Circumstances,
    FindResource,
    GetResource,
    GlobalContext,
    HttpCall,
    ImageMetadata,
    ListResources,
    Named,
    PostResource,
    Source,
)
from skoupa.expr.cel.pool import Pool
from skoupa.kube.kinds import Discovery, Gap
from tests.unit.runs.calls.asking import answer, staged
from tests.unit.runs.calls.serving import AUTHORITY, here, served

pytestmark = pytest.mark.unit


def got(resource: str = "configmaps", namespace: str = "shop", name: str = "prices") -> GetResource:
    return GetResource(api_version="v1", resource=resource, namespace=namespace, name=name)


def listed(resource: str = "configmaps", namespace: str = "", **labels: str) -> ListResources:
    return ListResources(api_version="v1", resource=resource, namespace=namespace, labels=labels)


async def test_an_object_and_a_list_are_answered_with_kind_and_version() -> None:
    async with staged() as stage:
        calls = await stage.calls()
        assert (await answer(calls, got()))["data"] == {"pear": "3"}
        found = await answer(calls, listed())
        names = {(item["metadata"]["name"], item["kind"], item["apiVersion"]) for item in found["items"]}
        assert {("prices", "ConfigMap", "v1"), ("vault", "ConfigMap", "v1")} <= names
        narrow = await answer(calls, listed(namespace="shop", app="prices"))
        assert [item["metadata"]["name"] for item in narrow["items"]] == ["prices"]
        assert (await answer(calls, got("namespaces", "", "bank")))["kind"] == "Namespace"


async def test_a_missing_object_is_not_found() -> None:
    async with staged() as stage:
        with pytest.raises(NotFound):
            await answer(await stage.calls(), got(name="other"))


async def test_a_list_is_asked_for_once_in_a_run() -> None:
    async with staged() as stage:
        calls = await stage.calls()
        for _ in range(3):
            await answer(calls, listed())
        assert stage.asked("/configmaps") == 1 + 2  # two were made by the stage itself


async def test_a_policy_of_a_namespace_sees_its_namespace_by_default_and_no_other() -> None:
    async with staged() as stage:
        calls = await stage.calls("shop")
        found = await answer(calls, listed())
        assert {item["metadata"]["namespace"] for item in found["items"]} == {"shop"}
        assert (await answer(calls, got(namespace="")))["metadata"]["namespace"] == "shop"


@pytest.mark.parametrize(
    "question",
    [
        got(namespace="bank", name="vault"),
        listed(namespace="bank"),
        got("namespaces", "", "bank"),
        got("namespaces", "shop", "bank"),
        got("nodes", "", "n1"),
        listed("nodes"),
        listed("namespaces"),
        got(name="../../../bank/configmaps/vault"),
        got(name=".."),
        got(name="%2e%2e"),
        got(name=""),
        got(namespace="../bank", name="vault"),
        got("configmaps/../../../bank/configmaps", "shop", "vault"),
        got("pods/proxy", "shop", "web"),
        got("services/proxy", "shop", "web"),
        got("pods/exec", "shop", "web"),
        listed("secrets/../../bank/secrets"),
        listed("pods/status", "shop"),
        listed(namespace="shop", app="prices,app!=x"),
        listed(namespace="shop", **{"app in (a,b)": ""}),
    ],
)
async def test_a_policy_of_a_namespace_gets_nothing_else(question: GetResource | ListResources) -> None:
    async with staged() as stage:
        calls = await stage.calls("shop")
        stage.wire.paths.clear()
        with pytest.raises(SkoupaError) as caught:
            await answer(calls, question)
        assert not isinstance(caught.value, NotFound), "a refusal, not an absence that would be null"
        assert stage.wire.paths == []


@pytest.mark.parametrize(
    "question",
    [
        got(namespace=""),
        got("namespaces", "shop", "shop"),
        got("nodes/proxy", "", "n1"),
        got("fruits", "shop", "pear"),
        got("ConfigMap", "shop", "prices"),
        GetResource(api_version="", resource="pods", namespace="shop", name="a"),
        GetResource(api_version="/v1", resource="pods", namespace="shop", name="a"),
        GetResource(api_version="a/b/c", resource="pods", namespace="shop", name="a"),
        ImageMetadata(image="nginx"),
        GlobalContext(name="absent"),
        GlobalContext(name=""),
        GlobalContext(name="a/../b"),
        FindResource(api_version="v1", kind="Fruit"),
    ],
)
async def test_what_can_not_be_answered_is_an_error_that_says_what_to_do(question: Any) -> None:
    async with staged() as stage:
        with pytest.raises(UsageError) as caught:
            await answer(await stage.calls(), question)
        assert caught.value.advice


async def test_a_kind_of_a_group_that_can_not_be_read_is_not_called_unknown() -> None:
    async with staged() as stage:
        gap = Gap(group="fruit.example", version="v1", why="it does not answer")
        calls = stage.outside.calls(namespace="", discovery=Discovery(resources=(), gaps=(gap,)))
        question = GetResource(api_version="fruit.example/v1", resource="pears", namespace="shop", name="a")
        with pytest.raises(KindUnreadable):
            await answer(calls, question)
        with pytest.raises(UnknownKind):
            await answer(calls, got())


async def test_the_plural_of_a_kind_is_found() -> None:
    async with staged() as stage:
        calls = await stage.calls("shop")
        assert await answer(calls, FindResource(api_version="apps/v1", kind="Deployment")) == "deployments"


async def test_a_review_may_be_posted_and_nothing_else() -> None:
    async with staged() as stage:
        calls = await stage.calls()
        body = msgspec.Raw(b'{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}')
        review = PostResource(
            api_version="authorization.k8s.io/v1",
            resource="selfsubjectaccessreviews",
            namespace="",
            body=body,
        )
        assert (await answer(calls, review))["status"]["allowed"]
        made = PostResource(api_version="v1", resource="configmaps", namespace="shop", body=body)
        with pytest.raises(UsageError, match="makes nothing"):
            await answer(calls, made)


async def test_a_service_answers_with_its_status_and_what_is_no_json_is_no_answer() -> None:
    from aiohttp import web

    async def either(request: web.Request) -> web.StreamResponse:
        if request.path == "/json":
            return web.json_response({"a": 1}, status=418)
        if request.path == "/gateway":
            return web.Response(text="<html>Bad Gateway</html>", status=502, content_type="text/html")
        return web.Response(text="plain" if request.path == "/text" else "")

    async with served(either) as service, staged(service.settings(), lookup=here()) as stage:
        calls = await stage.calls()

        async def get(path: str) -> Any:
            url = f"{service.origin}{path}"
            return await answer(calls, HttpCall(method="GET", url=url, ca_bundle=AUTHORITY.certificate))

        assert await get("/json") == {"statusCode": 418, "body": {"a": 1}}
        # As in Kyverno: else there would be nothing in it, and a condition about what is not there would hold.
        for path in ("/text", "/nothing"):
            with pytest.raises(BadReply, match="no JSON"):
                await get(path)
        assert not calls.unanswered
        with pytest.raises(BadReply, match="answered 502"):
            await get("/gateway")
        # It may be well again before the next tick.
        assert calls.unanswered
        with pytest.raises(UsageError, match="allowHttpInNamespacedPolicies"):
            await answer(await stage.calls("shop"), HttpCall(method="GET", url=f"{service.origin}/json"))


PAGE = msgspec.json.encode(
    {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {},
        "items": [{"metadata": {"name": name, "namespace": "shop", "uid": name}} for name in ("a", "b")],
    }
)


async def judged(expression: str, *, namespace: str) -> list[tuple[bool, str]]:
    clock = SystemClock()
    async with staged() as stage, Pool(clock=clock) as pool:
        calls = await stage.calls(namespace)
        source = Source(conditions=(Named("c", expression),), namespace=namespace)
        results = await pool.judge(
            source, PAGE, circumstances=Circumstances(now=clock.now(), kind="Pod"), broker=calls.broker
        )
        return [(result.matched, result.error) for result in results]


async def test_expressions_in_the_pool_are_answered_and_confined() -> None:
    read = 'resource.Get("v1", "configmaps", "shop", "prices").data.pear == "3"'
    assert await judged(read, namespace="") == [(True, "")] * 2
    for text in ("%s == null", "!has(%s.data)"):
        for matched, error in await judged(
            text % 'resource.Get("v1", "configmaps", "shop", "nothing")', namespace=""
        ):
            assert not matched
            assert "not found" in error
            assert "whether it is there resource.List(…).items.exists(…) tells" in error
    own = 'resource.List("v1", "configmaps").items.exists(c, c.metadata.name == "prices" && c.kind == "ConfigMap")'
    assert await judged(own, namespace="shop") == [(True, "")] * 2
    for matched, error in await judged('resource.List("v1", "nodes").items.size() == 0', namespace="shop"):
        assert not matched
        assert "in no namespace" in error
