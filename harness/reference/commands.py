"""docs/commands.md: every command as it explains itself with --help."""

from __future__ import annotations

from typing import Any, Final

import typer.main

from harness.reference.markdown import page
from skoupa.cli.app import app

_WIDTH: Final = 100
_INTRODUCTION: Final = """
`skoupa`, also reachable as `kubectl skoupa`, reads the kubeconfig as kubectl does. What is meant for programs goes to standard
output, everything else to standard error. [Exit codes](exit-codes.md) are the same for all commands; what `-o json` prints
is described in [output](output.md).
"""


def commands_page() -> str:
    group = command_group()
    root = _context(group, "skoupa", parent=None)
    parts = [_INTRODUCTION]
    aliases: dict[Any, list[str]] = {}
    for name, command in group.commands.items():
        if command.hidden:
            aliases.setdefault(_told(command), []).append(name)
    for name, command in group.commands.items():
        if command.hidden:
            continue
        text = command.get_help(_context(command, name, parent=root))
        also = "".join(f"\n\nAlso called `skoupa {alias}`." for alias in aliases.get(_told(command), ()))
        parts.append(f"## skoupa {name}{also}\n\n```text\n{text.rstrip()}\n```")
        within = _context(command, name, parent=root)
        for below, part in getattr(command, "commands", {}).items():
            told = part.get_help(_context(part, below, parent=within))
            parts.append(f"### skoupa {name} {below}\n\n```text\n{told.rstrip()}\n```")
    return page("Commands", *parts, source="skoupa.cli.app")


def command_group() -> Any:
    """The commands as typer understands them; it has no public type for that."""
    return typer.main.get_command(app)


def _told(command: Any) -> tuple[str, tuple[str, ...]]:
    return str(command.help), tuple(str(param.name) for param in command.params)


def _context(command: Any, name: str, *, parent: Any) -> Any:
    # Not as wide as the terminal that happens to be here.
    return command.context_class(
        command, info_name=name, parent=parent, terminal_width=_WIDTH, max_content_width=_WIDTH
    )
