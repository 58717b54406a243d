"""What a feed tells of how it knows: a change that a watch brought as it happened, or what a list found."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from skoupa.clock import SystemClock
from skoupa.facts.feeds import Feed
from skoupa.facts.rows import Extraction
from skoupa.facts.store import Delta, Store
from skoupa.kube import watch, watched
from skoupa.kube.client import Client
from skoupa.kube.decoding import Undecodable
from skoupa.kube.lines import Change
from skoupa.kube.objects import Metadata, Partial
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.sim.cluster import EmbeddedCluster

pytestmark = pytest.mark.unit

Events = list[watched.WatchEvent[Partial]]


def found(name: str, version: int) -> Partial:
    return Partial(metadata=Metadata(name=name, uid=name, resource_version=str(version)))


def changed(name: str, version: int) -> watched.Changed[Partial]:
    return watched.Changed([Change(found(name, version), deleted=False)])


async def told(events: Events, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of those that a watch is said to have told of."""

    async def stream(*_: Any, **__: Any) -> AsyncGenerator[watched.WatchEvent[Partial], None]:
        for event in events:
            yield event

    monkeypatch.setattr(watch, "watch", stream)
    clock = SystemClock()
    deltas: list[Delta] = []
    feed = Feed(
        Client(EmbeddedCluster(clock=clock), clock),
        CONFIG_MAPS,
        store=Store(),
        extraction=Extraction(),
        on_change=deltas.extend,
    )
    await feed.run()
    return [delta.after.name for delta in deltas if delta.watched and delta.after is not None]


async def test_what_a_list_brings_was_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: Events = [watched.Begun(), watched.Listed([found("listed", 1)]), watched.Synced("1")]
    again: Events = [watched.Begun(), watched.Listed([found("again", 3)]), watched.Synced("3")]
    events: Events = [
        *listed,
        changed("new", 2),
        *again,
        watched.Reread([found("reread", 4)]),
        changed("listed", 5),
    ]
    assert await told(events, monkeypatch) == ["new", "listed"]


async def test_what_could_not_be_read_before_is_no_news_when_it_can_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bad = Undecodable(name="odd", uid="odd", why="not an object")
    events: Events = [watched.Begun(), watched.Listed([], (bad,)), watched.Synced("1"), changed("odd", 2)]
    assert await told([*events, changed("new", 3)], monkeypatch) == ["new"]


async def test_one_that_can_not_be_read_and_is_deleted_is_in_nobodys_way_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bad = Undecodable(name="odd", uid="odd", why="too deep")
    events: Events = [
        watched.Begun(),
        watched.Listed([found("odd", 1)]),
        watched.Synced("1"),
        watched.Changed([], (bad,)),
        watched.Changed([], (msgspec.structs.replace(bad, gone=True),)),
        changed("new", 3),
    ]
    assert await told(events, monkeypatch) == ["new"]
