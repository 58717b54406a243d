"""Lists in pages: one moment of the cluster, one page of memory, and never half a truth."""

from __future__ import annotations

import asyncio
import gc
import re
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest

from harness.controlplane import Access
from harness.faultproxy import Close, FaultProxy, Garbage, Reset, Rule, Silence, kube_status
from skoupa.errors import BadReply, Disconnected, Forbidden, Gone, NotFound
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, count, everything, pages
from skoupa.kube.objects import METADATA, WHOLE, Partial
from skoupa.kube.resources import CONFIG_MAPS, Resource
from tests.cluster.reaching import Hasty, connected, eventually, exists, new_namespace

pytestmark = pytest.mark.cluster

MADE = 60
LATER_PAGE = re.compile("continue=")


@pytest.fixture
async def stocked(admin: Client, namespace: str) -> str:
    """A namespace with ConfigMaps, every other one of them labelled."""
    await stock(admin, namespace, MADE)
    return namespace


async def stock(client: Client, namespace: str, number: int, *, payload: str = "x") -> None:
    async with asyncio.TaskGroup() as tasks:
        for each in range(number):
            labels = {"half": "one" if each % 2 else "other"}
            body = {"metadata": {"name": f"cm-{each:04}", "labels": labels}, "data": {"payload": payload}}
            tasks.create_task(client.create(CONFIG_MAPS, body, namespace=namespace))


def names(items: list[Partial]) -> list[str]:
    return [item.metadata.name for item in items if item.metadata.name != "kube-root-ca.crt"]


EXPECTED = [f"cm-{each:04}" for each in range(MADE)]


async def test_a_list_comes_in_pages_of_one_moment(admin: Client, stocked: str) -> None:
    versions, sizes, firsts, found = set(), [], [], []
    async with aclosing(
        pages(admin, CONFIG_MAPS, METADATA, scope=Scope(namespace=stocked), page_size=25)
    ) as listing:
        async for page in listing:
            if page.first:
                # What happens while a list is read is not in it: its pages are of the moment of the first.
                await admin.create(CONFIG_MAPS, {"metadata": {"name": "cm-9999"}}, namespace=stocked)
            versions.add(page.resource_version)
            sizes.append(len(page.items))
            firsts.append(page.first)
            found += names(page.items)
    assert found == EXPECTED
    assert len(versions) == 1
    assert sizes[:2] == [25, 25]
    assert firsts == [True, False, False]


async def test_selectors_are_the_servers_work(through_proxy: Client, proxy: FaultProxy, stocked: str) -> None:
    scope = Scope(namespace=stocked, labels="half=one", fields="metadata.name!=cm-0001")
    listed = await everything(through_proxy, CONFIG_MAPS, METADATA, scope=scope)
    assert names(listed.items) == [name for name in EXPECTED[1::2] if name != "cm-0001"]
    (request,) = proxy.requests
    assert "labelSelector=half%3Done" in request.query or "labelSelector=half=one" in request.query


async def test_a_list_of_all_namespaces_shows_each_of_them(admin: Client, stocked: str) -> None:
    async with new_namespace(admin) as other:
        await stock(admin, other, 2)
        listed = await everything(admin, CONFIG_MAPS, METADATA, scope=Scope(labels="half"), page_size=7)
    namespaces = [item.metadata.namespace for item in listed.items]
    assert namespaces.count(stocked) == MADE
    assert namespaces.count(other) == 2


async def test_whole_objects_come_with_their_bodies_and_metadata_without(admin: Client, stocked: str) -> None:
    scope = Scope(namespace=stocked, fields="metadata.name=cm-0000")
    (whole,) = (await everything(admin, CONFIG_MAPS, WHOLE, scope=scope)).items
    (partial,) = (await everything(admin, CONFIG_MAPS, METADATA, scope=scope)).items
    assert whole["data"] == {"payload": "x"}
    assert partial.kind == "PartialObjectMetadata"
    assert partial.metadata.uid == whole["metadata"]["uid"]


async def test_counting_costs_one_object(through_proxy: Client, proxy: FaultProxy, stocked: str) -> None:
    await eventually(
        lambda: exists(through_proxy, CONFIG_MAPS, "kube-root-ca.crt", namespace=stocked),
        what="the last ConfigMap that is made by itself",
    )
    listed = await everything(through_proxy, CONFIG_MAPS, METADATA, scope=Scope(namespace=stocked))
    before = len(proxy.requests)
    assert await count(through_proxy, CONFIG_MAPS, namespace=stocked) == len(listed.items) >= MADE
    (request,) = proxy.requests[before:]
    assert "limit=1" in request.query


async def test_an_empty_list_is_a_page_without_objects(admin: Client, namespace: str) -> None:
    listed = await everything(
        admin, CONFIG_MAPS, METADATA, scope=Scope(namespace=namespace, labels="no=thing")
    )
    assert listed.items == []
    assert listed.resource_version


async def test_memory_stays_at_one_page(admin: Client, namespace: str) -> None:
    payload, number, page_size = 100_000, 120, 10
    await stock(admin, namespace, number, payload="y" * payload)
    gc.collect()
    tracemalloc.start()
    try:
        seen = 0
        async with aclosing(
            pages(
                admin,
                CONFIG_MAPS,
                WHOLE,
                scope=Scope(namespace=namespace, labels="half"),
                page_size=page_size,
            )
        ) as listing:
            async for page in listing:
                seen += len(page.items)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert seen == number
    # The body of a page as it comes in pieces, joined, and decoded, and the page before; not the whole list.
    assert peak < 6 * page_size * payload < number * payload


