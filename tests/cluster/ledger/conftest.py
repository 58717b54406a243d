"""A real PostgreSQL for the tests of this folder, and a database of its own for each of them."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator

import asyncpg  # type: ignore[import-untyped]  # it has no types
import pytest

from harness.postgres import PostgresServer

pytest.register_assert_rewrite("tests.unit.ledger.rules")

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """Everybody's: stop nothing here."""
    with PostgresServer() as server:
        yield server


@pytest.fixture
async def dsn(server: PostgresServer) -> AsyncIterator[str]:
    name = f"ledger_{next(_numbers)}"
    connection = await asyncpg.connect(server.dsn)
    await connection.execute(f"CREATE DATABASE {name}")
    yield server.dsn_of(name)
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()
