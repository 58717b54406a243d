"""Writes the status of profiles, where it changed: whether each is understood, what is wrong in words, what it takes the place of.

While observing, and while another leads, nothing is written. Where a status may not be written one is tried again a minute later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.retaining.profiles import Entry, Profiles
from skoupa.controller.writing.denials import DENIED_SECONDS
from skoupa.controller.writing.statuses import StatusWriter
from skoupa.errors import SkoupaError
from skoupa.kinds.conditions import READY, Condition, updated
from skoupa.kinds.retention.profile import ProfileStatus
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.policy.retention.teaching import Taught, replaced
from skoupa.runs.status import conditions_in

# What changes within a moment is written once.
GATHER_SECONDS: Final = 1.0
_LONGEST: Final = 4000


class ProfileStatuses:
    def __init__(
        self,
        client: Client,
        profiles: Profiles,
        *,
        acting: Callable[[], bool],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        self._clock: Clock = client.clock
        self._profiles = profiles
        self._acting = acting
        self._writer = StatusWriter(client, words=_poorer, told=told, untold=untold)
        self._news = asyncio.Event()
        self.error: SkoupaError | None = None

    def want(self) -> None:
        self._news.set()

    def doubt(self) -> None:
        """Rights may be others, and another may have written meanwhile."""
        self._writer.doubt()
        self.want()

    async def follow(self) -> None:
        """For ever."""
        backoff = Backoff(self._clock)
        while True:
            await self._nap()
            await self._clock.sleep(GATHER_SECONDS)
            self._news.clear()
            error: SkoupaError | None = None
            self._writer.denials.due()
            for entry in self._profiles if self._acting() else ():
                error = await self._write(entry) or error
            self.error = error
            if error is None:
                backoff.reset()
            else:
                self._news.set()
                await self._clock.sleep(backoff.next())

    async def _nap(self) -> None:
        try:
            async with self._clock.timeout(DENIED_SECONDS if self._writer.denials.standing else None):
                await self._news.wait()
        except TimeoutError:
            return

    async def _write(self, entry: Entry) -> SkoupaError | None:
        status = status_of(entry, self._profiles.taught, now=self._clock.now())
        if status == (entry.found.get("status") or {}):
            return None
        self._writer.distrust(entry.uid)
        try:
            await self._writer.write(
                entry.kind, entry.uid, {"replaces": None, **status}, name=entry.read.name
            )
        except SkoupaError as error:
            return error
        return None


def status_of(entry: Entry, taught: Taught, *, now: float) -> dict[str, Any]:
    wrong = taught.wrong.get(entry.read.name, "")
    profile = entry.read.reading.profile
    rests = replaced(profile) if profile is not None else ()
    ready = Condition(
        type=READY,
        status="False" if wrong else "True",
        reason="NotUnderstood" if wrong else "Taught",
        message=(wrong or _said(entry, rests))[:_LONGEST],
        last_transition_time=datetime.fromtimestamp(int(now), UTC),
        observed_generation=entry.generation,
    )
    status = ProfileStatus(
        conditions=updated(conditions_in(entry.found.get("status") or {}), ready),
        observed_generation=entry.generation,
        replaces=None if profile is None else "Shipped" if rests else "Nothing",
    )
    patch: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(status))
    return patch


def _said(entry: Entry, rests: tuple[str, ...]) -> str:
    words = [f"it takes the place of what Skoupa knows of this kind: {', '.join(rests)}"] if rests else []
    words += map(str, entry.read.reading.warnings)
    return "; ".join(words) or "it is understood and counts"


def _poorer(kind: str, where: str) -> str:
    return f"no permission to patch {kind}/status{where}: whether profiles are understood is not told there"