@pytest.mark.parametrize(
    "fault",
    [
        Reset(after_bytes=500),
        Close(after_bytes=500),
        Reset(after_bytes=0),
        kube_status(500),
        kube_status(429, retry_after=0),
    ],
    ids=["reset", "closed", "lost", "500", "429"],
)
async def test_a_page_that_fails_half_way_is_asked_for_again(
    through_proxy: Client, proxy: FaultProxy, stocked: str, fault: Reset
) -> None:
    rule = proxy.script(Rule(fault, path=LATER_PAGE, times=2))
    listed = await everything(
        through_proxy, CONFIG_MAPS, METADATA, scope=Scope(namespace=stocked), page_size=20
    )
    assert names(listed.items) == EXPECTED
    assert proxy.hits(rule) == 2


class Impatient(Hasty):
    """Lives through the minute that a page may take, and through nothing else, in a moment."""

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncIterator[None]:
        async with super().timeout(2.0 if seconds == 60.0 else seconds):
            yield


async def test_a_page_that_falls_silent_is_asked_for_again(proxy: FaultProxy, stocked: str) -> None:
    rule = proxy.script(Rule(Silence(after_bytes=500), path=LATER_PAGE, times=1))
    async with connected(proxy, clock=Impatient()) as client:
        listed = await everything(client, CONFIG_MAPS, METADATA, scope=Scope(namespace=stocked), page_size=20)
    assert names(listed.items) == EXPECTED
    assert proxy.hits(rule) == 1


@pytest.mark.parametrize(
    ("fault", "error"),
    [(Reset(after_bytes=500), Disconnected), (Garbage("html"), BadReply), (Garbage("truncated"), BadReply)],
    ids=["reset", "portal", "truncated"],
)
async def test_a_page_that_keeps_failing_is_an_error_and_no_short_list(
    through_proxy: Client, proxy: FaultProxy, stocked: str, fault: Reset, error: type[Exception]
) -> None:
    proxy.script(Rule(fault, path=LATER_PAGE, times=None))
    with pytest.raises(error):
        await everything(through_proxy, CONFIG_MAPS, METADATA, scope=Scope(namespace=stocked), page_size=20)


async def test_a_list_that_may_not_be_read_or_does_not_exist_is_no_empty_list(
    control_plane: Access, admin: Client
) -> None:
    async with connected(control_plane.kubeconfig_for(user="nobody-in-particular")) as client:
        with pytest.raises(Forbidden):
            await everything(client, CONFIG_MAPS, METADATA)
    ghosts = Resource(group="ghosts.example", version="v1", plural="ghosts", kind="Ghost", namespaced=True)
    with pytest.raises(NotFound):
        await everything(admin, ghosts, METADATA)


@pytest.fixture
async def forgetful(spare_plane: Access) -> AsyncIterator[Client]:
    async with connected(spare_plane.kubeconfig) as client:
        yield client


async def test_a_list_that_expires_half_way_starts_anew_and_is_of_one_moment(
    spare_plane: Access, forgetful: Client
) -> None:
    async with new_namespace(forgetful) as namespace:
        await stock(forgetful, namespace, MADE)
        found: list[str] = []
        versions: set[str] = set()
        firsts = 0
        async with aclosing(
            pages(forgetful, CONFIG_MAPS, METADATA, scope=Scope(namespace=namespace), page_size=20)
        ) as listing:
            async for page in listing:
                if page.first:
                    found, versions, firsts = [], set(), firsts + 1
                if firsts == 1:
                    # Gone before the second page: a list that mixes moments would still show or miss them.
                    await delete(forgetful, namespace, "cm-0000", "cm-0059")
                    await asyncio.to_thread(spare_plane.compact_etcd)
                found += names(page.items)
                versions.add(page.resource_version)
        assert firsts == 2
        assert found == EXPECTED[1:-1]
        assert len(versions) == 1


async def test_a_list_that_keeps_expiring_is_asked_for_in_one_piece(
    spare_plane: Access, forgetful: Client
) -> None:
    async with new_namespace(forgetful) as namespace:
        await stock(forgetful, namespace, MADE)
        sizes = []
        async with aclosing(
            pages(
                forgetful,
                CONFIG_MAPS,
                METADATA,
                scope=Scope(namespace=namespace, labels="half"),
                page_size=20,
            )
        ) as listing:
            async for page in listing:
                sizes.append((page.first, len(page.items)))
                body = {"metadata": {"annotations": {"tick": str(len(sizes))}}}
                await forgetful.merge_patch(CONFIG_MAPS, "cm-0000", body, namespace=namespace)
                await asyncio.to_thread(spare_plane.compact_etcd)
        assert sizes == [(True, 20), (True, 20), (True, 20), (True, MADE)]


async def delete(client: Client, namespace: str, *names: str) -> None:
    for name in names:
        found = await client.get(CONFIG_MAPS, name, namespace=namespace, view=METADATA)
        await client.delete(
            CONFIG_MAPS, name, namespace=namespace, uid=found.metadata.uid, propagation="Background"
        )


async def test_a_list_that_has_expired_before_it_began_is_an_error(
    through_proxy: Client, proxy: FaultProxy, stocked: str
) -> None:
    proxy.script(Rule(kube_status(410), times=None))
    with pytest.raises(Gone):
        await everything(through_proxy, CONFIG_MAPS, METADATA, scope=Scope(namespace=stocked))
