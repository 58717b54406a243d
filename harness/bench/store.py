"""Fills the store and the agenda with generated objects and prints the memory that the process then has."""

from __future__ import annotations

import gc
import sys
import uuid
from pathlib import Path

from skoupa import names
from skoupa.controller.knowledge import Knowledge
from skoupa.facts.rows import Row, Uid
from skoupa.kube.objects import Metadata, Partial
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.settings import Settings
from skoupa.sweep.agenda import Agenda

NOW = 1_767_225_600.0


def fill(objects: int) -> tuple[Knowledge, Agenda]:
    knowledge = Knowledge(Settings())
    store, judge = knowledge.store, knowledge.judge

    def due_of(uid: Uid) -> float | None:
        row = store.get(uid)
        return None if row is None else judge.due(row, NOW)

    agenda = Agenda(due_of=due_of)
    feed = store.add_feed(CONFIG_MAPS)
    store.begin(feed)
    for first in range(0, objects, 500):
        rows = [_row(knowledge, index) for index in range(first, min(first + 500, objects))]
        store.listed(feed, rows)
        for row in rows:
            due = judge.due(row, NOW)
            assert due is not None
            agenda.add(due, row.uid, now=NOW)
    store.synced(feed)
    return knowledge, agenda


def _row(knowledge: Knowledge, index: int) -> Row:
    metadata = Metadata(
        name=f"object-{index:07d}-{index % 997:03d}",
        namespace=f"namespace-{index % 500}",
        uid=str(uuid.UUID(int=(index * 0x9E3779B97F4A7C15F39CC0605CEDC835) % 2**128)),
        resource_version=str(1_000_000 + index),
        creation_timestamp=None,
        labels={
            names.TTL_LABEL: f"{1 + index % 90}d",
            "app": f"app-{index % 300}",
            "pod-template-hash": f"{index % 20_000:x}",
        },
    )
    return knowledge.extraction.row(CONFIG_MAPS, Partial(metadata=metadata))


if __name__ == "__main__":
    kept = fill(int(sys.argv[1]))
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    print(pages * 4096)
    assert len(kept[0].store) == int(sys.argv[1])
