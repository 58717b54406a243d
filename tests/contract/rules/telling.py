"""Events: the server's limits, and how the client's writer lives with them."""

from __future__ import annotations

import asyncio
from typing import Any

from skoupa.kube.events import Event, EventWriter, Regarding
from skoupa.kube.resources import CONFIG_MAPS, EVENTS
from skoupa.kube.timestamps import micro_time
from tests.contract.arena import Arena, Object
from tests.contract.expecting import causes_of, refused
from tests.contract.kinds import CORE_EVENTS
from tests.contract.registry import rule
from tests.contract.rules.deleting import FINALIZER, release
from tests.contract.rules.namespaces import terminate
from tests.contract.sabotage import always, misspeak, skip, swap


def event(arena: Arena, **more: Any) -> Object:
    regarding = {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "namespace": arena.namespace}
    return {
        "metadata": {"name": arena.unique("event")},
        "eventTime": micro_time(arena.clock.now()),
        "reportingController": "contract",
        "reportingInstance": "contract-1",
        "action": "Watching",
        "reason": "Seen",
        "regarding": regarding,
        "note": "it was seen",
        "type": "Normal",
        **more,
    }


@rule(broken_by=swap("writing.bodies._LONGEST_NOTE", 5000))
async def a_note_has_a_largest_size(arena: Arena) -> None:
    """The note of an Event may have 1024 bytes and not one more."""
    await arena.create(EVENTS, event(arena, note="x" * 1024))
    said = await refused(arena.create(EVENTS, event(arena, note="x" * 1025)), code=422, reason="Invalid")
    assert causes_of(said)[0]["field"] == "message"
    said = await refused(arena.create(EVENTS, event(arena, note="ä" * 513)), code=422, reason="Invalid")
    assert causes_of(said)[0]["field"] == "message"


@rule(broken_by=always("writing.validation.event_faults", []))
async def an_event_must_say_who_tells_what(arena: Arena) -> None:
    """An Event without controller, instance, reason, action or time is invalid, and so is an unknown type."""
    for field, named in {
        "reportingController": "reportingController",
        "reportingInstance": "reportingInstance",
        "reason": "reason",
        "action": "action",
        "type": "type",
        "eventTime": "eventTime",
    }.items():
        body = {key: value for key, value in event(arena).items() if key != field}
        said = await refused(arena.create(EVENTS, body), code=422, reason="Invalid")
        assert named in {cause["field"] for cause in causes_of(said)}, said
    await refused(arena.create(EVENTS, event(arena, type="Loud")), code=422, reason="Invalid")


@rule(broken_by=always("writing.bodies._event_without_time", []))
async def events_of_the_core_group_live_where_their_object_lives(arena: Arena) -> None:
    """A core Event about an object of another namespace is invalid; events.k8s.io takes it."""
    elsewhere = {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "namespace": "elsewhere"}
    body = {"metadata": {"name": "one"}, "involvedObject": elsewhere}
    said = await refused(arena.create(CORE_EVENTS, body), code=422, reason="Invalid")
    assert causes_of(said)[0]["field"] == "involvedObject.namespace"
    await arena.create(EVENTS, event(arena, regarding=elsewhere))
    nowhere = {"apiVersion": "v1", "kind": "Namespace", "name": arena.namespace}
    await refused(arena.create(CORE_EVENTS, {**body, "involvedObject": nowhere}), code=422, reason="Invalid")
    await arena.create(EVENTS, event(arena, regarding=nowhere), namespace="default")


@rule(broken_by=swap("state.shapes._NEW_TO_OLD", {}))
async def both_groups_of_events_show_the_same(arena: Arena) -> None:
    """An Event written to events.k8s.io is read in the core group under that group's field names."""
    made = await arena.create(EVENTS, event(arena))
    other = await arena.get(CORE_EVENTS, made["metadata"]["name"])
    assert other["metadata"]["uid"] == made["metadata"]["uid"]
    assert other.get("involvedObject") == made["regarding"]
    assert other["message"] == "it was seen"
    assert other["reportingComponent"] == "contract"
    listed = await arena.listed(CORE_EVENTS, fieldSelector="involvedObject.name=one,reason=Seen")
    assert [item["metadata"]["name"] for item in listed["items"]] == [made["metadata"]["name"]]


@rule(broken_by=skip("writing.writes.namespace_is_open"))
async def the_writer_tells_about_a_terminating_namespace_elsewhere(arena: Arena) -> None:
    """An Event in a terminating namespace is forbidden; the client's writer puts it into `default` instead."""
    held = await arena.config_map("held", finalizers=[FINALIZER])
    await terminate(arena)
    said = await refused(arena.create(EVENTS, event(arena)), code=403, reason="Forbidden")
    assert [cause["reason"] for cause in causes_of(said)] == ["NamespaceTerminating"]
    writer = EventWriter(arena.client, instance="contract-1")
    regarding = Regarding(
        api_version="v1",
        kind="ConfigMap",
        name="held",
        namespace=arena.namespace,
        uid=held["metadata"]["uid"],
    )
    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(writer.run())
        writer.tell(
            Event(regarding=regarding, reason="Seen", action="Watching", note="n", at=arena.clock.now())
        )
        await writer.drain()
        writing.cancel()
    assert (writer.told, writer.failed) == (1, 0), writer.last_error
    selector = f"regarding.uid={held['metadata']['uid']}"
    listed = await arena.listed(EVENTS, namespace="default", fieldSelector=selector)
    assert [item["regarding"]["namespace"] for item in listed["items"]] == [arena.namespace]
    await release(arena, "held")


@rule(broken_by=misspeak("writing.writes.already_exists"))
async def telling_twice_makes_one_event(arena: Arena) -> None:
    """The same Event told twice by the client's writer is one object."""
    made = await arena.config_map("one")
    regarding = Regarding(
        api_version="v1", kind="ConfigMap", name="one", namespace=arena.namespace, uid=made["metadata"]["uid"]
    )
    told = Event(regarding=regarding, reason="Seen", action="Watching", note="twice", at=arena.clock.now())
    writer = EventWriter(arena.client, instance="contract-1")
    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(writer.run())
        writer.tell(told)
        writer.tell(told)
        await writer.drain()
        writing.cancel()
    assert (writer.told, writer.failed) == (2, 0), writer.last_error
    listed = await arena.listed(EVENTS)
    assert [item["note"] for item in listed["items"]] == ["twice"]
    assert await arena.exists(CONFIG_MAPS, "one")
