"""The status of GlobalContextEntries: whether there is a value, and when it was asked for last.

Entries are asked for when a policy needs them, so one that nobody uses has no status. Only the newest of each is written; while
observing, and while another leads, nothing is. A write that fails is not tried again: the next time that the entry is asked for
it is told anew. Where that may not be written one is tried a minute, after those that were not refused before: rights come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.writing.denials import DENIED_SECONDS, Denials
from skoupa.errors import Forbidden, NotFound, SkoupaError
from skoupa.kinds.conditions import READY, Condition, updated
from skoupa.kinds.policies.global_context import GlobalContextStatus
from skoupa.kube.client import Client
from skoupa.runs.calls.shared import Refresh
from skoupa.runs.status import conditions_in

_LONGEST: Final = 1000


class ContextStatuses:
    def __init__(
        self,
        client: Client,
        *,
        acting: Callable[[], bool],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._acting = acting
        self._denials = Denials(client.clock, words=_poorer, told=told, untold=untold)
        self._wanted: dict[str, Refresh] = {}
        self._news = asyncio.Event()

    def want(self, refresh: Refresh) -> None:
        if self._acting():
            self._wanted[refresh.name] = refresh
            self._news.set()

    async def follow(self) -> None:
        """For ever."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._wanted:
                name = min(self._wanted, key=self._denials.was_refused)
                refresh = self._wanted.pop(name)
                if not self._acting():
                    self._wanted.clear()
                elif not await self._may_write(refresh):
                    # What was asked for since is newer.
                    self._wanted.setdefault(name, refresh)
                    await self._clock.sleep(DENIED_SECONDS)

    async def _may_write(self, refresh: Refresh) -> bool:
        """It is written if that is allowed."""
        place = (refresh.kind.qualified, "")
        body = {"metadata": {"uid": refresh.uid}, "status": status_of(refresh)}
        try:
            await self._client.merge_patch(refresh.kind, refresh.name, body, subresource="status")
        except Forbidden:
            self._denials.refuse(place, refresh.name)
            return False
        except NotFound:
            self._denials.forget(refresh.name)
        except SkoupaError:
            return True
        else:
            self._denials.allow(place, refresh.name)
        return True


def _poorer(kind: str, where: str) -> str:
    return f"no permission to patch {kind}/status{where}: whether there is a value is not told there"


def status_of(refresh: Refresh) -> dict[str, Any]:
    moment = datetime.fromtimestamp(int(refresh.at), UTC)
    ready = Condition(
        type=READY,
        status="False" if refresh.error else "True",
        reason="NotFetched" if refresh.error else "Fetched",
        message=refresh.error[:_LONGEST] or "there is a value",
        last_transition_time=moment,
        observed_generation=refresh.generation,
    )
    status = GlobalContextStatus(
        ready=not refresh.error,
        last_refresh_time=moment,
        conditions=updated(conditions_in(refresh.status), ready),
    )
    patch: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(status))
    return patch
