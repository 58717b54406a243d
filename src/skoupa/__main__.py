"""The way in: `skoupa`, `kubectl skoupa`, `python -m skoupa`.

The one boundary where errors become a sentence and an exit code. Heavy modules are imported by the commands that need
them: `skoupa --help` has to be quick.
"""

from __future__ import annotations

import os
import sys

# Help texts are plain: drawing them costs more start-up time than the rest of the command.
os.environ.setdefault("TYPER_USE_RICH", "0")

INTERRUPTED = 7
# Set by the shell's completion function when it asks what could come next.
COMPLETING = "_SKOUPA_COMPLETE"


def main() -> None:
    from skoupa.cli.app import app  # noqa: PLC0415

    if COMPLETING in os.environ:
        from skoupa.cli.completion import prepare  # noqa: PLC0415

        prepare()
    try:
        app(prog_name="skoupa")
    except SystemExit:
        # The usual end; the clauses below would import the errors, which need msgspec.
        raise
    except _known() as error:
        _say(str(error))
        sys.exit(getattr(error, "exit_code", 1))
    except BaseExceptionGroup as group:
        _leave_with_group(group, _known())
    except KeyboardInterrupt:
        _say("interrupted; nothing is lost, run it again to go on")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _leave_quietly()
    except Exception as error:
        if os.environ.get("SKOUPA_DEBUG"):
            raise
        _say(
            f"unexpected {type(error).__name__}: {error}. This is a bug in Skoupa; nothing more was done. "
            "SKOUPA_DEBUG=1 shows where it happened"
        )
        sys.exit(1)


def _known() -> type[Exception]:
    from skoupa.errors import SkoupaError  # noqa: PLC0415

    return SkoupaError


def _leave_quietly() -> None:
    """The reader of a pipe (`| head`) had enough; Python would complain while closing stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def _leave_with_group(group: BaseExceptionGroup[BaseException], known: type[Exception]) -> None:
    """Tasks that fail together are told as their first understood error."""
    if group.split(BrokenPipeError)[0] is not None:
        _leave_quietly()
    if group.split(KeyboardInterrupt)[0] is not None:
        _say("interrupted; nothing is lost, run it again to go on")
        sys.exit(INTERRUPTED)
    expected, rest = group.split(known)
    if rest is not None and os.environ.get("SKOUPA_DEBUG"):
        raise rest
    first: BaseException = (expected or group).exceptions[0]
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    _say(str(first) if expected else f"unexpected {type(first).__name__}: {first}")
    sys.exit(getattr(first, "exit_code", 1))


def _say(sentence: str) -> None:
    if sys.stderr.isatty():
        # A line of progress may be standing there.
        sys.stderr.write("\r\x1b[K")
    sys.stderr.write(f"skoupa: {sentence}\n")


if __name__ == "__main__":
    main()
