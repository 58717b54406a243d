"""A program that is run for its answer and never outlives the wait for it.

Standard output is collected up to a limit, of standard error the end is kept. When the wait ends early (a timeout, a
cancellation, too long an answer) the program is killed, with its children if it has a group of its own.
Not `asyncio.create_subprocess_exec`: its Process can't be left while a grandchild holds a pipe open.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TypeAlias

from skoupa.kube.login.secret import Secret

LONGEST_ANSWER = 2**20
_STDERR_KEPT = 2**13

_Starting: TypeAlias = "asyncio.Future[tuple[asyncio.SubprocessTransport, Process]]"


class Process(asyncio.SubprocessProtocol):
    """One run. `answer` and `said` hold standard output and the end of standard error, also after a failure."""

    def __init__(self, *, echo: bool) -> None:
        """With `echo`, standard error is also passed on as it comes."""
        self.answer = bytearray()
        self.said = bytearray()
        self._echo = echo
        loop = asyncio.get_running_loop()
        self._exited: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()

    @property
    def endless(self) -> bool:
        return len(self.answer) > LONGEST_ANSWER

    async def run(
        self, program: str, args: Iterable[Secret], *, environment: Mapping[str, str], terminal: bool
    ) -> int:
        """The exit code, negative for a signal. With `terminal`, standard input is ours, otherwise it is empty."""
        starting = asyncio.ensure_future(
            asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                program,
                *(arg.reveal() for arg in args),
                stdin=None if terminal else asyncio.subprocess.DEVNULL,
                env=dict(environment),
                # Who talks to the terminal has to stay in the group that the terminal belongs to.
                start_new_session=not terminal,
            )
        )
        whole = False
        try:
            # Shielded: asyncio leaves a pipe open, and may wait for a grandchild, when a start is cancelled halfway.
            await asyncio.shield(starting)
            await self._ended
            whole = not self.endless
        finally:
            await self._leave(starting, kill=not whole, group=not terminal)
        return starting.result()[0].get_returncode() or 0

    async def _leave(self, starting: _Starting, *, kill: bool, group: bool) -> None:
        # An OSError here is one of the start: the caller has it already, or was cancelled.
        with suppress(OSError):
            transport, _ = await starting
            if kill:
                _kill(transport, group=group)
            transport.close()
            await self._exited

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.said += data
            del self.said[:-_STDERR_KEPT]
            if self._echo:
                sys.stderr.write(data.decode(errors="replace"))
                sys.stderr.flush()
        elif not self.endless:
            self.answer += data
            if self.endless:
                _settle(self._ended)

    def process_exited(self) -> None:
        _settle(self._exited)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the name is asyncio's
        _settle(self._ended)


def _settle(future: asyncio.Future[None], /) -> None:
    if not future.done():
        future.set_result(None)


def _kill(transport: asyncio.SubprocessTransport, /, *, group: bool) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if group and hasattr(os, "killpg"):
            os.killpg(transport.get_pid(), signal.SIGKILL)
        else:
            transport.kill()
