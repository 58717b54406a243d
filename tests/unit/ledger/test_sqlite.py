"""The rules of a store on SQLite, and what only a file can do: be locked, full, damaged, moved away or read meanwhile."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from skoupa.errors import LedgerUnavailable, LedgerUnusable, NotErased
from skoupa.ledger import reading, schema, sqlite_bodies
from skoupa.ledger.connecting import Connection
from skoupa.ledger.identity import Identity
from skoupa.ledger.rows import Body
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Place, Wish
from tests.unit.ledger.entries import CLUSTER, finish, intent
from tests.unit.ledger.rules import NewStore, StoreRules

pytestmark = pytest.mark.unit


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "ledger.db"


@pytest.fixture
def new_store(path: Path) -> NewStore:
    def made(cluster: str, *, identity: Identity | None = None) -> SqliteStore:
        return SqliteStore(path, cluster=cluster, busy_seconds=10, identity=identity)

    return made


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, cluster=CLUSTER, busy_seconds=0.5)
    await store.open()
    yield store
    await store.close()


class TestSqlite(StoreRules):
    shared = False


async def test_file_and_folder_are_the_owners_alone(store: SqliteStore, path: Path) -> None:
    await store.write([intent("a")])
    assert path.parent.stat().st_mode & 0o777 == 0o700
    files = list(path.parent.iterdir())
    assert {file.name for file in files} >= {"ledger.db", "ledger.db-wal"}
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


async def test_a_reader_makes_no_file_and_says_which_is_missing(path: Path) -> None:
    reader = SqliteStore(path, cluster=CLUSTER, writable=False)
    with pytest.raises(LedgerUnusable, match=str(path)):
        await reader.find()
    await reader.close()
    assert not path.parent.exists()


async def test_a_reader_sees_what_another_process_writes_and_writes_nothing(
    store: SqliteStore, path: Path
) -> None:
    reader = SqliteStore(path, cluster="west", writable=False)
    assert await reader.find() == []
    west = SqliteStore(path, cluster="west")
    await west.write([intent("a")])
    assert len(await reader.find()) == 1
    with pytest.raises(LedgerUnusable, match="for reading only"):
        await reader.write([intent("b")])
    await reader.close()
    await west.close()


async def test_a_lock_of_another_is_unavailable_and_passes(store: SqliteStore, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable, match=r"locked.*only one replica"):
        await store.write([intent("a")])
    assert await store.find() == []
    other.execute("ROLLBACK")
    other.close()
    await store.write([intent("a")])
    assert len(await store.find()) == 1


async def test_a_full_disk_is_unavailable_and_goes_on_when_there_is_room(store: SqliteStore) -> None:
    await store.write([intent("a")])
    assert store._connections.writer is not None
    raw = store._connections.writer.raw
    pages = raw.execute("PRAGMA page_count").fetchone()[0]
    raw.execute(f"PRAGMA max_page_count = {pages}").fetchall()
    big = (Body(form="json", data=b"x" * 100_000),)
    with pytest.raises(LedgerUnavailable, match=r"full.*make room on its volume, or enlarge it.*only later"):
        await store.write([intent("b", bodies=big)])
    assert [row.uid for row in await store.find()] == ["a"]
    raw.execute("PRAGMA max_page_count = 1000000").fetchall()
    await store.write([intent("b", bodies=big)])
    assert len(await store.find()) == 2


def test_a_file_that_is_no_ledger_is_refused_and_left_alone(path: Path) -> None:
    content = b"no database at all, but long enough to be read as one" * 30
    path.parent.mkdir()
    path.write_bytes(content)

    async def open_it() -> None:
        store = SqliteStore(path, cluster=CLUSTER)
        with pytest.raises(LedgerUnusable, match=r"ledger\.db is damaged or no ledger"):
            await store.open()
        await store.close()

    asyncio.run(open_it())
    assert path.read_bytes() == content


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = SqliteStore(tmp_path / "file" / "ledger.db", cluster=CLUSTER)
    with pytest.raises(LedgerUnavailable, match=r"file/ledger\.db can't be used"):
        await store.open()
    await store.close()


@pytest.mark.parametrize("writable", [True, False])
async def test_a_folder_is_no_ledger(tmp_path: Path, *, writable: bool) -> None:
    store = SqliteStore(tmp_path, cluster="east", writable=writable)
    with pytest.raises(LedgerUnusable, match="is a folder") as raised:
        await store.open()
    await store.close()
    assert raised.value.advice == f"name a file in it: {tmp_path / 'ledger.db'}"


async def test_a_file_that_was_emptied_is_refused_until_somebody_did_something(
    store: SqliteStore, path: Path
) -> None:
    await store.write([intent("a")])
    os.truncate(path, 0)
    for _ in range(2):
        with pytest.raises(LedgerUnusable, match="was emptied while it was in use") as caught:
            await store.write([intent("b")])
        assert "put a backup in its place, or remove it" in caught.value.advice
    for file in path.parent.iterdir():
        file.unlink()
    await store.write([intent("b")])
    assert [row.uid for row in await store.find()] == ["b"]


async def test_a_file_that_was_moved_away_is_made_anew(store: SqliteStore, path: Path) -> None:
    await store.write([intent("a")])
    for file in path.parent.iterdir():
        file.unlink()
    await store.write([intent("b")])
    assert path in list(path.parent.iterdir())
    assert [row.uid for row in await store.find()] == ["b"]


async def test_a_newer_ledger_is_refused_and_unchanged(path: Path) -> None:
    store = SqliteStore(path, cluster=CLUSTER)
    await store.open()
    await store.close()
    with sqlite3.connect(path) as raw:
        raw.execute("INSERT INTO skoupa_versions VALUES (99)")
    raw.close()
    for writable in (True, False):
        again = SqliteStore(path, cluster=CLUSTER, writable=writable)
        with pytest.raises(LedgerUnusable, match=r"newer Skoupa.*version is 99.*later one"):
            await again.open()
        await again.close()


def make_version_one(path: Path) -> None:
    path.parent.mkdir()
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute(schema.VERSIONS_TABLE)
    for statement in schema.statements(schema.MIGRATIONS[0], "sqlite"):
        raw.execute(statement)
    raw.execute("INSERT INTO skoupa_clusters (name) VALUES (?)", [CLUSTER])
    raw.execute(
        "INSERT INTO skoupa_entries (cluster, id, uid, at, kind, resource, namespace, name, mechanism, rule, run,"
        " outcome, epoch, attempts, weight, details) VALUES (1, 'old', 'u', 5, 'Pod', 'pods', 'shop', 'web', 'ttl',"
        """ 'r', '', 'deleted', 1, 1, 1, '{"api_version": "v1"}')"""
    )
    raw.close()


async def test_an_older_ledger_is_brought_up_to_date_with_its_rows(path: Path) -> None:
    make_version_one(path)
    reader = SqliteStore(path, cluster=CLUSTER, writable=False)
    with pytest.raises(LedgerUnusable, match=r"older version 1.*controller"):
        await reader.open()
    await reader.close()
    store = SqliteStore(path, cluster=CLUSTER)
    await store.open()
    (row,) = await store.find()
    assert (row.id, row.outcome, row.api_version, row.partly) == ("old", "deleted", "v1", None)
    assert [row.id for row in await store.untold()] == ["old"]
    assert await store.mark("new") == "new"
    await store.write([intent("a", bodies=(Body(form="json", data=b"x"),))])
    await store.close()


async def test_a_migration_that_was_interrupted_never_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_version_one(path)
    whole = schema.statements
    monkeypatch.setattr(
        schema, "statements", lambda one, dialect: [*whole(one, dialect)[:-1], "SELECT no_such_thing"]
    )
    store = SqliteStore(path, cluster=CLUSTER)
    with pytest.raises(LedgerUnavailable, match="no_such_thing"):
        await store.open()
    monkeypatch.undo()
    await store.open()
    assert [row.id for row in await store.find()] == ["old"]
    await store.close()


async def test_purged_bytes_are_nowhere_in_the_files(store: SqliteStore, path: Path) -> None:
    secret = b"hunter2-hunter2-hunter2"
    ids = await store.write([intent("a", bodies=(Body(form="json", data=secret * 400),))])
    assert any(secret in file.read_bytes() for file in path.parent.iterdir())
    await store.purge(ids["a"])
    assert not any(secret in file.read_bytes() for file in path.parent.iterdir())


def looking_at(path: Path) -> sqlite3.Connection:
    """Somebody who looks at the ledger as it is now, until they close."""
    other = sqlite3.connect(path, check_same_thread=False)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM skoupa_entries").fetchall()
    return other


@pytest.mark.parametrize("old", [False, True])
async def test_what_somebody_still_reads_is_not_said_to_be_erased(
    store: SqliteStore, path: Path, *, old: bool
) -> None:
    """Be it in the log only, or in the file for long."""
    secret = b"hunter2-hunter2-hunter2"
    ids = await store.write([intent("a", bodies=(Body(form="json", data=secret * 400),))])
    if old:
        await store.purge("nothing")
    other = looking_at(path)
    try:
        with pytest.raises(NotErased, match=r"ledger\.db-wal.*purge it once more"):
            await store.purge(ids["a"])
        assert await store.body(ids["a"]) == ()
        assert any(secret in file.read_bytes() for file in path.parent.iterdir())
    finally:
        other.close()
    assert not await store.purge(ids["a"])
    assert not any(secret in file.read_bytes() for file in path.parent.iterdir())


async def test_erasing_waits_for_who_reads(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = b"hunter2-hunter2-hunter2"
    ids = await store.write([intent("a", bodies=(Body(form="json", data=secret * 400),))])
    other, tries = looking_at(path), []
    empty_log = sqlite_bodies.empty_log

    def once_more(connection: Connection) -> bool:
        tries.append(empty_log(connection))
        other.close()
        return tries[-1]

    monkeypatch.setattr(sqlite_bodies, "empty_log", once_more)
    assert await store.purge(ids["a"])
    assert tries == [False, True]
    assert not any(secret in file.read_bytes() for file in path.parent.iterdir())


async def test_what_earlier_tries_left_in_the_trash_is_purged_along(store: SqliteStore, path: Path) -> None:
    """Also after another purge, and where a piece of it was long the room of something else."""
    chance = random.Random(3)
    await store.purge("nothing")
    kept: dict[str, list[bytes]] = {}
    ids: dict[str, str] = {}
    for uid in (f"u{number}" for number in range(60)):
        for outcome in ("failed", "failed", "deleted"):
            data = chance.randbytes(chance.choice([60, 300, 900, 3000, 9000]))
            kept.setdefault(uid, []).append(data[10:40])
            ids.update(await store.write([intent(uid, bodies=(Body(form="json", data=data),))]))
            await store.write([finish(uid, outcome)])
    for uid in list(kept)[::2]:
        assert await store.purge(ids[uid])
    whole = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert [uid for uid in list(kept)[::2] if any(data in whole for data in kept[uid])] == []


WRITER = """
import asyncio, sys, time
from pathlib import Path
from skoupa.clock import SystemClock
from skoupa.ledger.journal import Journal
from skoupa.ledger.sqlite import SqliteStore
from tests.unit.ledger.entries import intent

