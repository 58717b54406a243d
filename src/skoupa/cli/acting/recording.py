"""The ledger for a command that deletes by itself: opened, written to, and closed with everything in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from skoupa.cli.terminal.saying import say
from skoupa.clock import Clock
from skoupa.ledger.opening import store_for
from skoupa.settings import Settings
from skoupa.sweep.record import Record

DRAIN_SECONDS: Final = 10.0


@asynccontextmanager
async def recording(settings: Settings, clock: Clock, *, cluster: str) -> AsyncIterator[Record]:
    """`cluster` is the server's address: rows carry it where the settings give no name."""
    store = store_for(settings.ledger.dsn, cluster=settings.cluster_name or cluster)
    await store.open()
    record = Record(store, clock, on_failure=settings.ledger.on_failure)
    writing = asyncio.create_task(record.journal.run())
    try:
        yield record
        if not await record.journal.drain(DRAIN_SECONDS):
            say(f"what went is not all written down: the ledger {store.where} does not answer")
    finally:
        writing.cancel()
        await asyncio.wait([writing])
        await store.close()
