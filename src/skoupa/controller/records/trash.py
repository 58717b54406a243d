"""The trash as the settings want it, put before each intent of a record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.facts.rows import Row, Uid
from skoupa.kube.client import Client
from skoupa.ledger.trash.keeper import Keeper, Keeping
from skoupa.ledger.trash.keyring import Keyring
from skoupa.sweep.record import Record

_OWNERS_SECONDS: Final = 10.0


def use_trash(record: Record, client: Client, *, knowledge: Knowledge) -> None:
    """From now on what goes is kept first. Keys that can't be read are a UsageError, before anything goes."""
    trash = knowledge.settings.trash
    if not trash.enabled or not record.kept:
        return
    keyring = Keyring(
        cluster=record.store.cluster, clock=client.clock, file=trash.key_file, variable=trash.key_env
    )
    keeper = Keeper(
        client,
        seal=keyring.closing,
        discovery=lambda: knowledge.discovery,
        keeping=Keeping(
            off=frozenset(trash.ignore_kinds),
            object_bytes=trash.max_object_bytes,
            together_bytes=trash.max_bytes,
            parts=trash.max_objects,
            on_failure=trash.on_failure,
        ),
        named=_Owners(knowledge.store, client.clock).has,
    )

    async def read_ahead(going: Iterable[Row]) -> None:
        rows = list(going)
        labelled = all(row.label(names.TTL_LABEL) is not None for row in rows)
        await keeper.prepare(rows, labels=names.TTL_LABEL if labelled else "")

    record.bodies = keeper.keep
    record.read_ahead = read_ahead


class _Owners:
    """Whom known objects name as their owner: gone through anew every few seconds, not for each that is asked for."""

    def __init__(self, known: Iterable[Row], clock: Clock) -> None:
        self._known = known
        self._clock = clock
        self._uids: frozenset[Uid] = frozenset()
        self._good_until = 0.0

    def has(self, row: Row) -> bool:
        now = self._clock.monotonic()
        if now >= self._good_until:
            self._uids = frozenset(owner.uid for one in self._known for owner in one.owners)
            self._good_until = now + _OWNERS_SECONDS
        return row.uid in self._uids
