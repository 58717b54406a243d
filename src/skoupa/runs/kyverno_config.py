"""Kyverno's own ConfigMap, where there is one: what it tells Kyverno to leave alone is left alone here too.

It is called `kyverno` and is in Kyverno's namespace: the one of that name, or one with the Lease of its cleanup controller. A
ConfigMap of that name anywhere else is somebody's own and says nothing. It is read when a run begins, and counts for a while.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from skoupa import names
from skoupa.errors import Forbidden
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, LEASES
from skoupa.policy.kyverno_filters import KEY, KyvernoFilters, parse_filters

NAME: Final = "kyverno"
COUNTS_SECONDS: Final = 30.0


class KyvernoConfig:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._read_at = float("-inf")
        self._known = KyvernoFilters()
        # Many runs begin at once.
        self._reading = asyncio.Lock()

    async def filters(self) -> KyvernoFilters:
        """Empty where it may not be read: then it is none of ours. Raises what else stands in the way."""
        async with self._reading:
            now = self._client.clock.monotonic()
            if now - self._read_at > COUNTS_SECONDS:
                self._known = await self._read()
                self._read_at = now
        return self._known

    async def _read(self) -> KyvernoFilters:
        scope = Scope(fields=f"metadata.name={NAME}")
        try:
            found = (await everything(self._client, CONFIG_MAPS, WHOLE, scope=scope)).items
            if any(_place(one) != NAME for one in found):
                homes = {NAME, *await self._with_lease()}
                found = [one for one in found if _place(one) in homes]
        except Forbidden:
            return KyvernoFilters()
        texts = [str((one.get("data") or {}).get(KEY) or "") for one in found]
        return parse_filters("".join(texts))

    async def _with_lease(self) -> set[str]:
        scope = Scope(fields=f"metadata.name={names.KYVERNO_CLEANUP_LEASE}")
        leases = await everything(self._client, LEASES, METADATA, scope=scope)
        return {lease.metadata.namespace for lease in leases.items}


def _place(found: dict[str, Any]) -> str:
    return str(found["metadata"].get("namespace", ""))
