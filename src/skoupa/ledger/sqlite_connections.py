"""The connections of a process to one SQLite file: one that writes and some that read, each used by one thread at a time.

A connection that failed is closed and opened anew by the next call; so is one whose file was moved away. When the log
was taken from beside the file all of them are closed before one is opened: SQLite shares what it knows of a log between
the connections of a process, and would go on with two logs as if they were one. Whatever goes wrong is an error of the ledger.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from skoupa.errors import LedgerUnavailable
from skoupa.ledger.connecting import Connection, gone_from_under, translated
from skoupa.ledger.sqlite_leaving import leaving

T = TypeVar("T")


class Connect(Protocol):
    def __call__(self, *, writable: bool) -> Connection: ...


class Connections:
    """For threads; `remark` tells what happened to the file and that somebody should know."""

    def __init__(self, path: Path, *, connect: Connect) -> None:
        self.path = path
        self.remark = ""
        self._connect = connect
        self.writer: Connection | None = None
        self.idle: list[Connection] = []
        # How many use a connection; while `_cut_off` nobody begins to: the last one closes all of them, or who comes next.
        self._busy = 0
        self._cut_off = False
        self._turns = threading.Condition()

    def write(self, work: Callable[[Connection], T]) -> T:
        """By one thread alone."""
        return self._in_turn(self._as_writer, work)

    def read(self, work: Callable[[Connection], T]) -> T:
        return self._in_turn(self._as_reader, work)

    def close(self) -> None:
        """When nobody uses them any more."""
        # What can't be closed as it should be ends with the process, which leaves the files as they are.
        with contextlib.suppress(OSError, LedgerUnavailable):
            if any(connection.cut_off for connection in self._open):
                self._leave()
            else:
                self._close_all()

    def _in_turn(self, how: Callable[[Callable[[Connection], T]], T], work: Callable[[Connection], T]) -> T:
        with self._turns:
            self._turns.wait_for(lambda: not (self._cut_off and self._busy))
            if self._cut_off:
                self._leave()
            self._busy += 1
        try:
            # Whatever the file system says, too, of a file that is only looked at.
            with translated(self.path):
                return how(work)
        finally:
            with self._turns:
                self._busy -= 1
                if self._cut_off and not self._busy:
                    # Where it can't be done now, whoever comes next tries again, and is told why not.
                    with contextlib.suppress(LedgerUnavailable):
                        self._leave()
                self._turns.notify_all()

    def _leave(self) -> None:
        with translated(self.path), leaving(self.path):
            self._close_all()
        self._cut_off = False
        self.remark = (
            f"the log {self.path.name}-wal was taken from beside the file {self.path} while it was in use; "
            "what was in it last may be missing from the history"
        )

    def _as_writer(self, work: Callable[[Connection], T]) -> T:
        with translated(self.path):
            if self.writer is not None and self.writer.stale:
                self.writer.raw.close()
                self.writer = None
                self.remark = (
                    f"the file {self.path} was moved away or replaced while it was in use; what was in it is not "
                    "in the history any more, unless it is put back"
                )
        if self.writer is None:
            self.writer = self._connected(writable=True)
        try:
            self._check_log(self.writer)
            with translated(self.path):
                return work(self.writer)
        except LedgerUnavailable as error:
            # A lock passes and a full volume gets room; anything else may be the connection's own state.
            if self.writer.cut_off:
                self._cut_off = True
            elif not isinstance(error.__cause__, sqlite3.OperationalError) or "I/O" in error.message:
                self.writer.raw.close()
                self.writer = None
            raise

    def _as_reader(self, work: Callable[[Connection], T]) -> T:
        connection = self.idle.pop() if self.idle else self._connected(writable=False)
        try:
            with translated(self.path):
                if connection.stale or connection.number is None:
                    connection.raw.close()
                    connection = self._connected(writable=False)
                self._check_log(connection)
                answer = work(connection)
        except BaseException:
            connection.raw.close()
            raise
        self.idle.append(connection)
        return answer

    def _check_log(self, connection: Connection) -> None:
        if connection.cut_off:
            self._cut_off = True
            raise gone_from_under(self.path)

    def _connected(self, *, writable: bool) -> Connection:
        for connection in self._open:
            if not connection.stale:
                self._check_log(connection)
        return self._connect(writable=writable)

    @property
    def _open(self) -> list[Connection]:
        """Those that nobody uses, and the writer's."""
        return [*self.idle, *([] if self.writer is None else [self.writer])]

    def _close_all(self) -> None:
        """The writer's last: it moves what is in its log into the file, if nobody else has that open."""
        for connection in self._open:
            with contextlib.suppress(sqlite3.Error):
                connection.raw.close()
        self.idle.clear()
        self.writer = None
