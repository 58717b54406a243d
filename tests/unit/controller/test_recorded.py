"""What the ledger says of deletions whose end nobody saw at once: lost answers, crashes, finalizers, untold Events."""

from __future__ import annotations

import asyncio
import math
import re
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from skoupa.cli.restoring.selecting import WENT
from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from skoupa.ledger.journal import OnFailure
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Wish
from skoupa.sim.faults import asking
from skoupa.sweep.record import Record
from tests.unit.controller.braking import bring_kind, many, pull, release
from tests.unit.controller.policies import bring_policies, cleanup, matching
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, WIDGETS, Stage, definition, story
from tests.unit.controller.test_trash import ledger
from tests.unit.ledger.entries import finish, intent

pytestmark = pytest.mark.unit

OUR_DELETES = asking(method="DELETE", path=f"/api/v1/namespaces/{SHOP}")


@pytest.mark.parametrize("times", [1, 5, None], ids=["once", "some times", "each time"])
@story()
async def test_a_delete_that_was_done_but_never_answered_is_told_recorded_and_can_be_restored(
    stage: Stage, tmp_path: Path, times: int | None
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record)
        for name in many(10):
            await stage.make(name, "1m")
        stage.cluster.faults.disconnect(when=OUR_DELETES, times=times, seconds=30 * MINUTE, done=True)
        await stage.later(20 * MINUTE)
        assert not stage.found()
        rows = await book.record.store.find()
        assert len(rows) == 10
        outcomes = [row.outcome for row in rows]
        assert set(outcomes) <= {"gone-by-unknown", "deleted"}
        assert outcomes.count("gone-by-unknown") >= (10 if times is None else 1)
        assert len(await book.record.store.find(Wish(outcomes=WENT))) == 10
        assert len(await book.record.store.tally(0)) == 10
        assert len(play.told("deleted")) == 10
        assert not play.told("gone already")
        assert play.value("skoupa_deletions_total", kind="configmaps", mechanism="ttl") == 10
        assert play.overdue == {}


@story()
async def test_a_delete_without_an_answer_whose_object_is_still_there_is_tried_again_and_then_deleted(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record)
        await stage.make("web", "1m")
        fault = stage.cluster.faults.disconnect(when=OUR_DELETES, times=None)
        await stage.until(10 * MINUTE)
        while not (row := await book.entry("web")).error:
            await stage.later(1)
        assert row.outcome == "intended", "nobody knows"
        assert "reset" in row.error
        stage.cluster.faults.remove(fault)
        await stage.later(MINUTE)
        row = await book.entry("web")
        assert (row.outcome, row.error) == ("deleted", "")
        assert len(play.told("deleted", "web")) == 1


