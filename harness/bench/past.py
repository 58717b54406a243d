"""A long history, made up: fills a ledger through its own `write`, as the controller's journal would have.

`python -m harness.bench.past LEDGER ROWS` writes that many decisions of ninety days, half of them in one busy namespace,
and prints the bytes that they take. How far it is goes to standard error.
"""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from collections.abc import Iterator
from typing import Final

from skoupa import names
from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.opening import store_for
from skoupa.ledger.rows import Entry, Result, id_text
from skoupa.ledger.store import Change, Finish, Intent, Told
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim

CLUSTER: Final = "bench"
BUSY: Final = "ci"
DAYS: Final = 90
# What fails is seldom, and what fails for want of a right says so for each object.
FAILED: Final = 50

_AT_ONCE: Final = 2000
_TELL_EVERY: Final = 100_000
_KINDS: Final = (
    ("v1", "ConfigMap", "configmaps"),
    ("v1", "Pod", "pods"),
    ("batch/v1", "Job", "jobs.batch"),
    ("apps/v1", "Deployment", "deployments.apps"),
)


def decisions(rows: int, *, until: float) -> Iterator[tuple[Change, ...]]:
    """The changes of one decision each, the oldest first."""
    for index in range(rows):
        at = until - DAYS * 86_400 * (rows - index) / rows
        entry = _entry(index, at)
        outcome: Result = "failed" if _chance(index) % FAILED == 0 else "deleted"
        error = "delete jobs.batch: not allowed for the user skoupa" if outcome == "failed" else ""
        finish = Finish(uid=entry.uid, epoch=entry.epoch, outcome=outcome, at=at + 0.01, error=error)
        told = () if outcome == "failed" else (Told(uid=entry.uid),)
        yield (Intent(entry=entry), finish, *told)


def _chance(index: int) -> int:
    """A number of 24 bits that looks like one by chance, and is the same in every run."""
    return index * 0x9E3779B1 % (1 << 32) >> 8


def _entry(index: int, at: float) -> Entry:
    chance = _chance(index)
    api_version, kind, resource = _KINDS[chance // 7 % len(_KINDS)]
    ttl = f"{1 + chance // 11 % 48}h"
    claim = Claim(
        mechanism="ttl",
        rule=f"{names.TTL_LABEL}={ttl}",
        due=at,
        reason=reason("ttl-expired", key=names.TTL_LABEL, value=ttl, since=whole_seconds(at)),
        on_labels_alone=True,
    )
    return Entry(
        # The time and some chance, as `Ids` makes them.
        id=id_text((int(at * 1000) << 30) + chance),
        cluster=CLUSTER,
        at=at,
        api_version=api_version,
        kind=kind,
        resource=resource,
        namespace=BUSY if chance // 3 % 2 else f"namespace-{chance // 13 % 500}",
        name=f"object-{index:07d}-{chance % 997:03d}",
        uid=str(uuid.UUID(int=(index * 0x9E3779B97F4A7C15F39CC0605CEDC835) % 2**128)),
        labels=(("app", f"app-{chance % 300}"), (names.TTL_LABEL, ttl)),
        mechanism=claim.mechanism,
        rule=claim.rule,
        due=claim.due,
        claims=(claim,),
        epoch=1,
    )


async def fill(where: str, rows: int) -> int:
    """Returns the bytes that they take on disk."""
    store = store_for(where, cluster=CLUSTER)
    batch: list[Change] = []
    try:
        await store.open()
        for number, changes in enumerate(decisions(rows, until=time.time()), start=1):
            batch += changes
            if number % _AT_ONCE == 0 or number == rows:
                await store.write(batch)
                batch.clear()
            if number % _TELL_EVERY == 0:
                print(f"  {number} of {rows} rows", file=sys.stderr, flush=True)
    finally:
        await store.close()
    # Closing moved what was still beside the file into it.
    reader = store_for(where, cluster=CLUSTER, writable=False)
    try:
        await reader.open()
        return (await reader.size()).allocated
    finally:
        await reader.close()


if __name__ == "__main__":
    print(asyncio.run(fill(sys.argv[1], int(sys.argv[2]))))
