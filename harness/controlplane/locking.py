"""A lock between processes that dies with its holder: flock on a file.

A holder that is killed lets go; nothing can be left locked. The file may be removed with the directory that
holds it: a lock counts only while its path still names the locked file. Locks are not inherited by programs
that the holder starts.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self


class FileLock:
    def __init__(self, path: Path, *, waiting: Callable[[], None] | None = None) -> None:
        """`waiting` is called once when somebody else holds the lock and taking it has to wait."""
        self.path = path
        self._waiting = waiting
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int:
        """Of the locked file. A process that inherits it holds the lock as well."""
        assert self._descriptor is not None, f"{self.path} is not locked"
        return self._descriptor

    def take(self, *, shared: bool = False, wait: bool = True) -> bool:
        """Whether the lock is ours now; without `wait` it may be somebody else's."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        while True:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            except FileNotFoundError:
                continue  # the directory was removed in between, by a last holder
            try:
                if not self._flock(descriptor, kind, wait=wait):
                    os.close(descriptor)
                    return False
            except BaseException:
                os.close(descriptor)
                raise
            if self._is_named(descriptor):
                self._descriptor = descriptor
                return True
            os.close(descriptor)

    def sole(self) -> bool:
        """Turns a shared lock that we hold into an exclusive one if nobody else holds it; else lets it go."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            return False
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        if self._descriptor is None:
            self.take()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _flock(self, descriptor: int, kind: int, *, wait: bool) -> bool:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                return False
            if self._waiting is not None:
                self._waiting()
            fcntl.flock(descriptor, kind)
        return True

    def _is_named(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(self.path.stat(), os.fstat(descriptor))
        except FileNotFoundError:
            return False
