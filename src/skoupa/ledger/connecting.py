"""A connection to the SQLite file of a ledger: made with the right rights, brought up to date, its errors in words.

The file is the owner's alone (0600). A reader makes nothing: no file, no folder, no migration.
Nothing here, nor anywhere in the process, opens the file or its log besides SQLite: whoever closes a file gives up all
locks that the process has on it (POSIX), and then others take it for theirs alone and remove the log that is written to.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from skoupa.errors import LedgerUnavailable, LedgerUnusable
from skoupa.ledger import schema
from skoupa.ledger.identity import settled

_ADVICE: Final = (
    ("locked", "another process holds it; see that only one replica uses the file, or use PostgreSQL"),
    (
        "full",
        "make room on its volume, or enlarge it; that it keeps less (ledger.keepDays, ledger.keepBytes) helps only later",
    ),
    ("readonly", "make the file and its folder writable for the user that runs Skoupa"),
    ("unable to open", "make the file and its folder writable for the user that runs Skoupa"),
    ("disk I/O", "look at the volume it is on"),
    (
        "Too many open files",
        "raise the limit of open files (ulimit -n), or see what has so many of them open",
    ),
)
_BROKEN: Final = ("not a database", "malformed")
_HEADER_BYTES: Final = 100


class Connection:
    """`number` is that of the cluster in this file; None while a reader's cluster has no rows in it."""

    def __init__(self, raw: sqlite3.Connection, *, path: Path) -> None:
        self.raw = raw
        self.number: int | None = None
        self.path = path
        self._file = path.stat()
        self._log_path = path.with_name(f"{path.name}-wal")
        self._log: os.stat_result | None = None
        self._had_header = False

    def remember_log(self) -> None:
        """After the first look into the file, which has SQLite open its log. There is none where it can't be made."""
        self._log = _stat(self._log_path)

    @property
    def stale(self) -> bool:
        """Whether the file was moved away or replaced: SQLite would go on writing where nobody looks.

        Raises LedgerUnusable where somebody emptied it: SQLite would go on with what it remembers, and lose all of it.
        """
        found = _stat(self.path)
        if found is None or not os.path.samestat(found, self._file):
            return True
        has_header = found.st_size >= _HEADER_BYTES
        if self._had_header and not has_header:
            raise LedgerUnusable(
                f"the ledger {self.path} was emptied while it was in use",
                advice="put a backup in its place, or remove it: a new one is begun then; nothing is deleted meanwhile",
            )
        self._had_header = has_header
        return False

    @property
    def cut_off(self) -> bool:
        """Whether the log that it has open is not the one beside the file any more: nobody would find what is in it."""
        if self._log is None:
            return False
        found = _stat(self._log_path)
        return found is None or not os.path.samestat(found, self._log)

    def _check_place(self) -> None:
        found = _stat(self.path)
        if self.cut_off or found is None or not os.path.samestat(found, self._file):
            raise gone_from_under(self.path)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Cursor]:
        cursor = self.raw.cursor()
        cursor.execute("BEGIN IMMEDIATE")
        try:
            yield cursor
            cursor.execute("COMMIT")
            # Afterwards: before, it could still be taken away in between. It costs two looks, whatever is written.
            self._check_place()
        except BaseException:
            # After some errors SQLite has rolled back already.
            if self.raw.in_transaction:
                cursor.execute("ROLLBACK")
            raise


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def gone_from_under(path: Path) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"the ledger {path} or its log {path.name}-wal was removed or replaced while it was in use",
        advice="see what else has its files and let it be; it is opened anew, and what is not sure to be there is written again",
    )


def connect(
    path: Path,
    *,
    cluster: str,
    writable: bool,
    busy_seconds: float,
    known: Mapping[str, str] | None = None,
    named: bool = True,
) -> Connection:
    """Of a store's own thread, or of one at a time. `known` is what tells this cluster from others of its name."""
    if path.is_dir():
        raise LedgerUnusable(
            f"the ledger {path} is a folder", advice=f"name a file in it: {path / 'ledger.db'}"
        )
    if writable:
        _make_file(path)
    elif not path.exists():
        raise LedgerUnusable(f"there is no ledger {path}", advice="look at the path after --ledger")
    with translated(path):
        raw = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={'rw' if writable else 'ro'}",
            uri=True,
            timeout=busy_seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection = Connection(raw, path=path)
            if writable:
                _prepare(raw, path)
            _migrate(connection, where=str(path), writable=writable)
            connection.remember_log()
            connection.number = _number(connection, cluster, writable=writable)
            if known is not None and connection.number is not None:
                _identify(connection, known, cluster=cluster, writable=writable, named=named)
        except BaseException:
            raw.close()
            raise
        return connection


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns what SQLite says into an error that says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        said = str(error)
        if any(words in said for words in _BROKEN):
            raise LedgerUnusable(
                f"the ledger {path} is damaged or no ledger ({said})",
                advice="move it away (`sqlite3 FILE .recover` may save rows of it); a new one is made at the next start",
            ) from error
        advice = next((text for words, text in _ADVICE if words in said), "look at the volume it is on")
        raise LedgerUnavailable(f"the ledger {path} can't be used: {said}", advice=advice) from error


