"""Leader election by a Lease: at most one writes, and it stops before anybody else may begin.

Another candidate may take the Lease when it has seen no renewal for the whole lease time. So the holder counts from
before it sent its last renewal, gives up its lead after two thirds of that time, and `fence` lets no write outlive it.
Expiry is judged by how long the Lease has not changed here, never by the other machine's clock. Leaving releases it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.clock import Clock
from skoupa.errors import AlreadyExists, Conflict, NotFound, SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.objects import Metadata, View
from skoupa.kube.resources import LEASES
from skoupa.kube.timestamps import micro_time

LEAD_SHARE: Final = 2 / 3
# By the monotonic clock, and by that on the wall.
Moment = tuple[float, float]
_NEVER: Final[Moment] = (float("-inf"), float("-inf"))
RELEASE_SECONDS: Final = 5.0


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct, frozen=True, kw_only=True):
    metadata: Metadata
    spec: _LeaseSpec = _LeaseSpec()


_LEASE: Final[View[_Lease]] = View(type=_Lease)


class Election:
    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        name: str,
        identity: str,
        lease_seconds: int = 15,
        retry_seconds: float = 2.0,
    ) -> None:
        self._client = client
        self.clock: Clock = client.clock
        self._namespace = namespace
        self._name = name
        self.identity = identity
        self._lease_seconds = lease_seconds
        self._retry_seconds = retry_seconds
        self._seen_version = ""
        self._seen_at = 0.0
        self._seen_duration = float(lease_seconds)
        self._renewal_sent, self._renewal_written = _NEVER
        self._acquired = asyncio.Event()
        self._on_change: list[Callable[[], None]] = []
        self.holder = ""
        # Grows with each change of the holder: what was written down under an older one is somebody else's.
        self.epoch = 0
        self.last_error: SkoupaError | None = None

    @property
    def leading(self) -> bool:
        lead = self._lease_seconds * LEAD_SHARE
        # By both clocks: that of a machine which was suspended may not have gone on, while all others' did.
        return (
            self.clock.monotonic() < self._renewal_sent + lead
            and self.clock.now() < self._renewal_written + lead
        )

    def seconds_left(self) -> float:
        """How long nobody else may begin, if there is no other renewal."""
        return self._renewal_sent + self._lease_seconds - self.clock.monotonic()

    def on_change(self, hear: Callable[[], None]) -> None:
        """`hear` is called whenever `seconds_left` is another than time alone makes it."""
        self._on_change.append(hear)

    async def until_leading(self) -> None:
        while not self.leading:
            self._acquired.clear()
            await self._acquired.wait()

    async def until_lost(self) -> None:
        while self.leading:
            await self.clock.sleep(
                self._renewal_sent + self._lease_seconds * LEAD_SHARE - self.clock.monotonic()
            )

    async def run(self) -> None:
        """Tries for ever; when cancelled it hands the Lease over."""
        try:
            while True:
                try:
                    async with self.clock.timeout(self._lease_seconds * LEAD_SHARE):
                        await self._try()
                    self.last_error = None
                except (AlreadyExists, Conflict):
                    pass  # another candidate was quicker: looked at again next time
                except TimeoutError:
                    self.last_error = SkoupaError("renewing the lease took too long")
                except SkoupaError as error:
                    self.last_error = error
                await self.clock.sleep(self.clock.jitter(self._retry_seconds))
        finally:
            await self._release()

    async def _try(self) -> None:
        try:
            lease = await self._client.get(LEASES, self._name, namespace=self._namespace, view=_LEASE)
        except NotFound:
            # Whoever deleted the Lease has not told its holder, who may go on writing until it would have run out.
            if self.holder not in {"", self.identity} and not self._expired():
                return
            sent = self._moment()
            body = self._body(self._spec(transitions=0))
            await self._client.create(LEASES, body, namespace=self._namespace)
            self.epoch = 0
            self._won(sent)
            return
        if lease.metadata.resource_version != self._seen_version:
            self._seen_version = lease.metadata.resource_version
            self._seen_at = self.clock.monotonic()
            self._seen_duration = lease.spec.lease_duration_seconds or self._lease_seconds
        self.holder = lease.spec.holder_identity or ""
        if self.holder not in {"", self.identity} and not self._expired():
            self._renewed(_NEVER)
            return
        sent = self._moment()
        spec = self._spec(transitions=lease.spec.lease_transitions or 0, previous=lease.spec)
        body = self._body(spec, resource_version=lease.metadata.resource_version)
        written = await self._client.replace(LEASES, body, namespace=self._namespace)
        self._seen_version = str(written["metadata"]["resourceVersion"])
        self._seen_at = self.clock.monotonic()
        self.epoch = spec.lease_transitions or 0
        self._won(sent)

    def _expired(self) -> bool:
        return self.clock.monotonic() - self._seen_at > self._seen_duration

    def _moment(self) -> Moment:
        return self.clock.monotonic(), self.clock.now()

    def _won(self, sent: Moment) -> None:
        self.holder = self.identity
        self._renewed(sent)
        self._acquired.set()

    def _renewed(self, sent: Moment) -> None:
        self._renewal_sent, self._renewal_written = sent
        for hear in self._on_change:
            hear()

    def _spec(self, *, transitions: int, previous: _LeaseSpec | None = None) -> _LeaseSpec:
        now = micro_time(self.clock.now())
        renewed = previous is not None and previous.holder_identity == self.identity
        taken_over = previous is not None and not renewed
        return _LeaseSpec(
            holder_identity=self.identity,
            lease_duration_seconds=self._lease_seconds,
            acquire_time=previous.acquire_time if previous is not None and renewed else now,
            renew_time=now,
            lease_transitions=transitions + 1 if taken_over else transitions,
        )

    def _body(self, spec: _LeaseSpec, *, resource_version: str = "") -> dict[str, Any]:
        metadata: dict[str, Any] = {
            "name": self._name,
            "namespace": self._namespace,
            "labels": {names.PART_OF_LABEL: names.COMPONENT},
        }
        if resource_version:
            metadata["resourceVersion"] = resource_version
        return {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": metadata,
            "spec": msgspec.to_builtins(spec),
        }

    async def _release(self) -> None:
        left = self.seconds_left()
        self._renewed(_NEVER)
        if self.holder != self.identity or left <= 0:
            return
        spec = _LeaseSpec(
            holder_identity="", lease_duration_seconds=1, renew_time=micro_time(self.clock.now())
        )
        try:
            async with self.clock.timeout(min(left, RELEASE_SECONDS)):
                lease = await self._client.get(LEASES, self._name, namespace=self._namespace, view=_LEASE)
                if lease.spec.holder_identity != self.identity:
                    return
                spec = msgspec.structs.replace(spec, lease_transitions=lease.spec.lease_transitions)
                body = self._body(spec, resource_version=lease.metadata.resource_version)
                await self._client.replace(LEASES, body, namespace=self._namespace)
        except (SkoupaError, TimeoutError):
            return  # it runs out by itself
        finally:
            self.holder = ""
