"""A transport that lets writes begin only while the election is won, and none go on longer than the lease lasts.

Each renewal lets what is under way go on: a webhook may take longer than a lease. That includes the time that a write waits
its turn or its retry further down: nothing leaves after the lease. All that is under way ends at the same moment, so one
timer serves them all: thousands of deletes a second would pay for one each.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from skoupa.errors import CutShort, LeaseLost, Withdrawn
from skoupa.kube.leases import Election
from skoupa.kube.transport import Request, Response, Stream, Transport


class _Write:
    """One that is under way, and in which task; `cut`: it has to end, for the lease has."""

    __slots__ = ("asked_before", "cut", "task")

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.task = task
        # By whoever else wants the task to end.
        self.asked_before = task.cancelling()
        self.cut = False

    def end(self) -> None:
        self.cut = True
        self.task.cancel()

    def was_cut(self) -> bool:
        """Whether it ended for that reason, and nobody else wants the task to end."""
        cut, self.cut = self.cut, False
        return cut and self.task.uncancel() <= self.asked_before


class Fence:
    def __init__(self, inner: Transport, election: Election) -> None:
        self._inner = inner
        self._election = election
        self._under_way: set[_Write] = set()
        # By the time of the event loop; it stands for as long as something is under way.
        self._end: asyncio.TimerHandle | None = None
        election.on_change(self._lease_changed)

    async def send(self, request: Request) -> Response:
        if request.method == "GET" or request.verb == "review":
            return await self._inner.send(request)
        if not self._election.leading:
            raise _lost(request)
        wanted, lost = request.still_wanted, False

        def still_ours() -> bool:
            nonlocal lost
            if wanted is not None and not wanted():
                return False
            # As the last thing: a process that stood still goes on with what it was at before it hears of any timer.
            lost = not self._election.leading
            return not lost

        write = _Write()
        self._begin(write)
        try:
            response = await self._inner.send(msgspec.structs.replace(request, still_wanted=still_ours))
        except Withdrawn as error:
            if lost:
                raise _lost(request) from error
            raise
        except asyncio.CancelledError as error:
            if write.was_cut():
                raise CutShort(
                    f"{request.verb} {request.kind}: no answer before the lease ran out",
                    advice="nothing to do: whoever leads then looks again",
                ) from error
            raise
        finally:
            self._under_way.discard(write)
            write.was_cut()
        if lost and response.status == 429:
            # The server refused it unread, and for another try it is too late.
            raise _lost(request)
        return response

    def _begin(self, write: _Write) -> None:
        self._under_way.add(write)
        if self._end is None:
            self._set_end()

    def _set_end(self) -> None:
        self._end = asyncio.get_running_loop().call_later(
            max(0.0, self._election.seconds_left()), self._cut_all
        )

    def _cut_all(self) -> None:
        self._end = None
        for write in self._under_way:
            write.end()
        self._under_way.clear()

    def _lease_changed(self) -> None:
        end, self._end = self._end, None
        if end is None:
            return
        end.cancel()
        # What has passed stays passed, though its timer may not have run yet: somebody else may have led since.
        if end.when() <= asyncio.get_running_loop().time():
            self._cut_all()
        elif self._under_way:
            self._set_end()

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        async with self._inner.stream(request) as stream:
            yield stream

    async def close(self) -> None:
        await self._inner.close()


def _lost(request: Request) -> LeaseLost:
    return LeaseLost(
        f"{request.verb} {request.kind}: not sent, another replica may be leading",
        advice="nothing to do: the leader goes on with it",
    )
