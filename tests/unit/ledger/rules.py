"""The rules of a store, the same for every database: a test class inherits them and has a fixture `store`."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import Any, Protocol

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skoupa.errors import LedgerUnavailable, LedgerUnusable
from skoupa.ledger.identity import Identity
from skoupa.ledger.rows import FOUND_GONE, Body, Entry, Result
from skoupa.ledger.store import Change, Intent, Note, Place, Restored, Store, Wish
from tests.unit.ledger.entries import CLUSTER, entry, finish, intent, note, resolution, told

OUTCOMES: tuple[Result, ...] = ("deleted", "terminating", "gone", "failed", "braked", "would-delete")


class NewStore(Protocol):
    def __call__(self, cluster: str, *, identity: Identity | None = None) -> Store: ...


def being(**uids: str) -> Identity:
    """A cluster whose Namespaces have these uids."""

    async def known() -> dict[str, str]:
        return {name.replace("_", "-"): uid for name, uid in uids.items()}

    return known


async def unknown_yet() -> dict[str, str]:
    raise LedgerUnavailable("the server does not say")


async def opened(store: Store) -> str:
    """How it went: "ok", or the error."""
    try:
        await store.open()
        await store.write([])
    except LedgerUnavailable as error:
        return str(error)
    finally:
        await store.close()
    return "ok"


async def outcome_after(store: Store, *changes: Change) -> str:
    """Of the one row that the changes speak of, each written by itself."""
    for change in changes:
        await store.write([change])
    (row,) = await store.find(Wish(uid=changes[0].uid))
    return row.outcome


class StoreRules:
    # Whether several installations may use the database.
    shared = True

    async def test_a_row_comes_back_as_it_was_written(self, store: Store) -> None:
        wanted = entry()
        await store.write([Intent(entry=wanted)])
        assert await store.get(wanted.id) == msgspec.structs.replace(wanted, attempts=1)

    async def test_a_decision_that_sends_nothing_is_complete_at_once(self, store: Store) -> None:
        await store.write([note("a", "braked", error="")])
        (row,) = await store.find(Wish(uid="a"))
        assert (row.outcome, row.attempts, row.finished_at) == ("braked", 0, 1000.0)
        assert await store.open_entries() == []

    async def test_an_outcome_closes_its_intent(self, store: Store) -> None:
        await store.write([intent("a")])
        assert [row.uid for row in await store.open_entries()] == ["a"]
        await store.write([finish("a", "failed", error="no\0 way")])
        (row,) = await store.find(Wish(uid="a"))
        assert (row.outcome, row.finished_at, row.error) == ("failed", 1001.0, "no way")
        assert await store.open_entries() == []

    async def test_one_object_has_one_row_over_retries_and_leaders(self, store: Store) -> None:
        first = await store.write([intent("a", id="first")])
        await store.write([finish("a", "failed")])
        again = await store.write([intent("a", id="second", epoch=2, at=1100.0, rule="other")])
        assert first == again == {"a": "first"}
        (row,) = await store.find()
        assert (row.attempts, row.epoch, row.at, row.rule, row.outcome) == (2, 2, 1100.0, "other", "intended")
        assert (row.error, row.finished_at) == ("", None)

    async def test_a_batch_may_speak_of_one_object_many_times_and_its_order_counts(
        self, store: Store
    ) -> None:
        await store.write(
            [
                note("a"),
                intent("a"),
                finish("a", "failed"),
                intent("b"),
                intent("a"),
                told("b"),
                finish("a"),
                told("a"),
                finish("b"),
            ]
        )
        found = {row.uid: row for row in await store.find()}
        assert (found["a"].attempts, found["a"].outcome, found["a"].told) == (2, "deleted", True)
        assert (found["b"].attempts, found["b"].outcome, found["b"].told) == (1, "deleted", True)

    async def test_a_deletion_is_never_taken_back(self, store: Store) -> None:
        assert (
            await outcome_after(store, intent("a"), finish("a"), intent("a"), finish("a", "gone"))
            == "deleted"
        )
        assert await outcome_after(store, intent("b"), finish("b"), note("b")) == "deleted"
        assert await outcome_after(store, intent("c"), finish("c"), finish("c", "failed")) == "deleted"

    async def test_what_was_terminating_and_is_gone_was_deleted_by_us(self, store: Store) -> None:
        ended = (intent("a"), finish("a", "terminating"))
        assert await outcome_after(store, *ended) == "terminating"
        assert await outcome_after(store, intent("a"), finish("a", "failed")) == "terminating"
        assert await outcome_after(store, finish("a", "gone")) == "deleted"

    async def test_an_old_leader_closes_nothing_of_its_successor_unless_it_did_delete(
        self, store: Store
    ) -> None:
        both = (intent("a", epoch=1), intent("a", epoch=2))
        assert await outcome_after(store, *both, finish("a", "failed", epoch=1)) == "intended"
        assert await outcome_after(store, finish("a", "deleted", epoch=1)) == "deleted"

    async def test_what_an_old_leader_writes_late_takes_nothing_over_from_its_successor(
        self, store: Store
    ) -> None:
        """It stood still before it wrote its intent, and then may send nothing: the successor's delete is under way."""
        late = (intent("a", epoch=2), intent("a", epoch=1))
        assert await outcome_after(store, *late, finish("a", "failed", epoch=1)) == "intended"
        (row,) = await store.find()
        assert (row.epoch, row.attempts, row.finished_at) == (2, 1, None)
        assert await outcome_after(store, finish("a", "gone-by-unknown", epoch=2)) == "gone-by-unknown"
        # What was over by then is begun anew by whoever writes.
        ended = (intent("b", epoch=2), finish("b", "failed", epoch=2))
        assert await outcome_after(store, *ended, intent("b", epoch=1)) == "intended"

    async def test_a_brake_does_not_hide_an_open_intent(self, store: Store) -> None:
        assert await outcome_after(store, intent("a", epoch=1), note("a", epoch=2)) == "intended"

    async def test_a_resolution_closes_only_what_is_as_it_was_seen(self, store: Store) -> None:
        assert await outcome_after(store, intent("a", epoch=3), resolution("a", seen=1)) == "intended"
        assert await outcome_after(store, intent("b"), finish("b"), resolution("b")) == "deleted"
        assert await outcome_after(store, intent("c"), resolution("c")) == "still-there"
        (row,) = await store.find(Wish(uid="c"))
        assert row.epoch == 2

    async def test_news_of_an_object_without_a_row_make_none(self, store: Store) -> None:
        await store.write([finish("x"), told("x"), resolution("x"), Restored(uid="x", restored_as="y")])
        assert await store.find() == []

    async def test_deletions_without_an_event_are_found_until_they_are_told(self, store: Store) -> None:
        await store.write([intent("a", at=3.0), intent("b", at=2.0), intent("c", at=1.0), note("d")])
        await store.write([intent("e", at=0.5), resolution("e", "gone-by-unknown")])
        await store.write([finish("a"), finish("b", "terminating"), finish("c", "failed")])
        assert [row.uid for row in await store.untold()] == ["e", "b", "a"]
        await store.write([told("b"), told("e")])
        assert [row.uid for row in await store.untold(limit=5)] == ["a"]

    async def test_very_many_untold_deletions_are_read_one_page_after_the_other(self, store: Store) -> None:
        await store.write([intent(f"u{number}", at=float(number // 2)) for number in range(9)])
        await store.write([finish(f"u{number}") for number in range(9)])
        found: list[str] = []
        after: Place | None = None
        while page := await store.untold(limit=2, after=after):
            found += [row.uid for row in page]
            after = Place(page[-1].at, page[-1].id)
        assert sorted(found) == [f"u{number}" for number in range(9)]

    async def test_what_is_terminating_is_open_until_it_is_seen_to_be_gone(self, store: Store) -> None:
        await store.write([intent("a", at=1.0), finish("a", "terminating"), intent("b", at=2.0)])
        assert [row.uid for row in await store.open_entries()] == ["a", "b"]
        assert await outcome_after(store, resolution("a", "still-there")) == "terminating"
        assert await outcome_after(store, resolution("a", "deleted")) == "deleted"
        assert [row.uid for row in await store.open_entries()] == ["b"]

    async def test_a_failure_that_may_have_been_a_deletion_leaves_the_row_open_with_its_words(
        self, store: Store
    ) -> None:
        await store.write([intent("a"), finish("a", "intended", error="no answer")])
        (row,) = await store.open_entries()
        assert (row.outcome, row.error, row.finished_at) == ("intended", "no answer", None)

    async def test_what_went_by_us_as_far_as_is_known_is_not_somebody_elses_later(self, store: Store) -> None:
        """Who still sees it, in a watch that is late, finds it gone once more."""
        body = (Body(form="json", data=b"first"),)
        went = (intent("a", bodies=body), finish("a", "gone-by-unknown"))
        assert await outcome_after(store, *went) == "gone-by-unknown"
        outcomes: tuple[Result, ...] = ("gone", "failed", "intended")
        for outcome in outcomes:
            again = (intent("a", unkept=FOUND_GONE), finish("a", outcome))
            assert await outcome_after(store, *again) == "gone-by-unknown", outcome
        assert await outcome_after(store, note("a")) == "gone-by-unknown", (
            "a Brake holds nothing that is gone"
        )
        (row,) = await store.find()
        assert (row.kept, await store.body(row.id)) == (5, body)
        # That was a guess; who knows more says so.
        assert await outcome_after(store, intent("a"), finish("a")) == "deleted"

    async def test_an_intent_that_keeps_nothing_forgets_what_an_earlier_one_kept(self, store: Store) -> None:
        body = Body(form="json", data=b"first")
        await store.write([intent("a", bodies=(body,)), finish("a", "failed"), intent("a")])
        (row,) = await store.find()
        assert (row.kept, await store.body(row.id)) == (0, ())
        await store.write([intent("a", bodies=(body,))])
        assert await store.body(row.id) == (body,)

    async def test_a_try_with_nothing_to_keep_leaves_what_the_open_one_before_it_kept(
        self, store: Store
    ) -> None:
        body = Body(form="json", data=b"first")
        lost = finish("a", "intended", error="no answer")
        await store.write([intent("a", bodies=(body,)), lost])
        for unkept in ("", "it has too many bytes", FOUND_GONE):
            await store.write([intent("a", unkept=unkept), lost])
            (row,) = await store.find()
            assert (row.outcome, row.kept, row.unkept) == ("intended", 5, unkept)
            assert await store.body(row.id) == (body,)
        await store.write([finish("a", "gone-by-unknown")])
        (row,) = await store.find()
        assert (row.outcome, row.kept, await store.body(row.id)) == ("gone-by-unknown", 5, (body,))

    async def test_a_successor_that_finds_it_gone_leaves_what_the_one_that_deleted_it_kept(
        self, store: Store
    ) -> None:
        body = Body(form="json", data=b"first")
        await store.write([intent("a", epoch=1, bodies=(body,))])
        await store.write([intent("a", epoch=2, unkept=FOUND_GONE), finish("a", "gone", epoch=2)])
        await store.write([finish("a", epoch=1)])
        (row,) = await store.find()
        assert (row.outcome, row.kept, await store.body(row.id)) == ("deleted", 5, (body,))

    async def test_who_finds_it_gone_leaves_what_was_kept_whatever_is_said_to_have_come_of_that(
        self, store: Store
    ) -> None:
        body = Body(form="json", data=b"first")
        await store.write([intent("a", bodies=(body,)), finish("a", "failed")])
        await store.write([intent("a", unkept=FOUND_GONE), finish("a", "gone")])
        (row,) = await store.find()
        assert (row.outcome, row.kept, await store.body(row.id)) == ("gone", 5, (body,))

    @pytest.mark.parametrize("outcome", ["deleted", "terminating", "gone", "gone-by-unknown"])
    async def test_an_intent_that_comes_when_it_is_gone_changes_nothing_in_the_trash(
        self, store: Store, outcome: Result
    ) -> None:
        first = (Body(form="json", data=b"first"), Body(part="Pod/shop/web-1", form="json", data=b"pod"))
        late = (Body(form="json", data=b"late"), Body(part="Pod/shop/web-2", form="json", data=b"p2"))
        ids = await store.write([intent("a", epoch=2, bodies=first), finish("a", outcome, epoch=2)])
        for bodies in (late, ()):
            await store.write([intent("a", epoch=1, bodies=bodies)])
            await store.write([finish("a", outcome, epoch=1)])
            (row,) = await store.find()
            assert (row.outcome, row.kept, await store.body(row.id)) == (outcome, 8, first)
        assert await store.purge(ids["a"])
        await store.write([intent("a", epoch=1, bodies=late), finish("a", outcome, epoch=1)])
        (row,) = await store.find()
        assert (row.outcome, row.kept, await store.body(row.id)) == (outcome, -1, ())

    async def test_a_batch_of_all_sorts_keeps_for_each_what_belongs_to_it(self, store: Store) -> None:
        def bodies(text: str) -> tuple[Body, ...]:
            return (Body(form="json", data=text.encode()), Body(part="x", form="json", data=b"x"))

        # Many, so that one statement does not take all of them.
        for number in range(50):
            sorts = [f"{sort}-{number}" for sort in ("open", "failed", "done")]
            await store.write([intent(uid, bodies=bodies("old")) for uid in sorts])
            await store.write([finish(f"failed-{number}", "failed"), finish(f"done-{number}")])
        some = range(50)
        await store.write(
            [intent(f"{sort}-{number}", bodies=bodies("new")) for number in some for sort in ("open", "new")]
            + [intent(f"{sort}-{number}") for number in some for sort in ("failed", "done", "bare")]
        )
        found = {row.uid: row for row in await store.find(limit=1000)}
        kept = {uid: await store.body(row.id) for uid, row in found.items()}
        for number in some:
            assert kept[f"open-{number}"] == kept[f"new-{number}"] == bodies("new")
            assert kept[f"done-{number}"] == bodies("old")
            assert kept[f"failed-{number}"] == kept[f"bare-{number}"] == ()
        sizes = {uid: sum(len(body.data) for body in parts) for uid, parts in kept.items()}
        assert {uid: row.kept for uid, row in found.items()} == sizes

    async def test_the_tally_has_all_that_may_have_been_a_deletion(self, store: Store) -> None:
        await store.write([intent(uid, at=float(at)) for at, uid in enumerate("abcdefg", start=10)])
        await store.write([finish("a"), finish("b"), finish("c", "terminating"), finish("d", "failed")])
        await store.write([resolution("e", "gone-by-unknown"), resolution("f", "still-there")])
        found = await store.tally(11.0)
        assert [one.at for one in found] == [11.0, 12.0, 14.0, 16.0]
        assert (found[0].mechanism, found[0].namespace, found[0].resource, found[0].weight) == (
            "ttl",
            "shop",
            "deployments.apps",
            3,
        )

    async def test_the_tally_knows_who_else_had_an_allowance_that_was_used(self, store: Store) -> None:
        beside = (("policies", "CleanupPolicy/shop/old"), ("ttl", ""))
        plain, shared = intent("a", at=1.0), intent("b", at=2.0)
        entry = msgspec.structs.replace(shared.entry, beside=beside)
        await store.write([plain, msgspec.structs.replace(shared, entry=entry)])
        assert [one.beside for one in await store.tally(0.0)] == [(), beside]
        assert [one.beside for one in await store.find()] == [beside, ()]

    async def test_pages_go_back_in_time_without_gap_or_repeat(self, store: Store) -> None:
        await store.write([intent(at=float(number // 7)) for number in range(50)])
        seen: list[Entry] = []
        place = None
        while page := await store.find(limit=8, before=place):
            seen += page
            place = Place(page[-1].at, page[-1].id)
        assert len({row.id for row in seen}) == len(seen) == 50
        assert seen == sorted(seen, key=lambda row: (row.at, row.id), reverse=True)

    async def test_rows_of_policies_are_found_by_the_end_of_their_names(
        self, store: Store, new_store: NewStore
    ) -> None:
        rules = [
            "CleanupPolicy/shop/old",
            "ClusterCleanupPolicy/old",
            "ClusterCleanupPolicy/very-old",
            "RetentionPolicy/shop/Old",
            "Tenant/111111",
            "cleanup.kyverno.io/ttl=old",
            "skoupa.dev/ttl-after=unused-1h",
        ]
        changes = [
            note(f"u{number}", at=float(number // 3), rule=rules[number % 7], namespace=f"ns-{number % 2}")
            for number in range(140)
        ]
        await store.write(changes)
        other = new_store("west")
        await other.open()
        await other.write([intent("x", rule="ClusterCleanupPolicy/old")])
        await other.close()

        async def found(**wished: Any) -> list[str]:
            return [row.uid for row in await store.find(Wish(**wished), limit=1000)]

        newest_first = sorted((one.entry for one in changes), key=lambda row: (row.at, row.id), reverse=True)
        old = [row for row in newest_first if row.rule in {rules[0], rules[1], rules[3]}]
        assert len(old) == 60
        assert await found(rule_end="old") == [row.uid for row in old]
        assert await found(rule_end="shop/old") == [row.uid for row in old if "shop" in row.rule]
        assert await found(rule_end="cleanuppolicy/shop/old") == await found(rule=rules[0])
        assert await found(rule_end="111111") == await found(rule=rules[4])
        assert await found(rule_end="1111") == await found(rule_end="ttl=old") == []
        some = [row.uid for row in old if row.namespace == "ns-1" and 10 <= row.at < 30]
        assert await found(rule_end="old", namespace="ns-1", since=10.0, until=30.0) == some
        seen: list[str] = []
        place = None
        while page := await store.find(Wish(rule_end="old"), limit=7, before=place):
            seen += (row.uid for row in page)
            place = Place(page[-1].at, page[-1].id)
        assert seen == [row.uid for row in old]

    async def test_a_restored_object_is_noted_in_the_row_it_came_from(self, store: Store) -> None:
        await store.write([intent("a"), finish("a"), Restored(uid="a", restored_as="b")])
        (row,) = await store.find()
        assert row.restored_as == "b"

    async def test_clusters_in_one_database_do_not_see_each_other(
        self, store: Store, new_store: NewStore
    ) -> None:
        other = new_store("west")
        await other.open()
        await store.write([intent("a")])
        await other.write([intent("a", rule="west")])
        await other.write([finish("a")])
        assert [row.outcome for row in await store.find()] == ["intended"]
        assert [(row.cluster, row.outcome) for row in await other.find()] == [("west", "deleted")]
        assert await store.clusters() == {CLUSTER: "", "west": ""}
        await other.close()

    async def test_by_age_rows_of_others_go_only_where_nobody_else_would_forget_them(
        self, store: Store, new_store: NewStore
    ) -> None:
        other = new_store("west")
        body = (Body(form="json", data=b"x"),)
        await store.write([intent("open"), intent("new", at=9000.0), finish("new")])
        ids = await other.write([intent("a", bodies=body), finish("a"), intent("open")])
        await other.write([intent("new", at=9000.0), finish("new")])
        forgets = 0 if self.shared else 1
        assert await store.forget_bodies(before=5000.0, most_bytes=10**9, now=9000.0) == forgets
        assert await other.body(ids["a"]) == (body if self.shared else ())
        assert await store.prune(before=5000.0, spare=9000.0) == forgets
        assert await other.prune(before=5000.0, spare=9000.0) == 1 - forgets
        for one in (store, other):
            assert {row.uid for row in await one.find()} == {"open", "new"}
        await other.close()

    async def test_bodies_come_with_their_intent_and_a_second_one_replaces_them(self, store: Store) -> None:
        old = (Body(form="json", data=b"\x00old"), Body(part="Pod/shop/web-1", form="json", data=b"pod"))
        ids = await store.write([intent("a", bodies=old), intent("b")])
        assert await store.body(ids["a"]) == old
        assert (await store.bodies(list(ids.values()))).keys() == {ids["a"]}
        new = (Body(form="aesgcm:k1", data=b"newer"),)
        await store.write([intent("a", bodies=new)])
        assert await store.body(ids["a"]) == new
        found = {row.uid: row.kept for row in await store.find()}
        assert found == {"a": 5, "b": 0}

    async def test_a_row_knows_whether_the_trash_lacks_something_of_it(self, store: Store) -> None:
        whole = (Body(form="json", data=b"own"), Body(part="a", form="json", data=b"along"))
        lacking = (Body(form="json", data=b"own", partly=True), Body(part="a", form="json", data=b"along"))
        await store.write([intent("a", bodies=whole), intent("b", bodies=lacking), intent("c")])
        assert {row.uid: row.partly for row in await store.find()} == {"a": False, "b": True, "c": None}
        # The last try that put something there counts, and one that has nothing to put there leaves what is said.
        await store.write([finish("b", outcome="failed"), intent("b", bodies=whole)])
        await store.write([intent("a", bodies=lacking)])
        await store.write([intent("a", unkept=FOUND_GONE)])
        assert {row.uid: row.partly for row in await store.find()} == {"a": True, "b": False, "c": None}

    async def test_a_ledger_keeps_its_mark_and_each_cluster_has_its_own(
        self, store: Store, new_store: NewStore
    ) -> None:
        assert await store.mark("one") == "one"
        assert await store.mark("two") == "one"
        other = new_store("west")
        await other.open()
        assert await other.mark("two") == "two"
        assert await store.mark("three") == "one"
        await other.close()

    async def test_a_ledger_is_of_the_first_cluster_of_its_name_and_refuses_a_namesake_everything(
        self, store: Store, new_store: NewStore
    ) -> None:
        await store.write([intent("a", bodies=(Body(form="json", data=b"x"),))])
        # One that has no identity yet is of the first that comes.
        assert await opened(new_store(CLUSTER, identity=being(kube_system="1"))) == "ok"
        assert await opened(new_store(CLUSTER, identity=being(kube_system="1", skoupa="7"))) == "ok"
        namesake = new_store(CLUSTER, identity=being(kube_system="2"))
        for work in (
            namesake.open,
            namesake.find,
            namesake.open_entries,
            lambda: namesake.bodies(["a"]),
            lambda: namesake.write([intent("b")]),
            lambda: namesake.mark("m"),
        ):
            with pytest.raises(
                LedgerUnusable, match=rf'another cluster with the name "{CLUSTER}".*clusterName'
            ):
                await work()
        await namesake.close()
        assert await opened(new_store("west", identity=being(kube_system="2"))) == "ok"
        # Who reads the ledger itself is no cluster.
        assert [row.uid for row in await store.find()] == ["a"]

    async def test_where_kube_system_was_not_readable_another_namespace_counts_until_it_is(
        self, new_store: NewStore
    ) -> None:
        assert await opened(new_store("x", identity=being())) == "ok"
        assert await opened(new_store("x", identity=being(skoupa="7"))) == "ok"
        assert "Namespace skoupa has the uid 7" in await opened(new_store("x", identity=being(skoupa="8")))
        both = being(kube_system="1", skoupa="8")
        assert "Namespace skoupa has the uid 7" in await opened(new_store("x", identity=both))
        assert await opened(new_store("x", identity=being(kube_system="1", skoupa="7"))) == "ok"
        assert "kube-system has the uid 1" in await opened(new_store("x", identity=being(kube_system="2")))
        # What can't be compared any more is not refused, and changes nothing.
        assert await opened(new_store("x", identity=being(skoupa="9"))) == "ok"
        assert await opened(new_store("x", identity=being(kube_system="1"))) == "ok"

    async def test_what_was_announced_is_known_until_its_time_and_to_its_cluster_only(
        self, store: Store, new_store: NewStore
    ) -> None:
        await store.announce({"a": 100.0, "b": 200.0}, now=50.0)
        await store.announce({"a": 100.0, "c": 300.0}, now=60.0)
        assert set(await store.announced(["a", "b", "c", "d"])) == {"a", "b", "c"}
        other = new_store("west")
        await other.open()
        assert set(await other.announced(["a"])) == set()
        await other.announce({}, now=1000.0)
        await other.close()
        await store.announce({"e": 400.0}, now=150.0)
        assert set(await store.announced(["a", "b", "c", "e"])) == {"b", "c", "e"}

    async def test_since_when_nobody_needs_an_object_is_known_until_that_is_over_and_to_its_cluster_only(
        self, store: Store, new_store: NewStore
    ) -> None:
        await store.note_unneeded({"a": 100.0, "b": 200.5})
        await store.note_unneeded({"a": 150.0, "b": None, "c": 300.0, "never": None})
        assert await store.unneeded() == {"a": 150.0, "c": 300.0}
        other = new_store("west")
        await other.open()
        assert await other.unneeded() == {}
        await other.close()

    async def test_before_it_is_known_which_cluster_this_is_nothing_is_read_or_written(
        self, new_store: NewStore
    ) -> None:
        store = new_store(CLUSTER, identity=unknown_yet)
        with pytest.raises(LedgerUnavailable, match="does not say"):
            await store.find()
        with pytest.raises(LedgerUnavailable, match="does not say"):
            await store.write([intent("a")])
        await store.close()

    async def test_what_was_purged_is_gone_and_the_row_says_so(self, store: Store) -> None:
        ids = await store.write([intent("a", bodies=(Body(form="json", data=b"secret"),))])
        assert await store.purge(ids["a"])
        assert not await store.purge(ids["a"])
        assert await store.body(ids["a"]) == ()
        row = await store.get(ids["a"])
        assert row is not None
        assert row.kept == -1

    async def test_the_trash_forgets_by_age_and_the_rows_stay_and_say_when(self, store: Store) -> None:
        body = (Body(form="json", data=b"x" * 10), Body(part="a", form="json", data=b"y"))
        ids = await store.write([intent(f"u{at}", at=float(at), bodies=body) for at in range(10)])
        await store.write([finish(f"u{at}") for at in range(1, 10)])
        assert await store.purge(ids["u1"])
        assert await store.forget_bodies(before=5.0, most_bytes=10_000, now=7000.5) == 3
        kept = {row.uid: row.kept for row in await store.find()}
        assert kept == {
            "u0": 11,
            "u1": -1,
            **dict.fromkeys(("u2", "u3", "u4"), -7000),
            **dict.fromkeys(("u5", "u6", "u7", "u8", "u9"), 11),
        }
        row = await store.get(ids["u2"])
        assert row is not None
        assert row.forgotten_at == 7000.0
        assert await store.body(ids["u2"]) == ()
        assert await store.body(ids["u5"]) == body
        assert await store.forget_bodies(before=5.0, most_bytes=10_000, now=8000.0) == 0

    async def test_the_trash_forgets_the_oldest_until_the_rest_is_small_enough(self, store: Store) -> None:
        body = (Body(form="json", data=b"x" * 100),)
        uids = [f"u{at:04}" for at in range(1200)]
        ids = await store.write([intent(uid, at=float(at), bodies=body) for at, uid in enumerate(uids)])
        await store.write([finish(uid) for uid in uids])
        assert await store.forget_bodies(before=0.0, most_bytes=50_000, now=5000.0) == 700
        assert await store.body(ids["u0699"]) == ()
        assert await store.body(ids["u0700"]) == body
        assert len(await store.find(limit=5000)) == 1200
        assert await store.forget_bodies(before=0.0, most_bytes=50_000, now=5000.0) == 0

    async def test_many_bodies_are_read_in_a_time_that_grows_with_their_number_alone(
        self, store: Store
    ) -> None:
        async def seconds_for(first: int, last: int) -> float:
            uids = [f"u{number:05}" for number in range(first, last)]
            body = (Body(form="json", data=b"x" * 300), Body(part="a", form="json", data=b"y"))
            ids: dict[str, str] = {}
            for start in range(0, len(uids), 500):
                ids.update(await store.write([intent(uid, bodies=body) for uid in uids[start : start + 500]]))
            began = time.process_time()
            found = await store.bodies(list(ids.values()))
            assert len(found) == len(uids)
            return time.process_time() - began

        few = await seconds_for(0, 500)
        # Among twelve times as many, the same number takes about as long: were all of them looked at, twelve times as long.
        await seconds_for(500, 5500)
        assert await seconds_for(5500, 6000) < 6 * few + 0.05

    async def test_pruning_by_age_spares_open_rows_and_what_brakes_count(self, store: Store) -> None:
        body = (Body(form="json", data=b"x"),)
        ids = await store.write([intent(f"u{at}", at=float(at), bodies=body) for at in range(10)])
        await store.write([finish(f"u{at}") for at in range(1, 10)])
        assert await store.prune(before=8.0, spare=5.0) == 4
        assert [row.at for row in await store.find()] == [9, 8, 7, 6, 5, 0]
        assert await store.body(ids["u1"]) == ()
        assert await store.body(ids["u5"]) == body

    async def test_pruning_by_size_takes_the_oldest_first(self, store: Store) -> None:
        await store.write([note(f"u{at}", at=float(at), error="x" * 500) for at in range(3000)])
        whole = await store.size()
        assert whole.rows == 3000
        gone = await store.prune(before=0.0, spare=2900.0, most_bytes=whole.used // 2)
        left = await store.size()
        assert 0 < gone < 2900
        assert left.rows == 3000 - gone
        assert left.used <= whole.used // 2
        (oldest,) = (await store.find(limit=5000))[-1:]
        assert oldest.at == gone
        assert await store.prune(before=0.0, spare=2900.0, most_bytes=1) == 2900 - gone

    async def test_pruning_by_size_takes_no_more_than_it_has_to(
        self, store: Store, new_store: NewStore
    ) -> None:
        """Few rows with a lot in the trash, beside more of another cluster, which are not this one's to weigh."""
        body = (Body(form="json", data=b"x" * 4400),)
        other = new_store("west")
        for one in (store, other):
            await one.write([intent(f"u{at}", at=float(at), bodies=body) for at in range(445)])
            await one.write([finish(f"u{at}") for at in range(445)])
        gone = await store.prune(before=0.0, spare=1000.0, most_bytes=1_000_000)
        left = await store.size()
        assert 900_000 < left.used <= 1_000_000
        assert left.rows == 445 - gone
        assert [row.at for row in await store.find(limit=1000)] == [
            float(at) for at in range(444, gone - 1, -1)
        ]
        assert (await other.size()).rows == 445
        # What fits does not go because of what others have.
        assert await store.prune(before=0.0, spare=1000.0, most_bytes=1_000_000) == 0
        await other.close()

    async def test_readers_see_every_commit_while_others_write(self, store: Store) -> None:
        async def write() -> None:
            for number in range(40):
                await store.write([intent(at=float(number)) for _ in range(10)])

        counts = []
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(write())
            while not writing.done():
                counts.append(len(await store.find(limit=1000)))
        assert counts == sorted(counts)
        assert all(count % 10 == 0 for count in counts)
        assert len(await store.find(limit=1000)) == 400

    async def test_filters_find_what_a_plain_look_at_all_rows_finds(self, store: Store) -> None:
        rows = [
            entry(
                uid=f"{number}",
                at=float(number % 17),
                kind=("Pod", "Deployment")[number % 2],
                resource=("pods", "deployments.apps")[number % 2],
                namespace=("", "shop", "dev")[number % 3],
                name=("web", "db")[number // 2 % 2],
                mechanism=("ttl", "policy")[number % 5 == 0],
                rule=("r1", "r2", "r3")[number // 3 % 3],
                run=("", "run-1", "run-2")[number // 5 % 3],
                outcome=OUTCOMES[number % len(OUTCOMES)],
            )
            for number in range(120)
        ]
        await store.write([Note(entry=row) for row in rows])
        stored = await store.find(limit=1000)
        assert len(stored) == 120
        loop = asyncio.get_running_loop()
        find = store.find

        @settings(max_examples=150, suppress_health_check=list(HealthCheck))
        @given(wish=_wishes(), limit=st.integers(1, 200), place=st.none() | st.sampled_from(stored))
        def check(wish: Wish, limit: int, place: Entry | None) -> None:
            before = Place(place.at, place.id) if place else None
            expected = [
                row
                for row in stored
                if _fits(row, wish) and (before is None or (row.at, row.id) < (before.at, before.id))
            ][:limit]
            asked = asyncio.run_coroutine_threadsafe(find(wish, limit=limit, before=before), loop)
            assert asked.result(30) == expected

        await asyncio.to_thread(check)

    async def test_however_changes_come_together_the_rows_are_as_if_each_came_alone(
        self, new_store: NewStore
    ) -> None:
        together, alone = new_store("together"), new_store("alone")
        await together.open()
        await alone.open()
        loop, examples = asyncio.get_running_loop(), itertools.count(1)

        async def rows(store: Store, example: int) -> list[tuple[Entry, tuple[Body, ...]]]:
            found = [row for row in await store.find(limit=0x7FFF) if row.uid.startswith(f"{example}-")]
            return sorted(
                [(msgspec.structs.replace(row, cluster=""), await store.body(row.id)) for row in found],
                key=lambda one: one[0].uid,
            )

        async def both(batches: list[list[Change]]) -> None:
            example = next(examples)
            for batch in batches:
                named = [_named(change, f"{example}-{change.uid}") for change in batch]
                ids = await together.write(named)
                ids_alone: dict[str, str] = {}
                for change in named:
                    ids_alone |= await alone.write([change])
                assert ids == ids_alone
            assert await rows(together, example) == await rows(alone, example)

        @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(batches=st.lists(st.lists(_changes(), min_size=1, max_size=8), min_size=1, max_size=4))
        def check(batches: list[list[Change]]) -> None:
            asyncio.run_coroutine_threadsafe(both(batches), loop).result(30)

        await asyncio.to_thread(check)
        await together.close()
        await alone.close()


def _changes() -> st.SearchStrategy[Change]:
    uid = st.sampled_from("abcd")
    epoch = st.integers(1, 2)
    bodies = st.lists(
        st.builds(
            Body, part=st.sampled_from(["", "Pod/web"]), form=st.just("json"), data=st.binary(max_size=3)
        ),
        max_size=2,
        unique_by=lambda body: body.part,
    ).map(tuple)
    outcome = st.sampled_from(OUTCOMES)
    return st.one_of(
        st.builds(intent, uid, bodies=bodies, epoch=epoch),
        st.builds(intent, uid, epoch=epoch, unkept=st.just(FOUND_GONE)),
        st.builds(note, uid, st.sampled_from(["braked", "would-delete"]), epoch=epoch),
        st.builds(finish, uid, outcome, epoch=epoch),
        st.builds(resolution, uid, seen=epoch, epoch=epoch),
        st.builds(told, uid),
        st.builds(Restored, uid=uid, restored_as=st.just("new")),
    )


def _named(change: Change, uid: str) -> Change:
    if isinstance(change, Intent | Note):
        return msgspec.structs.replace(change, entry=msgspec.structs.replace(change.entry, uid=uid))
    return msgspec.structs.replace(change, uid=uid)


def _wishes() -> st.SearchStrategy[Wish]:
    none = st.none()
    times = none | st.integers(-1, 18).map(float)
    return st.builds(
        Wish,
        uid=none | st.sampled_from(["3", "70", "nobody"]),
        kind=none | st.sampled_from(["Pod", "Deployment", "pods", "deployments.apps", "Job"]),
        namespace=none | st.sampled_from(["", "shop", "dev", "none"]),
        name=none | st.sampled_from(["web", "db", "w%"]),
        since=times,
        until=times,
        mechanism=none | st.sampled_from(["ttl", "policy"]),
        rule=none | st.sampled_from(["r1", "r2", "' OR 1=1 --"]),
        run=none | st.sampled_from(["", "run-1"]),
        outcomes=none | st.lists(st.sampled_from(OUTCOMES), max_size=3).map(tuple),
    )


def _fits(row: Entry, wish: Wish) -> bool:
    plain = ("id", "uid", "namespace", "name", "mechanism", "rule", "run")
    return (
        all(getattr(wish, key) in {None, getattr(row, key)} for key in plain)
        and wish.kind in {None, row.kind, row.resource}
        and (wish.since is None or row.at >= wish.since)
        and (wish.until is None or row.at < wish.until)
        and (wish.outcomes is None or row.outcome in wish.outcomes)
    )
