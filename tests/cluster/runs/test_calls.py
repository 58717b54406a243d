"""What policies ask the real API server: paths as it reads them, its size and silence, reviews, lists for many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path as File
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from harness.controlplane import Access
from harness.faultproxy import FaultProxy, Rule, Silence, Slow, kube_status
from skoupa.errors import ApiError, BadReply, Forbidden, NotFound, SkoupaError, TimedOut, UsageError
from skoupa.expr.cel.messages import Circumstances, GetResource, ListResources, Named, Source
from skoupa.expr.cel.pool import Pool
from skoupa.kinds.policies.global_context import GlobalContextSpec, KubernetesResource
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.kube.transport import Request
from skoupa.runs.calls.outside import Outside, PolicyCalls
from skoupa.runs.calls.paths import Path, read_path
from skoupa.runs.calls.server import Server
from skoupa.runs.calls.shared_values import Fetcher
from skoupa.settings import PolicySettings
from tests.cluster.granting import grant
from tests.cluster.kubeconfigs import admin_of, cluster_of, write
from tests.cluster.reaching import connected, new_namespace

pytestmark = pytest.mark.cluster

REVIEW = {"spec": {"user": "jane", "resourceAttributes": {"verb": "delete", "resource": "pods"}}}


@pytest.fixture
async def bank(admin: Client) -> AsyncIterator[str]:
    """Another namespace, with something in it."""
    async with new_namespace(admin) as name:
        await put(admin, name, "vault", pin="1234")
        yield name


async def put(client: Client, namespace: str, name: str, **data: str) -> None:
    body = {"metadata": {"name": name, "labels": {"app": name}}, "data": data}
    await client.create(CONFIG_MAPS, body, namespace=namespace)


async def run_of(client: Client, namespace: str = "", **settings: Any) -> PolicyCalls:
    outside = Outside(client, settings=PolicySettings(**settings), services=False)
    return outside.calls(namespace=namespace, discovery=await discover(client))


def maps(namespace: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps{f'/{name}' if name else ''}"


async def test_a_policy_reads_objects_and_lists_of_the_server(
    admin: Client, namespace: str, bank: str
) -> None:
    await put(admin, namespace, "prices", pear="3")
    calls = await run_of(admin, namespace)
    assert (await calls.api("GET", maps(namespace, "prices")))["data"] == {"pear": "3"}
    listed = await calls.api("GET", f"{maps(namespace)}?labelSelector=app%3Dprices&limit=5")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["prices"]
    assert (await calls.api("GET", f"/api/v1/namespaces/{namespace}"))["kind"] == "Namespace"
    everywhere = await run_of(admin)
    assert (await everywhere.api("GET", maps(bank, "vault")))["data"] == {"pin": "1234"}
    assert (await everywhere.api("GET", "/version"))["major"]
    with pytest.raises(NotFound):
        await calls.api("GET", maps(namespace, "other"))


async def test_no_spelling_of_a_path_leads_out_of_the_namespace(
    admin: Client, namespace: str, bank: str
) -> None:
    """Each is either refused here, or the server itself reads it as a place in the namespace."""
    root = f"/api/v1/namespaces/{namespace}"
    spellings = [
        f"{root}/../{bank}/configmaps/vault",
        f"{root}/configmaps/../../{bank}/configmaps/vault",
        f"{root}/%2e%2e/{bank}/configmaps/vault",
        f"{root}/%2E%2E%2F{bank}/configmaps/vault",
        f"{root}%2f..%2f{bank}%2fconfigmaps%2fvault",
        f"{root}/%252e%252e/{bank}/configmaps/vault",
        f"{root}/.;/../{bank}/configmaps/vault",
        f"{root}//../{bank}/configmaps/vault",
        f"/api/v1/namespaces/./{bank}/configmaps/vault",
        f"{maps(bank, 'vault')}?namespace={namespace}",
        f"{maps(bank, 'vault')}#/{namespace}",
        "/api/v1/configmaps",
        f"/api/v1/configmaps?fieldSelector=metadata.namespace%3D{bank}",
        f"{maps(namespace)}?fieldSelector=metadata.namespace%3D{bank}",
        f"{root}/configmaps%2fvault",
        f"{root}/configmaps/vault%2f..%2f..%2f..%2f{bank}",
        f"/api/v1/namespaces/{namespace[:-1]}%{ord(namespace[-1]):02x}/configmaps",
    ]
    await put(admin, namespace, "prices", pear="3")
    calls = await run_of(admin, namespace)
    read = 0
    for path in spellings:
        try:
            answer = await calls.api("GET", path)
        except (UsageError, NotFound):
            continue
        read += 1
        items = answer.get("items", [answer])
        assert {item["metadata"]["namespace"] for item in items} <= {namespace}, path
    assert read == 2, "the last one, and the selector that finds nothing"


async def test_what_is_sent_is_what_was_checked(admin: Client, namespace: str) -> None:
    """The server is asked for the path in its plain form, whatever was written."""
    place = read_path(f"/api/v1/namespaces/{namespace}/config%6daps/", method="GET", namespace=namespace)
    assert place.path == maps(namespace)
    server = Server(admin, seconds=5.0, most_bytes=2_000_000)
    assert (await server.ask(place, method="GET")).value()["kind"] == "ConfigMapList"


@pytest.mark.parametrize("name", ["Shop", "{{request.namespace}}"])
async def test_a_namespace_that_can_not_be_there_is_no_empty_one(admin: Client, name: str) -> None:
    """Of which the server says that nothing lies in it."""
    server = Server(admin, seconds=5.0, most_bytes=2_000_000)
    place = Path(path=maps(quote(name)), query=(), shown=maps(name))
    assert (await server.ask(place, method="GET")).value()["items"] == []
    with pytest.raises(UsageError, match="can't be the name of a namespace"):
        await (await run_of(admin)).api("GET", maps(name))


async def test_reviews_are_answered_and_nothing_is_made(admin: Client, namespace: str, bank: str) -> None:
    reviews = "/apis/authorization.k8s.io/v1"
    calls = await run_of(admin)
    answer = await calls.api("POST", f"{reviews}/subjectaccessreviews", msgspec.json.encode(REVIEW))
    assert answer["status"]["allowed"] is False
    own = await run_of(admin, namespace)
    local = msgspec.json.encode(
        {
            "metadata": {"namespace": namespace},
            "spec": {
                "user": "jane",
                "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": namespace},
            },
        }
    )
    path = f"{reviews}/namespaces/{namespace}/localsubjectaccessreviews"
    assert (await own.api("POST", path, local))["status"]["allowed"] is False
    for asked, refused in (
        (own, f"{reviews}/namespaces/{bank}/localsubjectaccessreviews"),
        (own, f"{reviews}/subjectaccessreviews"),
        (own, maps(namespace)),
        (calls, maps(namespace)),
        (calls, f"/api/v1/namespaces/{namespace}/serviceaccounts/default/token"),
    ):
        with pytest.raises(UsageError):
            await asked.api("POST", refused, b'{"metadata":{"name":"made"}}')
    with pytest.raises(NotFound):
        await calls.api("GET", maps(namespace, "made"))


async def test_a_list_over_the_limit_is_an_error(admin: Client, namespace: str) -> None:
    for number in range(12):
        await put(admin, namespace, f"large-{number}", text="x" * 900_000)
    calls = await run_of(admin, namespace)
    with pytest.raises(BadReply, match="2,000,000"):
        await calls.api("GET", maps(namespace))
    larger = await run_of(admin, namespace, max_answer_bytes=20_000_000)
    assert len((await larger.api("GET", maps(namespace)))["items"]) >= 12


async def test_a_server_that_hangs_costs_a_run_three_waits(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    calls = await run_of(through_proxy, call_timeout="1s")
    proxy.script(Rule(Silence(after_bytes=0), path="/api/v1/namespaces", times=None))
    loop = asyncio.get_running_loop()
    begun = loop.time()
    for number in range(20):
        with pytest.raises(TimedOut):
            await calls.api("GET", maps(namespace, f"c-{number}"))
    assert loop.time() - begun < 15
    assert calls.made == 3


async def test_an_answer_that_drips_is_given_up(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    await put(through_proxy, namespace, "long", text="x" * 100_000)
    calls = await run_of(through_proxy, call_timeout="1s")
    proxy.script(Rule(Slow(bytes_per_second=1000), method="GET", path=maps(namespace), times=None))
    with pytest.raises(TimedOut, match="callTimeout"):
        await calls.api("GET", maps(namespace, "long"))


async def test_a_server_that_is_busy_for_a_moment_is_asked_again(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    await put(through_proxy, namespace, "prices", pear="3")
    calls = await run_of(through_proxy)
    proxy.script(Rule(kube_status(503), method="GET", path=maps(namespace), times=2))
    assert (await calls.api("GET", maps(namespace, "prices")))["data"] == {"pear": "3"}


async def test_who_may_only_list_reads_an_object_by_its_name(
    control_plane: Access, admin: Client, namespace: str, tmp_path: File
) -> None:
    await put(admin, namespace, "prices", pear="3")
    await grant(admin, "lister", namespace=namespace, verbs=["list"], resources=["configmaps"])
    path = write(
        tmp_path / "config",
        cluster=cluster_of(control_plane),
        user={**admin_of(control_plane), "as": "lister"},
    )
    async with connected(path) as client:
        with pytest.raises(Forbidden):
            await client.get(CONFIG_MAPS, "prices", namespace=namespace, view=METADATA)
        calls = await run_of(client, namespace)
        found = await calls.api("GET", maps(namespace, "prices"))
        assert (found["kind"], found["data"]) == ("ConfigMap", {"pear": "3"})
        with pytest.raises(NotFound):
            await calls.api("GET", maps(namespace, "other"))
        with pytest.raises(Forbidden):
            await calls.api("GET", f"/api/v1/namespaces/{namespace}")


async def test_expressions_are_answered_by_the_server_and_confined(
    admin: Client, namespace: str, bank: str
) -> None:
    await put(admin, namespace, "prices", pear="3")
    page = msgspec.json.encode({"items": [{"metadata": {"name": "a", "namespace": namespace, "uid": "1"}}]})
    calls = await run_of(admin, namespace)
    expressions = {
        'resource.Get("v1", "configmaps", "prices").data.pear == "3"': True,
        'resource.List("v1", "configmaps").items.all(c, c.metadata.name != "other")': True,
        'resource.List("v1", "configmaps", {"app": "prices"}).items.all(c, c.kind == "ConfigMap")': True,
        'resource.List("v1", "configmaps").items.exists(c, c.metadata.name == "vault")': False,
    }
    async with Pool(clock=admin.clock) as pool:
        for expression, expected in expressions.items():
            source = Source(conditions=(Named("c", expression),), namespace=namespace)
            circumstances = Circumstances(now=admin.clock.now(), api_version="v1", kind="Pod")
            (result,) = await pool.judge(source, page, circumstances=circumstances, broker=calls.broker)
            assert (result.matched, result.error) == (expected, ""), expression
        for name in ("other", "vault"):
            source = Source(
                conditions=(Named("c", f'resource.Get("v1", "configmaps", "{name}") == null'),),
                namespace=namespace,
            )
            (result,) = await pool.judge(source, page, circumstances=circumstances, broker=calls.broker)
            assert not result.matched
            assert "not found" in result.error
    for question in (
        GetResource(api_version="v1", resource="configmaps", namespace=bank, name="vault"),
        GetResource(
            api_version="v1",
            resource="configmaps",
            namespace=namespace,
            name=f"../../{bank}/configmaps/vault",
        ),
        GetResource(api_version="v1", resource="namespaces", namespace="", name=bank),
        ListResources(api_version="v1", resource="configmaps", namespace=bank),
        ListResources(api_version="v1", resource="nodes", namespace=""),
    ):
        with pytest.raises(SkoupaError) as caught:
            await calls.broker.answer(question)
        assert not isinstance(caught.value, ApiError), "refused here, before anybody is asked"


async def test_a_list_that_many_policies_share_is_whole(admin: Client, namespace: str) -> None:
    for number in range(7):
        await put(admin, namespace, f"c-{number}", a="b")
    fetcher = Fetcher(admin, Server(admin, seconds=5.0, most_bytes=1000), services=None, most_bytes=1_000_000)
    spec = GlobalContextSpec(
        kubernetes_resource=KubernetesResource(version="v1", resource="configmaps", namespace=namespace)
    )
    found = await fetcher.fetch(spec, discovery=await discover(admin))
    names = {one["metadata"]["name"] for one in found}
    assert names >= {f"c-{number}" for number in range(7)}
    assert {(one["apiVersion"], one["kind"]) for one in found} == {("v1", "ConfigMap")}


async def test_an_encoded_slash_is_a_slash_to_the_server(admin: Client, namespace: str) -> None:
    """Which is why it counts as one here."""
    request = Request(path=f"/api/v1/namespaces/{namespace}%2fconfigmaps", headers=admin.headers())
    answer = await admin.ask(request, doing="get an encoded path")
    assert msgspec.json.decode(answer.body)["kind"] == "ConfigMapList"
