"""What every command promises: help with an example, exit codes for misuse, and no traceback when something is unforeseen."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import typer.main

from skoupa import __version__
from skoupa.cli.app import app
from skoupa.cli.running import version
from tests.unit.cli.saying import Shell

pytestmark = pytest.mark.unit


def commands(group: Any = None, *above: str) -> dict[tuple[str, ...], str]:
    """Each command by its words, and the text that it explains itself with; second names are hidden."""
    found: dict[tuple[str, ...], str] = {}
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():
        words = (*above, name)
        if command.hidden:
            continue
        found |= commands(command, *words) if hasattr(command, "commands") else {words: command.help}
    return found


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_the_help_of_every_command_has_examples_in_one_piece(skoupa: Shell, command: tuple[str, ...]) -> None:
    said = skoupa(*command, "--help")
    assert said.code == 0
    assert said.err == ""
    shown = [line.strip() for line in said.out.splitlines()]
    _, found, text = commands()[command].partition("Example")
    assert found, "there is no example"
    examples = [line.removeprefix(": ").strip() for line in text.splitlines() if "skoupa " in line]
    assert any(" ".join(("skoupa", *command)) in example for example in examples)
    for example in examples:
        whole = {example, f"Example: {example}"}
        assert whole & set(shown), f"an example that is broken in two can't be copied: {example}"


def test_the_help_of_skoupa_names_the_commands_and_the_exit_codes(skoupa: Shell) -> None:
    said = skoupa("--help")
    assert said.code == 0
    for name in {words[0] for words in commands()}:
        assert f"  {name} " in said.out
    told = " ".join(said.out.split())
    for code in ("0 done", "1 unexpected", "2 usage", "3 timed out", "4 leftovers", "7 interrupted"):
        assert code in told


@pytest.mark.parametrize(
    "args",
    [("version", "--bogus"), ("nosuch",), ("version", "-o", "xml")],
    ids=["option", "command", "value"],
)
def test_misuse_is_exit_code_2_and_says_where_help_is(skoupa: Shell, args: tuple[str, ...]) -> None:
    said = skoupa(*args)
    assert said.code == 2
    assert said.out == ""
    assert "--help" in said.err
    assert "Traceback" not in said.err


def test_the_own_version_needs_no_cluster(skoupa: Shell) -> None:
    said = skoupa("version", "--client")
    assert (said.code, said.out, said.err) == (0, f"skoupa {__version__}\n", "")
    told = json.loads(skoupa("version", "--client", "-o", "json").out)
    assert told == {"apiVersion": "skoupa.dev/v1alpha1", "client": __version__}


def test_the_version_is_an_option_too(skoupa: Shell) -> None:
    assert skoupa("--version") == skoupa("version", "--client")


def test_help_is_quick_because_heavy_modules_wait_for_the_command_that_needs_them() -> None:
    code = "import sys; sys.argv[1:] = ['--help']; import skoupa.__main__ as m\ntry: m.main()\nexcept SystemExit: pass\n"
    code += "print([name for name in ('aiohttp', 'yaml', 'uvloop', 'rich') if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "[]"


def raising(error: BaseException) -> object:
    def run(**_: object) -> None:
        raise error

    return run


def test_what_is_unforeseen_is_a_sentence_that_asks_for_a_report(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version, "run", raising(ValueError("seven is not a colour")))
    said = skoupa("version")
    assert said.code == 1
    assert "seven is not a colour" in said.sentence
    assert "SKOUPA_DEBUG=1" in said.sentence
    with pytest.raises(ValueError, match="colour"):
        skoupa("version", env={"SKOUPA_DEBUG": "1"})


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), BaseExceptionGroup("tasks", [KeyboardInterrupt()])],
    ids=["alone", "in a group"],
)
def test_an_interrupt_is_exit_code_7(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    monkeypatch.setattr(version, "run", raising(error))
    said = skoupa("version")
    assert said.code == 7
    assert "interrupted" in said.sentence
