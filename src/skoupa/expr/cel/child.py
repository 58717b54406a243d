"""The process that expressions run in: reads a batch, answers one result per object, and may be killed at any time.

Memory is limited by RLIMIT_AS, each condition by a timer of CPU seconds whose signal ends the process: the engine holds
the interpreter's lock, so nothing softer reaches it. Which object and condition it is at stands in a file that the
parent maps too, so that a dead child blames one object only. Started by `pool` as `python -m skoupa.expr.cel.child`.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import os
import random
import resource
import signal
import socket
import sys
import time
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from skoupa.expr.cel.framing import NOWHERE, PROGRESS, receive_now, send_now
from skoupa.expr.cel.library.documents import whole
from skoupa.expr.cel.library.world import World
from skoupa.expr.cel.messages import (
    Answer,
    Asked,
    Circumstances,
    Compile,
    Compiled,
    Finished,
    FromChild,
    HttpCall,
    Judge,
    Judged,
    PostResource,
    Question,
    Ready,
    Report,
    Result,
    ToChild,
)
from skoupa.expr.cel.objects import PAGE, Page, Reading
from skoupa.expr.cel.program import Compiler, Program

_FLUSHED_EVERY: Final = 0.5
_DEEPEST: Final = 12_000
_REMEMBERED_BYTES: Final = 16 * 2**20
_DECODER: Final = msgspec.json.Decoder(ToChild)


class Child:
    def __init__(self, line: socket.socket, *, progress: mmap.mmap, seconds: float, retire: int) -> None:
        self._line = line
        self._progress = progress
        self._seconds = seconds
        self._retire = retire
        self._world = World()
        self._world.ask = self._ask
        self._compiler = Compiler(self._world)
        self._compiled = functools.lru_cache(maxsize=256)(self._compiler.compile)
        self._answers: dict[bytes, Any] = {}
        self._remembered = 0

    def serve(self) -> None:
        """Until the parent is gone."""
        self._at(NOWHERE, 0)
        self._send(Ready())
        while True:
            self._at(NOWHERE, 0)
            message = self._receive()
            if isinstance(message, Compile):
                self._allow(self._seconds)
                _, report = self._compiled(message.source)
                self._allow(0)
                self._send(Compiled(report=report))
            elif isinstance(message, Judge):
                self._judge(message, receive_now(self._line))

    def _judge(self, judge: Judge, data: bytes) -> None:
        began = time.process_time()
        self._answers.clear()
        self._remembered = 0
        error, done, left = "", 0, False
        try:
            page = PAGE.decode(data)
        except (msgspec.DecodeError, MemoryError, RecursionError) as problem:
            error = f"the page can't be read: {problem or 'it needs more memory than there is'}"
        else:
            self._allow(self._seconds)
            program, report = self._compiled(judge.source)
            done = self._batch(judge, page, program=program, report=report)
            left = judge.start + done < len(page.items)
        self._allow(0)
        self._send(
            Finished(objects=done, cpu=time.process_time() - began, peak=_resident(), error=error, left=left)
        )

    def _batch(self, judge: Judge, page: Page, *, program: Program | None, report: Report) -> int:
        """How many objects were judged: all, unless time was up or this process grew too large."""
        if program is None:
            wrong = Result(False, str(report.problems[0]))
            self._send(Judged(start=judge.start, results=(wrong,) * (len(page.items) - judge.start)))
            return len(page.items) - judge.start
        circumstances = judge.circumstances
        self._world.now = datetime.fromtimestamp(circumstances.now, UTC)
        self._world.namespace = judge.source.namespace
        reading = Reading(page, looks=program.looks, circumstances=circumstances)
        results: list[Result] = []
        start, flushed = judge.start, time.monotonic()
        until = flushed + judge.seconds
        for index in range(judge.start, len(page.items)):
            if index in judge.skip:
                results.append(Result(False, "skipped"))
                continue
            self._at(index, 0)
            self._allow(self._seconds)
            results.append(
                self._object(
                    page.items[index], index, program=program, reading=reading, circumstances=circumstances
                )
            )
            now = time.monotonic()
            if now - flushed > _FLUSHED_EVERY:
                self._send(Judged(start=start, results=tuple(results)))
                start, flushed, results = index + 1, now, []
            if now >= until or _resident() > self._retire:
                break
        self._at(NOWHERE, 0)
        self._send(Judged(start=start, results=tuple(results)))
        return start + len(results) - judge.start

    def _object(
        self,
        raw: msgspec.Raw,
        index: int,
        *,
        program: Program,
        reading: Reading,
        circumstances: Circumstances,
    ) -> Result:
        try:
            if program.looks.chance:
                # The same object gets the same chance in whichever child and page it is judged.
                self._world.chance = random.Random(f"{circumstances.seed} {reading.identity(raw).uid}")  # noqa: S311
            activation = self._compiler.evaluator.Activation(reading.data(raw))

            def begin(number: int) -> None:
                self._at(index, number)
                if number:
                    self._allow(self._seconds)

            return program.judge(activation, world=self._world, begin=begin)
        except msgspec.DecodeError as error:
            return Result(False, f"the object can't be read: {error}")
        except RecursionError:
            return Result(False, "the object is nested too deeply to be looked at")
        except MemoryError:
            return Result(False, "the object needs more memory than expressions may have")
        except ValueError as error:
            return Result(False, str(error))

    def _ask(self, question: Question) -> Any:
        changes = isinstance(question, PostResource) or (
            isinstance(question, HttpCall) and question.method == "POST"
        )
        key = None if changes else msgspec.json.encode(question)
        if key is not None and key in self._answers:
            return self._answers[key]
        self._send(Asked(question=question))
        answer = self._receive()
        assert isinstance(answer, Answer)
        if answer.error:
            raise ValueError(answer.error)
        data = receive_now(self._line)
        try:
            value = msgspec.json.decode(data)
        except msgspec.DecodeError as error:
            raise ValueError(f"the answer is no JSON: {error}") from error
        if b"\\u0000" in data:
            whole(value)
        self._remembered += len(data)
        if key is not None and self._remembered <= _REMEMBERED_BYTES:
            self._answers[key] = value
        return value

    def _receive(self) -> ToChild:
        message: ToChild = _DECODER.decode(receive_now(self._line))
        return message

    def _send(self, message: FromChild) -> None:
        send_now(self._line, msgspec.json.encode(message))

    def _at(self, index: int, condition: int) -> None:
        PROGRESS.pack_into(self._progress, 0, index, condition)

    def _allow(self, seconds: float) -> None:
        """Unless allowed anew before, the process ends after so much CPU time; 0 takes the limit away."""
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _resident() -> int:
    """The memory in use. What the system calls the most of it is, at first, that of the process it was forked from."""
    file = _memory_file()
    if file is None:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return int(os.pread(file, 128, 0).split()[1]) * resource.getpagesize()


@functools.cache
def _memory_file() -> int | None:
    """Kept open: it is read after every object, and opening it took longer than judging one."""
    try:
        return os.open("/proc/self/statm", os.O_RDONLY)
    except OSError:
        return None


def main(line_number: str, progress_number: str, *limits: str) -> None:
    memory_bytes, seconds, retire_bytes = limits
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Some systems have the limit in name only; the timer and the parent still stand.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (int(memory_bytes), int(memory_bytes)))
    # As deep as the API server takes objects; what the engine can't take ends the process, and so one object only.
    sys.setrecursionlimit(_DEEPEST)
    if sys.version_info < (3, 12):
        # The engine gives away references to None that it does not own; when they run out, Python ends the process.
        ctypes.c_ssize_t.from_address(id(None)).value += 2**40
    line = socket.socket(fileno=int(line_number))
    progress = mmap.mmap(int(progress_number), PROGRESS.size)
    os.close(int(progress_number))
    with contextlib.suppress(EOFError, ConnectionError):
        Child(line, progress=progress, seconds=float(seconds), retire=int(retire_bytes)).serve()


if __name__ == "__main__":
    # Ctrl-C is for the parent, which ends its children when it is through.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main(*sys.argv[1:])