@story()
async def test_a_webhook_that_could_not_be_asked_has_let_nothing_through(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await stage.play(record=book.record)
        await stage.make("web", "1m")
        stage.cluster.faults.answer(
            500, when=OUR_DELETES, times=None, message='failed calling webhook "gate.example": timed out'
        )
        await stage.until(10 * MINUTE)
        while (row := await book.entry("web")).outcome == "intended" and stage.now < HOUR:
            await stage.later(1)
        assert row.outcome == "failed"


@story()
async def test_a_row_is_closed_when_the_finalizers_of_its_object_are_done(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await stage.play(record=book.record)
        await stage.make("web", "1m", finalizers=["example.com/slow"])
        await stage.until(10 * MINUTE)
        assert (await book.entry("web")).outcome == "terminating"
        await _let_go(stage, "web")
        assert (await book.entry("web")).outcome == "deleted"


@pytest.mark.parametrize("meanwhile", ["still there", "gone"])
@story()
async def test_the_next_leader_closes_the_row_of_an_object_that_was_still_terminating(
    stage: Stage, tmp_path: Path, meanwhile: str
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record)
        await stage.make("web", "1m", finalizers=["example.com/slow"])
        await stage.until(10 * MINUTE)
        await play.stop()
        if meanwhile == "gone":
            await _let_go(stage, "web")
        await stage.play(record=book.record)
        await stage.later(1)
        if meanwhile == "still there":
            await stage.later(HOUR)
            assert (await book.entry("web")).outcome == "terminating"
            await _let_go(stage, "web")
        assert (await book.entry("web")).outcome == "deleted"


@story()
async def test_what_a_crash_left_open_is_decided_as_soon_as_the_server_answers(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record)
        await stage.make("web", "1m")
        await stage.until(30)
        with monkeypatch.context() as killed:
            killed.setattr(book.record.journal, "finish", lambda *_, **__: None)
            killed.setattr(play.reporter.bundles, "add", lambda *_: None)
            await stage.until(2 * MINUTE)
            assert not stage.there("web")
            await play.kill()
        looks = asking(method="GET", path=f"/api/v1/namespaces/{SHOP}/configmaps")
        stage.cluster.faults.answer(500, when=looks, times=None, seconds=40)
        await stage.play(record=book.record)
        assert (await book.entry("web")).outcome == "intended"
        await stage.later(3 * MINUTE)
        assert (await book.entry("web")).outcome == "gone-by-unknown"
        (event,) = stage.events("SkoupaDeleted", "web")
        assert event["note"].startswith("was to be deleted when Skoupa was interrupted, and is gone since: ")


@pytest.mark.parametrize("number", [3, 200])
@story()
async def test_what_was_in_flight_in_a_crash_is_told_by_the_next_leader_and_once(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record)
        for name in many(number):
            await stage.make(name, "1m")
        await stage.until(50)
        with monkeypatch.context() as killed:
            killed.setattr(book.record.journal, "finish", lambda *_, **__: None)
            killed.setattr(play.reporter.bundles, "add", lambda *_: None)
            await stage.until(2 * MINUTE)
            assert not stage.found()
            await play.kill()
        for _ in range(3):
            play = await stage.play(record=book.record)
            assert play.events is not None
            play.events.on_told = lambda event: book.record.told(event.uids)
            await stage.later(MINUTE)
            await play.stop()
        assert {row.outcome for row in await book.record.store.find(limit=500)} == {"gone-by-unknown"}
        notes = [event["note"] for event in stage.events("SkoupaDeleted")]
        told = Counter(name for note in notes for name in re.findall(r"web-\d+", note))
        if number == 3:
            assert len(notes) == 3
            assert all(note.startswith("was to be deleted when Skoupa was interrupted") for note in notes)
        else:
            assert len(notes) <= 5
            assert all(
                note.startswith(
                    "configmaps (ttl) were to be deleted when Skoupa was interrupted, and are gone"
                )
                for note in notes
            )
            assert told == Counter(many(number))
        assert await book.record.store.untold() == []


@story()
async def test_every_deletion_that_nobody_was_told_of_is_told_however_many(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        then = stage.clock.now() - 10
        uids = [f"00000000-0000-0000-0000-{number:012d}" for number in range(2500)]
        for uid in uids:
            await book.record.store.write([intent(uid, name=f"n-{uid[-4:]}", at=then), finish(uid)])
        play = await stage.play(record=book.record)
        assert play.events is not None
        play.events.on_told = lambda event: book.record.told(event.uids)
        await stage.later(HOUR)
        assert await book.record.store.untold() == []
        notes = [event["note"] for event in stage.events("SkoupaDeleted")]
        assert len(notes) < 100, "they are bundled"
        told = {name for note in notes for name in re.findall(r"n-\d+", note)}
        assert told == {f"n-{uid[-4:]}" for uid in uids}


@story()
async def test_what_an_earlier_try_kept_does_not_stand_for_a_later_one_that_keeps_nothing(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record)
        await stage.make("web", "1m", annotations={"version": "1"})
        fault = stage.cluster.faults.answer(422, when=OUR_DELETES, times=None, message="ask first")
        await stage.until(5 * MINUTE)
        assert len(await book.kept("web")) == 1
        await play.stop()
        await stage.annotate("web", "version", "2")
        stage.cluster.faults.remove(fault)
        await stage.play(record=book.record, trash={"ignoreKinds": ["configmaps"]})
        await stage.later(5 * MINUTE)
        row = await book.entry("web")
        assert (row.outcome, row.kept) == ("deleted", 0)
        assert await book.kept("web") == []


@pytest.mark.parametrize("unlabelled", [False, True], ids=["labelled", "unlabelled"])
@story()
async def test_a_crash_right_after_the_delete_of_an_object_with_finalizers_leaves_no_row_open(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, unlabelled: bool
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record)
        await stage.make("web", "1m", finalizers=["example.com/slow"])
        await stage.until(30)
        with monkeypatch.context() as killed:
            killed.setattr(book.record.journal, "finish", lambda *_, **__: None)
            await stage.until(2 * MINUTE)
            await play.kill()
        assert (await book.entry("web")).outcome == "intended"
        if unlabelled:
            await stage.label("web", ttl=None)
        await stage.play(record=book.record)
        await stage.later(MINUTE)
        assert (await book.entry("web")).outcome == "terminating"
        await _let_go(stage, "web")
        await stage.later(HOUR if unlabelled else 0)
        assert (await book.entry("web")).outcome == "deleted"


@story()
async def test_a_delete_without_an_answer_whose_object_lost_its_label_on_the_way_out_is_followed_to_its_end(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record)
        await stage.make("web", "60s", finalizers=["example.com/slow"])
        await stage.until(55)
        stage.cluster.faults.disconnect(when=OUR_DELETES, times=None, seconds=20, done=True)
        await stage.until(70)
        await stage.label("web", ttl=None)
        await stage.later(10 * MINUTE)
        assert (await book.entry("web")).outcome == "terminating"
        assert len(play.told("deleted", "web")) == 1
        await _let_go(stage, "web")
        await stage.later(HOUR)
        assert (await book.entry("web")).outcome == "deleted"
        assert len(play.told("deleted", "web")) == 1


@pytest.mark.parametrize("told", [True, False], ids=["told by a watch", "found by a look"])
@story()
async def test_one_whose_delete_was_done_without_an_answer_and_that_waits_for_its_finalizer_went_by_us(
    stage: Stage, tmp_path: Path, *, told: bool
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        if not told:
            # It tells that the object was made, and nothing more.
            stage.cluster.faults.silence_watch(when=asking(kind="configmaps"), times=None, after=2)
        play = await stage.play(record=book.record)
        await stage.make("web", "60s", finalizers=["example.com/slow"])
        stage.cluster.faults.disconnect(when=OUR_DELETES, times=1, done=True)
        await stage.until(3 * MINUTE)
        assert (await book.entry("web")).outcome == "terminating"
        assert len(play.told("deleted", "web")) == 1
        assert len(await book.record.store.tally(0)) == 1, "the ceilings count it"
        await _let_go(stage, "web")
        await stage.later(HOUR)
        assert (await book.entry("web")).outcome == "deleted"
        assert len(play.told("deleted", "web")) == 1


@story()
async def test_what_is_still_there_after_a_lost_answer_is_closed_although_another_waits_for_its_finalizer(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await stage.play(record=book.record)
        await stage.make("slow", "30s", finalizers=["example.com/slow"])
        await stage.make("web", "1m")
        await stage.until(55)
        assert (await book.entry("slow")).outcome == "terminating"
        lost = stage.cluster.faults.disconnect(when=OUR_DELETES, times=None)
        await stage.until(90)
        assert (await book.entry("web")).outcome == "intended", "nobody knows"
        await stage.label("web", keep="true")
        stage.cluster.faults.remove(lost)
        await stage.later(3 * MINUTE)
        row = await book.entry("web")
        assert (row.outcome, row.error) == ("failed", "no answer came to its delete, and it is still there")


@pytest.mark.parametrize("rows", [4, 160, 1000])
@story()
async def test_open_rows_of_a_kind_that_does_not_answer_do_not_stop_a_start(
    stage: Stage, tmp_path: Path, rows: int
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
        await stage.later(5)
        await book.record.store.write(
            [
                intent(
                    f"00000000-0000-0000-0000-{number:012d}",
                    name=f"widget-{number}",
                    kind="Widget",
                    resource=WIDGETS.qualified,
                    api_version="shop.example/v1",
                    at=stage.clock.now() - 60,
                )
                for number in range(rows)
            ]
        )
        for name in many(5):
            await stage.make(name, "1m")
        await stage.later(2 * MINUTE)
        fault = stage.cluster.faults.delay(
            100_000,
            when=lambda request: "widgets" in request.path and "metadata.name" in str(request.query),
            times=None,
        )
        play = await stage.play(record=book.record)
        await stage.later(15)
        assert not stage.found(), "what is due goes"
        assert "deletions of widgets.shop.example is not known yet" in str(play.engine.last_error)
        assert len(await book.record.store.open_entries()) == rows
        await stage.later(HOUR)
        looks = [one for _, one in play.sent("GET", path="widgets") if "metadata.name" in str(one.query)]
        assert len(looks) <= 8 * (1 + 7 * math.ceil(rows / 200)), "a few each time, and less and less often"
        stage.cluster.faults.remove(fault)
        await stage.later(2 * HOUR)
        assert await book.record.store.open_entries() == []
        assert play.engine.last_error is None


async def _let_go(stage: Stage, name: str) -> None:
    await stage.people.merge_patch(
        CONFIG_MAPS, name, {"metadata": {"finalizers": None}}, namespace=SHOP, manager="people"
    )
    await stage.later(2 * MINUTE)
    assert not stage.there(name)


@story()
async def test_a_namespace_in_which_a_brake_holds_something_is_recorded_as_braked_however_often_it_is_tried(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_kind(stage)
        await stage.namespace("old")
        await stage.make("inside", namespace="old")
        await pull(stage, "stop", kind="configmaps")
        await stage.play(record=book.record)
        await stage.label("old", resource=NAMESPACES, ttl="1m")
        await stage.later(10 * MINUTE)
        row = await book.entry("old")
        assert (row.outcome, row.error, row.attempts) == ("braked", "", 0)
        await release(stage, "stop")
        await stage.later(2 * MINUTE)
        assert (await book.entry("old")).outcome in {"deleted", "terminating"}


@story()
async def test_what_failed_after_a_brake_held_it_is_recorded_as_braked_when_one_holds_it_again(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_kind(stage)
        await pull(stage, "stop", namespace=SHOP, reason="a freeze")
        await stage.play(record=book.record)
        await stage.make("web", "1m")
        await stage.later(2 * MINUTE)
        assert (await book.entry("web")).outcome == "braked"
        fault = stage.cluster.faults.answer(422, when=OUR_DELETES, times=None)
        await release(stage, "stop")
        await stage.later(2 * MINUTE)
        assert (await book.entry("web")).outcome == "failed"
        await pull(stage, "stop", namespace=SHOP, reason="a freeze")
        await stage.later(2 * MINUTE)
        assert (await book.entry("web")).outcome == "braked"
        stage.cluster.faults.remove(fault)


@story()
async def test_a_row_says_who_wrote_the_policy(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_policies(stage)
        stage.old(many(2))
        await stage.play(record=book.record)
        await cleanup(stage, match=matching(names=["nothing"]))
        await stage.later(5)
        for name, author in (("web-0", "kim"), ("web-1", "argocd")):
            patch = {"spec": {"match": matching(names=[name], namespaces=[SHOP])}}
            await stage.people.merge_patch(CLUSTER_CLEANUP_POLICIES, "tidy", patch, manager=author)
            await stage.later(2 * MINUTE)
            assert (await book.entry(name)).author == author


@pytest.mark.parametrize("on_failure", ["stop", "continue"])
@story()
async def test_while_nothing_can_be_written_down_nothing_goes_unless_told_to_go_on_and_then_it_is_written_later(
    stage: Stage, tmp_path: Path, on_failure: OnFailure
) -> None:
    path = tmp_path / "l.db"
    store = SqliteStore(path, cluster="east", busy_seconds=0.02)
    await store.open()
    record = Record(store, stage.clock, on_failure=on_failure)
    writing = asyncio.create_task(record.journal.run())
    play = await stage.play(record=record, ledger={"onFailure": on_failure})
    await stage.make("web", "1m")
    await stage.until(50)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    await stage.until(5 * MINUTE)
    assert stage.there("web") is (on_failure == "stop")
    if on_failure == "stop":
        assert play.why_held("web").startswith("what goes can't be written down: ")
        assert play.overdue == {"ledger-away": 1}
        assert not play.sent("DELETE")
    other.execute("ROLLBACK")
    other.close()
    await stage.later(MINUTE)
    assert not stage.there("web")
    (row,) = await store.find()
    assert (row.name, row.outcome) == ("web", "deleted")
    assert record.journal.statistics()["missing"] == 0
    await play.kill()
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    await store.close()
