"""A long history, made up: fills a ledger as the controller's journal would have.

`python -m harness.bench.past LEDGER ROWS` writes that many decisions of ninety days, half of them in one busy namespace,
and prints the bytes that a row takes. How far it is goes to standard error. A file is filled through the store's own `write`.
In PostgreSQL that would take very long, and leaves two dead versions of each row: some are written so, to print what they
take before a vacuum, and then all are copied into the same tables.
"""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.batches import planned
from skoupa.ledger.opening import is_shared, store_for
from skoupa.ledger.rows import Entry, Result, id_text
from skoupa.ledger.store import Change, Finish, Intent, Note, Told
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim

CLUSTER: Final = "bench"
BUSY: Final = "ci"
DAYS: Final = 90
# What fails is seldom, and what fails for want of a right says so for each object.
FAILED: Final = 50

_AT_ONCE: Final = 2000
_TELL_EVERY: Final = 100_000
_SAMPLED: Final = 20_000
_COPIED_AT_ONCE: Final = 50_000
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


class Filled(msgspec.Struct, frozen=True, kw_only=True):
    """The bytes that a row takes with its share of all indexes, and those of one that nothing was tidied after."""

    row: float
    untidied: float = 0.0


async def fill(where: str, rows: int) -> Filled:
    if not is_shared(where):
        return Filled(row=await _written(where, rows) / rows)
    sampled = min(rows, _SAMPLED)
    untidied = await _written(where, sampled) / sampled
    return Filled(row=await _copied(where, rows) / rows, untidied=untidied)


async def _copied(dsn: str, rows: int) -> int:
    """In the place of what is there."""
    import asyncpg  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra, and it has no types

    connection = await asyncpg.connect(dsn)
    try:
        number = await connection.fetchval("SELECT number FROM skoupa_clusters WHERE name = $1", CLUSTER)
        # Rows that nobody has to find again after a crash need no log that is as large as they are.
        for statement in ("TRUNCATE skoupa_entries", "ALTER TABLE skoupa_entries SET UNLOGGED"):
            await connection.execute(statement)
        batch: list[tuple[Change, ...]] = []
        for at, changes in enumerate(decisions(rows, until=time.time()), start=1):
            batch.append(changes)
            if len(batch) == _COPIED_AT_ONCE or at == rows:
                columns, records = _as_they_end(number, batch)
                await connection.copy_records_to_table("skoupa_entries", records=records, columns=columns)
                batch.clear()
                print(f"  {at} of {rows} rows", file=sys.stderr, flush=True)
        await connection.execute("VACUUM (ANALYZE) skoupa_entries", timeout=600)
    finally:
        await connection.close()
    return await _allocated(dsn)


def _as_they_end(number: int, batch: Sequence[tuple[Change, ...]]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Columns and rows, as they are when all changes of each decision are made."""
    notes: list[Change] = []
    told: list[int] = []
    for intent, finish, *rest in batch:
        assert isinstance(intent, Intent)
        assert isinstance(finish, Finish)
        ended = {"outcome": finish.outcome, "finished_at": finish.at, "error": finish.error}
        notes.append(Note(entry=msgspec.structs.replace(intent.entry, **ended)))
        told.append(len(rest))
    ((statement, values),) = planned(number, notes, keeps=False)
    names_of = [name for name, _ in statement.columns]
    tried = names_of.index("attempts")
    records = [(*one[:tried], 1, *one[tried + 1 :], seen) for one, seen in zip(values, told, strict=True)]
    return [*names_of, "told"], records


async def _written(where: str, rows: int) -> int:
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
    return await _allocated(where)


async def _allocated(where: str) -> int:
    """Closing moved what was still beside a file into it."""
    reader = store_for(where, cluster=CLUSTER, writable=False)
    try:
        await reader.open()
        return (await reader.size()).allocated
    finally:
        await reader.close()


if __name__ == "__main__":
    print(msgspec.json.encode(asyncio.run(fill(sys.argv[1], int(sys.argv[2])))).decode())
