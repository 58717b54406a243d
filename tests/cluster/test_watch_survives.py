"""A watch survives whatever happens between it and the server: nothing is missed, nothing is told twice.

Two followers share each connection's fate: a plain reader that checks the contract, and the feed that fills the store.
A writer goes on changing objects, past the proxy, all the while.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec
import pytest
import uvloop

from harness.controlplane import Access, ControlPlane
from harness.faultproxy import (
    Answer,
    Close,
    CutLine,
    Duplicate,
    EndWatch,
    Fault,
    FaultProxy,
    Garbage,
    HalfClose,
    InjectLine,
    Reset,
    Rule,
    Silence,
    Slow,
    Stream,
    WatchError,
    kube_status,
)
from skoupa.errors import (
    BadReply,
    Disconnected,
    Gone,
    ServerFailure,
    SkoupaError,
    TimedOut,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from skoupa.facts.feeds import Feed
from skoupa.facts.rows import Extraction, uid_text
from skoupa.facts.store import Store
from skoupa.kube.client import Client
from skoupa.kube.following import Patience
from skoupa.kube.lines import INITIAL_EVENTS_END
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.kube.watch import watch
from skoupa.kube.watched import Begun, Changed, Interrupted, Listed, Resumed, Synced
from tests.cluster.reaching import Hasty, connected, eventually, faulty, new_namespace, until
from tests.cluster.reading import Picture, Reader, picture_of
from tests.cluster.writing import SELECTOR, Writer

pytestmark = pytest.mark.cluster

HASTY = Patience(silence=3.0, closing_bookmark=3.0)
# The proxy tells the followers apart by a selector of the feed that selects everything.
FOLLOWERS = (r"^(?!.*fieldSelector)", "fieldSelector")
ALL_BUT_NOBODY = "metadata.name!=nobody"
RESUMES = r".*[&]resourceVersion=\d"
THOUSANDS = 2000
CAN_NOT_STREAM = Rule(
    kube_status(422, message="sendInitialEvents: Forbidden: the WatchList feature gate is not enabled"),
    path=re.compile("sendInitialEvents"),
    times=None,
)

# What happens to a connection, and how the follower has to name it; None: it is not noticed at all.
RESUMED: dict[str, tuple[Fault, type[SkoupaError] | None]] = {
    "reset at once": (Reset(), Disconnected),
    "reset before the answer": (Reset(after_bytes=0), Disconnected),
    "reset between events": (Reset(after_lines=7), Disconnected),
    "reset in the middle of an event": (Reset(after_bytes=1000), Disconnected),
    "cut in the middle of a line": (CutLine(5), Disconnected),
    "half-closed": (HalfClose(after_lines=9), Disconnected),
    "closed politely": (Close(after_lines=3), Disconnected),
    "silent": (Silence(after_lines=4), TimedOut),
    "ended by the server": (EndWatch(6), None),
    "ended by the server before it began": (EndWatch(), Disconnected),
    "everything twice": (Duplicate(), None),
    "too many requests": (kube_status(429), TooManyRequests),
    "too many requests, with a time to wait": (kube_status(429, retry_after=1), TooManyRequests),
    "too many requests, in plain text": (Answer(429, b"Too many requests"), TooManyRequests),
    "internal error": (kube_status(500), ServerFailure),
    "unavailable": (kube_status(503), ServerFailure),
    "unauthorized": (kube_status(401), Unauthorized),
    "an error event": (WatchError(500, after_lines=2, message="etcd is slow"), ServerFailure),
    "text instead of events": (Garbage("text"), Disconnected),
    "half of a list instead of events": (Garbage("truncated"), Disconnected),
    "a page of a portal": (Garbage("html"), Disconnected),
    "a line of rubbish": (InjectLine(b"panic: runtime error", after_lines=3), BadReply),
}
FORGOTTEN: dict[str, Fault] = {
    "410 as the answer": kube_status(410, message="too old resource version: 1 (2)"),
    "410 as an event": WatchError(410, after_lines=3),
    "410 as the first event": WatchError(410),
}
# Half a page says so at once; a streamed list may also fall silent.
HALF_A_LIST: dict[bool, tuple[Fault, ...]] = {
    True: (Reset(after_bytes=1500), Silence(after_bytes=1500), EndWatch(3), kube_status(503)),
    False: (Reset(after_bytes=1500), Close(after_bytes=1500), kube_status(503)),
}


class Scene:
    """Two followers behind the proxy, and the writer before the server."""

    def __init__(
        self, *, proxy: FaultProxy, watching: Client, writing: Client, namespace: str, selected: bool
    ) -> None:
        self.proxy = proxy
        self.watching = watching
        self.selected = selected
        self.scope = Scope(namespace=namespace, labels=SELECTOR if selected else "")
        self.reader = Reader()
        self.store = Store()
        self.writer = Writer(writing, namespace, seed=20260930)
        self.feed = Feed(
            watching,
            CONFIG_MAPS,
            store=self.store,
            extraction=Extraction(),
            scope=msgspec.structs.replace(self.scope, fields=ALL_BUT_NOBODY),
            patience=HASTY,
        )
        self._server = writing

    @asynccontextmanager
    async def played(self) -> AsyncIterator[None]:
        """Everything runs; at the end the writer rests and both followers have to show what the server has."""
        async with asyncio.TaskGroup() as tasks:
            following = [
                tasks.create_task(self.reader.follow(self.watching, scope=self.scope, patience=HASTY)),
                tasks.create_task(self.feed.run()),
            ]
            writing = tasks.create_task(self.writer.run())
            await until(
                lambda: self.reader.lists and self.feed.health.lists and self.writer.changes > 100,
                what="both followers are synced",
            )
            yield
            self.writer.stop()
            await writing
            self.proxy.clear()
            await eventually(self._agree, what=self._differences)
            for task in following:
                task.cancel()

    async def suffer(self, fault: Fault, *, noticed_as: type[SkoupaError] | None) -> None:
        """The next connection of both followers meets the fault; returns when both are past it."""
        await until(lambda: self.proxy.open_watches == len(FOLLOWERS), what="both followers watch")
        self.reader.errors.clear()
        rules = self._for_each(fault, RESUMES, RESUMES)
        self.proxy.cut_open_connections()
        await until(lambda: all(map(self.proxy.hits, rules)), what=f"the followers meet {fault}")
        if noticed_as is not None:
            # The cut before the fault is noticed too.
            expected = Counter((Disconnected, noticed_as))
            await until(
                lambda: Counter(type(error) for error in self.reader.errors) >= expected,
                what=lambda: f"{fault} is noticed; noticed are {self.reader.errors}",
            )
        await self.caught_up()

    async def suffer_during_list(self, fault: Fault, *, streaming: bool) -> None:
        """Both followers have to list anew, and the list breaks off the first time."""
        await until(lambda: self.proxy.open_watches == len(FOLLOWERS), what="both followers watch")
        self._for_each(kube_status(410), RESUMES, RESUMES)
        # The reader asks for small pages, so that its list breaks off between two.
        parts = (".*sendInitialEvents", ".*sendInitialEvents") if streaming else (".*continue=", ".*limit=")
        rules = self._for_each(fault, *parts)
        lists = self.reader.lists
        self.proxy.cut_open_connections()
        await until(lambda: all(map(self.proxy.hits, rules)), what=f"both lists meet {fault}")
        await until(lambda: self.reader.lists > lists, what="the list is complete in the end")
        await self.caught_up()

    def _for_each(self, fault: Fault, *requests: str) -> list[Rule]:
        return [
            self.proxy.script(Rule(fault, path=re.compile(who + which)))
            for who, which in zip(FOLLOWERS, requests, strict=True)
        ]

    async def caught_up(self) -> None:
        newest = self.writer.newest(selected=self.selected)
        await until(
            lambda: self.reader.version >= newest and int(self.feed.health.resource_version) >= newest,
            what=lambda: f"version {newest}; reader {self.reader.version}, feed {self.feed.health}",
        )

    async def _agree(self) -> bool:
        self.listed = picture_of(
            (await everything(self._server, CONFIG_MAPS, METADATA, scope=self.scope)).items
        )
        return self.listed == self.reader.picture == self.stored

    @property
    def stored(self) -> Picture:
        return {uid_text(row.uid): (row.name, int(row.resource_version)) for row in self.store}

    def _differences(self) -> dict[str, object]:
        listed = self.listed.items()
        return {
            "only listed": listed - self.reader.picture.items(),
            "only read": self.reader.picture.items() - listed,
            "not stored": listed - self.stored.items(),
            "only stored": self.stored.items() - listed,
            "health": self.feed.health,
        }

    def assert_nothing_missed_or_doubled(self) -> None:
        assert self.reader.flaws == []
        assert self.reader.twice() == []
        assert self.reader.missed(self.writer.log, selected=self.selected) == []

    def assert_each_removal_was_told_once(self) -> None:
        """What went before the first list was complete is only not in that list."""
        (_, synced), *_ = self.reader.gaps
        last = {written.uid: written.version for written in self.writer.log}
        expected = {
            uid
            for uid, side in self.writer.removed.items()
            if (last[uid] > synced or uid in self.reader.first) and (side == "in" or not self.selected)
        }
        told = [uid for uid, _, deleted in self.reader.told if deleted]
        assert expected <= set(told)
        if not self.selected:
            assert sorted(expected) == sorted(told)


@asynccontextmanager
async def scene(plane: Access | ControlPlane, *, selected: bool = False) -> AsyncIterator[Scene]:
    async with (
        faulty(plane) as proxy,
        connected(proxy) as watching,
        connected(plane.kubeconfig) as writing,
        new_namespace(writing) as namespace,
    ):
        yield Scene(proxy=proxy, watching=watching, writing=writing, namespace=namespace, selected=selected)


def names_of(errors: list[SkoupaError]) -> set[str]:
    return {type(error).__name__ for error in errors}


@pytest.mark.parametrize(
    ("run", "selected"),
    [
        pytest.param(uvloop.run, False, id="whole kind, uvloop"),
        pytest.param(asyncio.run, True, id="label selector, asyncio"),
    ],
)
def test_no_fault_of_a_connection_loses_or_doubles_a_change(
    control_plane: Access, run: Callable[[Any], None], *, selected: bool
) -> None:
    async def main() -> None:
        async with scene(control_plane, selected=selected) as it:
            async with it.played():
                for fault, noticed_as in RESUMED.values():
                    await it.suffer(fault, noticed_as=noticed_as)
                await until(lambda: it.writer.changes > THOUSANDS, what="thousands of changes", seconds=120)
            it.assert_nothing_missed_or_doubled()
            it.assert_each_removal_was_told_once()
            assert it.reader.lists == it.feed.health.lists == 1, (
                "a cut connection resumes, it does not list anew"
            )

    run(main())


@pytest.fixture(scope="module")
def own_plane() -> Iterator[ControlPlane]:
    """For those who kill the server."""
    with ControlPlane() as plane:
        yield plane


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed lists", "lists in pages"])
async def test_whatever_makes_the_server_forget_the_lists_that_follow_close_the_gap(
    own_plane: ControlPlane, *, streaming: bool
) -> None:
    async with scene(own_plane) as it:
        if not streaming:
            it.proxy.script(CAN_NOT_STREAM)
        async with it.played():
            for fault in FORGOTTEN.values():
                await it.suffer(fault, noticed_as=Gone)
            for fault in HALF_A_LIST[streaming]:
                await it.suffer_during_list(fault, streaming=streaming)
            lists = it.reader.lists

            await asyncio.to_thread(own_plane.restart_apiserver)
            await it.caught_up()
            await it.proxy.down()
            await until(lambda: Unreachable in map(type, it.reader.errors), what="the refusal is noticed")
            await it.proxy.up()
            await it.caught_up()
            await asyncio.to_thread(own_plane.stop_apiserver)
            own_plane.compact_etcd()
            await asyncio.to_thread(own_plane.start_apiserver)
            await it.caught_up()

            await until(lambda: it.writer.changes > THOUSANDS, what="thousands of changes", seconds=120)
        it.assert_nothing_missed_or_doubled()
        assert it.reader.lists > lists
        assert any(isinstance(error, Gone) for error in it.reader.errors), "the server itself forgot"
        assert it.watching.streams_lists is streaming
        health = it.feed.health
        assert health.synced_at is not None
        assert health.behind_since is None
        assert not health.unreadable


class Impatient(Hasty):
    """Lives through 130 s, and through nothing else, in a moment."""

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncIterator[None]:
        async with super().timeout(0.2 if seconds == 130.0 else seconds):
            yield


async def test_a_silent_connection_is_given_up_after_130_seconds_and_a_cut_one_at_once(
    proxy: FaultProxy, admin: Client, namespace: str
) -> None:
    async with connected(proxy, clock=Impatient()) as client, asyncio.TaskGroup() as tasks:
        reader = Reader()
        scope = Scope(namespace=namespace)
        following = tasks.create_task(reader.follow(client, scope=scope, patience=Patience()))
        await until(lambda: reader.lists == 1 and proxy.open_watches == 1, what="the list is there")
        await proxy.silence_open()
        await until(lambda: TimedOut in map(type, reader.errors), what="the silence is noticed")
        await until(lambda: proxy.open_watches == 1, what="it watches again")
        seen = len(proxy.requests)
        proxy.cut_open_connections()
        again = await proxy.wait_for(lambda request: request in proxy.requests[seen:], within=20)
        assert "resourceVersion=" in again.query
        assert reader.lists == 1
        following.cancel()


async def listed_after(client: Client, namespace: str, *, patience: Patience) -> Reader:
    """What a reader has once it has its first list and one change after it."""
    reader = Reader()
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(
            reader.follow(client, scope=Scope(namespace=namespace), patience=patience)
        )
        await until(lambda: reader.lists == 1, what="a list is there")
        made = await client.create(CONFIG_MAPS, {"metadata": {"name": "later"}}, namespace=namespace)
        await until(lambda: made["metadata"]["uid"] in reader.picture, what="the change is told")
        following.cancel()
    return reader


def as_told(kind: str, version: int) -> bytes:
    """A line about an object that the server does not have any more, or the end of an initial state."""
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if kind == "BOOKMARK":
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    else:
        metadata |= {"name": "phantom", "uid": "phantom"}
    return msgspec.json.encode({"type": kind, "object": {"kind": "ConfigMap", "metadata": metadata}})


# What comes in place of a streamed list, and how long its end is waited for.
NO_LISTS: dict[str, tuple[tuple[str, ...], float]] = {
    "falls silent": (("ADDED",), 0.3),
    "goes on with changes": (("ADDED", "MODIFIED"), 60.0),
    "goes on with deletions": (("ADDED", "DELETED"), 60.0),
    "mixes deletions in": (("ADDED", "DELETED", "BOOKMARK"), 60.0),
}


@pytest.mark.parametrize(("kinds", "closing_bookmark"), NO_LISTS.values(), ids=NO_LISTS.keys())
async def test_a_server_that_takes_a_streamed_list_for_a_watch_is_listed_in_pages(
    through_proxy: Client,
    proxy: FaultProxy,
    namespace: str,
    kinds: tuple[str, ...],
    closing_bookmark: float,
) -> None:
    await through_proxy.create(CONFIG_MAPS, {"metadata": {"name": "old"}}, namespace=namespace)
    lines = tuple(as_told(kind, number) for number, kind in enumerate(kinds, start=1))
    ignoring = proxy.script(Rule(Stream(lines), path=re.compile("sendInitialEvents"), times=None))
    patience = Patience(closing_bookmark=closing_bookmark)
    reader = await listed_after(through_proxy, namespace, patience=patience)
    found = {name for name, _ in reader.picture.values()}
    assert found >= {"old", "later"}
    assert "phantom" not in found
    assert reader.flaws == []
    assert reader.errors == [], "the server is not behind; it is only asked in another way"
    assert through_proxy.streams_lists is False
    assert proxy.hits(ignoring) == 1, "one watch found out for all"


async def test_a_streamed_list_that_never_ends_is_given_up_although_objects_keep_coming(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    made = await through_proxy.create(CONFIG_MAPS, {"metadata": {"name": "old"}}, namespace=namespace)
    endless = b"\n".join(as_told("ADDED", version) for version in range(1, 5000))
    slow = Slow(bytes_per_second=20_000)
    proxy.script(Rule(slow, path=re.compile("sendInitialEvents"), times=None, answer=Stream((endless,))))
    patience = Patience(closing_bookmark=30.0, streamed_list=0.5)
    reader = await listed_after(through_proxy, namespace, patience=patience)
    assert made["metadata"]["uid"] in reader.picture
    assert "phantom" not in reader.picture
    assert reader.flaws == []


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed lists", "lists in pages"])
async def test_lists_that_expire_as_soon_as_they_are_there_are_asked_for_less_and_less_often(
    through_proxy: Client, proxy: FaultProxy, namespace: str, *, streaming: bool
) -> None:
    if streaming:
        proxy.script(Rule(WatchError(410, after_lines=2), watch=True, times=None))
    else:
        proxy.script(CAN_NOT_STREAM)
        proxy.script(Rule(kube_status(410), watch=True, times=None))
    waits: list[float] = []
    await through_proxy.create(CONFIG_MAPS, {"metadata": {"name": "one"}}, namespace=namespace)
    events = watch(
        through_proxy,
        CONFIG_MAPS,
        METADATA,
        scope=Scope(namespace=namespace, fields="metadata.name=one"),
    )
    async with asyncio.timeout(60), aclosing(events):
        async for event in events:
            if isinstance(event, Interrupted):
                assert isinstance(event.error, Gone)
                waits.append(event.wait)
            if len(waits) == 6:
                break
    assert waits[0] == 0, "the first time it is nobody's fault"
    assert waits == sorted(waits)
    assert waits[-1] > 4 * waits[1]


async def test_a_quiet_watch_that_stands_again_says_so_without_a_bookmark(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    await through_proxy.create(CONFIG_MAPS, {"metadata": {"name": "one"}}, namespace=namespace)
    scope = Scope(namespace=namespace, fields="metadata.name=one")
    told: list[type] = []
    changes: list[str] = []
    async with (
        asyncio.timeout(60),
        aclosing(watch(through_proxy, CONFIG_MAPS, METADATA, scope=scope)) as events,
    ):
        async for event in events:
            told.append(type(event))
            if isinstance(event, Synced):
                proxy.cut_open_connections()
            elif isinstance(event, Resumed):
                patch = {"metadata": {"labels": {"after": "the-cut"}}}
                await through_proxy.merge_patch(CONFIG_MAPS, "one", patch, namespace=namespace)
            elif isinstance(event, Changed):
                changes += [change.object.metadata.name for change in event.changes]
                break
    assert told == [Begun, Listed, Synced, Interrupted, Resumed, Changed]
    assert changes == ["one"]