def _make_file(path: Path) -> None:
    with translated(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            # Only one that is new: closing one that is in use would give up the locks on it.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _prepare(raw: sqlite3.Connection, path: Path) -> None:
    # Before the first table; later it would need a VACUUM.
    raw.execute("PRAGMA auto_vacuum = INCREMENTAL")
    (mode,) = raw.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise LedgerUnusable(
            f"the ledger {path} is on a file system that can't share memory",
            advice="put it on a local volume, or use PostgreSQL",
        )
    raw.execute("PRAGMA synchronous = NORMAL")
    raw.execute("PRAGMA journal_size_limit = 67108864")
    # What goes from the trash, or is replaced in it, is overwritten in the file: somebody may have a right to that.
    raw.execute("PRAGMA secure_delete = ON").fetchall()


def _migrate(connection: Connection, *, where: str, writable: bool) -> None:
    # Looked at without a lock first: nearly always there is nothing to do.
    if not schema.missing(_version(connection.raw), where=where, writable=writable):
        return
    with connection.transaction() as cursor:
        cursor.execute(schema.VERSIONS_TABLE)
    while True:
        with connection.transaction() as cursor:
            left = schema.missing(_version(connection.raw), where=where, writable=writable)
            if not left:
                break
            for statement in schema.statements(left[0], "sqlite"):
                cursor.execute(statement)
    # Into the file, so that without its log it is not taken for an empty one, and begun anew.
    connection.raw.execute("PRAGMA wal_checkpoint").fetchall()


def _version(raw: sqlite3.Connection) -> int:
    found = raw.execute("SELECT 1 FROM sqlite_master WHERE name = 'skoupa_versions'").fetchone()
    if found is None:
        return 0
    version: int = raw.execute("SELECT coalesce(max(version), 0) FROM skoupa_versions").fetchone()[0]
    return version


def _number(connection: Connection, cluster: str, *, writable: bool) -> int | None:
    query = "SELECT number FROM skoupa_clusters WHERE name = ?"
    row = connection.raw.execute(query, [cluster]).fetchone()
    if row is None and writable:
        with connection.transaction() as cursor:
            cursor.execute("INSERT OR IGNORE INTO skoupa_clusters (name) VALUES (?)", [cluster])
        row = connection.raw.execute(query, [cluster]).fetchone()
    return None if row is None else int(row[0])


def _identify(
    connection: Connection, known: Mapping[str, str], *, cluster: str, writable: bool, named: bool
) -> None:
    """Raises LedgerUnusable where the rows are another cluster's."""
    query, number = "SELECT identity FROM skoupa_clusters WHERE number = ?", connection.number

    def wanted() -> tuple[str, str]:
        recorded = str(connection.raw.execute(query, [number]).fetchone()[0])
        where = str(connection.path)
        return recorded, settled(recorded, known, cluster=cluster, where=where, named=named)

    before, after = wanted()
    if before == after or not writable:
        return
    with connection.transaction() as cursor:
        # Looked at again under the lock: another one may have been faster.
        _, after = wanted()
        cursor.execute("UPDATE skoupa_clusters SET identity = ? WHERE number = ?", [after, number])


def marked(connection: Connection, proposed: str) -> str:
    """The mark of the cluster's ledger in this file; `proposed` where it has none yet."""
    with connection.transaction() as cursor:
        cursor.execute(
            "UPDATE skoupa_clusters SET mark = ? WHERE number = ? AND mark = ''",
            [proposed, connection.number],
        )
        row = cursor.execute("SELECT mark FROM skoupa_clusters WHERE number = ?", [connection.number])
        return str(row.fetchone()[0])
