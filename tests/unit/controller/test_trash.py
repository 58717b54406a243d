"""The engine with the trash as shipped: what goes is kept first, an observer reads nothing, old things are forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from skoupa.facts.rows import Row
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, PODS
from skoupa.kube.transport import Request
from skoupa.ledger.rows import FOUND_GONE, Body, Entry, Unkept
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Change, Finish, Wish
from skoupa.ledger.trash.contents import Kept
from skoupa.ledger.trash.sealing import Key, Seal
from skoupa.model.verdicts import Claim, Hold
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule
from skoupa.sweep.record import Record
from tests.unit.cli.worlds import ASKING
from tests.unit.controller.braking import bring_kind, many, pull, release
from tests.unit.controller.stage import (
    DAY,
    HOUR,
    MINUTE,
    SECRETS,
    SHOP,
    WIDGETS,
    Stage,
    definition,
    story,
)
from tests.unit.ledger.entries import finish, intent

pytestmark = pytest.mark.unit

CLUSTER = "east"


class Ledger:
    """A ledger in a file, whose journal runs as it does in the process."""

    def __init__(self, store: SqliteStore, record: Record) -> None:
        self._store = store
        self.record = record

    async def entry(self, name: str) -> Entry:
        [found] = await self._store.find(Wish(name=name))
        return found

    async def deleted(self, name: str, *, at: float, size: int) -> None:
        made = intent(name, name=name, at=at, bodies=(Body(form="json+zlib", data=b"x" * size),))
        await self._store.write([made, finish(name)])

    async def bodies(self, name: str) -> list[Body]:
        return list(await self._store.body((await self.entry(name)).id))

    async def kept(self, name: str) -> list[Kept]:
        entry = await self.entry(name)
        seal = Seal(cluster=CLUSTER)
        return [seal.open(body, uid=entry.uid) for body in await self.bodies(name)]


@asynccontextmanager
async def ledger(stage: Stage, path: Path) -> AsyncIterator[Ledger]:
    store = SqliteStore(path, cluster=CLUSTER)
    await store.open()
    record = Record(store, stage.clock)
    writing = asyncio.create_task(record.journal.run())
    try:
        yield Ledger(store, record)
    finally:
        for play in stage.plays:
            await play.kill()
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await store.close()


@story()
async def test_what_goes_is_kept_first_without_any_setting(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await stage.play(record=book.record)
        made = await stage.make("web", "10m", annotations={"note": "by hand"})
        await stage.later(HOUR)
        assert not stage.there("web")
        [kept] = await book.kept("web")
        assert kept.uid == made["metadata"]["uid"]
        assert kept.manifest is not None
        assert kept.manifest["metadata"]["annotations"] == {"note": "by hand"}
        assert (await book.entry("web")).outcome == "deleted"


@story()
async def test_an_object_that_something_known_names_as_its_owner_is_looked_into(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await stage.play(record=book.record)
        owner = await stage.make("owner", "10m")
        await stage.make("known", "5d", owner=owner)
        await stage.make("beside", owner=owner)
        await stage.make("alone", "10m")
        await stage.later(HOUR)
        assert [kept.name for kept in await book.kept("owner")][1:] == ["beside", "known"]
        assert len(await book.kept("alone")) == 1


@story(mode="observe")
async def test_an_observer_reads_no_bodies(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record)
        stage.old([f"web-{number}" for number in range(30)], "1h", age=2 * HOUR)
        await stage.later(HOUR)
        assert (await book.entry("web-7")).outcome == "would-delete"
        assert (await book.entry("web-7")).kept == 0
        read = [request for _, request in play.wire.seen if f"/{SHOP}/" in request.path]
        assert all("PartialObjectMetadata" in dict(request.headers)["Accept"] for request in read)


@story()
async def test_what_is_held_is_not_read_and_many_that_go_are_read_together(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_kind(stage)
        play = await stage.play(record=book.record)
        await pull(stage, "stop", namespace=SHOP)
        for name in many(200):
            await stage.make(name, "1m")
        await stage.later(10 * MINUTE)
        assert play.overdue == {"brake": 200}
        read = f"/{SHOP}/configmaps"
        assert not play.sent("GET", path=read)
        await release(stage, "stop")
        await stage.later(MINUTE)
        assert not stage.found()
        assert 0 < len(play.sent("GET", path=read)) < 20


@story(also=[SECRETS])
async def test_with_rights_on_one_kind_alone_everything_goes_and_what_was_not_seen_is_named(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        rules = (
            Rule(verbs=("list", "watch", "delete"), resources=("configmaps", "pods")),
            Rule(verbs=("list", "watch"), resources=("namespaces",)),
            ASKING,
        )
        stage.cluster.allow_only("sweeper", rules)
        await stage.play(record=book.record, user="sweeper")
        pod = await stage.make("pod", "10m", resource=PODS)
        await stage.make("child", owner=pod)
        await stage.make("web", "10m")
        await stage.make("login", resource=SECRETS, owner=pod)
        await stage.later(HOUR)
        assert not stage.there("web")
        assert not stage.there("pod", PODS)
        own, child = await book.kept("pod")
        assert child.name == "child"
        assert any("secrets" in what and "no permission" in what for what in own.unknown)
        assert (await book.kept("web"))[0].unknown == ()


@story(trash={"keepDays": 2, "keepBytes": 1_000_000})
async def test_what_is_too_old_or_too_much_is_forgotten_and_its_row_stays(
    stage: Stage, tmp_path: Path
) -> None:
    now = stage.clock.now()
    async with ledger(stage, tmp_path / "l.db") as book:
        for name, at, size in (
            ("old", now - 3 * DAY, 10),
            ("large", now - 1.5 * DAY, 600_000),
            ("larger", now - DAY, 600_000),
        ):
            await book.deleted(name, at=at, size=size)
        play = await stage.play(record=book.record)
        await stage.later(2.0)
        states = {name: await book.entry(name) for name in ("old", "large", "larger")}
        assert {entry.outcome for entry in states.values()} == {"deleted"}
        assert states["larger"].kept == 600_000
        for name in ("old", "large"):
            forgotten = states[name].forgotten_at
            assert forgotten is not None
            assert 0 <= forgotten - now <= 2
            assert await book.kept(name) == []
        full = "what goes within trash.keepDays (2) takes more than trash.keepBytes (1000000)"
        assert any(full in said for said in play.engine.outlook.degraded)
        await stage.later(DAY + 2 * HOUR)
        assert await book.kept("larger") == []
        assert not any("the trash is full" in said for said in play.engine.outlook.degraded)


@story(trash={"keepDays": 2, "keepBytes": 1_000_000})
async def test_what_is_only_too_old_is_no_lack_of_room(stage: Stage, tmp_path: Path) -> None:
    now = stage.clock.now()
    async with ledger(stage, tmp_path / "l.db") as book:
        await book.deleted("old", at=now - 3 * DAY, size=900_000)
        await book.deleted("new", at=now - DAY, size=900_000)
        play = await stage.play(record=book.record)
        await stage.later(2.0)
        assert (await book.entry("old")).forgotten_at is not None
        assert (await book.entry("new")).kept == 900_000
        assert not any("the trash is full" in said for said in play.engine.outlook.degraded)


@story(trash={"enabled": False})
async def test_switched_off_nothing_is_kept(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await stage.play(record=book.record)
        await stage.make("web", "10m")
        await stage.later(HOUR)
        assert (await book.entry("web")).kept == 0


def _asking_for_widgets(request: Request) -> bool:
    watching = any(name == "watch" for name, _ in request.query)
    return request.method == "GET" and "/widgets" in request.path and not watching


@story(also=[WIDGETS])
async def test_objects_of_a_kind_that_can_not_be_read_do_not_make_others_late(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
        play = await stage.play(record=book.record)
        for number in range(20):
            await stage.make(f"widget-{number}", "1m", resource=WIDGETS)
        for number in range(30):
            await stage.make(f"web-{number}", f"{60 + 10 * number}s")
        stage.cluster.faults.delay(600, when=_asking_for_widgets, times=None)
        await stage.later(10 * MINUTE)
        lags = [float(line["lag"]) for line in play.told("deleted") if line["name"].startswith("web")]
        assert len(lags) == 30
        assert sorted(lags)[15] < 3
        assert max(lags) <= 20
        assert len(stage.found(WIDGETS)) == 20
        assert "did not answer" in play.why_held("widget-7")


@story(also=[WIDGETS])
async def test_a_kind_whose_list_hangs_is_named_with_what_goes_and_makes_nothing_late(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
        play = await stage.play(record=book.record)
        for number in range(40):
            await stage.namespace(f"ns-{number}")
            await stage.make(f"pod-{number}", "1m", resource=PODS, namespace=f"ns-{number}")
        stage.cluster.faults.delay(600, when=_asking_for_widgets, times=None)
        await stage.later(5 * MINUTE)
        lags = [float(line["lag"]) for line in play.told("deleted")]
        assert len(lags) == 40
        assert max(lags) < 10
        [own] = await book.kept("pod-7")
        assert any("widgets" in what and "did not answer" in what for what in own.unknown)


@story(also=[SECRETS])
async def test_a_key_is_changed_while_running_and_a_spoilt_one_holds_what_it_should_encrypt(
    stage: Stage, tmp_path: Path
) -> None:
    old, new = Key(b"o" * 32), Key(b"n" * 32)
    file = tmp_path / "keys"
    file.write_text(old.secret.hex())
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record, trash={"keyFile": str(file)})
        await stage.make("first", "1m", resource=SECRETS)
        await stage.later(2 * MINUTE)
        file.write_text("no key at all")
        await stage.make("second", "1m", resource=SECRETS)
        await stage.make("pod", "1m", resource=PODS)
        await stage.later(5 * MINUTE)
        assert stage.there("second", SECRETS)
        assert stage.there("pod", PODS)
        assert f"the key file {file} is not understood" in play.why_held("second")
        assert "no key at all" not in play.why_held("second")
        file.write_text(f"{new.secret.hex()}\n{old.secret.hex()}")
        await stage.later(2 * MINUTE)
        assert not stage.there("second", SECRETS)
        assert not stage.there("pod", PODS)
        assert [one.form.rpartition(":")[2] for one in await book.bodies("first")] == [old.fingerprint]
        assert [one.form.rpartition(":")[2] for one in await book.bodies("second")] == [new.fingerprint]


@story(trash={"maxObjectBytes": 100})
async def test_what_goes_without_being_kept_says_so_in_its_row(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await stage.play(record=book.record)
        await stage.make("pod", "1m", resource=PODS)
        await stage.later(5 * MINUTE)
        assert not stage.there("pod", PODS)
        entry = await book.entry("pod")
        assert (entry.outcome, entry.kept) == ("deleted", 0)
        assert "trash.maxObjectBytes" in entry.unkept
        assert await book.bodies("pod") == []


@pytest.mark.parametrize("watched", [False, True])
@story(also=[SECRETS])
async def test_what_was_kept_stays_when_the_answer_to_its_delete_is_lost(
    stage: Stage,
    tmp_path: Path,
    watched: bool,  # noqa: FBT001 - a parameter
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        if not watched:
            stage.cluster.faults.silence_watch(when=lambda one: "secrets" in one.path, times=None, after=4)
        await stage.play(record=book.record)
        names = ("first", "second", "third")
        for name in names:
            await stage.make(name, "60s", resource=SECRETS)
        await stage.until(55)
        lost = asking(method="DELETE", path=f"/api/v1/namespaces/{SHOP}")
        stage.cluster.faults.disconnect(when=lost, times=None, seconds=20, done=True)
        await stage.later(10 * MINUTE)
        for name in names:
            entry = await book.entry(name)
            assert entry.outcome == "gone-by-unknown"
            assert (entry.attempts > 1) is not watched
            assert [kept.name for kept in await book.kept(name)] == [name]
            assert entry.kept > 0


@story()
async def test_what_one_leader_kept_stays_when_another_one_comes_too_late(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book, ledger(stage, tmp_path / "l.db") as other:
        await stage.play(record=book.record)
        late = await stage.play(record=other.record)
        await stage.make("web", "1m")
        await stage.until(50)
        written, bodies = book.record.store.write, other.record.bodies

        async def slowly(changes: Sequence[Change]) -> Mapping[str, str]:
            if any(isinstance(change, Finish) for change in changes):
                await stage.clock.sleep(2)
            return await written(changes)

        async def later(row: Row, claim: Claim) -> tuple[Body, ...] | Unkept | Hold:
            await stage.clock.sleep(1)
            found = await bodies(row, claim)
            assert found == Unkept(FOUND_GONE)
            return found

        monkeypatch.setattr(book.record.store, "write", slowly)
        monkeypatch.setattr(other.record, "bodies", later)
        await stage.later(5 * MINUTE)
        late.check()
        entry = await book.entry("web")
        assert (entry.outcome, entry.attempts) == ("deleted", 2)
        assert [kept.name for kept in await book.kept("web")] == ["web"]
