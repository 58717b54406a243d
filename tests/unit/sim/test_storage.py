from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.sim.clock import VirtualClock, run
from skoupa.sim.state import storage
from skoupa.sim.state.storage import COMPACTION_INTERVAL, SHORTEST_LOG, Shelf, Store

pytestmark = pytest.mark.unit


def body(name: str, namespace: str = "", **data: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"},
        "data": data,
    }


async def kept(clock: VirtualClock) -> tuple[Store, Shelf]:
    store = Store(clock)
    return store, store.shelf(group="", plural="configmaps")


def shown(shelf: Shelf, version: int) -> list[tuple[str, bytes]]:
    keys, rows = shelf.at(version)
    return [(key, rows[key].rest) for key in keys]


steps = st.lists(
    st.tuples(st.sampled_from(["put", "remove"]), st.sampled_from("abcd"), st.sampled_from(["1", "2"])),
    max_size=30,
)


@settings(deadline=None)
@given(steps)
def test_every_past_moment_can_be_read_as_it_was(changes: list[tuple[str, str, str]]) -> None:
    async def main(clock: VirtualClock) -> None:
        store, shelf = await kept(clock)
        then = {store.revision: shown(shelf, store.revision)}
        for what, name, value in changes:
            row = shelf.get("", name)
            if what == "put":
                store.put(shelf, body(name, x=value))
            elif row is not None:
                store.remove(shelf, row)
            then[store.revision] = shown(shelf, store.revision)
        assert {version: shown(shelf, version) for version in then} == then
        assert shelf.keys == sorted(shelf.rows)

    run(main)


def test_keys_are_ordered_as_etcd_orders_them() -> None:
    async def main(clock: VirtualClock) -> None:
        store, shelf = await kept(clock)
        for namespace, name in (("a", "z"), ("a-b", "y"), ("a", "b"), ("ab", "x")):
            store.put(shelf, body(name, namespace))
        # "-" comes before the "/" that ends a namespace.
        assert shelf.keys == ["a-b/y", "a/b", "a/z", "ab/x"]
        assert [row.name for row in shelf.in_namespace("a")] == ["b", "z"]

    run(main)


def test_what_is_older_than_two_compactions_is_forgotten() -> None:
    async def main(clock: VirtualClock) -> None:
        store, shelf = await kept(clock)
        first = store.put(shelf, body("a")).version
        for number in range(SHORTEST_LOG + 10):
            store.put(shelf, body("a", x=str(number)))
        await clock.sleep(COMPACTION_INTERVAL)
        store.tick()
        assert shelf.complete_after < first
        await clock.sleep(COMPACTION_INTERVAL)
        store.tick()
        assert shelf.complete_after >= first
        assert len(shelf.log) == SHORTEST_LOG
        assert store.compacted == store.revision

    run(main)


def test_a_log_is_bounded_however_fast_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "LONGEST_LOG", 80)

    async def main(clock: VirtualClock) -> None:
        store, shelf = await kept(clock)
        for number in range(1000):
            store.put(shelf, body("a", x=str(number)))
        assert len(shelf.log) <= 90
        assert shelf.complete_after == shelf.log[0].version - 1

    run(main)


def test_a_year_of_silence_is_compacted_in_no_time() -> None:
    async def main(clock: VirtualClock) -> None:
        store, shelf = await kept(clock)
        store.put(shelf, body("a"))
        await clock.sleep(365 * 24 * 3600)
        store.tick()
        assert store.compacted == store.revision

    run(main)
