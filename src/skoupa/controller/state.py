"""What must survive a restart and belongs to no object: one ConfigMap `skoupa-state` beside the Lease.

Keys are documented in docs/state.md; values are JSON. It is written only while enforcing: an observer leaves no trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.errors import AlreadyExists, NotFound
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS

FIRST_SWEEP: Final = "firstSweep"
FIRST_START: Final = "firstStartHeld"
READINGS: Final = "readings"
KINDS_READ: Final = "kindsRead"
KINDS_COUNTED: Final = "kindsCounted"
READINGS_HELD: Final = "firstReadingsHeld"
MASS_LABELLINGS: Final = "massLabellings"
ACCEPTED: Final = "backlogAccepted"
ACCEPT_USED: Final = "acceptBacklogUsed"
BRAKES_SEEN: Final = "brakesSeen"
BRAKES_KNOWN: Final = "brakesKnown"
BRAKES_UNLISTED: Final = "brakesUnlisted"
ALLOWANCES: Final = "allowances"
MASSES_ACCEPTED: Final = "massLabellingsAccepted"
KYVERNO_ACCEPTED: Final = "kyvernoAccepted"
LARGEST_RUNS: Final = "largestRuns"
POLICIES: Final = "policies"
POLICIES_SEEN: Final = "policiesSeen"
LEDGER: Final = "ledger"
EVENTS_SWEPT: Final = "eventsSwept"
RECREATIONS: Final = "recreations"
ALIVE: Final = "alive"
ALIVE_SPEC: Final = "aliveSpec"


class State:
    def __init__(self, client: Client, *, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._values: dict[str, str] = {}

    async def read(self) -> None:
        try:
            found = await self._client.get(
                CONFIG_MAPS, names.STATE_CONFIG_MAP, namespace=self._namespace, view=WHOLE
            )
        except NotFound:
            self._values = {}
        else:
            self._values = dict(found.get("data") or {})

    def get(self, key: str, kind: Any) -> Any:
        """The value as `kind`; None when it is absent or can't be understood."""
        text = self._values.get(key)
        if text is None:
            return None
        try:
            return msgspec.json.decode(text, type=kind)
        except msgspec.DecodeError:
            return None

    def is_garbled(self, key: str, kind: Any) -> bool:
        """Whether something is there that can't be understood as `kind`."""
        return key in self._values and self.get(key, kind) is None

    async def put(self, key: str, value: Any) -> None:
        await self.put_together({key: value})

    async def put_together(self, values: Mapping[str, Any]) -> None:
        """All of them or none."""
        texts = {key: msgspec.json.encode(value).decode() for key, value in values.items()}
        self._values |= texts
        patch = {"data": texts}
        try:
            await self._client.merge_patch(
                CONFIG_MAPS, names.STATE_CONFIG_MAP, patch, namespace=self._namespace
            )
        except NotFound:
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": names.STATE_CONFIG_MAP,
                    "labels": {names.PART_OF_LABEL: names.COMPONENT},
                },
                **patch,
            }
            try:
                await self._client.create(CONFIG_MAPS, body, namespace=self._namespace)
            except AlreadyExists:
                await self.put_together(values)
