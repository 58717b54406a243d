"""A start on a ledger that is not the one the cluster was swept with before: said, and safe for the ceilings."""

from __future__ import annotations

from pathlib import Path

import pytest

from skoupa.errors import LedgerUnavailable
from skoupa.kinds.brake import BRAKES
from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.nowhere import NoStore
from skoupa.ledger.sqlite import SqliteStore
from skoupa.sim.faults import asking
from skoupa.sweep.record import Record
from tests.unit.controller.braking import brake, brakes, bring_kind, state
from tests.unit.controller.stage import HOUR, MINUTE, Play, Stage, story
from tests.unit.controller.test_trash import ledger

pytestmark = pytest.mark.unit


def said(play: Play) -> list[str]:
    return [one for one in play.engine.outlook.degraded if "this cluster was last swept with" in one]


def empty(directory: Path) -> None:
    for file in directory.iterdir():
        file.unlink()


def move_away(directory: Path) -> None:
    for file in list(directory.iterdir()):
        file.rename(directory / f"moved-{file.name}")


async def swept(stage: Stage, path: Path, *, name: str) -> Play:
    """Some minutes of an engine with that ledger, in which an object of this name falls due."""
    async with ledger(stage, path) as book:
        play = await stage.play(record=book.record)
        await stage.make(name, "1m")
        await stage.later(3 * MINUTE)
        return play


@story()
async def test_an_emptied_ledger_is_told_and_holds_everything_until_the_windows_are_known_again(
    stage: Stage, tmp_path: Path
) -> None:
    await bring_kind(stage)
    path = tmp_path / "l.db"
    assert said(await swept(stage, path, name="first")) == []
    assert not stage.there("first")
    assert said(await swept(stage, path, name="second")) == []
    assert not stage.there("second")
    empty(tmp_path)
    async with ledger(stage, path) as book:
        play = await stage.play(record=book.record)
        await stage.make("third", "1m")
        await stage.later(3 * MINUTE)
        assert stage.there("third")
        (told,) = said(play)
        assert str(path) in told
        for part in ("emptied or replaced", "History and trash", "--ledger", "brakes release ledger-changed"):
            assert part in told
        assert await brakes(stage) == {"ledger-changed"}
        assert "brake ledger-changed" in play.why_held("third")
        # It ends by itself.
        await stage.later(HOUR)
        assert not stage.there("third")
    # From then on this is the ledger.
    assert said(await swept(stage, path, name="fourth")) == []
    assert not stage.there("fourth")


@pytest.mark.parametrize("later", [2 * HOUR, 30 * MINUTE])
@story()
async def test_a_second_change_holds_for_an_hour_from_then_on(
    stage: Stage, tmp_path: Path, later: float
) -> None:
    """Be the Brake of the first one over, or holding still."""
    await bring_kind(stage)
    path = tmp_path / "l.db"
    for name in ("first", "second"):
        await swept(stage, path, name=name)
        empty(tmp_path)
    for play in stage.plays:
        await play.kill()
    await stage.later(later)
    async with ledger(stage, path) as book:
        begun = stage.clock.now()
        play = await stage.play(record=book.record)
        await stage.make("third", "1m")
        await stage.later(50 * MINUTE)
        assert stage.there("third")
        until = (await brake(stage, "ledger-changed"))["spec"]["until"]
        assert whole_seconds(begun + HOUR - 1) <= until <= whole_seconds(begun + HOUR + 10)
        assert until in said(play)[0]
        await stage.later(20 * MINUTE)
        assert not stage.there("third")
        assert await brakes(stage) == {"ledger-changed"}


@story()
async def test_a_crash_before_its_brake_is_made_does_not_lose_it(stage: Stage, tmp_path: Path) -> None:
    await bring_kind(stage)
    path = tmp_path / "l.db"
    await swept(stage, path, name="first")
    mark = state(stage)["ledger"]
    empty(tmp_path)
    stage.cluster.faults.answer(
        500, when=asking(verb="create", kind=BRAKES.qualified), times=None, seconds=MINUTE
    )
    async with ledger(stage, path) as book:
        play = await stage.play(record=book.record)
        await stage.later(20)
        assert said(play)
        assert await brakes(stage) == set()
        assert state(stage)["ledger"] == mark
        await play.kill()
        await stage.later(MINUTE)
        again = await stage.play(record=book.record)
        await stage.make("second", "1m")
        await stage.later(5 * MINUTE)
        assert await brakes(stage) == {"ledger-changed"}
        assert stage.there("second")
        assert said(again)
        assert state(stage)["ledger"] != mark


