"""The status of GlobalContextEntries: whether there is a value, and when it was asked for last.

Entries are asked for when a policy needs them, so one that nobody uses has no status. Only the newest of each is written; while
observing, and while another leads, nothing is. A write that fails is not tried again: the next time that the entry is asked for
it is told anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from skoupa.errors import Forbidden, SkoupaError
from skoupa.kinds.conditions import READY, Condition, updated
from skoupa.kinds.policies.global_context import GlobalContextStatus
from skoupa.kube.client import Client
from skoupa.runs.calls.shared import Refresh
from skoupa.runs.status import conditions_in

_LONGEST: Final = 1000


class ContextStatuses:
    def __init__(self, client: Client, *, acting: Callable[[], bool], told: Callable[[str], None]) -> None:
        self._client = client
        self._acting = acting
        self._told = told
        self._wanted: dict[str, Refresh] = {}
        self._news = asyncio.Event()
        self._denied = False

    def want(self, refresh: Refresh) -> None:
        if self._acting() and not self._denied:
            self._wanted[refresh.name] = refresh
            self._news.set()

    async def follow(self) -> None:
        """For ever."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._wanted:
                _, refresh = self._wanted.popitem()
                await self._write(refresh)

    async def _write(self, refresh: Refresh) -> None:
        body = {"metadata": {"uid": refresh.uid}, "status": status_of(refresh)}
        try:
            await self._client.merge_patch(refresh.kind, refresh.name, body, subresource="status")
        except Forbidden:
            self._denied = True
            what = f"{refresh.kind.qualified}/status"
            self._told(f"no permission to patch {what}: whether there is a value is not told there")
        except SkoupaError:
            return


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
