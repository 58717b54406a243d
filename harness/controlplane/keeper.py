"""A control plane that outlives the process that started it: kept by a process of its own, known by a directory.

    <home>/running      locked by the keeper as long as it lives; holds its pid
    <home>/users        locked (shared) by those who use it; `while_used`: the keeper ends when nobody does
    <home>/entry        locked by who starts or stops it
    <home>/access.json  how to reach it; there once it is ready
    <home>/plane/       the control plane's own directory

Whether one runs is asked of the lock, never of a pid in a file: a keeper that was killed does not run.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

import msgspec

from harness.controlplane import binaries
from harness.controlplane.access import Access
from harness.controlplane.cluster import PROGRAMS, ControlPlane
from harness.controlplane.errors import ControlPlaneError, tail
from harness.controlplane.locking import FileLock
from harness.controlplane.options import Options

_REPOSITORY = Path(__file__).parents[2]
_START = "from harness.controlplane.keeper import main; main()"
_LOOK_SECONDS = 0.1
_END_SECONDS = 30.0
# Longer than anybody who only asks whether one runs holds the lock.
_LOCK_SECONDS = 2.0


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a keeper is told on its command line."""

    home: str
    options: Options
    while_used: bool
    lock: int


def provide(home: Path, options: Options, *, while_used: bool) -> Access:
    """The running control plane of `home`, or a new one. Returns when it is ready."""
    # Here and not in the keeper, so that the user sees the progress of a build.
    binaries.provide(PROGRAMS)
    with FileLock(home / "entry"):
        return find(home) or _launch(home, options, while_used=while_used)


def find(home: Path) -> Access | None:
    """How to reach the control plane of `home`; None when none runs, or it is not ready yet."""
    if not _is_running(home):
        return None
    try:
        return Access.from_json((home / "access.json").read_bytes())
    except FileNotFoundError:
        return None


def stop(home: Path) -> bool:
    """Stops the control plane of `home` and waits until it is gone; False when none ran."""
    if not _is_running(home):
        return False
    with FileLock(home / "entry"):
        if _is_running(home):
            _end(home)
    return True


def users_lock(home: Path) -> FileLock:
    return FileLock(home / "users")


def _launch(home: Path, options: Options, *, while_used: bool) -> Access:
    (home / "access.json").unlink(missing_ok=True)
    log = home / "keeper.log"
    with _take_running_lock(home) as lock:
        order = Order(home=str(home.resolve()), options=options, while_used=while_used, lock=lock.descriptor)
        command = [sys.executable, "-c", _START, msgspec.json.encode(order).decode()]
        with log.open("wb") as output:
            # It inherits the lock, forks, and its first process ends at once.
            subprocess.run(
                command,
                cwd=_REPOSITORY,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[lock.descriptor],
                check=False,
            )
    try:
        return _when_ready(home, log=log)
    except BaseException:
        if _is_running(home):
            _end(home)
        raise


def _when_ready(home: Path, *, log: Path) -> Access:
    # No deadline: the keeper itself gives up in time, see Options.start_seconds.
    while (access := find(home)) is None:
        if not _is_running(home):
            raise ControlPlaneError(f"the control plane did not start:\n{tail(log, lines=40)}")
        time.sleep(_LOOK_SECONDS)
    return access


def _take_running_lock(home: Path) -> FileLock:
    lock = FileLock(home / "running")
    deadline = time.monotonic() + _LOCK_SECONDS
    while not lock.take(wait=False):
        if time.monotonic() > deadline:
            raise ControlPlaneError(f"a control plane in {home} is starting or ending; try again in a moment")
        time.sleep(_LOOK_SECONDS)
    return lock


def _is_running(home: Path) -> bool:
    if not home.exists():
        return False
    lock = FileLock(home / "running")
    if lock.take(shared=True, wait=False):
        lock.release()
        return False
    return True


def _end(home: Path) -> None:
    pid = int((home / "running").read_text())
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + _END_SECONDS
    while _is_running(home):
        if time.monotonic() > deadline:
            raise ControlPlaneError(f"the keeper (pid {pid}) does not end:\n{tail(home / 'keeper.log')}")
        time.sleep(_LOOK_SECONDS)


def keep(order: Order) -> None:
    """Runs until SIGTERM, or until nobody uses the control plane."""
    home = Path(order.home)
    ended = False

    def end(_number: int, _frame: FrameType | None) -> None:
        nonlocal ended
        ended = True

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    users = users_lock(home)
    with ControlPlane(order.options, directory=home / "plane") as plane:
        ready = home / "access.new"
        ready.write_bytes(plane.access.to_json())
        ready.rename(home / "access.json")
        while not ended and not (order.while_used and users.take(wait=False)):
            time.sleep(_LOOK_SECONDS)
    (home / "access.json").unlink()
    if order.while_used:
        # Away in one step: who comes now finds nothing, and not a directory that is half gone.
        gone = home.with_name(f"{home.name}-gone-{secrets.token_hex(4)}")
        home.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def main() -> None:
    order = msgspec.json.decode(sys.argv[1], type=Order)
    os.set_inheritable(order.lock, False)
    # Nobody's child: who started it neither has to wait for it nor is left with a dead one.
    pid = os.fork()
    if pid:
        (Path(order.home) / "running").write_text(str(pid))
        os._exit(0)
    keep(order)
