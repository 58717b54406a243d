"""Forcing finalizers with something in its way: wishes that change meanwhile, Brakes, lists that are not as they should be."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skoupa.facts.rows import Row
from skoupa.kinds.alive import ALIVES
from skoupa.kube.transport import Request
from skoupa.model.verdicts import Claim
from skoupa.sim.faults import asking
from tests.unit.controller.braking import pull, release, state
from tests.unit.controller.stage import HOUR, MINUTE, Stage, story
from tests.unit.controller.test_living import DISKS, DNS, alive, begun, bring, joined, said, signal, there
from tests.unit.controller.test_living_interrupted import rows, taking_off
from tests.unit.controller.test_trash import ledger

pytestmark = pytest.mark.unit


def forced(found: dict[str, Any]) -> list[str]:
    return [one["finalizer"] for one in found["status"].get("forced", ())]


@story(features={"alive": True})
async def test_who_gives_more_time_while_it_is_decided_is_heard(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await begun(stage, DNS, record=book.record)
        await signal(stage, timeout="10m", onTimeout="ForceFinalizers")
        await stage.later(9 * MINUTE)
        telling = asking(method="PATCH", path=ALIVES.path(name="cluster", subresource="status"))
        slow = stage.cluster.faults.delay(
            20, when=lambda one: telling(one) and b'"forced":[{' in (one.body or b"")
        )
        while not slow.hits:
            await stage.clock.sleep(0.5)
        await stage.people.merge_patch(ALIVES, "cluster", {"spec": {"timeout": "2h"}})
        await stage.later(HOUR)
        found = await there(stage)
        assert DNS in found["metadata"]["finalizers"]
        assert (found["status"]["phase"], forced(found)) == ("Terminating", [])
        assert not await rows(book)
        await stage.later(HOUR)
        assert await alive(stage) is None
        assert {row.outcome for row in (await rows(book)).values()} == {"deleted"}


@story(features={"alive": True})
async def test_what_a_brake_holds_is_not_called_forced_and_who_comes_back_ends_it_well(stage: Stage) -> None:
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    dns, disks = await joined(stage, DNS), await joined(stage, DISKS)
    await pull(stage, "stop", all=True)
    await signal(stage, timeout="10m", onTimeout="ForceFinalizers")
    await stage.later(HOUR)
    assert not said(play, "SkoupaForced")
    found = await there(stage)
    assert (found["status"]["phase"], forced(found)) == ("TimedOut", [])
    await dns.done()
    await disks.done()
    await stage.later(MINUTE)
    assert await alive(stage) is None
    assert state(stage)["alive"]["tombstone"]["outcome"] == "Drained"


@story(features={"alive": True})
async def test_a_brake_that_comes_while_it_is_written_down_holds_all(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await begun(stage, DNS, DISKS, record=book.record)
        intend = book.record.intend_releases
        pulled = False

        async def slowly(asked: Iterable[tuple[Row, Claim]], **more: Any) -> None:
            nonlocal pulled
            await intend(asked, **more)
            if not pulled:
                pulled = True
                await pull(stage, "stop", all=True)
                await stage.clock.sleep(1)

        book.record.intend_releases = slowly  # type: ignore[method-assign]
        await signal(stage, timeout="10m", onTimeout="ForceFinalizers")
        await stage.later(11 * MINUTE)
        assert pulled
        assert {DNS, DISKS} <= set((await there(stage))["metadata"]["finalizers"])
        assert {row.outcome for row in (await rows(book)).values()} == {"failed"}
        await release(stage, "stop")
        await stage.later(MINUTE)
        assert await alive(stage) is None
        assert {row.outcome for row in (await rows(book)).values()} == {"deleted"}


@story(features={"alive": True})
async def test_one_that_is_on_it_more_than_once_is_forced_with_all_there_are_of_it(
    stage: Stage, tmp_path: Path
) -> None:
    """A participant that adds its finalizer by a JSON patch and does so again: the server takes that."""
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await begun(stage, DNS, DISKS, record=book.record)
        more = [DNS, "skoupa.dev/alive", DNS, DISKS, DNS]
        await stage.people.merge_patch(ALIVES, "cluster", {"metadata": {"finalizers": more}})
        await signal(stage, timeout="10m", onTimeout="ForceFinalizers")
        await stage.later(10 * MINUTE + 4)
        found = await there(stage)
        assert sorted(forced(found)) == [DISKS, DNS]
        await stage.later(MINUTE)
        assert await alive(stage) is None
        assert {name: (row.outcome, row.attempts) for name, row in (await rows(book)).items()} == {
            DNS: ("deleted", 1),
            DISKS: ("deleted", 1),
        }
        assert len(said(play, "SkoupaForced")) == 2


@story(features={"alive": True})
async def test_a_patch_that_takes_effect_after_its_time_is_known_to_be_ours(
    stage: Stage, tmp_path: Path
) -> None:
    """The server gives up waiting for its own store, which goes on: the next try finds another state."""
    async with ledger(stage, tmp_path / "l.db") as book:
        await begun(stage, DNS, DISKS, record=book.record)
        sent: list[Request] = []

        def keeping(request: Request) -> bool:
            if taking_off(request):
                sent.append(request)
                return True
            return False

        stage.cluster.faults.answer(504, when=keeping)
        again = stage.cluster.faults.delay(5, when=lambda one: bool(sent) and taking_off(one))
        await signal(stage, timeout="10m", onTimeout="ForceFinalizers")
        await stage.clock.sleep(9 * MINUTE)
        while not again.hits:
            await stage.clock.sleep(0.5)
        await stage.people.json_patch(ALIVES, "cluster", msgspec.json.decode(sent[0].body or b""))
        await stage.later(MINUTE)
        assert await alive(stage) is None
        assert {name: row.outcome for name, row in (await rows(book)).items()} == {
            DNS: "deleted",
            DISKS: "deleted",
        }


@story(features={"alive": True})
async def test_who_is_done_at_the_last_moment_was_not_forced(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring(stage)
        await stage.play(record=book.record)
        await stage.later(MINUTE)
        dns, _ = await joined(stage, DNS), await joined(stage, DISKS)
        away = stage.cluster.faults.answer(429, when=taking_off, times=None)
        await signal(stage, timeout="10m", onTimeout="ForceFinalizers")
        await stage.later(10 * MINUTE + 10)
        assert away.hits
        await dns.done()
        stage.cluster.faults.clear()
        await stage.later(MINUTE)
        assert await alive(stage) is None
        tombstone = state(stage)["alive"]["tombstone"]
        assert (tombstone["outcome"], tombstone["forced"]) == ("Forced", [DISKS])
        assert {name: row.outcome for name, row in (await rows(book)).items()} == {
            DNS: "failed",
            DISKS: "deleted",
        }


@story(features={"alive": True})
async def test_who_wants_nothing_forced_any_more_is_told_of_nothing_that_was(stage: Stage) -> None:
    await begun(stage, DNS)
    away = stage.cluster.faults.answer(429, when=taking_off, times=None)
    await signal(stage, timeout="10m", onTimeout="ForceFinalizers")
    await stage.later(10 * MINUTE + 10)
    assert away.hits
    assert forced(await there(stage)) == [DNS]
    await stage.people.merge_patch(ALIVES, "cluster", {"spec": {"onTimeout": "Fail"}})
    stage.cluster.faults.clear()
    await stage.later(MINUTE)
    found = await there(stage)
    assert (found["status"]["phase"], forced(found)) == ("TimedOut", [])
    assert DNS in found["metadata"]["finalizers"]


@story(features={"alive": True})
async def test_an_alive_that_is_full_says_less_and_is_seen_through_all_the_same(stage: Stage) -> None:
    """Names and titles of many participants may be as long as the server's store takes, and the status comes on top."""
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    dns, _ = await joined(stage, DNS), await joined(stage, DISKS)
    telling = asking(method="PATCH", path=ALIVES.path(name="cluster", subresource="status"))
    full = stage.cluster.faults.answer(
        500,
        when=lambda one: telling(one) and b'"participants":[{' in (one.body or b""),
        message="etcdserver: request is too large",
        times=None,
    )
    await signal(stage, timeout="1h", progressTimeout="10m", onTimeout="ForceFinalizers")
    for left in range(5, 0, -1):
        await dns.report(remaining=left)
        await stage.later(8 * MINUTE)
    found = await there(stage)
    assert full.hits == 1
    assert (found["status"]["phase"], found["status"].get("participants", [])) == ("Terminating", [])
    assert any("has no room" in said for said in play.engine.outlook.degraded)
    await stage.later(3 * MINUTE)
    assert await alive(stage) is None
    tombstone = state(stage)["alive"]["tombstone"]
    assert (tombstone["outcome"], sorted(tombstone["forced"])) == ("Forced", [DISKS, DNS])
    await stage.later(MINUTE)
    assert not any("has no room" in said for said in play.engine.outlook.degraded)


