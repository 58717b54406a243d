"""`skoupa run` on the stage: replicas with a cable each, which can be pulled out."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec

from skoupa.controller.backlogs.started import Started
from skoupa.controller.process import Process
from skoupa.errors import Unreachable
from skoupa.kube.transport import Request, Response, Stream
from skoupa.ledger.nowhere import NoStore
from skoupa.report.log import Log
from skoupa.settings import decode
from tests.unit.controller.stage import Stage

QUICK = {"mode": "enforce", "address": "", "lease": {"seconds": 15, "retrySeconds": 2}}
# For who is alone for hours: nobody waits for this Lease, and thousands of renewals would be most of the work.
ALONE = {"seconds": 3600, "retrySeconds": 600}


class Cable:
    """The way to the server of one replica; pulled out, nothing passes any more."""

    def __init__(self, stage: Stage, *, user: str = "") -> None:
        self._server = stage.cluster.as_user(user) if user else stage.cluster
        self.pulled = False
        self.deletes: list[str] = []

    async def send(self, request: Request) -> Response:
        self._check()
        if request.method == "DELETE":
            self.deletes.append(request.path)
        response = await self._server.send(request)
        self._check()
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        self._check()
        return self._server.stream(request)

    async def close(self) -> None:
        """The cluster outlives the replica."""

    def _check(self) -> None:
        if self.pulled:
            raise Unreachable("network is unreachable")


class Replica:
    def __init__(
        self, stage: Stage, *, user: str = "", started: Started | None = None, **settings: Any
    ) -> None:
        self.cable = Cable(stage, user=user)
        self._text = io.StringIO()
        self.process = Process(
            self.cable,
            stage.clock,
            decode({**QUICK, **settings}, source="the test"),
            log=Log(stage.clock, stream=self._text),
            store=NoStore(cluster="test"),
            started=started,
        )
        self.task = asyncio.create_task(self.process.run())

    @property
    def events(self) -> list[str]:
        return [line["event"] for line in self.lines]

    @property
    def lines(self) -> list[dict[str, str]]:
        return [msgspec.json.decode(line) for line in self._text.getvalue().splitlines()]

    @property
    def leads(self) -> bool:
        assert self.process.election is not None
        return self.process.election.leading

    async def stop(self) -> None:
        self.process.stop()
        await self.task

    async def kill(self) -> None:
        """As kill -9 does it: nothing is handed over."""
        self.cable.pulled = True
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@asynccontextmanager
async def replicas(
    stage: Stage, count: int, *, user: str = "", started: Started | None = None, **settings: Any
) -> AsyncIterator[list[Replica]]:
    running = [Replica(stage, user=user, started=started, **settings) for _ in range(count)]
    await stage.later(5)
    try:
        yield running
    finally:
        for replica in running:
            await replica.kill()
