"""Watches: changes in order, their ends, and what a reader may rely on between."""

from __future__ import annotations

from contextlib import aclosing

from skoupa.errors import Gone
from skoupa.kube.lines import INITIAL_EVENTS_END
from skoupa.kube.lists import Scope
from skoupa.kube.objects import METADATA
from skoupa.kube.watch import watch
from skoupa.kube.watched import Begun, Changed, Interrupted, Listed, Synced
from skoupa.sim.server.watching import at_version
from tests.contract.arena import Arena, Object
from tests.contract.expecting import causes_of, status_of
from tests.contract.kinds import SECRETS, secret
from tests.contract.registry import rule
from tests.contract.sabotage import always, but, edit, misspeak, skip, swap


async def version_now(arena: Arena) -> str:
    version: str = (await arena.listed(SECRETS))["metadata"]["resourceVersion"]
    return version


async def remove(arena: Arena, made: Object) -> None:
    metadata = made["metadata"]
    await arena.client.delete(
        SECRETS, metadata["name"], namespace=arena.namespace, uid=metadata["uid"], propagation="Background"
    )


async def label(arena: Arena, name: str, **labels: str | None) -> Object:
    return await arena.client.merge_patch(
        SECRETS, name, {"metadata": {"labels": labels}}, namespace=arena.namespace
    )


@rule(broken_by=edit("server.watching.seen_by", lambda seen: (seen[0].replace("MODIFIED", "ADDED"), seen[1])))
async def a_watch_tells_changes_in_order(arena: Arena) -> None:
    """A watch from a resourceVersion tells what happened after it, in order, as whole objects with their kind."""
    await arena.create(SECRETS, secret("before"))
    async with arena.watching(SECRETS, resourceVersion=await version_now(arena)) as events:
        made = await arena.create(SECRETS, secret("one"))
        changed = await label(arena, "one", a="b")
        await arena.create(SECRETS, secret("two"))
        await remove(arena, made)
        assert await events.expect("ADDED", "one") == made
        assert await events.expect("MODIFIED", "one") == changed
        await events.expect("ADDED", "two")
        await events.expect("DELETED", "one")