@story()
async def test_without_the_kind_of_brakes_it_holds_for_as_long(stage: Stage, tmp_path: Path) -> None:
    await swept(stage, tmp_path / "l.db", name="first")
    empty(tmp_path)
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record)
        await stage.make("second", "1m")
        await stage.later(50 * MINUTE)
        assert stage.there("second")
        assert "brake ledger-changed" in play.why_held("second")
        await stage.later(20 * MINUTE)
        assert not stage.there("second")


@story()
async def test_without_a_word_about_a_ledger_in_the_state_nothing_is_said(
    stage: Stage, tmp_path: Path
) -> None:
    await bring_kind(stage)
    # As after a release that did not mark them.
    assert said(await swept(stage, tmp_path / "l.db", name="web")) == []
    assert not stage.there("web")
    assert await brakes(stage) == set()


def last_without(play: Play) -> list[str]:
    return [one for one in play.engine.outlook.degraded if "last swept without a ledger" in one]


async def without_a_ledger(stage: Stage, *, name: str) -> None:
    await stage.play(record=Record(NoStore(cluster="east"), stage.clock))
    await stage.make(name, "1m")
    await stage.later(3 * MINUTE)
    assert not stage.there(name)
    for play in stage.plays:
        await play.kill()


@pytest.mark.parametrize("earlier", [("first",), ()])
@story()
async def test_back_from_no_ledger_at_all_what_went_meanwhile_is_not_known_and_everything_is_held(
    stage: Stage, tmp_path: Path, earlier: tuple[str, ...]
) -> None:
    """To the one from before, or to the first one."""
    await bring_kind(stage)
    path = tmp_path / "l.db"
    for name in earlier:
        await swept(stage, path, name=name)
        for play in stage.plays:
            await play.kill()
    await without_a_ledger(stage, name="second")
    async with ledger(stage, path) as book:
        play = await stage.play(record=book.record)
        await stage.make("third", "1m")
        await stage.later(30 * MINUTE)
        assert stage.there("third")
        (told,) = last_without(play)
        assert str(path) in told
        assert "history and trash have nothing of that time" in told
        assert "brakes release ledger-changed" in told
        assert await brakes(stage) == {"ledger-changed"}
        assert "without a ledger" in (await brake(stage, "ledger-changed"))["spec"]["reason"]
        await stage.later(40 * MINUTE)
        assert not stage.there("third")
    again = await swept(stage, path, name="fourth")
    assert last_without(again) == said(again) == []
    assert not stage.there("fourth")


@story()
async def test_that_there_was_no_ledger_is_written_down_as_soon_as_the_server_takes_it(
    stage: Stage, tmp_path: Path
) -> None:
    await bring_kind(stage)
    await swept(stage, tmp_path / "l.db", name="first")
    for play in stage.plays:
        await play.kill()
    stage.cluster.faults.answer(500, when=asking(verb="patch", kind="configmaps"), times=None, seconds=MINUTE)
    await stage.play(record=Record(NoStore(cluster="east"), stage.clock))
    await stage.later(2 * MINUTE)
    assert state(stage)["ledger"] == "none"


@story()
async def test_one_that_is_replaced_while_it_is_in_use_is_told_and_holds_nothing(
    stage: Stage, tmp_path: Path
) -> None:
    await bring_kind(stage)
    path = tmp_path / "l.db"
    async with ledger(stage, path) as book:
        play = await stage.play(record=book.record)
        await stage.make("first", "1m")
        await stage.later(3 * MINUTE)
        move_away(tmp_path)
        await stage.make("second", "1m")
        await stage.later(20 * MINUTE)
        assert not stage.there("second")
        (told,) = said(play)
        assert "held until" not in told
        assert await brakes(stage) == set()
    assert said(await swept(stage, path, name="third")) == []
    assert not stage.there("third")


