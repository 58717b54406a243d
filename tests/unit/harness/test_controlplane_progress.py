"""What a user sees while something takes long."""

import io
import re
import threading

import pytest

from harness.controlplane.progress import Progress

pytestmark = pytest.mark.unit


class Log(io.StringIO):
    """Tells when something was written, so that no test has to sleep."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal
        self.written = threading.Event()

    def isatty(self) -> bool:
        return self._terminal

    def write(self, text: str) -> int:
        if "compiling" in text:
            self.written.set()
        return super().write(text)


def shown(*, terminal: bool) -> str:
    log = Log(terminal=terminal)
    progress = Progress(log, every=0.01)
    with progress.step("tool 1.2.3: building"):
        progress.now("compiling example.org/package")
        assert log.written.wait(10)
    return log.getvalue()


def test_a_log_gets_whole_lines_with_step_elapsed_time_and_activity() -> None:
    lines = shown(terminal=False).splitlines()
    assert lines[0] == "tool 1.2.3: building ..."
    assert re.fullmatch(r"  \d+ s  tool 1\.2\.3: building: compiling example\.org/package", lines[-2])
    assert re.fullmatch(r"tool 1\.2\.3: building: done in \d+ s", lines[-1])


def test_a_terminal_gets_one_line_that_is_drawn_again() -> None:
    text = shown(terminal=True)
    assert "\r\x1b[2K  0 s  tool 1.2.3: building: compiling example.org/package" in text
    assert text.count("\n") == 2


def test_a_failed_step_says_so() -> None:
    log = Log(terminal=False)

    def fail() -> None:
        with Progress(log).step("tool 1.2.3: building"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert log.getvalue().splitlines()[-1] == "tool 1.2.3: building: failed after 0 s"
