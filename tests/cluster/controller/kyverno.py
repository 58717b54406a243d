"""What is seen of a Kyverno cleanup controller: its Lease, which it renews."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from skoupa import names
from skoupa.clock import SystemClock
from skoupa.errors import NotFound
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import LEASES, NAMESPACES
from skoupa.kube.timestamps import micro_time

RENEW_SECONDS = 1.0


class Kyverno:
    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self.namespace = namespace

    @property
    def lease(self) -> str:
        return f"{self.namespace}/{names.KYVERNO_CLEANUP_LEASE}"

    def _spec(self) -> dict[str, Any]:
        return {
            "holderIdentity": "kyverno-cleanup-controller-7d9f-x2x",
            "leaseDurationSeconds": 12,
            "renewTime": micro_time(SystemClock().now()),
        }

    async def install(self) -> None:
        await self._client.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        body = {"metadata": {"name": names.KYVERNO_CLEANUP_LEASE}, "spec": self._spec()}
        await self._client.create(LEASES, body, namespace=self.namespace)

    async def renew_for_ever(self) -> None:
        while True:
            await self._client.merge_patch(
                LEASES, names.KYVERNO_CLEANUP_LEASE, {"spec": self._spec()}, namespace=self.namespace
            )
            await asyncio.sleep(RENEW_SECONDS)

    async def remove(self) -> None:
        """Others on this control plane must not meet it."""
        with suppress(NotFound):
            found = await self._client.get(
                LEASES, names.KYVERNO_CLEANUP_LEASE, namespace=self.namespace, view=METADATA
            )
            await self._client.delete(
                LEASES,
                names.KYVERNO_CLEANUP_LEASE,
                namespace=self.namespace,
                uid=found.metadata.uid,
                propagation="Background",
            )


@asynccontextmanager
async def living(client: Client) -> AsyncIterator[Kyverno]:
    kyverno = Kyverno(client, f"kyverno-{secrets.token_hex(4)}")
    await kyverno.install()
    renewing = asyncio.create_task(kyverno.renew_for_ever())
    try:
        yield kyverno
    finally:
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)
        await kyverno.remove()
