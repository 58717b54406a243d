"""The log beside a SQLite file stays the one that is written to, whoever else comes and goes; and if not, that is noticed."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import IO

import pytest

from skoupa.errors import LedgerUnavailable
from skoupa.ledger import sqlite_connections, sqlite_leaving
from skoupa.ledger.connecting import Connection
from skoupa.ledger.rows import Body
from skoupa.ledger.sqlite import SqliteStore
from tests.unit.ledger.entries import CLUSTER, intent

pytestmark = pytest.mark.unit

SWEEPER = """
import asyncio, os, sys
from pathlib import Path
from skoupa.clock import SystemClock
from skoupa.errors import LedgerUnavailable
from skoupa.ledger.journal import Journal
from skoupa.ledger.rows import Body
from skoupa.ledger.sqlite import SqliteStore
from tests.unit.ledger.entries import intent

async def main():
    store = SqliteStore(Path(sys.argv[1]), cluster="east")
    await store.open()
    journal = Journal(store, clock=SystemClock())
    async def work():
        for number in range(1000000):
            uid = f"u{number}"
            try:
                await journal.intend([intent(uid, bodies=(Body(form="json", data=os.urandom(3000)),))])
            except LedgerUnavailable as error:
                print("held", error, flush=True)
                await asyncio.sleep(0.02)
                continue
            print(uid, flush=True)
            journal.finish(uid, outcome="deleted", epoch=1)
            await store.find(limit=1)
            await asyncio.sleep(0.005)
    async with asyncio.TaskGroup() as group:
        group.create_task(journal.run())
        group.create_task(work())
asyncio.run(main())
"""

PURGER = """
import asyncio, sys
from pathlib import Path
from skoupa.ledger.sqlite import SqliteStore

async def main():
    store = SqliteStore(Path(sys.argv[1]), cluster="east")
    await store.purge("nothing")
    await store.close()
