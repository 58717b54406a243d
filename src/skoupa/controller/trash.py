"""The trash as the settings want it, put before each intent of a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skoupa import names
from skoupa.facts.rows import Row
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.ledger.trash.keeper import Keeper, Keeping
from skoupa.ledger.trash.sealing import Seal, read_keys
from skoupa.settings import Settings
from skoupa.sweep.record import Record


def use_trash(
    record: Record, client: Client, *, settings: Settings, discovery: Callable[[], Discovery]
) -> None:
    """From now on what goes is kept first. Keys that can't be read are a UsageError, before anything goes."""
    trash = settings.trash
    if not trash.enabled or not record.kept:
        return
    keys = read_keys(file=trash.key_file, variable=trash.key_env)
    keeper = Keeper(
        client,
        seal=Seal(cluster=record.store.cluster, keys=keys),
        discovery=discovery,
        keeping=Keeping(
            off=frozenset(trash.off),
            object_bytes=trash.max_object_bytes,
            together_bytes=trash.max_bytes,
            parts=trash.max_objects,
            on_failure=trash.on_failure,
        ),
    )

    async def read_ahead(rows: Sequence[Row]) -> None:
        labelled = all(row.label(names.TTL_LABEL) is not None for row in rows)
        await keeper.prepare(rows, labels=names.TTL_LABEL if labelled else "")

    record.bodies = keeper.keep
    record.read_ahead = read_ahead
