"""What became of an object that `explain` does not find: the ledger knows whether Skoupa deleted it."""

from __future__ import annotations

import asyncio
import sys
import time
from datetime import tzinfo

import msgspec

from skoupa.cli import output
from skoupa.cli.history import in_words
from skoupa.cli.ledgers import LedgerChoice, opened
from skoupa.cli.options import Connecting, TextForm
from skoupa.cli.recalling import Filters, namespace_of, recall
from skoupa.cli.remembered import HistoryDocument, history_item
from skoupa.cli.tables import printable
from skoupa.errors import UsageError
from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.rows import Entry


def tell_gone(
    missing: UsageError,
    target: str,
    *,
    ledger: str,
    connecting: Connecting,
    zone: tzinfo,
    form: TextForm,
) -> None:
    """The newest decision about it; raises where there is none."""
    now = time.time()
    namespace = namespace_of(connecting, all_namespaces=False)
    filters = Filters(words=(target,), namespace=namespace, limit=1)
    entries = asyncio.run(_find(ledger, filters, now=now, zone=zone))
    if not entries:
        raise UsageError(
            f"{missing.message}; if there was, it went not by Skoupa, as far as is known here",
            advice=missing.advice,
        ) from missing
    if form != "text":
        items = (history_item(entries[0]),)
        document = HistoryDocument(now=whole_seconds(now), items=items)
        output.write(msgspec.to_builtins(document), form)
        return
    sys.stdout.writelines(f"{printable(line)}\n" for line in in_words(entries[0], None, now=now, zone=zone))


async def _find(ledger: str, filters: Filters, *, now: float, zone: tzinfo) -> list[Entry]:
    async with opened(LedgerChoice(ledger=ledger)) as source:
        entries, _ = await recall(source, filters, now=now, zone=zone)
        return entries
