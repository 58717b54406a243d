from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skoupa.errors import UsageError
from skoupa.kube.resources import CONFIG_MAPS as CONFIG_MAP_KIND
from skoupa.kube.resources import Resource
from skoupa.kube.transport import Request
from skoupa.sim.clock import START, VirtualClock, run
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.content import manifests
from skoupa.sim.content.generate import generate
from skoupa.sim.server import watching as watch_module
from skoupa.sim.state.access import Rule
from tests.unit.sim.asking import (
    CONFIG_MAPS,
    NAMESPACES,
    PODS,
    Object,
    ask,
    exists,
    made,
    on_cluster,
    owner,
    request,
    watching,
)

pytestmark = pytest.mark.unit

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def test_the_same_seed_gives_the_same_run() -> None:
    async def work(cluster: EmbeddedCluster) -> list[tuple[str, str]]:
        body = {"metadata": {"generateName": "x-"}}
        found = [(await ask(cluster, "POST", CONFIG_MAPS, body=body))[1]["metadata"] for _ in range(3)]
        return [(metadata["name"], metadata["uid"]) for metadata in found]

    assert on_cluster(work, seed=7) == on_cluster(work, seed=7)
    assert on_cluster(work, seed=7) != on_cluster(work, seed=8)


def test_the_date_is_that_of_the_clock_and_its_skew() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        await cluster.clock.sleep(1.9)
        response = await cluster.send(request("GET", NAMESPACES))
        assert response.headers["date"] == "Thu, 01 Jan 2026 00:00:01 GMT"
        cluster.skew = -60
        response = await cluster.send(request("GET", NAMESPACES))
        assert response.headers["date"] == "Wed, 31 Dec 2025 23:59:01 GMT"

    on_cluster(work)


def test_bookmarks_come_every_minute_and_the_server_ends_the_watch() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        await made(cluster, CONFIG_MAPS, "one")
        async with watching(cluster, CONFIG_MAPS, allowWatchBookmarks="true", resourceVersion="1") as events:
            times = [cluster.clock.monotonic() async for event in events if event["type"] == "BOOKMARK"]
        assert [round(times[index]) for index in range(3)] == [60, 120, 180]
        assert 1800 <= cluster.clock.monotonic() <= 3600

    on_cluster(work)


def test_a_change_that_comes_while_lines_are_read_is_not_lost() -> None:
    async def work(cluster: EmbeddedCluster) -> list[str]:
        await made(cluster, CONFIG_MAPS, "a")
        seen: list[str] = []
        async with watching(cluster, CONFIG_MAPS, timeoutSeconds="30") as events:
            async for event in events:
                seen.append(event["object"]["metadata"]["name"])
                if len(seen) < 6:
                    await made(cluster, CONFIG_MAPS, f"new-{len(seen)}")
        return seen

    assert on_cluster(work) == ["a", "kube-root-ca.crt", *(f"new-{number}" for number in range(1, 6))]


def test_a_client_that_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_module, "LONGEST_QUEUE", 10)

    async def work(cluster: EmbeddedCluster) -> int:
        async with watching(cluster, CONFIG_MAPS, resourceVersion="1") as events:
            for number in range(50):
                await made(cluster, CONFIG_MAPS, f"new-{number}")
            assert cluster.statistics()["watches"] == 0
            return len([event async for event in events if event["type"] == "ADDED"])

    assert on_cluster(work) < 50


def test_a_bound_pod_goes_when_its_grace_is_over() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        await made(cluster, PODS, "web", spec={"nodeName": "n1", "terminationGracePeriodSeconds": 45})
        await ask(cluster, "DELETE", f"{PODS}/web")
        await cluster.clock.sleep(44)
        assert await exists(cluster, f"{PODS}/web")
        await cluster.clock.sleep(2)
        assert not await exists(cluster, f"{PODS}/web")

    on_cluster(work)


