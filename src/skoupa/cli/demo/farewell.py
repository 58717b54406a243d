"""The end of the demo's cluster: who owns things outside of it is told, and given time. It only tells; nothing else goes because of it.

Three operators have joined. One is quick; one stands before a bucket that it may not empty, and one has died, so that the time runs out
and somebody has to look. What they own elsewhere are three lists.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from skoupa import names
from skoupa.alive.sdk import Participant, register
from skoupa.cli.demo.rules import HOUR
from skoupa.clock import Clock
from skoupa.kinds.alive import ALIVE, ALIVES
from skoupa.kinds.definition import document
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA

MINUTE: Final = 60.0
_JOIN_SECONDS: Final = 19.8 * HOUR
_SIGNAL_SECONDS: Final = 0.2 * HOUR
_MENDED_SECONDS: Final = 40 * MINUTE
_RECORDS: Final = ("www", "api", "mail")
_BUCKETS: Final = ("logs", "uploads", "backups")
_VOLUMES: Final = ("orders", "carts")
_STUCK: Final = "backups"


def kind() -> list[dict[str, Any]]:
    return [document(ALIVE)]


class Farewell:
    """`tell` hears what people and operators do."""

    def __init__(self, client: Client, *, tell: Callable[[str], None]) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._tell = tell
        self._mended = asyncio.Event()

    async def play(self) -> None:
        """Once."""
        await self._clock.sleep(_JOIN_SECONDS)
        dns = await self._joined("dns", len(_RECORDS))
        buckets = await self._joined("buckets", len(_BUCKETS))
        await self._joined("volumes", len(_VOLUMES))
        await self._clock.sleep(_SIGNAL_SECONDS)
        await self._signal()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._clean_up(dns, _RECORDS, seconds=MINUTE))
            group.create_task(self._clean_up(buckets, _BUCKETS, seconds=4 * MINUTE))
            group.create_task(self._mend())
            group.create_task(self._start_again())
        self._tell("everybody is done: whoever destroys the machines now leaves nothing behind")

    async def _joined(self, who: str, things: int) -> Participant:
        participant = await self._registered(who)
        self._tell(f"the operator of {who} takes part: it owns {things} things outside of the cluster")
        return participant

    async def _registered(self, who: str) -> Participant:
        return await register(
            self._client,
            f"{who}.example.com/cleanup",
            lease=("skoupa", f"alive-{who}"),
            identity=f"system:serviceaccount:skoupa:{who}",
        )

    async def _signal(self) -> None:
        found = await self._client.get(ALIVES, names.ALIVE_NAME, view=METADATA)
        uid = found.metadata.uid
        confirmed = {"annotations": {names.CONFIRM_DELETION_ANNOTATION: uid}}
        await self._client.merge_patch(
            ALIVES, names.ALIVE_NAME, {"metadata": confirmed, "spec": {"timeout": "30m"}}
        )
        await self._client.delete(ALIVES, names.ALIVE_NAME, uid=uid, propagation="Background")
        self._tell("somebody gives the cluster up, confirms it, and deletes Alive: 30 minutes to clean up")

    async def _clean_up(self, participant: Participant, things: tuple[str, ...], *, seconds: float) -> None:
        await participant.on_deletion()
        for number, thing in enumerate(things):
            left = len(things) - number
            await participant.report(remaining=left, message=f"removing {thing}")
            await self._clock.sleep(seconds)
            while thing == _STUCK and not self._mended.is_set():
                await participant.report(remaining=left, message=f"{thing} may not be emptied", failed=True)
                await self._clock.sleep(MINUTE / 3)
        await participant.report(remaining=0)
        await participant.done()
        self._tell(f"{participant.finalizer}: {len(things)} things removed, its finalizer is off")

    async def _mend(self) -> None:
        await self._clock.sleep(_MENDED_SECONDS)
        self._mended.set()
        self._tell(f"somebody read who is left, and gave the operator the right to empty {_STUCK}")

    async def _start_again(self) -> None:
        """The operator of volumes gives no sign of life until then."""
        await self._mended.wait()
        self._tell("and started the operator of volumes again, which had died: it goes on where it was")
        volumes = await self._registered("volumes")
        await self._clean_up(volumes, _VOLUMES, seconds=MINUTE)
