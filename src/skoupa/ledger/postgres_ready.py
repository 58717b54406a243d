"""What a database has to have before rows are read or written there: the tables, this cluster's number, and its identity.

Two replicas, or two clusters, may come at the same time: one of them changes the tables, and the first one's identity
stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from skoupa.ledger import schema
from skoupa.ledger.identity import settled

# Looking over all rows of a large ledger, and making an index on them, take longer than any everyday statement.
LONG_SECONDS: Final = 600.0
# Any number that nobody else in the same database is likely to lock.
_MIGRATION_LOCK: Final = 7_530_684_211

# The driver is not there for everybody and has no types.
_Connection = Any


async def bring_up_to_date(connection: _Connection, *, where: str, writable: bool) -> None:
    # Looked at without the lock first: nearly always there is nothing to do.
    if not schema.missing(await _version(connection), where=where, writable=writable):
        return
    async with connection.transaction():
        await connection.execute(f"SET LOCAL statement_timeout = {int(LONG_SECONDS * 1000)}")
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _MIGRATION_LOCK)
        await connection.execute(schema.VERSIONS_TABLE)
        version = await _version(connection)
        for migration in schema.missing(version, where=where, writable=True):
            for statement in schema.statements(migration, "postgres"):
                await connection.execute(statement, timeout=LONG_SECONDS)


async def number_of(connection: _Connection, cluster: str, *, writable: bool) -> int | None:
    """None while a reader's cluster has no rows."""
    find = "SELECT number FROM skoupa_clusters WHERE name = $1"
    number: int | None = await connection.fetchval(find, cluster)
    if number is None and writable:
        await connection.execute(
            "INSERT INTO skoupa_clusters (name) VALUES ($1) ON CONFLICT DO NOTHING", cluster
        )
        number = await connection.fetchval(find, cluster)
    return number


async def identify(
    connection: _Connection, number: int, known: Mapping[str, str], *, cluster: str, where: str
) -> None:
    """Raises LedgerUnusable where the rows are another cluster's."""
    find = "SELECT identity FROM skoupa_clusters WHERE number = $1"
    recorded = str(await connection.fetchval(find, number))
    wanted = settled(recorded, known, cluster=cluster, where=where)
    if wanted == recorded:
        return
    await connection.execute(
        "UPDATE skoupa_clusters SET identity = $1 WHERE number = $2 AND identity = $3",
        wanted,
        number,
        recorded,
    )
    # Another one may have been faster.
    settled(str(await connection.fetchval(find, number)), known, cluster=cluster, where=where)


async def _version(connection: _Connection) -> int:
    if await connection.fetchval("SELECT to_regclass('skoupa_versions')") is None:
        return 0
    version: int = await connection.fetchval("SELECT coalesce(max(version), 0) FROM skoupa_versions")
    return version