@rule(broken_by=edit("server.watching.seen_by", lambda seen: (seen[0], at_version(seen[1], 1))))
async def a_deletion_is_told_with_the_last_state(arena: Arena) -> None:
    """DELETED carries the last state of the object under the resourceVersion of its removal."""
    made = await arena.create(SECRETS, secret("one", labels={"a": "b"}))
    async with arena.watching(SECRETS, resourceVersion=await version_now(arena)) as events:
        await remove(arena, made)
        last = await events.expect("DELETED", "one")
    assert last["data"] == made["data"]
    assert last["metadata"]["labels"] == {"a": "b"}
    assert last["metadata"]["uid"] == made["metadata"]["uid"]
    assert int(last["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    assert "deletionTimestamp" not in last["metadata"]


@rule(broken_by=always("state.storage.Shelf.since", ()))
async def a_watch_can_begin_in_the_past(arena: Arena) -> None:
    """A watch from an older resourceVersion first tells what has happened since."""
    start = await version_now(arena)
    made = await arena.create(SECRETS, secret("one"))
    await label(arena, "one", a="b")
    await remove(arena, made)
    async with arena.watching(SECRETS, resourceVersion=start) as events:
        await events.expect("ADDED", "one")
        await events.expect("MODIFIED", "one")
        await events.expect("DELETED", "one")


@rule(broken_by=always("state.storage.Shelf.in_namespace", ()))
async def a_watch_from_nowhere_begins_with_what_is_there(arena: Arena) -> None:
    """A watch without a resourceVersion, or from 0, first tells all objects as ADDED."""
    there = {"a", "b"}
    for name in there:
        await arena.create(SECRETS, secret(name))
    # From 0 the server may begin with an older state; what it lacks follows as ADDED all the same.
    for query in ({}, {"resourceVersion": "0"}):
        async with arena.watching(SECRETS, **query) as events:
            told = {(await events.expect("ADDED"))["metadata"]["name"] for _ in there}
            assert told == there
            name = arena.unique("new")
            await arena.create(SECRETS, secret(name))
            await events.expect("ADDED", name)
        there.add(name)


@rule(
    broken_by=swap(
        "server.watching.seen_by",
        lambda selection, change, *, call: (
            change.event if selection.matches(call.served, change.row) else "",
            change.row,
        ),
    )
)
async def leaving_a_selector_is_told_as_a_deletion(arena: Arena) -> None:
    """An object whose labels stop to match is DELETED for the watch, and ADDED when they match again."""
    await arena.create(SECRETS, secret("one", labels={"in": "yes"}))
    await arena.create(SECRETS, secret("two"))
    start = await version_now(arena)
    async with arena.watching(SECRETS, labelSelector="in=yes", resourceVersion=start) as events:
        out = await label(arena, "one", **{"in": "no"})
        left = await events.expect("DELETED", "one")
        # The state before it left, under the resourceVersion of the change.
        assert left["metadata"]["labels"] == {"in": "yes"}
        assert left["metadata"]["resourceVersion"] == out["metadata"]["resourceVersion"]
        await label(arena, "one", x="unseen")
        back = await label(arena, "one", **{"in": "yes"})
        assert await events.expect("ADDED", "one") == back
        await label(arena, "two", **{"in": "yes"})
        await events.expect("ADDED", "two")
        await label(arena, "two", x="y")
        await events.expect("MODIFIED", "two")


@rule(broken_by=always("server.selecting.parse_fields", None))
async def one_object_can_be_watched(arena: Arena) -> None:
    """A watch with a field selector on the name tells of that object only."""
    start = await version_now(arena)
    async with arena.watching(SECRETS, fieldSelector="metadata.name=mine", resourceVersion=start) as events:
        await arena.create(SECRETS, secret("other"))
        await arena.create(SECRETS, secret("mine"))
        await events.expect("ADDED", "mine")


@rule(broken_by=edit("server.watching.selection_of", lambda selection: but(selection, namespace="")))
async def a_watch_of_a_namespace_does_not_tell_of_others(arena: Arena) -> None:
    """A watch of one namespace is silent about the others."""
    other = await arena.new_namespace()
    async with arena.watching(SECRETS, resourceVersion=await version_now(arena)) as events:
        await arena.create(SECRETS, secret("a"), namespace=other)
        await arena.create(SECRETS, secret("b"))
        await events.expect("ADDED", "b")


@rule(broken_by=always("server.calls._partial", False))
async def metadata_alone_can_be_watched(arena: Arena) -> None:
    """A watch of PartialObjectMetadata tells the metadata and nothing else."""
    start = await version_now(arena)
    accept = METADATA.accept(many=False)
    async with arena.watching(SECRETS, resourceVersion=start, accept=accept) as events:
        made = await arena.create(SECRETS, secret("one"))
        told = await events.expect("ADDED", "one")
    assert told == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": made["metadata"],
    }


@rule(broken_by=always("writing.writes._same", False))
async def a_write_that_changes_nothing_is_not_told(arena: Arena) -> None:
    """A patch without effect gives no event."""
    await arena.create(SECRETS, secret("one", labels={"a": "b"}))
    async with arena.watching(SECRETS, resourceVersion=await version_now(arena)) as events:
        await label(arena, "one", a="b")
        await label(arena, "one", a="c")
        told = await events.expect("MODIFIED", "one")
        assert told["metadata"]["labels"] == {"a": "c"}


@rule(broken_by=always("server.watching.Watch._lifetime", 3600.0))
async def a_watch_ends_when_its_time_is_over(arena: Arena) -> None:
    """With timeoutSeconds the server ends the watch properly after that time."""
    start = arena.clock.monotonic()
    query = {"resourceVersion": await version_now(arena), "timeoutSeconds": "1"}
    async with arena.watching(SECRETS, **query) as events:
        assert await events.next() is None
    assert 0.9 <= arena.clock.monotonic() - start < 10


@rule(broken_by=always("server.watching.Watch._bookmark", b""))
async def bookmarks_tell_how_far_a_watch_has_come(arena: Arena) -> None:
    """A watch that allows bookmarks gets one before its time is over: a resourceVersion and nothing else."""
    made = await arena.create(SECRETS, secret("one"))
    # A server sends it two seconds before the end, and only when it knows more than the watch began with.
    query = {"timeoutSeconds": "5", "allowWatchBookmarks": "true"}
    start = made["metadata"]["resourceVersion"]
    async with arena.watching(SECRETS, resourceVersion=start, **query) as events:
        newer = await arena.create(SECRETS, secret("two"))
        await events.expect("ADDED", "two")
        mark = await events.expect("BOOKMARK")
        while (further := await events.next()) is not None:
            assert further["type"] == "BOOKMARK"
    assert (mark["kind"], mark["apiVersion"]) == ("Secret", "v1")
    assert int(mark["metadata"]["resourceVersion"]) >= int(newer["metadata"]["resourceVersion"])
    assert not mark["metadata"].get("name")


@rule(broken_by=swap("server.watching.Watch._initial", lambda _, lines, __: lines))
async def a_list_can_be_streamed(arena: Arena) -> None:
    """With sendInitialEvents a watch begins with all objects and a bookmark that says so, then tells changes."""
    await arena.create(SECRETS, secret("b", labels={"x": "y"}))
    await arena.create(SECRETS, secret("a", labels={"x": "y"}))
    await arena.create(SECRETS, secret("c"))
    query = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "labelSelector": "x=y",
    }
    async with arena.watching(SECRETS, accept=METADATA.accept(many=False), **query) as events:
        told = [await events.expect("ADDED"), await events.expect("ADDED")]
        assert [each["metadata"]["name"] for each in told] == ["a", "b"]
        end = await events.expect("BOOKMARK")
        assert end["metadata"]["annotations"] == {INITIAL_EVENTS_END: "true"}
        assert end["kind"] == "PartialObjectMetadata"
        versions = [int(each["metadata"]["resourceVersion"]) for each in (*told, end)]
        assert versions[2] >= max(versions)
        await arena.create(SECRETS, secret("d", labels={"x": "y"}))
        await events.expect("ADDED", "d")


