"""Documents and lists on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

import msgspec

from skoupa.cli.terminal.items import Document


def write(document: Document | Mapping[str, object], form: str) -> None:
    """As `json` or `yaml`."""
    if form == "yaml":
        from skoupa.cli.terminal import yaml_text  # noqa: PLC0415 - seldom wanted, and not quick to import

        yaml_text.write(msgspec.to_builtins(document), sys.stdout)
        return
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(document)).decode() + "\n")


def write_lines(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
