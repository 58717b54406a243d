"""One kind followed into the usage graph: a list is a swap, and what is not known is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from skoupa.controller.retaining.usage_feed import NOT_READ_YET, UsageFeed
from skoupa.errors import Disconnected
from skoupa.facts.rows import Uid
from skoupa.kube import watched
from skoupa.kube.client import Client
from skoupa.kube.decoding import Undecodable
from skoupa.kube.lines import Change
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import PODS, Resource
from skoupa.sim.clock import VirtualClock, run
from skoupa.sim.cluster import EmbeddedCluster

pytestmark = pytest.mark.unit


class Held:
    """Takes what is brought; an object without a name can't be read."""

    def __init__(self) -> None:
        self.uids: set[Uid] = set()

    def put(self, resource: Resource, items: Sequence[Any], *, followed: bool) -> list[Uid]:
        del resource, followed
        for item in items:
            _ = item["metadata"]["name"]
            self.uids.add(item["metadata"]["uid"])
        return [item["metadata"]["uid"] for item in items]

    def remove(self, uid: Uid, *, followed: bool) -> None:
        del followed
        self.uids.discard(uid)


def found(uid: str) -> dict[str, Any]:
    return {"metadata": {"uid": uid, "name": uid}}


def fed(*events: watched.WatchEvent[Any]) -> tuple[UsageFeed, Held]:
    async def main(clock: VirtualClock) -> tuple[UsageFeed, Held]:
        async with EmbeddedCluster(clock=clock) as cluster:
            held = Held()
            feed = UsageFeed(Client(cluster, clock), PODS, view=WHOLE, sink=held, on_health=lambda: None)
            for event in events:
                feed._take(event)
            return feed, held

    return run(main)


def listed(*uids: str) -> list[watched.WatchEvent[Any]]:
    return [watched.Begun(), watched.Listed([found(uid) for uid in uids]), watched.Synced("1")]


def test_nothing_is_known_before_the_first_list_is_complete() -> None:
    feed, held = fed(*listed("a")[:2])
    assert feed.awaited is True
    assert feed.doubt == NOT_READ_YET
    assert held.uids == {"a"}


def test_what_a_new_list_does_not_bring_leaves_when_it_is_complete_and_no_sooner() -> None:
    arriving = [*listed("a", "b"), *listed("b", "c")[:2]]
    assert fed(*arriving)[1].uids == {"a", "b", "c"}
    assert fed(*listed("a", "b"), *listed("b", "c"))[1].uids == {"b", "c"}


def test_a_list_that_breaks_off_leaves_nothing_behind() -> None:
    events = [*listed("a"), watched.Begun(), watched.Listed([found("b")]), *listed("a")]
    assert fed(*events)[1].uids == {"a"}


def test_a_broken_watch_is_doubted_until_something_comes_again() -> None:
    broken = [*listed("a"), watched.Interrupted(Disconnected("cut"), 1.0)]
    assert "cut" in fed(*broken)[0].doubt
    assert not fed(*broken, watched.Resumed())[0].doubt
    assert not fed(*broken, watched.Changed([]))[0].doubt


def test_an_object_that_can_not_be_read_is_doubted_until_it_can_be() -> None:
    nameless = Change(object={"metadata": {"uid": "x"}}, deleted=False)
    feed, held = fed(*listed("a"), watched.Changed([nameless]))
    assert "can't be understood" in feed.doubt
    assert held.uids == {"a"}
    assert not fed(*listed("a"), watched.Changed([nameless, Change(found("x"), deleted=False)]))[0].doubt
    odd = watched.Listed[Any]([], (Undecodable(name="odd", uid="o", why="a text"),))
    assert "odd: a text" in fed(watched.Begun(), odd, watched.Synced("1"))[0].doubt


def test_an_object_that_can_not_be_read_is_doubted_until_a_new_list_is_complete() -> None:
    nameless = Change(object={"metadata": {"uid": "x"}}, deleted=False)
    arriving = [*listed("a"), watched.Changed([nameless]), *listed("a")]
    for so_far in (-2, -1):
        assert "1 of them can't be understood, x" in fed(*arriving[:so_far])[0].doubt
    assert not fed(*arriving)[0].doubt


def test_an_object_that_can_not_be_read_is_doubted_no_more_when_it_is_deleted() -> None:
    odd = Undecodable(name="odd", uid="a", why="too deep")
    feed, held = fed(*listed("a"), watched.Changed[Any]([], (odd,)))
    assert "odd: too deep" in feed.doubt
    assert held.uids == {"a"}
    gone = msgspec.structs.replace(odd, gone=True)
    feed, held = fed(*listed("a"), watched.Changed[Any]([], (odd,)), watched.Changed[Any]([], (gone,)))
    assert not feed.doubt


def test_one_that_was_read_beside_the_watch_and_can_not_be_understood_is_told_at_once() -> None:
    feed, _ = fed(*listed("a"))
    told: list[str] = []
    feed._on_health = lambda: told.append(feed.doubt)
    feed.learn(found("b"))
    assert not told
    feed.learn({"metadata": {"uid": "x"}})
    (doubt,) = told
    assert "can't be understood, x" in doubt


def test_an_object_in_a_list_that_can_not_be_read_costs_no_other_of_it() -> None:
    nameless = {"metadata": {"uid": "x"}}
    page = watched.Listed[Any]([found("a"), nameless, found("b")])
    feed, held = fed(watched.Begun(), page, watched.Synced("1"))
    assert held.uids == {"a", "b"}
    assert "1 of them can't be understood, x" in feed.doubt


def test_who_read_an_object_before_its_end_was_told_does_not_bring_it_back() -> None:
    feed, held = fed(*listed("a"), watched.Changed([Change(found("a"), deleted=True)]))
    feed.learn(found("a"))
    assert not held.uids
    feed.learn(found("b"))
    assert held.uids == {"b"}
    feed.leave()
    assert not held.uids