@rule(broken_by=swap("server.watching.Watch._initial", lambda _, lines, __: lines))
async def an_empty_list_streams_as_its_bookmark_alone(arena: Arena) -> None:
    """A streamed list without objects is just the bookmark that ends it."""
    query = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    async with arena.watching(SECRETS, **query) as events:
        end = await events.expect("BOOKMARK")
    assert end["metadata"]["annotations"] == {INITIAL_EVENTS_END: "true"}
    assert end["metadata"]["resourceVersion"].isdigit()


@rule(broken_by=skip("server.watching._check_options"))
async def streaming_options_must_fit_together(arena: Arena) -> None:
    """sendInitialEvents without resourceVersionMatch, or without a watch, is invalid."""
    path = SECRETS.path(namespace=arena.namespace)
    query = {"watch": "1", "sendInitialEvents": "true", "allowWatchBookmarks": "true"}
    said = status_of(await arena.ask("GET", path, query=query), code=422, reason="Invalid")
    assert causes_of(said)[0]["field"] == "resourceVersionMatch"
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    said = status_of(await arena.ask("GET", path, query=query), code=422, reason="Invalid")
    assert [cause["field"] for cause in causes_of(said)] == ["resourceVersionMatch", "sendInitialEvents"]


@rule(broken_by=misspeak("server.watching.expired"))
async def a_watch_from_a_forgotten_moment_is_refused(arena: Arena) -> None:
    """A watch from a resourceVersion that the server has forgotten begins and ends with a 410 as an ERROR event."""
    custom = await arena.custom_kind()
    await arena.create(custom, {"metadata": {"name": "a"}})
    then = (await arena.listed(custom))["metadata"]["resourceVersion"]
    await arena.create(custom, {"metadata": {"name": "b"}})
    await arena.forget_the_past(custom)
    async with arena.watching(custom, resourceVersion=then) as events:
        assert events.status == 200
        said = await events.expect("ERROR")
        assert (said["kind"], said["code"], said["reason"]) == ("Status", 410, "Expired")
        assert said["message"].startswith("too old resource version: ")
        assert await events.next() is None


@rule(broken_by=skip("server.watching.Watch._hear"))
async def a_feed_lists_and_then_follows(arena: Arena) -> None:
    """The client's feed begins, lists, is in sync and then tells changes."""
    await arena.create(SECRETS, secret("a"))
    feed = watch(arena.client, SECRETS, METADATA, scope=Scope(namespace=arena.namespace))
    async with aclosing(feed), arena.clock.timeout(60):
        assert await anext(feed) == Begun()
        listed = await anext(feed)
        assert isinstance(listed, Listed)
        assert [each.metadata.name for each in listed.objects] == ["a"]
        assert isinstance(await anext(feed), Synced)
        made = await arena.create(SECRETS, secret("b"))
        await remove(arena, made)
        told: list[tuple[str, bool]] = []
        while len(told) < 2:
            event = await anext(feed)
            if isinstance(event, Changed):
                told += [(change.object.metadata.name, change.deleted) for change in event.changes]
    assert told == [("b", False), ("b", True)]


@rule(broken_by=misspeak("server.watching.expired"))
async def a_feed_lists_anew_when_the_past_is_forgotten(arena: Arena) -> None:
    """A feed that was cut and finds its resourceVersion forgotten begins again with a complete list."""
    custom = await arena.custom_kind()
    await arena.create(custom, {"metadata": {"name": "a"}})
    cut = arena.cuttable()
    feed = watch(cut.client, custom, METADATA, scope=Scope(namespace=arena.namespace))
    async with aclosing(feed), arena.clock.timeout(90):
        while not isinstance(await anext(feed), Synced):
            pass
        cut.off()
        await arena.create(custom, {"metadata": {"name": "b"}})
        await arena.forget_the_past(custom)
        causes = []
        while not isinstance(event := await anext(feed), Begun):
            if isinstance(event, Interrupted):
                causes.append(event.error)
        assert isinstance(causes[-1], Gone), causes
        names: list[str] = []
        while not isinstance(event := await anext(feed), Synced):
            if isinstance(event, Listed):
                names += [each.metadata.name for each in event.objects]
    assert names == ["a", "b"]
