"""A volume that was full for a while, others that write to the file meanwhile, and an end in the middle: no row is lost."""

from __future__ import annotations

import resource
import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from skoupa.kube.resources import NAMESPACES
from tests.cluster.commands import skoupa
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.controller.test_ledger import NAME, left, make_many, rows
from tests.cluster.reaching import eventually, until

pytestmark = pytest.mark.cluster

MANY = 400
NO_LIMIT = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


async def some_more_went(people: People, number: int) -> None:
    goal = await left(people) - number

    async def went() -> bool:
        return await left(people) <= goal

    await eventually(went, what="some to go", seconds=60, patiently=False)


async def full_for_a_while(process: Skoupa, yard: Yard) -> None:
    """Beyond this size a write fails, in the middle of it even."""
    log = yard.ledger.with_name(f"{yard.ledger.name}-wal")
    before = len(process.said("held"))
    limit = log.stat().st_size + 20_000
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    await until(lambda: process.said("held")[before:], what="it to hold")
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, NO_LIMIT)


async def purge_one(process: Skoupa, people: People, yard: Yard) -> None:
    newest = max(
        (entry for entry in await rows(yard.ledger, people) if entry.in_trash == "kept"),
        key=lambda one: one.at,
    )
    said = await skoupa(
        "trash", "purge", newest.id, "--yes", "--ledger", yard.ledger, kubeconfig=process.kubeconfig
    )
    assert said.code == 0, said.err


async def test_after_a_full_volume_other_writers_and_an_end_in_the_middle_every_deletion_has_its_row(
    people: People, yard: Yard
) -> None:
    uids = await make_many(people, MANY)
    settings = {"clusterName": NAME, "rate__deletionsPerSecond": "15", "lease__seconds": "3"}
    process = await yard.started(**settings)
    await people.label(people.namespace, resource=NAMESPACES, keep=None)
    for end in ("killed", "another one starts while it stops"):
        await some_more_went(people, 30)
        await full_for_a_while(process, yard)
        await some_more_went(people, 20)
        await purge_one(process, people, yard)
        await some_more_went(people, 30)
        if end == "killed":
            process.kill()
            process = await yard.started(**settings)
        else:
            process.terminate()
            process = await yard.started(**{**settings, "rate__deletionsPerSecond": "400"})

    async def all_gone() -> bool:
        return await left(people) == 0

    await eventually(all_gone, what="all to go", seconds=90)
    process.end()
    found = await rows(yard.ledger, people)
    assert {entry.uid for entry in found} == uids
    assert len(found) == len(uids)
    outcomes = Counter(entry.outcome for entry in found)
    # What was under way at the kill is gone; that it was us nobody can prove any more.
    assert set(outcomes) <= {"deleted", "gone-by-unknown"}, outcomes
    assert outcomes["gone-by-unknown"] <= 64
    assert all(entry.finished_at for entry in found)
    assert Counter(entry.in_trash for entry in found) == {"kept": MANY - 2, "purged": 2}
    with closing(sqlite3.connect(yard.ledger)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
