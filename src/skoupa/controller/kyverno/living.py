"""Which Kyverno cleanup controllers live in this cluster, by the Leases that their leaders renew.

The Lease is called the same in every Kyverno, whatever its release and its namespace are called. How long one was not
renewed is measured here; only at first sight does the time count that is written in it, for that is another machine's
clock. One list over all namespaces, which the server narrows to that name. Nothing is written.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Final

import msgspec

from skoupa import names
from skoupa.clock import Clock
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import Metadata, View
from skoupa.kube.resources import LEASES

# Kyverno renews every two seconds, unless it is told to do so less often; then its Lease is as much longer.
ALIVE_SECONDS: Final = 60.0
# An upgrade takes less.
GONE_SECONDS: Final = 600.0


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: datetime | None = None


class _Lease(msgspec.Struct, frozen=True, kw_only=True):
    metadata: Metadata
    spec: _LeaseSpec = _LeaseSpec()


_LEASE: Final[View[_Lease]] = View(type=_Lease)


class Living(msgspec.Struct, frozen=True, kw_only=True):
    """A Lease that somebody renews; `quiet` is how many seconds ago that was."""

    uid: str
    namespace: str
    quiet: float

    @property
    def lease(self) -> str:
        return f"{self.namespace}/{names.KYVERNO_CLEANUP_LEASE}"


class _Seen(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    spec: _LeaseSpec
    # By our own clock that never jumps.
    renewed: float


class KyvernoLeases:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._seen: dict[str, _Seen] = {}
        self._looked = -math.inf

    async def look(self) -> None:
        """Asks the server; raises what stands in the way, and then nothing new is known."""
        scope = Scope(fields=f"metadata.name={names.KYVERNO_CLEANUP_LEASE}")
        found = await everything(self._client, LEASES, _LEASE, scope=scope)
        self._seen = {lease.metadata.uid: self._take(lease) for lease in found.items}
        self._looked = self._clock.monotonic()

    def living(self) -> list[Living]:
        """As the last look showed it; the one that was renewed last comes first."""
        found = [
            Living(uid=uid, namespace=seen.namespace, quiet=self._quiet(seen))
            for uid, seen in self._seen.items()
            if seen.spec.holder_identity
            and self._quiet(seen) < max(ALIVE_SECONDS, seen.spec.lease_duration_seconds or 0)
        ]
        return sorted(found, key=lambda one: (one.quiet, one.namespace))

    def homes(self) -> list[str]:
        """Namespaces with such a Lease, whether or not anybody renews it."""
        return sorted({seen.namespace for seen in self._seen.values()})

    def is_gone(self, uid: str) -> bool:
        """Whether its Lease is deleted, or was not renewed for so long that it is no upgrade."""
        seen = self._seen.get(uid)
        return seen is None or self._quiet(seen) >= GONE_SECONDS

    def _quiet(self, seen: _Seen) -> float:
        # Since then nobody has asked, which is no sign of anything.
        return self._looked - seen.renewed

    def _take(self, lease: _Lease) -> _Seen:
        before = self._seen.get(lease.metadata.uid)
        if before is not None and before.spec == lease.spec:
            return before
        written = lease.spec.renew_time
        age = max(0.0, self._clock.now() - written.timestamp()) if written is not None else math.inf
        if before is not None and age > self._clock.monotonic() - self._looked:
            # It was renewed since the last look, so that clock is wrong.
            age = 0.0
        return _Seen(
            namespace=lease.metadata.namespace, spec=lease.spec, renewed=self._clock.monotonic() - age
        )
