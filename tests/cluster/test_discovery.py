"""Which kinds the real server has, told in both forms, and what becomes of groups that it can't tell."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from harness.controlplane import Access
from harness.faultproxy import Answer, FaultProxy, Garbage, Reset, Rule, kube_status
from skoupa.errors import BadReply, Forbidden, KindUnreadable, Unauthorized, UnknownKind
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from skoupa.kube.transport import Request, Response, Stream, Transport
from skoupa.ledger.trash.patience import Patience
from tests.cluster.reaching import connected, eventually

pytestmark = pytest.mark.cluster

API_SERVICES = Resource(
    group="apiregistration.k8s.io", version="v1", plural="apiservices", kind="APIService", namespaced=False
)


class OldServer:
    """The server as it was before aggregated discovery: it does not know the media types and answers in plain JSON."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.asked: list[str] = []

    async def send(self, request: Request) -> Response:
        self.asked.append(request.path)
        headers = tuple(
            (name, "application/json" if name == "Accept" and "apidiscovery" in value else value)
            for name, value in request.headers
        )
        return await self._inner.send(msgspec.structs.replace(request, headers=headers))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        async with self._inner.stream(request) as stream:
            yield stream

    async def close(self) -> None:
        await self._inner.close()


async def test_who_waits_for_the_kinds_no_longer_than_a_while_is_told_the_same(through_proxy: Client) -> None:
    """What may be taken back before it leaves is the same request: with a body the server would refuse it."""
    patient = Patience(through_proxy, seconds=60)

    async def told_the_same() -> bool:
        # Other tests define and remove kinds meanwhile.
        return await discover(patient.client) == await discover(through_proxy)

    await eventually(told_the_same, what="both to be told the same")


async def test_two_requests_tell_all_kinds(through_proxy: Client, proxy: FaultProxy) -> None:
    found = await discover(through_proxy)
    assert [request.path for request in proxy.requests] == ["/api", "/apis"]
    pods = found.resolve("pods")
    assert (pods.group, pods.version, pods.kind, pods.namespaced) == ("", "v1", "Pod", True)
    assert pods.may("get", "list", "watch", "create", "delete", "deletecollection")
    assert {"status", "log", "eviction"} <= set(pods.subresources)
    assert not found.resolve("nodes").namespaced
    assert found.resolve("deploy").qualified == "deployments.apps"
    assert found.find("batch", "CronJob") == found.resolve("cj")
    preferred = [(each.group, each.plural) for each in found.preferred()]
    assert len(preferred) == len(set(preferred))


def comparable(found: Discovery) -> set[tuple[Any, ...]]:
    """Without the order of short names and the like, which the two forms may give differently."""
    return {
        (
            each.group,
            each.version,
            each.plural,
            each.kind,
            each.namespaced,
            each.singular,
            frozenset(each.short_names),
            frozenset(each.verbs),
            frozenset(each.categories),
            frozenset(each.subresources),
        )
        for each in found.resources
        if not each.plural.startswith("wire-")
    }


async def test_an_older_server_is_asked_group_by_group_and_tells_the_same(
    control_plane: Access, admin: Client
) -> None:
    old: list[OldServer] = []

    def wrap(inner: Transport) -> Transport:
        old.append(OldServer(inner))
        return old[0]

    async with connected(control_plane.kubeconfig, wrap=wrap) as client:
        found = await discover(client)
    # Other tests define and remove kinds meanwhile; all those that are built in are compared.
    built_in = [
        each for each in comparable(await discover(admin)) if "." not in each[0] or "k8s.io" in each[0]
    ]
    assert set(built_in) <= comparable(found)
    assert "/apis/apps/v1" in old[0].asked


@pytest.mark.parametrize("refused", [kube_status(406), kube_status(415)], ids=["406", "415"])
async def test_a_server_that_refuses_the_media_type_is_asked_in_plain_json(
    through_proxy: Client, proxy: FaultProxy, admin: Client, refused: Answer
) -> None:
    """Some proxies on the way refuse what they do not know instead of passing it on."""
    proxy.script(Rule(refused, path="/api", times=1))
    proxy.script(Rule(refused, path="/apis", times=1))
    found = await discover(through_proxy)
    assert found.resolve("pods").kind == "Pod"
    assert found.resolve("deployments").group == "apps"


async def test_a_group_that_fails_in_the_old_form_is_a_gap_and_the_others_are_there(
    proxy: FaultProxy,
) -> None:
    broken = proxy.script(
        Rule(kube_status(503, message="the apps server sleeps"), path="/apis/apps/v1", times=None)
    )
    proxy.script(Rule(Garbage("html"), path="/apis/batch/v1", times=None))
    async with connected(proxy, wrap=OldServer) as client:
        found = await discover(client)
    assert proxy.hits(broken) > 1, "a server that is away for a moment is asked again"
    assert {gap.where for gap in found.gaps} == {"apps/v1", "batch/v1"}
    assert found.resolve("pods").kind == "Pod"
    with pytest.raises(KindUnreadable, match="apps/v1") as unreadable:
        found.resolve("deployments")
    assert "the apps server sleeps" in str(unreadable.value)
    assert found.unreadable("apps") is not None
    assert found.unreadable("policy") is None


