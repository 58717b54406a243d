"""The store against a naive model: whatever the feeds bring, in whatever order, both know the same."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from skoupa.facts.rows import Owner, Row, pack_uid
from skoupa.facts.store import FeedView, Store
from skoupa.kube.resources import CONFIG_MAPS, PODS, Resource
from skoupa.kube.resources import NAMESPACES as NAMESPACE_KIND

pytestmark = pytest.mark.unit

UIDS = [f"0000000{n}-0000-4000-8000-000000000000" for n in range(6)]
NAMESPACES = ["shop", "blog"]


def row(number: int, version: int = 1, owners: Sequence[int] = ()) -> Row:
    return Row(
        resource=PODS,
        namespace=NAMESPACES[number % 2],
        name=f"pod-{number}",
        uid=pack_uid(UIDS[number]),
        version=version,
        created=0,
        deleted_at=0,
        labels=(),
        annotations=(),
        owners=tuple(
            Owner("v1", "Pod", f"pod-{owner}", pack_uid(UIDS[owner]), controller=True, blocks=False)
            for owner in owners
        ),
    )


def test_an_object_that_two_feeds_see_stays_when_one_loses_it() -> None:
    store = Store()
    wide, narrow = store.add_feed(PODS), store.add_feed(PODS)
    for feed in (wide, narrow):
        store.begin(feed)
        store.listed(feed, [row(1)])
        store.synced(feed)
    assert store.deleted(narrow, row(1).uid) is None
    assert store.get(row(1).uid) is not None
    delta = store.deleted(wide, row(1).uid)
    assert delta is not None
    assert delta.after is None
    assert len(store) == 0


SPACES = Resource(group="spaces.example", version="v1", plural="spaces", kind="Space", namespaced=False)


@pytest.mark.parametrize("first", [NAMESPACE_KIND, SPACES], ids=lambda kind: kind.kind)
def test_a_namespace_that_is_served_as_another_kind_too_is_known_as_a_namespace(first: Resource) -> None:
    store = Store()
    last = SPACES if first is NAMESPACE_KIND else NAMESPACE_KIND
    feeds = {kind: store.add_feed(kind) for kind in (first, last)}
    rows = {kind: msgspec.structs.replace(row(1), resource=kind) for kind in feeds}
    for kind, feed in feeds.items():
        store.begin(feed)
        store.listed(feed, [rows[kind]])
        store.synced(feed)
    uid = row(1).uid
    assert store.get(uid) == rows[NAMESPACE_KIND]
    assert list(store.of_kind(NAMESPACE_KIND)) == [rows[NAMESPACE_KIND]]
    assert not list(store.of_kind(SPACES))
    newer = msgspec.structs.replace(rows[SPACES], version=9)
    assert store.changed(feeds[SPACES], newer) is None
    assert store.refresh(newer) is None
    assert store.deleted(feeds[SPACES], uid) is None
    assert store.get(uid) == rows[NAMESPACE_KIND]
    delta = store.deleted(feeds[NAMESPACE_KIND], uid)
    assert delta is not None
    assert delta.before == rows[NAMESPACE_KIND]
    assert len(store) == 0


def test_an_older_version_from_a_slower_feed_changes_nothing() -> None:
    store = Store()
    fast, slow = store.add_feed(PODS), store.add_feed(PODS)
    store.changed(fast, row(1, version=9))
    assert store.changed(slow, row(1, version=8)) is None
    found = store.get(row(1).uid)
    assert found is not None
    assert found.version == 9


def test_a_feed_of_another_version_takes_over_what_it_sees() -> None:
    store = Store()
    beta = msgspec.structs.replace(PODS, version="v1beta1")
    old, new = store.add_feed(beta), store.add_feed(PODS)
    for number in (1, 2):
        store.changed(old, msgspec.structs.replace(row(number), resource=beta))
    store.begin(new)
    store.listed(new, [row(1)])
    store.synced(new)
    store.changed(old, msgspec.structs.replace(row(1, version=2), resource=beta))
    gone, taken_over = store.remove_feed(old)
    assert gone.before is not None
    assert (gone.before.name, gone.after) == ("pod-2", None)
    assert taken_over.after == row(1, version=2), "it is named by the version that is read now"
    assert list(store.of_kind(PODS)) == [row(1, version=2)]


def test_until_a_new_list_is_complete_the_old_knowledge_stands() -> None:
    store = Store()
    feed = store.add_feed(PODS)
    store.begin(feed)
    store.listed(feed, [row(1), row(2)])
    store.synced(feed)
    store.begin(feed)
    store.listed(feed, [row(2)])
    assert {found.name for found in store} == {"pod-1", "pod-2"}
    deltas = store.synced(feed)
    assert [delta.before.name for delta in deltas if delta.before] == ["pod-1"]
    assert {found.name for found in store} == {"pod-2"}


def test_a_list_that_breaks_off_leaves_nothing_behind() -> None:
    store = Store()
    feed = store.add_feed(PODS)
    store.begin(feed)
    store.listed(feed, [row(1)])
    deltas = store.begin(feed)
    assert [delta.before.name for delta in deltas if delta.before] == ["pod-1"]
    store.synced(feed)
    assert len(store) == 0


def test_kinds_do_not_mix() -> None:
    store = Store()
    pods, config_maps = store.add_feed(PODS), store.add_feed(CONFIG_MAPS)
    store.changed(pods, row(1))
    assert [found.name for found in store.of_kind(PODS)] == ["pod-1"]
    assert list(store.of_kind(CONFIG_MAPS)) == []
    store.remove_feed(config_maps)
    assert len(store) == 1
    store.remove_feed(pods)
    assert len(store) == 0


numbers = st.integers(0, len(UIDS) - 1)
feeds = st.integers(0, 1)
owners = st.lists(numbers, max_size=2, unique=True)


class StoreAgainstModel(RuleBasedStateMachine):
    """The model: per feed, the uids it sees and those arriving; per uid, the newest row while anybody sees it."""

    @initialize()
    def start(self) -> None:
        self.store = Store()
        self.views: list[FeedView] = [self.store.add_feed(PODS), self.store.add_feed(PODS)]
        self.seen: list[set[int]] = [set(), set()]
        self.arriving: list[set[int] | None] = [None, None]
        self.rows: dict[int, Row] = {}

    def learn(self, found: Row, number: int) -> None:
        known = self.rows.get(number)
        if known is None or found.version >= known.version:  # type: ignore[operator]
            self.rows[number] = found

    def forget_unseen(self) -> None:
        visible = set().union(*self.seen, *(arriving or set() for arriving in self.arriving))
        self.rows = {number: found for number, found in self.rows.items() if number in visible}

    @rule(feed=feeds, number=numbers, version=st.integers(1, 5), owners=owners)
    def change(self, feed: int, number: int, version: int, owners: list[int]) -> None:
        found = row(number, version, owners)
        self.seen[feed].add(number)
        self.learn(found, number)
        self.store.changed(self.views[feed], found)

    @rule(feed=feeds, number=numbers)
    def delete(self, feed: int, number: int) -> None:
        self.seen[feed].discard(number)
        self.forget_unseen()
        self.store.deleted(self.views[feed], pack_uid(UIDS[number]))

    @rule(feed=feeds)
    def begin(self, feed: int) -> None:
        self.arriving[feed] = set()
        self.forget_unseen()
        self.store.begin(self.views[feed])

    @precondition(lambda self: any(arriving is not None for arriving in self.arriving))
    @rule(data=st.data(), numbers=st.lists(numbers, max_size=4), version=st.integers(1, 5))
    def listed(self, data: st.DataObject, numbers: list[int], version: int) -> None:
        open_feeds = [feed for feed in (0, 1) if self.arriving[feed] is not None]
        feed = data.draw(st.sampled_from(open_feeds))
        arriving = self.arriving[feed]
        assert arriving is not None
        for number in numbers:
            arriving.add(number)
            self.learn(row(number, version), number)
        self.store.listed(self.views[feed], [row(number, version) for number in numbers])

    @rule(feed=feeds)
    def synced(self, feed: int) -> None:
        arriving = self.arriving[feed]
        if arriving is None:
            return
        self.seen[feed], self.arriving[feed] = arriving, None
        self.forget_unseen()
        self.store.synced(self.views[feed])

    @invariant()
    def both_know_the_same(self) -> None:
        expected = {found.name: found for found in self.rows.values()}
        assert {found.name: found for found in self.store} == expected
        assert {found.name for found in self.store.of_kind(PODS)} == set(expected)
        for namespace in NAMESPACES:
            there = {found.name for found in expected.values() if found.namespace == namespace}
            assert {found.name for found in self.store.in_namespace(namespace)} == there


TestStoreAgainstModel = StoreAgainstModel.TestCase
TestStoreAgainstModel.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
