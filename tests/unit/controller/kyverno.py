"""Kyverno on the stage: all that is seen of it is a Lease that it renews."""

from __future__ import annotations

import asyncio
from typing import Any

from skoupa import names
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import LEASES
from skoupa.kube.timestamps import micro_time
from tests.unit.controller.stage import Stage

RENEW_SECONDS = 10.0


class Kyverno:
    """In a namespace of its own; `start` and `stop` as its Deployment is scaled up and down."""

    def __init__(self, stage: Stage, *, namespace: str = "kyverno", seconds: float = RENEW_SECONDS) -> None:
        self._stage = stage
        self.namespace = namespace
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None

    def _spec(self) -> dict[str, Any]:
        return {
            "holderIdentity": "kyverno-cleanup-controller-7d9f-x2x",
            "leaseDurationSeconds": 12,
            "renewTime": micro_time(self._stage.clock.now()),
        }

    async def install(self) -> None:
        await self._stage.namespace(self.namespace)
        body = {"metadata": {"name": names.KYVERNO_CLEANUP_LEASE}, "spec": self._spec()}
        await self._stage.people.create(LEASES, body, namespace=self.namespace)

    async def start(self) -> None:
        await self.renew()
        self._task = asyncio.create_task(self._renew_for_ever())
        await self._stage.settle()

    async def renew(self, **spec: Any) -> None:
        patch = {"spec": {**self._spec(), **spec}}
        await self._stage.people.merge_patch(
            LEASES, names.KYVERNO_CLEANUP_LEASE, patch, namespace=self.namespace
        )

    async def _renew_for_ever(self) -> None:
        while True:
            await self._stage.clock.sleep(self._seconds)
            await self.renew()

    async def stop(self) -> None:
        """As the older ones do it: the Lease stays as it is."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def remove(self) -> None:
        await self.stop()
        found = await self._stage.people.get(
            LEASES, names.KYVERNO_CLEANUP_LEASE, namespace=self.namespace, view=METADATA
        )
        await self._stage.people.delete(
            LEASES,
            names.KYVERNO_CLEANUP_LEASE,
            namespace=self.namespace,
            uid=found.metadata.uid,
            propagation="Background",
        )


async def living(stage: Stage, **given: Any) -> Kyverno:
    kyverno = Kyverno(stage, **given)
    await kyverno.install()
    await kyverno.start()
    return kyverno
