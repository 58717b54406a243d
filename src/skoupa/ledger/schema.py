"""The tables, as a numbered list of migrations that both databases share.

A migration is one transaction with the record of its number: one that was interrupted never was. A store applies what
is missing and refuses a database that a newer Skoupa has written, because it can't know what it would break.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from skoupa.errors import LedgerUnusable

Dialect = Literal["sqlite", "postgres"]

# `{text}` sorts by bytes everywhere, so that both databases give the same order.
_WORDS: Final[dict[Dialect, dict[str, str]]] = {
    "sqlite": {"number": "INTEGER PRIMARY KEY", "blob": "BLOB", "text": "TEXT"},
    "postgres": {
        "number": "INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "blob": "BYTEA",
        "text": 'TEXT COLLATE "C"',
    },
}


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    statements: tuple[str, ...]


VERSIONS_TABLE: Final = "CREATE TABLE IF NOT EXISTS skoupa_versions (version INTEGER PRIMARY KEY)"

MIGRATIONS: Final = (
    Migration(
        version=1,
        statements=(
            "CREATE TABLE skoupa_clusters (number {number}, name {text} NOT NULL UNIQUE)",
            """CREATE TABLE skoupa_entries (
                cluster INTEGER NOT NULL,
                id {text} NOT NULL,
                uid {text} NOT NULL,
                at DOUBLE PRECISION NOT NULL,
                kind {text} NOT NULL,
                resource {text} NOT NULL,
                namespace {text} NOT NULL,
                name {text} NOT NULL,
                mechanism {text} NOT NULL,
                rule {text} NOT NULL,
                run {text} NOT NULL,
                outcome {text} NOT NULL,
                epoch BIGINT NOT NULL,
                attempts INTEGER NOT NULL,
                weight BIGINT NOT NULL,
                finished_at DOUBLE PRECISION,
                error {text} NOT NULL DEFAULT '',
                told INTEGER NOT NULL DEFAULT 0,
                restored_as {text} NOT NULL DEFAULT '',
                kept BIGINT NOT NULL DEFAULT 0,
                details {text} NOT NULL
            )""",
            "CREATE UNIQUE INDEX skoupa_entries_uid ON skoupa_entries (cluster, uid)",
            # Not unique: two processes that roll the same id once in a lifetime must not stop the ledger.
            "CREATE INDEX skoupa_entries_id ON skoupa_entries (cluster, id)",
            # What stands after the time is filtered along with it: it is compared before the row is fetched. Of two
            # that fit, SQLite takes the one that was made later, so what fits fewer rows comes later.
            "CREATE INDEX skoupa_entries_at ON skoupa_entries (cluster, at, mechanism, kind)",
            "CREATE INDEX skoupa_entries_resource ON skoupa_entries (cluster, resource, at)",
            "CREATE INDEX skoupa_entries_namespace ON skoupa_entries (cluster, namespace, at, resource)",
            "CREATE INDEX skoupa_entries_name ON skoupa_entries (cluster, name, at)",
            "CREATE INDEX skoupa_entries_rule ON skoupa_entries (cluster, rule, at, namespace)",
            "CREATE INDEX skoupa_entries_run ON skoupa_entries (cluster, run, at) WHERE run <> ''",
            """CREATE INDEX skoupa_entries_rare ON skoupa_entries (cluster, outcome, at, namespace)
                WHERE outcome NOT IN ('deleted', 'terminating')""",
            """CREATE INDEX skoupa_entries_untold ON skoupa_entries (cluster, at)
                WHERE told = 0 AND outcome IN ('deleted', 'terminating')""",
        ),
    ),
    Migration(
        version=2,
        statements=(
            """CREATE TABLE skoupa_bodies (
                cluster INTEGER NOT NULL,
                uid {text} NOT NULL,
                part {text} NOT NULL,
                form {text} NOT NULL,
                data {blob} NOT NULL,
                PRIMARY KEY (cluster, uid, part)
            )""",
        ),
    ),
    Migration(
        version=3,
        statements=(
            # With the size, so that the trash is weighed without fetching a row.
            "CREATE INDEX skoupa_entries_kept ON skoupa_entries (cluster, at, kept) WHERE kept > 0",
        ),
    ),
    Migration(
        version=4,
        statements=(
            # Few at any time, among very many that are gone.
            "CREATE INDEX skoupa_entries_terminating ON skoupa_entries (cluster, at) WHERE outcome = 'terminating'",
        ),
    ),
    Migration(
        version=5,
        statements=(
            # Of rows that are older nobody knows it.
            "ALTER TABLE skoupa_entries ADD COLUMN partly INTEGER",
            "ALTER TABLE skoupa_clusters ADD COLUMN mark {text} NOT NULL DEFAULT ''",
        ),
    ),
    Migration(
        version=6,
        # The first cluster that comes is the one whose rows these are.
        statements=("ALTER TABLE skoupa_clusters ADD COLUMN identity {text} NOT NULL DEFAULT ''",),
    ),
    Migration(
        version=7,
        statements=(
            # Few: what people were told of ahead of its time goes when that time is over. Whoever drops the tables that hold
            # the history may leave this one.
            """CREATE TABLE IF NOT EXISTS skoupa_announced (
                cluster INTEGER NOT NULL,
                key {text} NOT NULL,
                due DOUBLE PRECISION NOT NULL,
                PRIMARY KEY (cluster, key)
            )""",
        ),
    ),
    Migration(
        version=8,
        statements=(
            # What an interruption took along is told too, but not what did so long ago.
            "UPDATE skoupa_entries SET told = 1 WHERE outcome = 'gone-by-unknown'",
            "DROP INDEX skoupa_entries_untold",
            """CREATE INDEX skoupa_entries_untold ON skoupa_entries (cluster, at)
                WHERE told = 0 AND outcome IN ('deleted', 'terminating', 'gone-by-unknown')""",
        ),
    ),
    Migration(
        version=9,
        statements=(
            # Since when nobody needs an object, as an observer saw it: it writes nothing onto objects.
            """CREATE TABLE IF NOT EXISTS skoupa_unneeded (
                cluster INTEGER NOT NULL,
                uid {text} NOT NULL,
                since DOUBLE PRECISION NOT NULL,
                PRIMARY KEY (cluster, uid)
            )""",
        ),
    ),
)

# The partial indexes above are used only by a query that says the same words.
IS_RARE: Final = "outcome NOT IN ('deleted', 'terminating')"
IS_KEPT: Final = "kept > 0"
IS_UNTOLD: Final = "told = 0 AND outcome IN ('deleted', 'terminating', 'gone-by-unknown')"

NEWEST: Final = MIGRATIONS[-1].version


def missing(version: int, *, where: str, writable: bool) -> tuple[Migration, ...]:
    """What a database of `version` lacks (0: an empty one)."""
    if version > NEWEST:
        raise LedgerUnusable(
            f"the ledger {where} was written by a newer Skoupa (its version is {version}, this one knows {NEWEST})",
            advice="use that release or a later one, or name another ledger",
        )
    if version < NEWEST and not writable:
        was = f"of the older version {version}" if version else "empty"
        raise LedgerUnusable(
            f"the ledger {where} is {was}, and is only read here",
            advice="let the controller of this release start once: it brings the ledger up to date",
        )
    return tuple(one for one in MIGRATIONS if one.version > version)


def statements(migration: Migration, dialect: Dialect) -> list[str]:
    """All of one migration, its record included; to be run in one transaction."""
    made = [statement.format_map(_WORDS[dialect]) for statement in migration.statements]
    return [*made, f"INSERT INTO skoupa_versions (version) VALUES ({migration.version})"]  # noqa: S608 - a number of ours
