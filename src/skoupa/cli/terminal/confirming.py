"""The question before something is done that can't be taken back; without a terminal to ask on, `--yes` has to be given.

Asked outside of an event loop, where Ctrl-C ends it at once.
"""

from __future__ import annotations

import sys

import typer

from skoupa.cli import exits
from skoupa.cli.terminal.saying import say


def confirm(question: str, *, done: str, command: str, for_programs: bool = False) -> None:
    """Ends the command unless the answer is yes. `done` is what was not done then: deleted, released.

    `for_programs`: standard output is for those, so the question goes elsewhere.
    """
    if not sys.stdin.isatty():
        say(f"nothing was {done}: without a terminal to ask on, {command} needs --yes")
        raise typer.Exit(exits.REFUSED)
    out = sys.stderr if for_programs else sys.stdout
    out.write(f"{question} [y/N] ")
    out.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        say(f"nothing was {done}")
        raise typer.Exit(exits.REFUSED)