async def main():
    store = SqliteStore(Path(sys.argv[1]), cluster="east")
    await store.open()
    journal = Journal(store, clock=SystemClock())
    async def work(worker):
        for number in range(1000000):
            uid = f"{sys.argv[2]}-{worker}-{number}"
            await journal.intend([intent(uid)])
            print(uid, flush=True)
            journal.finish(uid, outcome="deleted", epoch=1)
    async with asyncio.TaskGroup() as group:
        group.create_task(journal.run())
        for worker in range(16):
            group.create_task(work(worker))
asyncio.run(main())
"""


def acknowledged_before_kill(path: Path, *, life: int, lines: int) -> set[str]:
    """What a writer said was on disk until it was killed, which is at some moment after that many lines."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(life)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    with process:
        said = {process.stdout.readline().strip() for _ in range(lines)}
        process.send_signal(signal.SIGKILL)
        return said | {line.strip() for line in process.stdout if line.endswith("\n")}


async def test_kill_9_loses_nothing_that_was_acknowledged(path: Path) -> None:
    acknowledged: set[str] = set()
    for life, lines in enumerate((40, 700, 1500)):
        acknowledged |= acknowledged_before_kill(path, life=life, lines=lines)
    store = SqliteStore(path, cluster=CLUSTER)
    await store.open()
    assert store._connections.writer is not None
    assert store._connections.writer.raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    stored = await store.find(limit=10**6)
    assert len(acknowledged) > 2000
    assert acknowledged <= {row.uid for row in stored}
    assert len(stored) == len({row.uid for row in stored})
    assert {row.outcome for row in stored} <= {"intended", "deleted"}
    await store.close()


