"""The ledger for a command that deletes by itself: opened, written to, and closed with everything in it.

What an earlier command that was killed left open there is closed by a look at the cluster, before anything new is
written. That takes a moment at most: what does not answer stays open, and is told.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from skoupa.cli.terminal.saying import say
from skoupa.controller.records.own_ledger import own_store
from skoupa.controller.records.sighting import Sighting
from skoupa.errors import LedgerUnavailable
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.ledger.opening import is_shared
from skoupa.ledger.resolving import Resolved, resolve
from skoupa.settings import Settings
from skoupa.sweep.record import Record

DRAIN_SECONDS: Final = 10.0
OPEN_SECONDS: Final = 15.0


@asynccontextmanager
async def recording(settings: Settings, client: Client, *, cluster: str) -> AsyncIterator[Record]:
    """`cluster` is the server's address: rows carry it where the settings give no name."""
    store, _ = own_store(client, settings, server=cluster)
    await store.open()
    record = Record(store, client.clock, on_failure=settings.ledger.on_failure)
    writing = asyncio.create_task(record.journal.run())
    try:
        yield record
        if not await record.journal.drain(DRAIN_SECONDS):
            say(f"what went is not all written down: the ledger {store.where} does not answer")
    finally:
        writing.cancel()
        await asyncio.wait([writing])
        await store.close()


async def close_open_if_any(
    settings: Settings, *, client: Client, discovery: Discovery, cluster: str
) -> None:
    """For who has nothing to write: a ledger that is not there, or can't be used now, is left alone."""
    if not _is_there(settings.ledger.dsn):
        return
    with contextlib.suppress(LedgerUnavailable):
        async with recording(settings, client, cluster=cluster) as record:
            await close_open(record, settings, client=client, discovery=discovery)


def _is_there(where: str) -> bool:
    return is_shared(where) or (where != "none" and Path(where).expanduser().exists())


async def close_open(record: Record, settings: Settings, *, client: Client, discovery: Discovery) -> None:
    """Rows that somebody left open, who may also be a controller at work with the same ledger: they stay its own."""
    try:
        resolved = await resolve(
            record.store,
            Sighting(client, lambda: discovery).look,
            epoch=None,
            clock=client.clock,
            within=OPEN_SECONDS,
        )
    except LedgerUnavailable:
        if settings.ledger.on_failure != "continue":
            raise
        return
    _tell(resolved)


def _tell(resolved: Resolved) -> None:
    closed = {outcome: number for outcome, number in resolved.outcomes.items() if outcome != "terminating"}
    if closed:
        found = ", ".join(f"{number} {outcome}" for outcome, number in sorted(closed.items()))
        say(f"deletions that the ledger had as open, left by an earlier run: {found}")
    unknown = sum(entry.outcome == "intended" for entry in resolved.left)
    if unknown:
        why = (
            f"{', '.join(resolved.silent)} did not answer in time"
            if resolved.silent
            else "they can't be read now"
        )
        say(
            f"what became of {unknown} earlier deletion{'s' * (unknown != 1)} is not known, they stay open: {why}"
        )
