"""The way in: `skoupa`, `kubectl skoupa`, `python -m skoupa`.

The one boundary where errors become a sentence and an exit code. Heavy modules are imported by the commands that need
them: `skoupa --help` has to be quick. Standard output is emptied here, so that what can't be written is told.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import Final, NoReturn

# Help texts are plain: drawing them costs more start-up time than the rest of the command.
os.environ.setdefault("TYPER_USE_RICH", "0")

INTERRUPTED: Final = 7
# Set by the shell's completion function when it asks what could come next.
COMPLETING: Final = "_SKOUPA_COMPLETE"
# What Typer makes of Ctrl-C while it reads the command line; no command of ours has it.
_INTERRUPTED_EARLY: Final = 130
# How a write fails that no reader has ended: the disk is full, the quota, the terminal is gone.
_UNWRITABLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})


def main() -> None:
    try:
        from skoupa.cli.terminal.termination import termination_interrupts  # noqa: PLC0415

        with termination_interrupts():
            _run()
    except KeyboardInterrupt:
        _leave_interrupted()
    except SystemExit:
        # The usual end; the clauses below would import the errors, which need msgspec.
        raise
    except BrokenPipeError:
        _leave_quietly()
    except OSError as error:
        _leave_unexpected(error)
    except _known() as error:
        _leave(str(error), getattr(error, "exit_code", 1))
    except BaseExceptionGroup as group:
        _leave_with_group(group, _known())
    except Exception as error:  # noqa: BLE001 - the boundary
        _leave_unexpected(error)


def _run() -> None:
    for name in ("stdout", "stderr"):
        # Closed by whoever started us (`>&-`): nobody wants to read it.
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    _write_wholly()
    from skoupa.cli.app import app  # noqa: PLC0415

    if COMPLETING in os.environ:
        from skoupa.cli.running.completion import prepare  # noqa: PLC0415

        prepare()
    try:
        app(prog_name="skoupa")
    except SystemExit as end:
        if end.code == _INTERRUPTED_EARLY:
            raise KeyboardInterrupt from None
        sys.stdout.flush()
        raise


def _write_wholly() -> None:
    """Whatever the pipe takes at a time: a JSON document that ends in the middle would look like success.

    A pipe may have been made non-blocking by whoever shares it. With PYTHONUNBUFFERED, which many images set, Python drops what
    one system call leaves over.
    """
    out = sys.stdout
    with suppress(OSError, ValueError):
        if not os.get_blocking(out.fileno()):
            os.set_blocking(out.fileno(), True)
        if isinstance(out.buffer, io.RawIOBase):
            sys.stdout = io.TextIOWrapper(
                io.BufferedWriter(out.buffer),
                encoding=out.encoding,
                errors=out.errors,
                newline="\n",
                line_buffering=True,
            )


def _known() -> type[Exception]:
    from skoupa.errors import SkoupaError  # noqa: PLC0415

    return SkoupaError


def _leave(sentence: str, code: int) -> NoReturn:
    with suppress(OSError):
        _say(sentence)
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    sys.exit(code)


def _leave_interrupted() -> NoReturn:
    _leave("interrupted; nothing is lost, run it again to go on", INTERRUPTED)


def _leave_quietly() -> NoReturn:
    """The reader of a pipe (`| head`) had enough."""
    _drop_output()
    sys.exit(0)


def _drop_output() -> None:
    """Python would complain about what is left in the buffer while closing stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave_with_group(group: BaseExceptionGroup[BaseException], known: type[Exception]) -> NoReturn:
    """Tasks that fail together are told as their first understood error."""
    if group.split(BrokenPipeError)[0] is not None:
        _leave_quietly()
    if group.split(KeyboardInterrupt)[0] is not None:
        _leave_interrupted()
    expected, rest = group.split(known)
    if rest is not None and os.environ.get("SKOUPA_DEBUG"):
        raise rest
    first: BaseException = (expected or group).exceptions[0]
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    if expected:
        _leave(str(first), getattr(first, "exit_code", 1))
    _leave_unexpected(first)


def _leave_unexpected(error: BaseException) -> NoReturn:
    if isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None:
        why = (error.strerror or str(error)).lower()
        _leave(f"standard output can't be written: {why}; make room, or send it elsewhere", 1)
    if os.environ.get("SKOUPA_DEBUG"):
        raise error
    _leave(
        f"unexpected {type(error).__name__}: {error}. This is a bug in Skoupa; nothing more was done. "
        "SKOUPA_DEBUG=1 shows where it happened",
        1,
    )


def _say(sentence: str) -> None:
    if sys.stderr.isatty():
        # A line of progress may be standing there.
        sys.stderr.write("\r\x1b[K")
    sys.stderr.write(f"skoupa: {sentence}\n")


if __name__ == "__main__":
    main()
