"""What became of an object that `explain` does not find: the history knows whether Skoupa deleted it."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from datetime import tzinfo
from typing import Any

import msgspec

from skoupa.cli.options import Connecting, TextForm
from skoupa.cli.remembering.history import in_words
from skoupa.cli.remembering.ledgers import LedgerChoice, opened
from skoupa.cli.remembering.recalling import Filters, recall
from skoupa.cli.remembering.remembered import HistoryDocument, history_item
from skoupa.cli.terminal import output
from skoupa.cli.terminal.tables import printable
from skoupa.cli.worlds import World
from skoupa.errors import NoController, SkoupaError, UsageError
from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.rows import Entry


async def look_back(
    missing: UsageError,
    target: str,
    *,
    world: World,
    ledger: Mapping[str, Any],
    connecting: Connecting,
    zone: tzinfo,
) -> Entry:
    """The newest decision about it; raises where there is none, or none can be had."""
    choice = LedgerChoice(**ledger)
    filters = Filters(words=(target,), namespace=world.namespace, limit=1)
    try:
        async with opened(choice, connecting=connecting, world=world) as source:
            entries, _ = await recall(source, filters, now=time.time(), zone=zone)
    except NoController:
        # Where no Skoupa is, nothing went by it.
        raise missing from None
    except SkoupaError as error:
        if choice.ledger is not None:
            raise
        raise UsageError(
            f"{missing.message}; whether it went by Skoupa is not known here: {error}", advice=missing.advice
        ) from missing
    if not entries:
        seen = "is known here" if choice.ledger is not None else "its history shows you"
        raise UsageError(
            f"{missing.message}; if there was, it went not by Skoupa, as far as {seen}",
            advice=missing.advice,
        ) from missing
    return entries[0]


def tell_gone(entry: Entry, *, zone: tzinfo, form: TextForm) -> None:
    now = time.time()
    if form != "text":
        document = HistoryDocument(now=whole_seconds(now), items=(history_item(entry),))
        output.write(msgspec.to_builtins(document), form)
        return
    sys.stdout.writelines(f"{printable(line)}\n" for line in in_words(entry, None, now=now, zone=zone))
