"""What a process and its children have consumed so far, as the kernel counts it: CPU, and the most memory since asked."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

import msgspec

_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Consumed(msgspec.Struct, frozen=True):
    """CPU seconds and peak bytes."""

    cpu: float
    peak: int


def children(pid: int) -> list[int]:
    """All below it, whatever thread started them."""
    found = []
    for tasks in Path(f"/proc/{pid}/task").iterdir():
        for child in (tasks / "children").read_text(encoding="ascii").split():
            found += [int(child), *children(int(child))]
    return found


def reset_peak(pid: int) -> int:
    """From now on the peak counts anew; what it has at this moment."""
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
    return consumed(pid).peak


def consumed(pid: int) -> Consumed:
    # The name of the program may contain anything, also spaces; what follows its bracket is numbers.
    numbers = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    assert peak is not None
    return Consumed(cpu=(int(numbers[11]) + int(numbers[12])) / _TICKS, peak=int(peak[1]) * 1024)