async def test_a_ledger_that_is_put_back_from_a_copy_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    store = SqliteStore(path, cluster="east")
    assert await store.mark("one") == "one"
    await store.close()
    copy = tmp_path / "copy.db"
    copy.write_bytes(path.read_bytes())
    again = SqliteStore(copy, cluster="east")
    assert await again.mark("two") == "one"
    await again.close()


class Stumbling:
    """A ledger that can't be asked which one it is for so long: a full volume, or one that is not mounted yet."""

    def __init__(self, stage: Stage, record: Record, *, seconds: float) -> None:
        self._clock = stage.clock
        self._end = stage.clock.now() + seconds
        self._mark = record.store.mark
        record.store.mark = self._stumble  # type: ignore[method-assign]
        self.asked = 0

    async def _stumble(self, proposed: str) -> str:
        self.asked += 1
        if self._clock.now() < self._end:
            raise LedgerUnavailable("the volume is full")
        return await self._mark(proposed)


@story()
async def test_a_ledger_that_fails_at_the_start_is_asked_again_and_nothing_goes_before(
    stage: Stage, tmp_path: Path
) -> None:
    await bring_kind(stage)
    path = tmp_path / "l.db"
    await swept(stage, path, name="first")
    empty(tmp_path)
    async with ledger(stage, path) as book:
        Stumbling(stage, book.record, seconds=5 * MINUTE)
        begun = stage.clock.now()
        play = await stage.play(record=book.record)
        await stage.make("second", "1m")
        await stage.later(4 * MINUTE)
        assert stage.there("second")
        assert "the volume is full" in str(play.engine.last_error)
        await stage.later(2 * MINUTE)
        assert play.engine.last_error is None
        assert await brakes(stage) == {"ledger-changed"}
        # What went before is out of the windows an hour after this replica began: nothing has gone since.
        assert (await brake(stage, "ledger-changed"))["spec"]["until"] <= whole_seconds(begun + HOUR + 1)
        await stage.later(50 * MINUTE)
        assert stage.there("second")
        await stage.later(10 * MINUTE)
        assert not stage.there("second")


@pytest.mark.parametrize(("away", "held"), [(5 * MINUTE, True), (2 * HOUR, False)])
@story(ledger={"onFailure": "continue"})
async def test_where_nothing_waits_for_the_ledger_it_holds_from_when_it_can_be_asked(
    stage: Stage, tmp_path: Path, away: float, *, held: bool
) -> None:
    await bring_kind(stage)
    path = tmp_path / "l.db"
    await swept(stage, path, name="first")
    empty(tmp_path)
    async with ledger(stage, path) as book:
        Stumbling(stage, book.record, seconds=away)
        play = await stage.play(record=book.record)
        await stage.make("second", "1m")
        await stage.later(2 * MINUTE)
        assert not stage.there("second")
        await stage.later(away)
        await stage.make("third", "1m")
        await stage.later(2 * MINUTE)
        assert len(said(play)) == 1
        assert stage.there("third") is held
        assert (await brakes(stage) == {"ledger-changed"}) is held
        await stage.later(HOUR)
        assert not stage.there("third")
    assert said(await swept(stage, path, name="fourth")) == []


@story()
async def test_a_lead_that_is_lost_and_won_back_while_the_ledger_is_asked_begins_anew(
    stage: Stage, tmp_path: Path
) -> None:
    await bring_kind(stage)
    path = tmp_path / "l.db"
    await swept(stage, path, name="first")
    empty(tmp_path)
    async with ledger(stage, path) as book:
        stumbling = Stumbling(stage, book.record, seconds=5 * MINUTE)
        play = await stage.play(record=book.record)
        await stage.make("second", "1m")
        await stage.later(MINUTE)
        play.standing_by = True
        await stage.later(MINUTE)
        asked = stumbling.asked
        await stage.later(MINUTE)
        assert stumbling.asked == asked
        play.standing_by = False
        await stage.later(10 * MINUTE)
        assert stage.there("second")
        assert await brakes(stage) == {"ledger-changed"}