@asynccontextmanager
async def api_service(admin: Client, group: str) -> AsyncIterator[None]:
    """An extension server that is registered and is not there."""
    body = {
        "metadata": {"name": f"v1.{group}"},
        "spec": {
            "group": group,
            "version": "v1",
            "insecureSkipTLSVerify": True,
            "groupPriorityMinimum": 100,
            "versionPriority": 10,
            "service": {"namespace": "default", "name": "nobody-home"},
        },
    }
    made = await admin.create(API_SERVICES, body)
    try:
        yield
    finally:
        await admin.delete(API_SERVICES, f"v1.{group}", uid=made["metadata"]["uid"], propagation="Background")


@pytest.mark.parametrize("wrap", [lambda inner: inner, OldServer], ids=["aggregated", "old"])
async def test_kinds_of_an_extension_server_that_is_away_are_unknown_and_not_absent(
    spare_plane: Access, wrap: Callable[[Transport], Transport]
) -> None:
    group = f"away-{secrets.token_hex(3)}.example"
    async with (
        connected(spare_plane.kubeconfig) as admin,
        connected(spare_plane.kubeconfig, wrap=wrap) as client,
        api_service(admin, group),
    ):

        async def known() -> Discovery | None:
            found = await discover(client)
            return found if found.unreadable(group) else None

        found = await eventually(known, what="the gap is seen")
        assert found is not None
        with pytest.raises(KindUnreadable, match=group):
            found.resolve("widgets")
        assert found.resolve("pods").kind == "Pod", "what is known stays known"
        assert found.find(group, "Widget") is None


def definition(group: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "metadata": {"name": f"gizmos.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "plural": "gizmos",
                "singular": "gizmo",
                "kind": "Gizmo",
                "shortNames": ["gzm"],
                "categories": ["all"],
            },
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": schema},
                {"name": "v1alpha1", "served": True, "storage": False, "schema": schema},
            ],
        },
    }


async def test_a_custom_kind_resolves_by_every_form_of_its_name(admin: Client) -> None:
    group = f"g{secrets.token_hex(3)}.example"
    made = await admin.create(CUSTOM_RESOURCE_DEFINITIONS, definition(group))
    try:

        async def served() -> Discovery | None:
            found = await discover(admin)
            return found if found.find(group, "Gizmo") else None

        found = await eventually(served, what="the kind is served")
        assert found is not None
        gizmo = found.find(group, "Gizmo", "v1")
        for name in (
            f"gizmos.{group}",
            f"gizmo.{group}",
            f"Gizmo.{group}",
            f"gzm.{group}",
            f"gizmos.v1.{group}",
            f"{group}/v1/Gizmo",
            f"{group}/v1/gizmos",
            f"{group}/Gizmo",
            f"{group}/gizmos",
            f" GIZMOS.{group.upper()} ",
        ):
            assert found.resolve(name) == gizmo, name
        assert {found.resolve(name).kind for name in ("gizmos", "gizmo", "Gizmo", "gzm")} == {"Gizmo"}
        older = found.resolve(f"gizmos.v1alpha1.{group}")
        assert older.version == "v1alpha1"
        assert found.resolve(f"{group}/v1alpha1/Gizmo") == older
        assert gizmo is not None
        assert gizmo.namespaced
        assert gizmo.categories == ("all",)
        with pytest.raises(UnknownKind, match="gizmos"):
            found.resolve(f"gizmoss.{group}")
    finally:
        await admin.delete(
            CUSTOM_RESOURCE_DEFINITIONS,
            f"gizmos.{group}",
            uid=made["metadata"]["uid"],
            propagation="Background",
        )


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (kube_status(401), Unauthorized),
        (kube_status(403), Forbidden),
        (Garbage("html"), BadReply),
        (Garbage("truncated"), BadReply),
        (Answer(200, b'{"kind":"PodList","items":[]}'), BadReply),
        (Answer(200, b"[]"), BadReply),
    ],
    ids=["401", "403", "portal", "half", "another kind", "another type"],
)
async def test_a_server_that_tells_nothing_has_not_no_kinds(
    through_proxy: Client, proxy: FaultProxy, fault: Answer | Garbage, error: type[Exception]
) -> None:
    proxy.script(Rule(fault, path="/apis", times=None))
    with pytest.raises(error):
        await discover(through_proxy)


async def test_a_discovery_that_is_cut_is_asked_for_again(through_proxy: Client, proxy: FaultProxy) -> None:
    cut = proxy.script(Rule(Reset(after_bytes=3000), path="/apis", times=2))
    assert (await discover(through_proxy)).resolve("deploy").kind == "Deployment"
    assert proxy.hits(cut) == 2


async def test_an_unknown_kind_is_answered_with_near_names(admin: Client) -> None:
    found = await discover(admin)
    with pytest.raises(UnknownKind, match="deployments"):
        found.resolve("deploymnets")
    assert await admin.find(found.resolve("ns"), "default", view=METADATA)
