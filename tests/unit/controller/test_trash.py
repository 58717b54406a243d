"""The engine with the trash as shipped: what goes is kept first, an observer reads nothing, old things are forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from skoupa.kube.resources import PODS
from skoupa.ledger.rows import Body, Entry
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Wish
from skoupa.ledger.trash.contents import Kept
from skoupa.ledger.trash.sealing import Seal
from skoupa.sim.state.access import Rule
from skoupa.sweep.record import Record
from tests.unit.cli.worlds import ASKING
from tests.unit.controller.stage import DAY, HOUR, SECRETS, SHOP, Stage, story
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

    async def kept(self, name: str) -> list[Kept]:
        entry = await self.entry(name)
        seal = Seal(cluster=CLUSTER)
        return [seal.open(body, uid=entry.uid) for body in await self._store.body(entry.id)]


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
        await stage.play(record=book.record)
        await stage.later(2.0)
        states = {name: await book.entry(name) for name in ("old", "large", "larger")}
        assert {entry.outcome for entry in states.values()} == {"deleted"}
        assert states["larger"].kept == 600_000
        for name in ("old", "large"):
            forgotten = states[name].forgotten_at
            assert forgotten is not None
            assert 0 <= forgotten - now <= 2
            assert await book.kept(name) == []


@story(trash={"enabled": False})
async def test_switched_off_nothing_is_kept(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await stage.play(record=book.record)
        await stage.make("web", "10m")
        await stage.later(HOUR)
        assert (await book.entry("web")).kept == 0
