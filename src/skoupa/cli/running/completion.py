"""`skoupa completion`: the script for a shell, and readiness to answer what it asks.

The script calls the program again with `_SKOUPA_COMPLETE` set. Typer answers, once it knows the shells.
"""

from __future__ import annotations

import sys

from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script

from skoupa.__main__ import COMPLETING


def run(*, shell: str) -> None:
    script = get_completion_script(prog_name="skoupa", complete_var=COMPLETING, shell=shell)
    sys.stdout.write(f"{script}\n")


def prepare() -> None:
    """Typer does it by itself only where its own --install-completion is on, which writes into people's rc files."""
    completion_init()
