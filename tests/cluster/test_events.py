"""Events as the real server takes them: visible, told once, and never in anybody's way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from harness.controlplane import Access
from harness.faultproxy import FaultProxy, Reset, Rule, Silence, kube_status
from skoupa.errors import Forbidden
from skoupa.kube.client import Client
from skoupa.kube.events import NOTE_LIMIT, Event, EventWriter, Regarding, event_name
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, EVENTS, NAMESPACES, Resource
from tests.cluster.reaching import connected, until

pytestmark = pytest.mark.cluster

CORE_EVENTS = Resource(version="v1", plural="events", kind="Event", namespaced=True)


@asynccontextmanager
async def writing(client: Client, *, queue_size: int = 100) -> AsyncIterator[EventWriter]:
    writer = EventWriter(client, instance="skoupa-0", queue_size=queue_size)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(writer.run())
        yield writer
        async with asyncio.timeout(60):
            await writer.drain()
        running.cancel()


async def config_map(client: Client, namespace: str, name: str = "old") -> Regarding:
    made = await client.create(CONFIG_MAPS, {"metadata": {"name": name}}, namespace=namespace)
    return Regarding(
        api_version="v1",
        kind="ConfigMap",
        name=name,
        namespace=namespace,
        uid=made["metadata"]["uid"],
        resource_version=made["metadata"]["resourceVersion"],
    )


def expired(regarding: Regarding, *, note: str = "its time was over", at: float = 1_790_000_000.25) -> Event:
    return Event(regarding=regarding, reason="Expired", action="Delete", note=note, at=at)


async def events_in(client: Client, namespace: str, *, name: str = "") -> list[dict[str, Any]]:
    fields = f"metadata.name={name}" if name else ""
    return (await everything(client, EVENTS, WHOLE, scope=Scope(namespace=namespace, fields=fields))).items


async def test_an_event_is_visible_beside_its_object(admin: Client, namespace: str) -> None:
    regarding = await config_map(admin, namespace)
    async with writing(admin) as writer:
        assert writer.tell(expired(regarding))
    assert writer.statistics() == {"queued": 0, "told": 1, "dropped": 0, "failed": 0}
    (event,) = await events_in(admin, namespace)
    assert event["reason"] == "Expired"
    assert event["note"] == "its time was over"
    assert event["regarding"]["uid"] == regarding.uid
    assert event["reportingController"] == "skoupa"
    assert event["reportingInstance"] == "skoupa-0"
    assert event["eventTime"].endswith(".250000Z")
    # `kubectl describe` and `kubectl events` find it by the fields of the core kind.
    fields = f"involvedObject.uid={regarding.uid},involvedObject.kind=ConfigMap"
    shown = await everything(admin, CORE_EVENTS, METADATA, scope=Scope(namespace=namespace, fields=fields))
    assert len(shown.items) == 1


async def test_telling_twice_makes_one_event_and_another_time_makes_another(
    admin: Client, namespace: str
) -> None:
    regarding = await config_map(admin, namespace)
    async with writing(admin) as one, writing(admin) as other:
        for writer in (one, one, other):
            assert writer.tell(expired(regarding))
        assert one.tell(expired(regarding, at=1_790_000_001.0))
    assert (one.told, one.failed, other.told, other.failed) == (3, 0, 1, 0)
    assert len(await events_in(admin, namespace)) == 2


async def test_an_event_whose_answer_was_lost_is_told_once(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    regarding = await config_map(through_proxy, namespace)
    lost = proxy.script(Rule(Reset(after_bytes=0), method="POST", times=1))
    async with writing(through_proxy) as writer:
        writer.tell(expired(regarding))
    assert proxy.hits(lost) == 1
    assert (writer.told, writer.failed) == (1, 0)
    assert len(await events_in(through_proxy, namespace)) == 1


@pytest.mark.parametrize(
    "name",
    ["system:controller:Job_GC", "a" * 253, "..", "x.-y", "ÄPFEL", "ends-with-dash-" * 16],
    ids=["rbac", "longest", "dots", "dot-dash", "umlaut", "cut at a dash"],
)
async def test_an_event_about_any_name_is_taken(admin: Client, namespace: str, name: str) -> None:
    regarding = Regarding(api_version="rbac.authorization.k8s.io/v1", kind="ClusterRole", name=name, uid=name)
    event = expired(regarding, note=f"asked from {namespace}")
    async with writing(admin) as writer:
        writer.tell(event)
    assert writer.last_error is None
    (found,) = await events_in(admin, "default", name=event_name(event))
    assert found["regarding"]["name"] == name


@pytest.mark.parametrize("letter", ["x", "ü", "€", "🧹"])
async def test_a_long_note_is_cut_where_the_server_wants_it_and_between_two_letters(
    admin: Client, namespace: str, letter: str
) -> None:
    regarding = await config_map(admin, namespace)
    async with writing(admin) as writer:
        writer.tell(expired(regarding, note=letter * 2000))
        writer.tell(expired(regarding, note="y" * NOTE_LIMIT))
    assert (writer.told, writer.failed) == (2, 0)
    notes = {event["note"] for event in await events_in(admin, namespace)}
    assert "y" * NOTE_LIMIT in notes
    (cut,) = (note for note in notes if note[0] == letter)
    assert set(cut) == {letter, "…"}
    assert NOTE_LIMIT - 8 < len(cut.encode()) <= NOTE_LIMIT


async def test_an_event_about_an_object_in_a_terminating_namespace_is_told_in_default(
    admin: Client, namespace: str
) -> None:
    held = {"metadata": {"name": "held", "finalizers": ["skoupa.dev/test"]}}
    made = await admin.create(CONFIG_MAPS, held, namespace=namespace)
    uid = (await admin.get(NAMESPACES, namespace, view=METADATA)).metadata.uid
    await admin.delete(NAMESPACES, namespace, uid=uid, propagation="Background")
    regarding = Regarding(
        api_version="v1",
        kind="ConfigMap",
        name="held",
        namespace=namespace,
        uid=made["metadata"]["uid"],
    )
    event = expired(regarding)
    async with writing(admin) as writer:
        writer.tell(event)
    assert (writer.told, writer.failed) == (1, 0)
    (found,) = await events_in(admin, "default", name=event_name(event))
    assert found["regarding"]["namespace"] == namespace
    await admin.json_patch(
        CONFIG_MAPS, "held", [{"op": "remove", "path": "/metadata/finalizers"}], namespace=namespace
    )


async def test_an_event_about_an_object_whose_namespace_is_gone_is_told_in_default(
    admin: Client, namespace: str
) -> None:
    regarding = Regarding(
        api_version="v1", kind="ConfigMap", name="x", namespace=f"{namespace}-never", uid=namespace
    )
    event = expired(regarding)
    async with writing(admin) as writer:
        writer.tell(event)
    assert len(await events_in(admin, "default", name=event_name(event))) == 1


async def test_a_full_queue_drops_and_counts_and_nobody_waits(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    regarding = await config_map(through_proxy, namespace)
    stuck = proxy.script(Rule(Silence(after_bytes=0), method="POST", times=1))
    writer = EventWriter(through_proxy, instance="skoupa-0", queue_size=10)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(writer.run())
        writer.tell(expired(regarding, note="the one that is under way"))
        await until(lambda: proxy.hits(stuck) == 1, what="the server does not answer")
        # `tell` is no coroutine: it can't wait. It says what became of each.
        room = [writer.tell(expired(regarding, note=str(number))) for number in range(1000)]
        assert room == [True] * 10 + [False] * 990
        assert writer.statistics() == {"queued": 10, "told": 0, "dropped": 990, "failed": 0}
        proxy.cut_open_connections(watch_only=False)
        async with asyncio.timeout(60):
            await writer.drain()
        running.cancel()
    assert writer.statistics() == {"queued": 0, "told": 11, "dropped": 990, "failed": 0}
    assert len(await events_in(through_proxy, namespace)) == 11


async def test_events_that_may_not_be_written_are_counted_and_the_next_are_still_tried(
    control_plane: Access, admin: Client, namespace: str
) -> None:
    regarding = await config_map(admin, namespace)
    kubeconfig = control_plane.kubeconfig_for(user="tells-nothing")
    async with connected(kubeconfig) as client, writing(client) as writer:
        writer.tell(expired(regarding))
        writer.tell(expired(regarding, note="again"))
    assert writer.statistics() == {"queued": 0, "told": 0, "dropped": 0, "failed": 2}
    assert isinstance(writer.last_error, Forbidden)


async def test_an_overloaded_server_gets_the_event_later(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    regarding = await config_map(through_proxy, namespace)
    proxy.script(Rule(kube_status(503), method="POST", times=3))
    async with writing(through_proxy) as writer:
        writer.tell(expired(regarding))
    assert (writer.told, writer.failed) == (1, 0)
    assert msgspec.json.encode(await events_in(through_proxy, namespace)).count(b'"Expired"') == 1


async def test_an_event_that_is_never_taken_does_not_hold_up_the_others(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    regarding = await config_map(through_proxy, namespace)
    refused = msgspec.structs.replace(regarding, namespace="default", name="refused")
    proxy.script(
        Rule(kube_status(500), method="POST", path="/apis/events.k8s.io/v1/namespaces/default/", times=None)
    )
    async with asyncio.TaskGroup() as tasks:
        writer = EventWriter(through_proxy, instance="skoupa-0", queue_size=100)
        running = tasks.create_task(writer.run())
        writer.tell(expired(refused))
        for number in range(20):
            writer.tell(expired(regarding, note=str(number)))
        await until(lambda: writer.told == 20, what="the others")
        assert (writer.dropped, writer.failed) == (0, 0)
        proxy.clear()
        async with asyncio.timeout(60):
            await writer.drain()
        running.cancel()
    assert len(await events_in(through_proxy, namespace)) == 20
    assert writer.told == 21
