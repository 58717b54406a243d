"""Locks between processes: they die with their holder, and with the directory they lie in."""

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.controlplane.locking import FileLock

pytestmark = pytest.mark.unit

HOLD = """
import sys
from pathlib import Path
from harness.controlplane.locking import FileLock
lock = FileLock(Path(sys.argv[1]))
lock.take(shared=sys.argv[2] == "shared")
print("held", flush=True)
sys.stdin.read()
"""


class Holder:
    """Another process that holds the lock until it is told, or killed."""

    def __init__(self, path: Path, kind: str = "exclusive") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(path), kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[3],
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"held\n"

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def test_a_lock_that_somebody_else_holds_is_not_ours(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = Holder(path)
    try:
        assert not FileLock(path).take(wait=False)
    finally:
        holder.kill()


def test_who_has_to_wait_says_so_and_gets_the_lock_when_the_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = Holder(path)
    # Killing the holder only once the waiting was said proves that it was said before the lock was had.
    lock = FileLock(path, waiting=lambda: threading.Thread(target=holder.kill).start())
    assert lock.take()
    lock.release()


def test_shared_holders_do_not_exclude_each_other_but_do_exclude_a_sole_one(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = Holder(path, "shared")
    try:
        lock = FileLock(path)
        assert lock.take(shared=True, wait=False)
        assert not lock.sole()
    finally:
        holder.kill()
    assert lock.take(shared=True, wait=False)
    assert lock.sole()
    lock.release()


def test_a_lock_on_a_removed_directory_does_not_count(tmp_path: Path) -> None:
    """Who waited for a holder that took the directory away gets the lock in a new one."""
    path = tmp_path / "home" / "lock"
    last = FileLock(path)
    last.take()

    def leave() -> None:
        shutil.rmtree(path.parent)
        last.release()

    lock = FileLock(path, waiting=lambda: threading.Thread(target=leave).start())
    assert lock.take()
    assert path.exists()
    assert not FileLock(path).take(wait=False)
    lock.release()
