"""`skoupa trash purge`: erases what is kept of deleted objects, for good; the rows of the history stay."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import typer

from skoupa.cli import exits
from skoupa.cli.options import Connecting
from skoupa.cli.remembering.ledgers import LedgerChoice, opened
from skoupa.cli.remembering.recalling import existing
from skoupa.cli.terminal.confirming import confirm
from skoupa.cli.terminal.tables import printable
from skoupa.errors import UsageError
from skoupa.ledger.rows import Entry


def run(
    *, connecting: Connecting, action: str, ids: tuple[str, ...], ledger: dict[str, Any], yes: bool
) -> None:
    if action != "purge":
        raise UsageError(f'trash can\'t "{action}"', advice="write: skoupa trash purge ID")
    choice = LedgerChoice(**ledger)
    entries = asyncio.run(_look(choice, ids, connecting=connecting))
    for entry in entries:
        sys.stdout.write(printable(f"{entry.id} {_called(entry)}: {_state(entry)}") + "\n")
    kept = [entry for entry in entries if entry.kept > 0]
    if not kept:
        return
    if not yes:
        question = f"Erase what is kept of {len(kept)} object{'s' * (len(kept) != 1)} for good?"
        confirm(question, done="purged", command="purge")
    gone = asyncio.run(_purge(choice, kept, connecting=connecting))
    sys.stdout.write(f"{gone} of {len(kept)} purged.\n")
    if gone < len(kept):
        raise typer.Exit(exits.LEFTOVERS)


async def _look(choice: LedgerChoice, ids: tuple[str, ...], *, connecting: Connecting) -> list[Entry]:
    """All of them, before anything is erased: one wrong id and nothing is."""
    async with opened(choice, connecting=connecting) as source:
        return [await existing(source, entry_id) for entry_id in dict.fromkeys(ids)]


async def _purge(choice: LedgerChoice, entries: list[Entry], *, connecting: Connecting) -> int:
    async with opened(choice, connecting=connecting, writable=True) as source:
        return sum([await source.purge(entry.id) for entry in entries])


def _called(entry: Entry) -> str:
    where = f"{entry.namespace}/" if entry.namespace else ""
    return f"{entry.kind} {where}{entry.name}"


def _state(entry: Entry) -> str:
    if entry.kept < 0:
        return "purged already" if entry.forgotten_at is None else "forgotten already"
    return f"{entry.kept} bytes in the trash" if entry.kept else "nothing in the trash"
