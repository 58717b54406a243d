"""Lanes to one server, each with flow control of its own: deletes, the Lease, and everything else.

Deletes may hang (a webhook that does not answer). Were there only one lane, the Lease would wait behind them and be lost,
and watches could not be opened again. Whatever hangs lets others of its lane pass after a while: a delete behind a webhook,
or a read of a kind that does not answer.
"""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractAsyncContextManager
from typing import Final

from skoupa.clock import Clock
from skoupa.kube.flow import Flow, Limits
from skoupa.kube.resources import LEASES
from skoupa.kube.transport import Request, Response, Stream, Transport

LEASE_IN_FLIGHT: Final = 2
# Due times are whole seconds, so deletes come in bursts; a lane that widens slowly would make the last ones late.
DELETES_AT_FIRST: Final = 32
# As long as a busy server may take; who is out for longer waits for somebody behind it.
TURN_SECONDS: Final = 3.0


class Lanes:
    def __init__(self, inner: Transport, clock: Clock, *, in_flight: int) -> None:
        self._inner = inner
        self._deletes = Flow(
            inner,
            clock,
            limits=Limits(in_flight=in_flight, at_first=DELETES_AT_FIRST, turn_seconds=TURN_SECONDS),
        )
        self._lease = Flow(inner, clock, limits=Limits(in_flight=LEASE_IN_FLIGHT))
        self._others = Flow(
            inner, clock, limits=Limits(in_flight=in_flight, turn_seconds=TURN_SECONDS, by_kind=True)
        )

    async def send(self, request: Request) -> Response:
        return await self._lane(request).send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._others.stream(request)

    async def close(self) -> None:
        await self._inner.close()

    def _lane(self, request: Request) -> Flow:
        if request.method == "DELETE":
            return self._deletes
        return self._lease if request.kind == LEASES.qualified else self._others

    @property
    def requests(self) -> Counter[tuple[str, str, str]]:
        """(verb, kind, outcome) -> how often."""
        return self._deletes.requests + self._lease.requests + self._others.requests
