"""The PostgreSQL of the tests: it keeps its data over kills and goes with its owner."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]  # it has no types
import pytest

from harness.postgres import PostgresServer

pytestmark = pytest.mark.cluster

OWNER = """
import sys
from harness.postgres import PostgresServer
with PostgresServer() as server:
    print(server.directory, (server.directory / "data" / "postmaster.pid").read_text().split()[0], flush=True)
    sys.stdin.read()
"""


async def ask(server: PostgresServer, *statements: str) -> object:
    connection = await asyncpg.connect(server.dsn)
    answer = None
    for statement in statements:
        answer = await connection.fetchval(statement)
    await connection.close()
    return answer


async def test_data_and_port_survive_a_kill_and_a_restart() -> None:
    with PostgresServer() as server:
        dsn = server.dsn
        await ask(server, "CREATE TABLE t (x int)", "INSERT INTO t VALUES (42)")
        server.kill()
        with pytest.raises(OSError, match="Connect"):
            await ask(server, "SELECT 1")
        server.start()
        assert await ask(server, "SELECT x FROM t") == 42
        server.restart()
        assert await ask(server, "SELECT x FROM t") == 42
        assert server.dsn == dsn


def test_it_dies_with_an_owner_that_is_killed() -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert owner.stdout is not None
    with owner:
        directory, pid = owner.stdout.readline().split()
        assert Path(f"/proc/{pid}").exists() or sys.platform != "linux"
        owner.kill()
    until = time.monotonic() + 20
    while _runs(int(pid)) or Path(directory).exists():
        assert time.monotonic() < until, "PostgreSQL outlived its owner"
        time.sleep(0.02)


def test_it_does_not_run_as_root(server: PostgresServer) -> None:
    assert (server.directory / "data").stat().st_uid != 0


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