def test_an_event_goes_an_hour_after_its_last_write() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        body: Object = {
            "metadata": {"name": "e"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "skoupa.dev/test",
            "reportingInstance": "x",
            "action": "Test",
            "reason": "Test",
            "type": "Normal",
            "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
        }
        assert (await ask(cluster, "POST", EVENTS, body=body))[0] == 201
        await cluster.clock.sleep(3000)
        patch = {"metadata": {"labels": {"again": "yes"}}}
        assert (await ask(cluster, "PATCH", f"{EVENTS}/e", body=patch))[0] == 200
        await cluster.clock.sleep(3000)
        assert await exists(cluster, f"{EVENTS}/e")
        await cluster.clock.sleep(1000)
        assert not await exists(cluster, f"{EVENTS}/e")

    on_cluster(work)


def test_what_is_loaded_keeps_its_identity_and_its_past() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        status = {"phase": "Succeeded"}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "old",
                "namespace": "shop",
                "uid": "u-1",
                "creationTimestamp": "2020-01-01T00:00:00Z",
                "labels": None,
            },
            "status": status,
        }
        assert cluster.load([pod]) == 1
        found = (await ask(cluster, "GET", "/api/v1/namespaces/shop/pods/old"))[1]
        assert (found["metadata"]["uid"], found["status"]) == ("u-1", status)
        assert found["metadata"]["creationTimestamp"] == "2020-01-01T00:00:00Z"
        # Its namespace was in no manifest and is there all the same, furnished as any other.
        await cluster.clock.idle()
        assert await exists(cluster, "/api/v1/namespaces/shop/serviceaccounts/default")

    on_cluster(work)


def test_what_is_loaded_is_not_changed_by_it() -> None:
    spec: Object = {"containers": []}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "finalizers": []}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}

    async def work(cluster: EmbeddedCluster) -> None:
        cluster.fill([claim, pod])

    on_cluster(work)
    assert spec == {"containers": []}
    assert claim["metadata"] == {"name": "c", "finalizers": []}


def test_dumped_manifests_of_unknown_kinds_can_be_loaded(tmp_path: Path) -> None:
    file = tmp_path / "dump.yaml"
    file.write_text(
        "kind: List\napiVersion: v1\nitems:\n"
        "- {apiVersion: shop.example/v1, kind: Till, metadata: {name: one, namespace: shop}}\n"
        "- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}}\n"
    )

    async def work(cluster: EmbeddedCluster) -> None:
        assert cluster.load(manifests.load(file)) == 2
        assert await exists(cluster, "/apis/shop.example/v1/namespaces/shop/tills/one")
        assert await exists(cluster, f"{CONFIG_MAPS}/two")

    on_cluster(work)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"group": "shop.example"}, "has no versions"),
        ({"names": {"plural": "tills", "kind": "Till"}}, "has no group"),
        (
            {
                "group": "shop.example",
                "names": {"plural": "tills", "kind": 7},
                "versions": [{"served": True, "name": "v1"}],
            },
            "can't be understood",
        ),
    ],
    ids=str,
)
def test_a_definition_that_no_server_would_take_is_refused_by_name(spec: dict[str, Any], said: str) -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        body = {"metadata": {"name": "tills.shop.example"}, "spec": spec}
        kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        with pytest.raises(UsageError, match=rf"CustomResourceDefinition tills\.shop\.example {said}"):
            cluster.load([{**kind, **body}])

    on_cluster(work)


def test_an_object_of_an_unknown_kind_is_refused_by_name() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        with pytest.raises(UsageError, match=r"does not serve Till of shop\.example/v1"):
            cluster.fill([{"apiVersion": "shop.example/v1", "kind": "Till", "metadata": {"name": "x"}}])

    on_cluster(work)


def test_a_generated_cluster_is_stable() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        assert cluster.fill(generate(3000, now=cluster.clock.now())) == 3000
        await cluster.clock.idle()
        before = cluster.statistics()
        await cluster.clock.sleep(24 * 3600)
        assert cluster.statistics() == before

    on_cluster(work)


def test_a_watch_hears_of_what_is_loaded_and_an_older_version_is_gone() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        version = (await ask(cluster, "GET", CONFIG_MAPS))[1]["metadata"]["resourceVersion"]
        loaded = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}
        async with watching(cluster, CONFIG_MAPS, resourceVersion=version) as events:
            cluster.fill([loaded])
            event = await anext(events)
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "new")
        async with watching(cluster, CONFIG_MAPS, resourceVersion=version) as events:
            assert (await anext(events))["object"]["code"] == 410

    on_cluster(work)


