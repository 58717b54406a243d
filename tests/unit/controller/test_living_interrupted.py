"""Finalizers that are forced while the controller or its connection ends: one row in history for each, and a true one."""

from __future__ import annotations

from pathlib import Path

import pytest

from skoupa.kinds.alive import ALIVES
from skoupa.kube.transport import Request
from skoupa.ledger.rows import Entry
from tests.unit.controller.braking import state
from tests.unit.controller.stage import MINUTE, Stage, story
from tests.unit.controller.test_living import DISKS, DNS, alive, begun, bring, joined, said, signal, there
from tests.unit.controller.test_trash import Ledger, ledger

pytestmark = pytest.mark.unit


def taking_off(request: Request) -> bool:
    """The patch itself, and not that of the status, nor what other clients write."""
    patched = request.method == "PATCH" and request.path == ALIVES.path(name="cluster")
    return patched and b'"remove"' in (request.body or b"")


async def rows(book: Ledger) -> dict[str, Entry]:
    return {row.rule.rpartition(" ")[2]: row for row in await book.record.store.find()}


async def forced_up_to_the_patch(stage: Stage, book: Ledger, *, done: bool, answer: int = 0) -> None:
    """The patch of the only participant has left, no answer came, and the controller ends; `done`: it was carried out.

    With an `answer` the server said that, and nothing was done.
    """
    play = await begun(stage, DNS, record=book.record)
    left: list[Request] = []

    def leaves(request: Request) -> bool:
        if taking_off(request):
            left.append(request)
            return True
        return False

    if answer:
        stage.cluster.faults.answer(answer, when=leaves)
    else:
        stage.cluster.faults.disconnect(when=leaves, done=done)
    stage.cluster.faults.unreachable(when=lambda _: bool(left), times=None)
    await signal(stage, timeout="10m", onTimeout="ForceFinalizers")
    await stage.clock.sleep(9 * MINUTE)
    while not left:
        await stage.clock.sleep(0.5)
    await play.kill()
    stage.cluster.faults.clear()
    assert (await rows(book))[DNS].outcome == "intended"


def events(stage: Stage) -> list[str]:
    return [event["note"] for event in stage.events("SkoupaDeleted")]


@story(features={"alive": True})
async def test_ended_after_the_patch_it_is_known_to_be_ours(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await forced_up_to_the_patch(stage, book, done=True)
        found = await there(stage)
        assert found["metadata"]["finalizers"] == ["skoupa.dev/alive"]
        await stage.play(record=book.record)
        await stage.later(MINUTE)
        assert await alive(stage) is None
        [row] = (await rows(book)).values()
        assert (row.outcome, row.attempts, row.told) == ("deleted", 1, True)
        assert state(stage)["alive"]["tombstone"]["outcome"] == "Forced"
        assert not events(stage), "no object went"


@story(features={"alive": True})
async def test_ended_before_the_patch_it_is_still_there_and_goes_with_the_next_try(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await forced_up_to_the_patch(stage, book, done=False)
        await stage.people.merge_patch(ALIVES, "cluster", {"spec": {"onTimeout": "Fail"}})
        again = await stage.play(record=book.record)
        await stage.later(MINUTE)
        assert DNS in (await there(stage))["metadata"]["finalizers"]
        assert {name: row.outcome for name, row in (await rows(book)).items()} == {DNS: "still-there"}
        await again.kill()
        await stage.people.merge_patch(ALIVES, "cluster", {"spec": {"onTimeout": "ForceFinalizers"}})
        await stage.play(record=book.record)
        await stage.later(MINUTE)
        assert await alive(stage) is None
        [row] = (await rows(book)).values()
        assert (row.outcome, row.attempts) == ("deleted", 2)


@story(features={"alive": True})
async def test_a_server_that_failed_while_it_was_at_it_has_not_said_what_became_of_it(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        # Which ends in the row being open still.
        await forced_up_to_the_patch(stage, book, done=False, answer=504)
        await stage.play(record=book.record)
        await stage.later(MINUTE)
        assert await alive(stage) is None
        [row] = (await rows(book)).values()
        assert (row.outcome, row.attempts) == ("deleted", 2)


@story(features={"alive": True})
async def test_taken_off_by_somebody_else_meanwhile_it_is_not_ours(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await forced_up_to_the_patch(stage, book, done=False)
        left = {"metadata": {"finalizers": ["skoupa.dev/alive"]}}
        await stage.people.merge_patch(ALIVES, "cluster", left)
        await stage.play(record=book.record)
        await stage.later(MINUTE)
        assert {name: row.outcome for name, row in (await rows(book)).items()} == {DNS: "gone-by-unknown"}
        assert not events(stage)


@story(features={"alive": True})
async def test_without_an_answer_alive_itself_tells_what_became_of_it(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring(stage)
        play = await stage.play(record=book.record)
        await stage.later(MINUTE)
        for finalizer in (DNS, DISKS):
            await joined(stage, finalizer)
        stage.cluster.faults.disconnect(when=taking_off, done=True, times=1)
        await signal(stage, timeout="10m", onTimeout="ForceFinalizers")
        await stage.later(12 * MINUTE)
        assert await alive(stage) is None
        found = await rows(book)
        assert {name: (row.outcome, row.attempts) for name, row in found.items()} == {
            DNS: ("deleted", 1),
            DISKS: ("deleted", 1),
        }
        assert len([one for one in play.wire.seen if taking_off(one[1])]) == 1


@story(features={"alive": True})
async def test_of_two_that_were_to_go_together_one_leaves_by_itself_and_is_not_ours(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring(stage)
        play = await stage.play(record=book.record)
        await stage.later(MINUTE)
        dns, _ = await joined(stage, DNS), await joined(stage, DISKS)
        held = stage.cluster.faults.disconnect(when=taking_off, done=False, times=None)
        await signal(stage, timeout="10m", onTimeout="ForceFinalizers")
        await stage.later(11 * MINUTE)
        assert held.hits
        assert {row.outcome for row in (await rows(book)).values()} == {"intended"}
        await dns.done()
        stage.cluster.faults.clear()
        await stage.later(MINUTE)
        assert await alive(stage) is None
        assert {name: row.outcome for name, row in (await rows(book)).items()} == {
            DNS: "gone-by-unknown",
            DISKS: "deleted",
        }
        assert len(said(play, "SkoupaForced")) == 2