asyncio.run(main())
"""

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, cluster=CLUSTER, busy_seconds=2)
    await store.open()
    yield store
    await store.close()


def come_and_go(path: Path) -> None:
    """As `skoupa trash purge --ledger` does."""
    subprocess.run([sys.executable, "-c", PURGER, str(path)], check=True, env=ENVIRONMENT)


class Heard:
    """Lines of a process, read as they come."""

    def __init__(self, out: IO[str]) -> None:
        self.lines: list[str] = []
        self._reading = threading.Thread(target=lambda: self.lines.extend(out), daemon=True)
        self._reading.start()

    def acknowledged(self) -> set[str]:
        return {line.strip() for line in self.lines if line.startswith("u") and line.endswith("\n")}

    def wait_for_more(self, count: int) -> None:
        goal = len(self.acknowledged()) + count
        self._wait(lambda: len(self.acknowledged()) >= goal)

    def wait_until_held(self) -> None:
        self._wait(lambda: any(line.startswith("held") for line in self.lines))

    def all(self) -> set[str]:
        self._reading.join(30)
        return self.acknowledged()

    def _wait(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end, self.lines[-3:]
            time.sleep(0.02)


def rows_of(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        found = raw.execute(
            "SELECT e.uid, e.outcome FROM skoupa_entries AS e JOIN skoupa_bodies AS b ON b.uid = e.uid"
        ).fetchall()
    assert len(found) == len(dict(found))
    return dict(found)


def test_after_a_volume_was_full_another_writer_and_kill_9_lose_no_row_that_was_acknowledged(
    path: Path,
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SWEEPER, str(path)], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    assert process.stdout is not None
    with process:
        heard = Heard(process.stdout)
        heard.wait_for_more(10)
        no_limit = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        # Beyond this size a write fails, in the middle of it even, as on a full volume.
        wal = path.with_name(f"{path.name}-wal").stat().st_size
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (wal + 20_000, resource.RLIM_INFINITY))
        heard.wait_until_held()
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, no_limit)
        heard.wait_for_more(10)
        for _ in range(2):
            come_and_go(path)
            heard.wait_for_more(20)
        process.send_signal(signal.SIGKILL)
        acknowledged = heard.all()
    found = rows_of(path)
    assert acknowledged <= set(found)
    # Of the last one nobody may have come to write down the end.
    assert sum(outcome == "intended" for outcome in found.values()) <= 1


async def test_a_writer_that_is_opened_anew_keeps_the_locks_of_the_process(
    store: SqliteStore, path: Path
) -> None:
    await store.write([intent("a")])
    await store.find()
    assert store._connections.writer is not None
    # As after an error of the disk.
    store._connections.writer.raw.close()
    store._connections.writer = None
    await store.write([intent("b")])
    log = path.with_name(f"{path.name}-wal").stat()
    come_and_go(path)
    assert os.path.samestat(path.with_name(f"{path.name}-wal").stat(), log)
    await store.write([intent("c")])
    assert seen_by_another(path) == {"a", "b", "c"}


def write_and_die(path: Path) -> None:
    code = (
        "import asyncio, os, sys; from pathlib import Path; from skoupa.ledger.sqlite import SqliteStore;"
        "from tests.unit.ledger.entries import intent; store = SqliteStore(Path(sys.argv[1]), cluster='east');"
        "asyncio.run(store.write([intent('theirs')])); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, env=ENVIRONMENT)


def copied(path: Path, to: Path) -> None:
    """By another process: this one would give up its locks."""
    subprocess.run(["cp", str(path), str(to)], check=True)


def seen_by_another(path: Path) -> set[str]:
    code = "import sqlite3, sys; print(*(u for (u,) in sqlite3.connect(sys.argv[1]).execute('SELECT uid FROM skoupa_entries')))"
    said = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True)
    return set(said.stdout.split())


@pytest.mark.parametrize("begun_anew", ["no log", "another log"])
async def test_a_log_that_is_taken_away_is_noticed_and_nothing_is_lost(
    store: SqliteStore, path: Path, begun_anew: str
) -> None:
    await store.write([intent("a", bodies=(Body(form="json", data=b"x"),))])
    await store.find()
    path.with_name(f"{path.name}-wal").unlink()
    path.with_name(f"{path.name}-shm").unlink()
    if begun_anew == "another log":
        path.with_name(f"{path.name}-wal").touch(0o600)
    with pytest.raises(LedgerUnavailable, match=r"ledger\.db-wal was removed or replaced.*opened anew"):
        await store.write([intent("b")])
    await store.write([intent("b")])
    assert {row.uid for row in await store.find()} == {"a", "b"}
    assert seen_by_another(path) == {"a", "b"}
    assert "ledger.db-wal was taken" in store.remark


async def test_rows_of_somebody_who_began_another_log_and_died_are_left_alone(
    store: SqliteStore, path: Path
) -> None:
    await store.write([intent("a")])
    path.with_name(f"{path.name}-wal").unlink()
    path.with_name(f"{path.name}-shm").unlink()
    write_and_die(path)
    with pytest.raises(LedgerUnavailable, match="was removed or replaced"):
        await store.write([intent("b")])
    await store.write([intent("b")])
    # What only the log had that is gone is gone too.
    assert seen_by_another(path) == {"theirs", "b"}


async def another_log(store: SqliteStore, path: Path) -> None:
    """Somebody took ours away and began another one."""
    await store.write([intent("a")])
    path.with_name(f"{path.name}-wal").unlink()
    path.with_name(f"{path.name}-shm").unlink()
    write_and_die(path)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
async def test_one_that_can_not_be_left_yet_is_left_later_and_nobody_waits_for_ever(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    await another_log(store, path)

    def refused(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refused)
        async with asyncio.timeout(60):
            for said in ("was removed or replaced", os.strerror(number)):
                with pytest.raises(LedgerUnavailable, match=said):
                    await store.write([intent("b")])
    await store.write([intent("b")])
    assert seen_by_another(path) == {"theirs", "b"}
    assert "ledger.db-wal was taken" in store.remark


async def test_one_whose_file_is_gone_meanwhile_is_left_without_an_error_of_its_own(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await another_log(store, path)
    leaving = sqlite_leaving.leaving

    def gone(where: Path) -> AbstractContextManager[None]:
        where.rename(where.with_name("moved.db"))
        return leaving(where)

    monkeypatch.setattr(sqlite_connections, "leaving", gone)
    with pytest.raises(LedgerUnavailable, match="was removed or replaced"):
        await store.write([intent("b")])
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0, "it is somebody else's"
    async with asyncio.timeout(60):
        await store.write([intent("b")])
    assert seen_by_another(path) == {"b"}


async def test_at_the_end_too_another_log_is_left_alone(store: SqliteStore, path: Path) -> None:
    await another_log(store, path)
    await store.close()
    assert seen_by_another(path) == {"theirs"}
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_what_the_file_system_says_of_a_look_is_an_error_of_the_ledger(
    store: SqliteStore, path: Path
) -> None:
    folder = path.parent
    folder.rename(folder.with_name("moved"))
    folder.write_bytes(b"")
    try:
        with pytest.raises(LedgerUnavailable, match="Not a directory"):
            await store.find()
        with pytest.raises(LedgerUnavailable, match="Not a directory"):
            await store.write([intent("a")])
    finally:
        folder.unlink()
        folder.with_name("moved").rename(folder)


async def test_what_is_committed_to_a_log_that_nobody_finds_does_not_count(
    store: SqliteStore, path: Path
) -> None:
    await store.write([intent("a")])
    await store.find()

    def take_away_in_the_middle(connection: object) -> None:
        assert isinstance(connection, Connection)
        with connection.transaction() as cursor:
            cursor.execute("UPDATE skoupa_clusters SET mark = 'x'")
            path.with_name(f"{path.name}-wal").unlink()
            path.with_name(f"{path.name}-shm").unlink()

    with pytest.raises(LedgerUnavailable, match="was removed or replaced"):
        await store._write(take_away_in_the_middle)
    assert store._connections.writer is None
    assert store._connections.idle == []
    await store.write([intent("b")])
    assert seen_by_another(path) == {"a", "b"}


async def test_a_ledger_without_its_log_is_not_taken_for_an_empty_one(store: SqliteStore, path: Path) -> None:
    """As a copy of the file alone is, or one that was robbed of its log."""
    copy = path.with_name("copy.db")
    copied(path, copy)
    reader = SqliteStore(copy, cluster=CLUSTER, writable=False)
    assert await reader.find() == []
    await reader.close()