MANY = """
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
INSERT INTO skoupa_entries (cluster, id, uid, at, kind, resource, namespace, name, mechanism, rule, run, outcome, epoch,
  attempts, weight, details)
SELECT 1, printf('%015d', i), 'u' || i, i, 'Kind' || (i % 40), 'kinds' || (i % 40), 'ns-' || (i % 500), 'web-' || i, 'ttl',
  'rule-' || (i % 300), CASE i % 2 WHEN 0 THEN '' ELSE 'run-' || (i / 1000) END,
  CASE i % 100 WHEN 0 THEN 'intended' ELSE 'deleted' END, 1, 1, 1, '{"api_version": "v1"}' FROM n
"""


def steps_of(raw: sqlite3.Connection, query: reading.Query) -> int:
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 100
        return 0

    raw.set_progress_handler(count, 100)
    raw.execute(*query).fetchall()
    raw.set_progress_handler(None, 0)
    return counted


async def test_no_main_filter_walks_over_all_rows_of_a_large_ledger(store: SqliteStore) -> None:
    assert store._connections.writer is not None
    raw = store._connections.writer.raw
    raw.execute(MANY)
    filters = {
        "skoupa_entries_at": Wish(),
        "skoupa_entries_resource": Wish(kind="kinds7"),
        "skoupa_entries_namespace": Wish(namespace="ns-3"),
        "skoupa_entries_name": Wish(name="web-5"),
        "skoupa_entries_rule": Wish(rule="rule-9"),
        "skoupa_entries_run": Wish(run="run-9"),
        "skoupa_entries_rare": Wish(outcomes=("failed",)),
        "skoupa_entries_uid": Wish(uid="u5"),
        "skoupa_entries_id": Wish(id="5"),
    }
    queries = {
        index: reading.find_query(1, wish, limit=100, before=Place(90_000.0, "z"))
        for index, wish in filters.items()
    }
    queries["skoupa_entries_untold"] = reading.untold_query(1, limit=100)
    for index, query in queries.items():
        plan = " | ".join(row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {query[0]}", query[1]))
        assert f"USING INDEX {index} " in plan, (index, plan)
        assert "SCAN e" not in plan
    # Steps of SQLite's machine say the same on a busy machine; all rows would be some million.
    for index, query in queries.items():
        assert steps_of(raw, query) < 60_000, index
    assert len(await store.open_entries()) == 1000