@story(features={"alive": True})
async def test_where_there_is_no_room_to_name_all_that_are_forced_they_go_some_at_a_time(
    stage: Stage,
) -> None:
    await bring(stage)
    await stage.play()
    await stage.later(MINUTE)
    many = [f"p{number}.example.com/cleanup" for number in range(300)]
    own = (await there(stage))["metadata"]["finalizers"]
    entries = [{"finalizer": one, "identity": "somebody"} for one in many]
    joining = {"metadata": {"finalizers": [*own, *many]}, "spec": {"participants": entries}}
    await stage.people.merge_patch(ALIVES, "cluster", joining)
    telling = asking(method="PATCH", path=ALIVES.path(name="cluster", subresource="status"))

    def full(request: Request) -> bool:
        """As etcd finds it: what is named as forced less what is off by now."""
        if not telling(request):
            return False
        named = (request.body or b"").count(b'"finalizer"')
        [present] = stage.cluster.objects(ALIVES)
        return named + len(present["metadata"]["finalizers"]) > 450

    refused = stage.cluster.faults.answer(
        500, when=full, message="etcdserver: request is too large", times=None
    )
    await signal(stage, timeout="10m", onTimeout="ForceFinalizers")
    await stage.later(11 * MINUTE)
    assert refused.hits
    assert await alive(stage) is None
    assert set(state(stage)["alive"]["tombstone"]["forced"]) == set(many)
