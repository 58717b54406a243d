"""Processes that cannot outlive their owner."""

import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.controlplane.errors import ControlPlaneError, ProcessEndedError
from harness.controlplane.processes import Processes

pytestmark = pytest.mark.unit

OWNER = """
import os, sys, time
from pathlib import Path
from harness.controlplane.processes import Processes
directory = Path(sys.argv[1])
processes = Processes(logs=directory, remove=directory)
print(processes.start("first", ["sleep", "1000"]), processes.start("second", ["sleep", "1000"]), flush=True)
if sys.argv[2] == "fork" and os.fork() == 0:
    print(os.getpid(), flush=True)
time.sleep(1000)
"""


def eventually(condition: Callable[[], bool], what: str, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    # A process that ended but was not collected yet (by init, when its parent died) does no harm.
    return state == "Z"


class Owner:
    def __init__(self, directory: Path, mode: str = "plain") -> None:
        directory.mkdir()
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(directory), mode],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[3],
        )
        assert self.process.stdout is not None
        self.children = [int(pid) for pid in self.process.stdout.readline().split()]
        self.fork = int(self.process.stdout.readline()) if mode == "fork" else None


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    processes = Processes(logs=tmp_path)
    yield processes
    processes.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_death_of_the_owner_ends_its_processes_and_removes_their_directory(
    tmp_path: Path, number: signal.Signals
) -> None:
    directory = tmp_path / "plane"
    owner = Owner(directory)
    owner.process.send_signal(number)
    owner.process.communicate()
    for pid in owner.children:
        eventually(functools.partial(is_gone, pid), f"the end of process {pid}")
    eventually(lambda: not directory.exists(), "the removal of the directory")


def test_a_fork_of_the_owner_does_not_keep_the_processes_alive(tmp_path: Path) -> None:
    directory = tmp_path / "plane"
    owner = Owner(directory, "fork")
    assert owner.fork is not None
    owner.process.kill()
    owner.process.wait()
    try:
        for pid in owner.children:
            eventually(functools.partial(is_gone, pid), f"the end of process {pid}")
    finally:
        os.kill(owner.fork, signal.SIGKILL)
        owner.process.communicate()


def test_the_death_of_the_supervisor_ends_the_processes(processes: Processes) -> None:
    pid = processes.start("sleeper", ["sleep", "1000"])
    processes._supervisor.kill()
    eventually(lambda: is_gone(pid), "the end of the process")
    with pytest.raises(ControlPlaneError, match=r"killed|stopped"):
        processes.check("sleeper")


def test_closing_waits_until_all_processes_are_gone(processes: Processes) -> None:
    pids = [processes.start(f"sleeper{number}", ["sleep", "1000"]) for number in range(3)]
    processes.close()
    assert all(is_gone(pid) for pid in pids)
    processes.close()


def test_a_process_that_ended_is_noticed_with_the_end_of_its_log(processes: Processes) -> None:
    processes.start("broken", ["sh", "-c", "echo first; echo unknown flag >&2; exit 3"])

    def check_until_it_ended() -> None:
        while True:
            processes.check("broken")

    with pytest.raises(ProcessEndedError, match=r"broken ended with exit code 3(.|\n)*unknown flag"):
        check_until_it_ended()


def test_a_program_that_does_not_exist_is_an_error_that_names_it(processes: Processes) -> None:
    with pytest.raises(ControlPlaneError, match=r"cannot start nothing: .*no-such-program"):
        processes.start("nothing", ["/no-such-program"])


def test_a_process_that_ignores_the_request_to_end_is_killed(processes: Processes, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    pid = processes.start(
        "stubborn", ["sh", "-c", f"trap '' TERM; touch {ready}; while :; do sleep 0.05; done"]
    )
    eventually(ready.exists, "the start of the process")
    processes.stop("stubborn", number=signal.SIGTERM, grace=0.2)
    assert is_gone(pid)


def test_a_stopped_process_can_be_started_again_under_its_name(processes: Processes) -> None:
    first = processes.start("sleeper", ["sleep", "1000"])
    processes.stop("sleeper")
    second = processes.start("sleeper", ["sleep", "1000"])
    assert first != second
    processes.check("sleeper")


def test_a_running_process_is_not_started_a_second_time(processes: Processes) -> None:
    processes.start("sleeper", ["sleep", "1000"])
    with pytest.raises(ControlPlaneError, match="sleeper is running already"):
        processes.start("sleeper", ["sleep", "1000"])
