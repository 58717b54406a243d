"""How a command ends when somebody ends it, or when nobody can read what it says."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec
import pytest
import yaml

from skoupa.cli import app as commands
from skoupa.cli import dispatch
from tests.unit.cli.processes import SKOUPA, Ended, ended, environment, started, waiting_on
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import config_map

pytestmark = pytest.mark.unit

SENTENCE = "skoupa: interrupted; nothing is lost, run it again to go on\n"


def interrupting(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


def test_an_interrupt_while_the_command_is_imported_is_exit_code_7(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "importlib", SimpleNamespace(import_module=interrupting))
    said = skoupa("plan")
    assert (said.code, said.err) == (7, SENTENCE)


def test_an_interrupt_while_the_program_is_imported_is_exit_code_7(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = ModuleType("skoupa.cli.app")
    half.__getattr__ = interrupting  # type: ignore[method-assign] # what an import statement asks
    monkeypatch.setitem(sys.modules, "skoupa.cli.app", half)
    said = skoupa("plan")
    assert (said.code, said.err) == (7, SENTENCE)


def test_an_interrupt_while_the_command_line_is_read_is_exit_code_7(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "dispatch", interrupting)
    said = skoupa("version")
    assert (said.code, said.err) == (7, SENTENCE)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("command", ["plan", "demo"])
def test_a_signal_while_files_are_read_is_exit_code_7(
    tmp_path: Path, command: str, number: signal.Signals
) -> None:
    pipe = tmp_path / "a.yaml"
    said = waiting_on(pipe, command, "--from", str(pipe), send=number)
    assert (said.code, said.err) == (7, SENTENCE)


def test_who_ignores_interrupts_can_still_be_terminated(tmp_path: Path) -> None:
    """What a shell without job control starts in the background has SIGINT ignored."""
    pipe = tmp_path / "a.yaml"
    ignoring = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
    said = waiting_on(pipe, "plan", "--from", str(pipe), before=ignoring)
    assert (said.code, said.err) == (7, SENTENCE)


@pytest.mark.parametrize(
    "command", [("plan",), ("explain", "pod/web"), ("snapshot",), ("version",)], ids=lambda words: words[0]
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_while_a_server_is_awaited_is_exit_code_7(
    tmp_path: Path, command: tuple[str, ...], number: signal.Signals
) -> None:
    config = tmp_path / "config"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [
                        {
                            "name": "a",
                            "cluster": {"server": f"http://127.0.0.1:{listener.getsockname()[1]}"},
                        }
                    ],
                    "users": [{"name": "a", "user": {}}],
                    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
                    "current-context": "a",
                }
            )
        )
        process = started(*command, "--kubeconfig", str(config))
        listener.settimeout(60)
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(1000)
            process.send_signal(number)
            said = ended(process)
    assert (said.code, said.out, said.err) == (7, "", SENTENCE)


def test_a_handler_for_termination_does_not_outlive_the_command(skoupa: Shell) -> None:
    before = signal.getsignal(signal.SIGTERM)
    skoupa("version", "--client")
    assert signal.getsignal(signal.SIGTERM) is before


def manifests(folder: Path, number: int) -> str:
    path = folder / "all.yaml"
    path.write_text(yaml.safe_dump_all(config_map(f"a-{index}", "1h") for index in range(number)))
    return str(path)


@pytest.mark.parametrize("number", [1, 500], ids=["in the end", "half-way"])
@pytest.mark.parametrize("form", ["table", "json", "yaml", "name"])
def test_a_full_disk_behind_the_output_is_a_sentence(tmp_path: Path, form: str, number: int) -> None:
    with Path("/dev/full").open("w") as full:
        said = ended(started("plan", "--from", manifests(tmp_path, number), "-o", form, stdout=full))
    assert said.code == 1
    assert said.err == (
        "skoupa: standard output can't be written: no space left on device; make room, or send it elsewhere\n"
    )


@pytest.mark.parametrize("command", [("--help",), ("version", "--client"), ("demo", "--hours", "2")])
def test_no_command_blames_itself_for_a_full_disk(command: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        said = ended(started(*command, stdout=full))
    assert said.code == 1
    assert said.err.count("\n") == 1
    assert "standard output can't be written" in said.err


def test_a_reader_that_had_enough_is_no_error(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as gone:
        said = ended(started("plan", "--from", manifests(tmp_path, 500), stdout=gone))
    assert (said.code, said.err) == (0, "")


def test_an_output_that_is_closed_is_not_missed(tmp_path: Path) -> None:
    command = ["sh", "-c", '"$@" >&-', "sh", *SKOUPA, "plan", "--from", manifests(tmp_path, 1)]
    said = subprocess.run(command, env=environment(TZ="UTC"), capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_what_is_longer_than_a_pipe_takes_at_a_time_is_written_whole(tmp_path: Path, unbuffered: str) -> None:
    """Whoever shares the pipe may have made it non-blocking, and many images set PYTHONUNBUFFERED."""
    world = tmp_path / "world.yaml"
    many = (config_map(f"web-{index}", ttl="1h") for index in range(1000))
    world.write_text(yaml.safe_dump_all(many), encoding="utf-8")
    read, write = os.pipe()
    os.set_blocking(write, False)
    process = subprocess.Popen(
        [*SKOUPA, "plan", "-A", "--from", str(world), "-o", "json"],
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=subprocess.PIPE,
        env=environment(TZ="UTC", PYTHONUNBUFFERED=unbuffered),
        text=True,
    )
    os.close(write)
    with os.fdopen(read, "rb") as output:
        written = output.read()
    assert ended(process) == Ended(code=0, out="", err="")
    assert len(written) > 2**18, "more than a pipe takes at a time"
    assert len(msgspec.json.decode(written)["items"]) == 1000
