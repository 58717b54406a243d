"""What can go wrong while a control plane is provided or run.

ControlPlaneError
    NoBinaryError        a program could not be found, downloaded or built, by none of the ways
    PassedOverError      one way to a program leads nowhere; the next one is tried
    ProcessEndedError    a process ended that should run; carries the tail of its log
    NotReadyError        a process runs, but did not become ready in time; carries the tail of its log
"""

from __future__ import annotations

from pathlib import Path

_TAIL_LINES = 20


class ControlPlaneError(Exception):
    pass


class NoBinaryError(ControlPlaneError):
    pass


class PassedOverError(ControlPlaneError):
    pass


class ProcessEndedError(ControlPlaneError):
    def __init__(self, name: str, *, returncode: int, log: Path) -> None:
        super().__init__(f"{name} ended with exit code {returncode}. The end of its log:\n{tail(log)}")
        self.name = name
        self.returncode = returncode


class NotReadyError(ControlPlaneError):
    def __init__(self, name: str, *, seconds: float, last: str, log: Path) -> None:
        super().__init__(
            f"{name} was not ready after {seconds:.0f} s (last answer: {last}). The end of its log:\n{tail(log)}"
        )
        self.name = name


def tail(log: Path, *, lines: int = _TAIL_LINES) -> str:
    """The last lines of a log, indented to stand out in an error."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - lines * 500))
            text = file.read().decode(errors="replace")
    except OSError as error:
        return f"    (no log: {error})"
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:]) or "    (the log is empty)"
