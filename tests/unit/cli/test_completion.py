"""`skoupa completion`: scripts that the shells accept, and answers to what they ask. Also how quickly we start."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.saying import Shell

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(skoupa: Shell, shell: str) -> None:
    said = skoupa("completion", shell)
    assert said.code == 0
    assert f"_SKOUPA_COMPLETE=complete_{shell}" in said.out


def test_another_shell_is_misuse(skoupa: Shell) -> None:
    assert skoupa("completion", "cmd").code == 2


def test_bash_completes_commands_and_options_with_the_script(skoupa: Shell, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash, "the tests need bash"
    (tmp_path / "skoupa").write_text(f'#!/bin/sh\nexec {sys.executable} -m skoupa "$@"\n')
    (tmp_path / "skoupa").chmod(0o755)
    script = skoupa("completion", "bash").out
    asked = [("skoupa pl", 1), ("skoupa plan --wi", 2), ("skoupa completion f", 2)]
    for words, current in asked:
        script += (
            f"COMP_WORDS=({words}); COMP_CWORD={current}; _skoupa_completion skoupa; echo ${{COMPREPLY[@]}}\n"
        )
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    said = subprocess.run([bash, "-c", script], env=env, capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == ["plan", "--within", "fish"]


def test_help_needs_neither_msgspec_nor_anything_of_the_rooms_below() -> None:
    code = "import sys; sys.argv[1:] = ['--help']; import skoupa.__main__ as m\ntry: m.main()\nexcept SystemExit: pass\n"
    code += "print([name for name in sys.modules if name.startswith(('msgspec', 'pydantic', 'skoupa.'))])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = said.stdout.splitlines()[-1]
    assert "msgspec" not in loaded
    assert "pydantic" not in loaded
    for room in ("kube", "controller", "expr", "settings", "errors", "sim"):
        assert f"'skoupa.{room}" not in loaded


def test_a_command_that_runs_needs_no_pydantic_which_would_be_a_third_of_its_cpu_and_memory() -> None:
    code = "import sys; sys.argv[1:] = ['history', '--ledger', '/nowhere/ledger.db', '-n', 'shop']\n"
    code += "import skoupa.__main__ as m\ntry: m.main()\nexcept SystemExit as e: print(e.code)\n"
    code += "print([name for name in sys.modules if name.startswith(('typer.', 'pydantic'))])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "there is no ledger /nowhere/ledger.db" in said.stderr
    assert "'typer.main'" in said.stdout
    assert "pydantic" not in said.stdout
