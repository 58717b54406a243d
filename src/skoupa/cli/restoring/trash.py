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
from skoupa.cli.terminal.saying import say
from skoupa.cli.terminal.tables import printable
from skoupa.errors import NotErased, UsageError
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
    if kept and not yes:
        question = f"Erase what is kept of {len(kept)} object{'s' * (len(kept) != 1)} for good?"
        confirm(question, done="purged", command="purge")
    # Of what is out of the trash already the bytes may not be: then it is asked for once more.
    there = [entry for entry in entries if entry.kept]
    gone, left = asyncio.run(_purge(choice, there, connecting=connecting)) if there else (0, 0)
    if kept:
        sys.stdout.write(f"{gone} of {len(kept)} purged.\n")
    if gone < len(kept) or left:
        raise typer.Exit(exits.LEFTOVERS)


async def _look(choice: LedgerChoice, ids: tuple[str, ...], *, connecting: Connecting) -> list[Entry]:
    """All of them, before anything is erased: one wrong id and nothing is."""
    async with opened(choice, connecting=connecting) as source:
        return [await existing(source, entry_id) for entry_id in dict.fromkeys(ids)]


async def _purge(choice: LedgerChoice, entries: list[Entry], *, connecting: Connecting) -> tuple[int, int]:
    """How many are erased, and how many are only out of the trash."""
    gone = left = 0
    async with opened(choice, connecting=connecting, writable=True) as source:
        for entry in entries:
            try:
                gone += await source.purge(entry.id)
            except NotErased as error:
                left += 1
                say(str(error))
    return gone, left


def _called(entry: Entry) -> str:
    where = f"{entry.namespace}/" if entry.namespace else ""
    return f"{entry.kind} {where}{entry.name}"


def _state(entry: Entry) -> str:
    if entry.kept < 0:
        return "purged already" if entry.forgotten_at is None else "forgotten already"
    return f"{entry.kept} bytes in the trash" if entry.kept else "nothing in the trash"