def test_without_controllers_nothing_is_collected() -> None:
    async def main(clock: VirtualClock) -> None:
        cluster = EmbeddedCluster(clock=clock)
        boss = await made(cluster, CONFIG_MAPS, "boss")
        await made(cluster, CONFIG_MAPS, "child", ownerReferences=[owner(boss)])
        await ask(cluster, "DELETE", f"{CONFIG_MAPS}/boss")
        await clock.sleep(3600)
        assert await exists(cluster, f"{CONFIG_MAPS}/child")
        await cluster.close()

    run(main)


def test_a_stale_group_is_listed_without_its_kinds_and_does_not_answer() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        cluster.discovery.stale.add("metrics.k8s.io")
        accept = (("accept", "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"),)
        response = await cluster.send(Request(path="/apis", headers=accept))
        assert (
            b'{"name":"metrics.k8s.io"},"versions":[{"version":"v1beta1","freshness":"Stale"}]'
            in response.body
        )
        status, said = await ask(cluster, "GET", "/apis/metrics.k8s.io/v1beta1/nodes")
        assert (status, said["reason"]) == (503, "ServiceUnavailable")
        assert (await ask(cluster, "GET", "/apis/metrics.k8s.io/v1beta1"))[0] == 503

    on_cluster(work)


def test_denials_and_rules_guard_requests_and_reviews_alike() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        bob, eve = cluster.as_user("bob"), cluster.as_user("eve")
        cluster.deny(user="bob", verbs=["delete"], resources=["configmaps"], namespaces=["default"])
        cluster.allow_only("eve", [Rule(verbs=("get",), resources=("configmaps",), names=("one",))])
        await made(bob, CONFIG_MAPS, "one")
        status, said = await ask(bob, "DELETE", f"{CONFIG_MAPS}/one")
        assert status == 403
        assert said["message"] == (
            'configmaps "one" is forbidden: User "bob" cannot delete resource "configmaps" in API group "" '
            'in the namespace "default"'
        )
        assert (await ask(eve, "GET", f"{CONFIG_MAPS}/one"))[0] == 200
        assert (await ask(eve, "GET", f"{CONFIG_MAPS}/two"))[0] == 403
        assert (await ask(eve, "GET", CONFIG_MAPS))[0] == 403
        spec = {"resourceAttributes": {"verb": "delete", "resource": "configmaps", "namespace": "default"}}
        review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        assert (await ask(bob, "POST", review, body={"spec": spec}))[1]["status"] == {"allowed": False}

    on_cluster(work)


def test_statistics_count_objects_watches_and_requests() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        async with watching(cluster, CONFIG_MAPS):
            await made(cluster, CONFIG_MAPS, "one")
            found = cluster.statistics()
        assert found["objects"]["configmaps"] == 5
        assert found["watches"] == 1
        assert found["requests"] == {"get": 1, "watch": 1}
        assert cluster.statistics()["watches"] == 0
        assert [
            each["metadata"]["name"] for each in cluster.objects(CONFIG_MAP_KIND, namespace="default")
        ] == [
            "kube-root-ca.crt",
            "one",
        ]

    on_cluster(work)


def test_an_installed_kind_is_served_at_once() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        cluster.install(
            Resource(
                group="shop.example",
                version="v1",
                plural="tills",
                kind="Till",
                namespaced=True,
                verbs=("create", "get", "list", "watch", "delete"),
            )
        )
        path = "/apis/shop.example/v1/namespaces/default/tills"
        body = {"apiVersion": "shop.example/v1", "kind": "Till", "metadata": {"name": "x"}, "spec": {"a": 1}}
        status, found = await ask(cluster, "POST", path, body=body)
        assert (status, found["spec"], found["metadata"]["generation"]) == (201, {"a": 1}, 1)
        assert found["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
        assert cluster.clock.now() == START

    on_cluster(work)
