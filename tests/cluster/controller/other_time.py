"""`skoupa run` for which time goes otherwise: its clock is wrong by what a file says, or its pauses are shorter.

So may be its time zone. A script, started where `python -m skoupa` would be: the same program with another `Clock` handed in. What never jumps
(the monotonic clock, sleeps, time-outs) stays true, as on a machine whose clock somebody sets. Shorter are the pauses
that have jitter: those after a failure, and between two renewals of the Lease; how much shorter may change on the way. So
200 tries fit into half a minute, and each of them takes as long as it takes.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from unittest.mock import patch

from skoupa.__main__ import main
from skoupa.clock import SystemClock


class OtherTime:
    """For tests: what to start, and the hand on its clock."""

    def __init__(self, directory: Path, *, shorter: float = 1.0, zone: str = "UTC") -> None:
        self._zone = zone
        self._wrong_by = directory / "wrong-by"
        self._shorter = directory / "shorter"
        self.be_wrong_by(0.0)
        self.make_shorter(shorter)

    @property
    def program(self) -> tuple[str, ...]:
        # Not the directory of the script: nothing of the tests is to be found by the process.
        return ("-P", __file__, str(self._wrong_by), str(self._shorter), self._zone)

    def be_wrong_by(self, seconds: float) -> None:
        """From now on; positive is ahead."""
        _write(self._wrong_by, seconds)

    def now(self) -> float:
        """As its processes have it."""
        return time.time() + float(self._wrong_by.read_text())

    def make_shorter(self, by: float) -> None:
        """The pauses that begin from now on."""
        _write(self._shorter, by)


def _write(file: Path, number: float) -> None:
    """A process never reads half of it."""
    new = file.with_suffix(".new")
    new.write_text(str(number))
    new.replace(file)


class WrongClock(SystemClock):
    def __init__(self, *, wrong_by: Path, shorter: Path) -> None:
        super().__init__()
        self._wrong_by = wrong_by
        self._shorter = shorter

    def now(self) -> float:
        return super().now() + float(self._wrong_by.read_text())

    def jitter(self, seconds: float) -> float:
        return super().jitter(seconds) / float(self._shorter.read_text())


def run() -> None:
    program, wrong_by, shorter, zone, *words = sys.argv
    sys.argv = [program, *words]
    os.environ["TZ"] = zone
    time.tzset()
    clock = WrongClock(wrong_by=Path(wrong_by), shorter=Path(shorter))
    with patch("skoupa.cli.running.run.SystemClock", return_value=clock):
        main()


if __name__ == "__main__":
    run()
