"""Whether files have changed since they were read, asked often and answered cheaply.

A file is known by inode, size and time of change, so that a rename over it and a swapped symlink (how the kubelet rotates
tokens) are seen. The disk is looked at once a second at most. A change stays a change until `accept` is called:
whoever could not read the new files asks again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from skoupa.clock import Clock

_LOOK_EVERY = 1.0

Stamp = tuple[int, int, int]


class Stamps:
    def __init__(self, paths: Sequence[str], *, clock: Clock) -> None:
        self._paths = tuple(path for path in paths if path)
        self._clock = clock
        self._seen: tuple[Stamp | None, ...] | None = None
        self._accepted: tuple[Stamp | None, ...] | None = None
        self._looked = float("-inf")

    def changed(self, *, at_once: bool = False) -> bool:
        """Says no within a second of the last look, unless asked `at_once`. Ask before reading, not after."""
        now = self._clock.monotonic()
        if not at_once and now - self._looked < _LOOK_EVERY:
            return False
        self._looked = now
        self._seen = tuple(_stamp(path) for path in self._paths)
        return self._seen != self._accepted

    def accept(self) -> None:
        """What was last looked at is in use now."""
        self._accepted = self._seen


def _stamp(path: str) -> Stamp | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - called for every file each second
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
