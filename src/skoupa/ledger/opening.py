"""Which store a setting or `--ledger` means: a path, `postgresql://…`, or `none`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from skoupa.errors import UsageError
from skoupa.ledger.identity import Identity
from skoupa.ledger.nowhere import NoStore
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Store

_POSTGRES: Final = ("postgresql://", "postgres://")


def is_shared(where: str) -> bool:
    """Whether several replicas may use it at once."""
    return where.startswith(_POSTGRES)


def store_for(
    where: str,
    *,
    cluster: str,
    writable: bool = True,
    identity: Identity | None = None,
    named: bool = True,
) -> Store:
    """Not opened yet: nothing is read or made before `open`.

    With an `identity` it serves that cluster only, whatever name another one gives itself. Not `named`: `cluster` is an
    address, which only a file is used with, and which keeps nobody out.
    """
    if where == "none":
        return NoStore(cluster=cluster)
    if is_shared(where):
        # The driver is an extra; who does not use it need not have it.
        from skoupa.ledger.postgres import PostgresStore  # noqa: PLC0415

        return PostgresStore(where, cluster=cluster, writable=writable, identity=identity)
    if "://" in where:
        # Not quoted: it may have a password in it.
        raise UsageError(
            f"a ledger can't be at {where.partition('://')[0]}://…",
            advice="write a path (SQLite), postgresql://USER@HOST/DATABASE, or none",
        )
    if not where:
        raise UsageError("the ledger has no place", advice="write a path, postgresql://…, or none")
    path = Path(where).expanduser()
    return SqliteStore(path, cluster=cluster, writable=writable, identity=identity, named=named)
