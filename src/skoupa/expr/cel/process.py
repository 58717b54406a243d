"""One child process seen from the parent: started, spoken to, and ended with the reason in words.

No thread watches it: when it dies its end of the line closes, and only then is it waited for. While its answer is
awaited, virtual time (of a simulation) stands still, because no timer knows how long a process takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import AbstractContextManager
from typing import BinaryIO, Final, cast

import msgspec

from skoupa.clock import Clock
from skoupa.expr.cel.framing import LENGTH, NOWHERE, PROGRESS, header
from skoupa.expr.cel.limits import Limits
from skoupa.expr.cel.messages import FromChild, ToChild

_NICENESS: Final = 5
_CRASHES: Final = frozenset({-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS})
_DECODER: Final = msgspec.json.Decoder(FromChild)


class Died(Exception):
    """The child is gone; `reason` goes on after the name of what it was at, `passes`: which is not to blame for it."""

    def __init__(self, reason: str, *, passes: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.passes = passes


class Process:
    """Made by `start`. After a Died, or when anything is left half-way, only `end` is of use."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        *,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        progress: mmap.mmap,
        clock: Clock,
        limits: Limits,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._progress = progress
        self._clock = clock
        self._limits = limits
        # What it said of its memory when it last finished a batch.
        self.peak = 0

    @classmethod
    async def start(cls, *, clock: Clock, limits: Limits) -> Process:
        """Ready to work. A Died that passes where the machine has no room for it."""
        try:
            child = await cls._started(clock=clock, limits=limits)
        except OSError as error:
            raise Died(f"can't begin, for no process could be started: {error}", passes=True) from error
        try:
            await child.receive()
        except Died as death:
            child.close()
            raise Died(death.reason, passes=True) from death
        except BaseException:
            child.close()
            raise
        return child

    @classmethod
    async def _started(cls, *, clock: Clock, limits: Limits) -> Process:
        with contextlib.ExitStack() as undone:
            ours, theirs = socket.socketpair()
            undone.callback(ours.close)
            with theirs, _page() as file:
                progress = undone.enter_context(mmap.mmap(file.fileno(), PROGRESS.size))
                process = subprocess.Popen(  # noqa: S603, ASYNC220 - our own module; starting takes a millisecond
                    [
                        sys.executable,
                        "-P",
                        "-m",
                        "skoupa.expr.cel.child",
                        str(theirs.fileno()),
                        str(file.fileno()),
                        str(limits.memory_bytes),
                        str(limits.expression_seconds),
                        str(limits.retire_bytes),
                    ],
                    pass_fds=(theirs.fileno(), file.fileno()),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    # Nothing of the parent's settings and secrets; its path, however it was put together.
                    env={
                        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                        "PATH": os.environ.get("PATH", ""),
                    },
                )
            undone.callback(process.wait)
            undone.callback(process.kill)
            reader, writer = await asyncio.open_connection(sock=ours)
            undone.pop_all()
        return cls(process, reader=reader, writer=writer, progress=progress, clock=clock, limits=limits)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def at(self) -> tuple[int, int] | None:
        """The object and the condition that it is at, or was when it died; None: between batches."""
        index, condition = PROGRESS.unpack_from(self._progress, 0)
        return None if index == NOWHERE else (index, condition)

    async def send(self, message: ToChild, *bodies: bytes) -> None:
        try:
            for payload in (msgspec.json.encode(message), *bodies):
                self._writer.write(header(payload))
                self._writer.write(payload)
            with _standing():
                async with self._clock.timeout(self._limits.silence_seconds):
                    await self._writer.drain()
        except (ConnectionError, TimeoutError) as error:
            raise self._end(error) from error

    async def receive(self) -> FromChild:
        try:
            with _standing():
                async with self._clock.timeout(self._limits.silence_seconds):
                    (length,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
                    message: FromChild = _DECODER.decode(await self._reader.readexactly(length))
                    return message
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError) as error:
            raise self._end(error) from error

    def stand_back(self) -> None:
        """From now on whatever else there is to do on the machine goes first."""
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, _NICENESS)

    def end(self) -> None:
        """Kills and forgets it; may be called again."""
        self._writer.close()
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        self.end()
        self._progress.close()

    def _end(self, error: Exception) -> Died:
        silent = isinstance(error, TimeoutError)
        if not silent:
            # Its end of the line is closed, so it is on its way out with a code of its own.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=1)
        self.end()
        code = self._process.returncode
        return Died(
            _told(code, silent=silent, limits=self._limits), passes=silent or _came_from_outside(code)
        )


def _standing() -> AbstractContextManager[None]:
    stand = getattr(asyncio.get_running_loop(), "standing", None)
    return stand() if stand is not None else contextlib.nullcontext()


def _page() -> BinaryIO:
    """A file for both to map, in memory: a pod has no disk that it may write to."""
    if hasattr(os, "memfd_create"):
        file: BinaryIO = os.fdopen(os.memfd_create("skoupa-progress"), "w+b")
    else:
        file = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - closed by who asks
    file.write(PROGRESS.pack(NOWHERE, 0))
    file.flush()
    return file


def _came_from_outside(code: int) -> bool:
    """Whether somebody killed it, and not what it was at."""
    return code < 0 and code not in {-signal.SIGPROF, *_CRASHES}


def _told(code: int, *, silent: bool, limits: Limits) -> str:
    if silent:
        return f"did not answer within {limits.silence_seconds:g} s and was ended: look at fewer or smaller values"
    if code == -signal.SIGPROF:
        return (
            f"took more than {limits.expression_seconds:g} s of CPU time and was ended: "
            "look at fewer or smaller values"
        )
    if code in _CRASHES:
        return (
            f"ended its process (signal {-code}), most likely because it needs more than "
            f"{limits.memory_bytes // 2**20} MiB of memory or is nested too deeply: look at smaller values"
        )
    if code < 0:
        return f"came to no end, for its process was killed (signal {-code}): this may pass"
    return f"ended its process with code {code}, which no expression should: please report it"
