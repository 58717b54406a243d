"""The mark `skoupa.dev/unneeded-since`: written once, kept over restarts and leaders, mended when somebody tampers with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from skoupa import names
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from skoupa.kube.transport import Request
from skoupa.sim.faults import asking
from tests.unit.controller.retaining.scene import (
    KINDS,
    ON,
    after,
    mark_of,
    patches,
    relabel,
    remove,
    said,
    workload,
)
from tests.unit.controller.stage import DEPLOYMENTS, MINUTE, SHOP, Play, Stage, story
from tests.unit.controller.test_trash import ledger

pytestmark = pytest.mark.unit

MARK = names.UNNEEDED_SINCE_ANNOTATION
PATCHES = asking(method="PATCH", path="/api/v1/namespaces/shop/configmaps")


@story(also=KINDS, features=ON)
async def test_a_restart_keeps_the_mark_and_writes_nothing(stage: Stage) -> None:
    first = await stage.play()
    await stage.make("config", labels=after("unused-30m"))
    await stage.later(10 * MINUTE)
    marked = mark_of(stage, "config")
    assert marked is not None
    await first.stop()
    await stage.later(5 * MINUTE)
    second = await stage.play()
    await stage.later(14 * MINUTE)
    assert mark_of(stage, "config") == marked
    assert stage.there("config")
    await stage.later(2 * MINUTE)
    assert not stage.there("config")
    assert len(patches(first, "config")) == 1
    assert not patches(second, "config")


@story(also=KINDS, features=ON)
async def test_who_takes_over_the_lead_writes_no_second_mark_and_lets_go_in_time(stage: Stage) -> None:
    leader = await stage.play()
    other = await stage.play()
    other.standing_by = True
    await stage.make("config", labels=after("unused-20m"))
    await stage.later(10 * MINUTE)
    marked = mark_of(stage, "config")
    leader.standing_by, other.standing_by = True, False
    await stage.later(5 * MINUTE)
    assert mark_of(stage, "config") == marked
    await stage.later(6 * MINUTE)
    assert not stage.there("config")
    assert (len(patches(leader, "config")), len(patches(other, "config"))) == (1, 0)


@story(also=KINDS, features=ON)
async def test_who_only_stands_by_writes_nothing_until_it_leads(stage: Stage) -> None:
    play = await stage.play()
    play.standing_by = True
    await stage.later(1)
    await stage.make("config", labels=after("unused-5m"))
    await stage.later(10 * MINUTE)
    assert not patches(play, "config")
    play.standing_by = False
    await stage.later(4 * MINUTE)
    assert stage.there("config")
    assert len(patches(play, "config")) == 1
    await stage.later(2 * MINUTE)
    assert not stage.there("config")


@story(also=KINDS, features=ON, mode="observe")
async def test_observing_writes_nothing_and_knows_the_moment_all_the_same(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("config", labels=after("unused-5m"))
    await stage.later(10 * MINUTE)
    assert stage.there("config")
    assert not [one for one in play.sent("PATCH") if "config" in one[1].path]
    assert not play.sent("DELETE")
    assert play.told("would delete", "config")


@story(also=KINDS, features=ON, mode="observe")
async def test_an_observer_keeps_the_moment_in_the_ledger_over_restarts_and_until_it_is_needed(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record)
        await stage.make("config", labels=after("unused-10m"))
        await stage.later(6 * MINUTE)
        await play.stop()
        again = await stage.play(record=book.record)
        await stage.later(5 * MINUTE)
        assert again.told("would delete", "config"), (
            "five minutes after the start, ten after it was first seen"
        )
        await workload(stage, "web", "config")
        await stage.later(MINUTE)
        assert await book.record.store.unneeded() == {}


@pytest.mark.parametrize("tampered", ["soon", "2999-01-01T00:00:00Z", "2001-01-01T00:00:00Z", None])
@story(also=KINDS, features=ON)
async def test_a_mark_that_can_not_be_meant_is_written_anew_and_the_time_with_it(
    stage: Stage, tampered: str | None
) -> None:
    play = await stage.play()
    await stage.make("config", labels=after("unused-10m"))
    await stage.later(8 * MINUTE)
    await stage.annotate("config", MARK, tampered)
    moment = stage.time()
    await stage.later(9 * MINUTE)
    assert mark_of(stage, "config") == moment
    assert stage.there("config")
    await stage.later(2 * MINUTE)
    assert not stage.there("config")
    assert len(patches(play, "config")) == 2


@story(also=KINDS, features=ON)
async def test_a_mark_that_could_not_be_taken_off_does_not_count_when_it_is_free_again(stage: Stage) -> None:
    await stage.play()
    await stage.make("config", labels=after("unused-10m"))
    await stage.later(5 * MINUTE)
    old = mark_of(stage, "config")
    stage.cluster.faults.answer(500, when=PATCHES, seconds=8 * MINUTE)
    await workload(stage, "web", "config")
    await stage.later(7 * MINUTE)
    assert mark_of(stage, "config") == old
    await remove(stage, "web", resource=DEPLOYMENTS)
    await stage.later(9 * MINUTE)
    assert stage.there("config")
    assert mark_of(stage, "config") not in {None, old}
    await stage.later(2 * MINUTE)
    assert not stage.there("config")


@story(also=KINDS, features=ON)
async def test_a_write_that_fails_is_tried_again_and_then_done_once(stage: Stage) -> None:
    play = await stage.play()
    stage.cluster.faults.answer(500, when=PATCHES, times=3)
    await stage.make("config", labels=after("unused-1h"))
    await stage.later(2 * MINUTE)
    assert mark_of(stage, "config") is not None
    assert play.engine.last_error is None
    count = len(patches(play, "config"))
    await stage.later(5 * MINUTE)
    assert len(patches(play, "config")) == count


@story(also=KINDS, features=ON)
async def test_without_the_right_to_patch_it_stays_and_that_is_told_until_the_right_is_there(
    stage: Stage,
) -> None:
    stage.cluster.deny(user="skoupa", verbs=("patch",), resources=("configmaps",))
    play = await stage.play(user="skoupa")
    await stage.make("config", labels=after("unused-5m"))
    await stage.later(10 * MINUTE)
    assert stage.there("config")
    assert any("no permission to patch configmaps" in said for said in play.engine.outlook.degraded)
    assert "it is not marked yet" in said(play, "config")
    assert len(patches(play, "config")) <= 12
    stage.cluster.plane.access.clear()
    await stage.later(3 * MINUTE)
    assert mark_of(stage, "config") is not None
    assert not any("patch configmaps" in said for said in play.engine.outlook.degraded)


@story(also=KINDS, features=ON)
async def test_an_object_that_is_made_anew_under_its_name_is_another_one(stage: Stage) -> None:
    await stage.play()
    await stage.make("config", labels=after("unused-10m"))
    await stage.later(8 * MINUTE)
    await remove(stage, "config", resource=CONFIG_MAPS)
    await stage.make("config", labels=after("unused-10m"))
    await stage.later(8 * MINUTE)
    assert stage.there("config")
    await stage.later(3 * MINUTE)
    assert not stage.there("config")


def looks(play: Play, since: int) -> list[Request]:
    """What was asked about single ConfigMaps, or all of a namespace."""
    lists = asking(verb="list", path="/api/v1/namespaces/shop/configmaps")
    asked = [one for _, one in play.wire.seen[since:] if lists(one)]
    return [one for one in asked if not any(key == "labelSelector" for key, _ in one.query)]


@story(also=KINDS, features=ON)
async def test_when_the_label_is_taken_off_the_mark_goes_too_and_counts_for_no_later_one(
    stage: Stage,
) -> None:
    play = await stage.play()
    await stage.make("config", labels=after("unused-30m"))
    await stage.later(5 * MINUTE)
    assert mark_of(stage, "config") is not None
    await relabel(stage, "config", None)
    await stage.later(MINUTE)
    assert mark_of(stage, "config") is None
    await play.stop()
    await relabel(stage, "config", "unused-30m")
    await stage.later(20 * MINUTE)
    await stage.play()
    await stage.later(25 * MINUTE)
    assert stage.there("config")
    await stage.later(6 * MINUTE)
    assert not stage.there("config")


@story(also=KINDS, features=ON)
async def test_nothing_is_written_onto_what_people_delete_and_many_cost_one_look(stage: Stage) -> None:
    play = await stage.play()
    for number in range(30):
        await stage.make(f"config-{number}", labels=after("unused-30m"))
    await stage.later(5 * MINUTE)
    written, seen = len(play.sent("PATCH")), len(play.wire.seen)
    for number in range(30):
        await stage.remove(f"config-{number}")
    await stage.later(2 * MINUTE)
    assert len(play.sent("PATCH")) == written
    assert len(looks(play, seen)) == 1


@story(also=KINDS, features=ON)
async def test_what_goes_by_its_label_or_with_its_namespace_is_not_looked_at_afterwards(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("config", labels=after("unused-5m"))
    await stage.later(5 * MINUTE - 10)
    seen = len(play.wire.seen)
    await stage.later(MINUTE)
    assert not stage.there("config")
    await stage.make("other", labels=after("unused-30m"))
    await stage.later(MINUTE)
    await stage.remove(SHOP, resource=NAMESPACES)
    await stage.later(MINUTE)
    assert not looks(play, seen)


@story(also=KINDS, features=ON)
async def test_a_server_that_can_not_be_asked_whether_it_is_there_is_asked_again(stage: Stage) -> None:
    await stage.play()
    await stage.make("config", labels=after("unused-30m"))
    await stage.later(5 * MINUTE)
    lists = asking(verb="list", path="/api/v1/namespaces/shop/configmaps")
    stage.cluster.faults.answer(500, when=lists, seconds=3 * MINUTE)
    await relabel(stage, "config", None)
    await stage.later(2 * MINUTE)
    assert mark_of(stage, "config") is not None
    await stage.later(2 * MINUTE)
    assert mark_of(stage, "config") is None
