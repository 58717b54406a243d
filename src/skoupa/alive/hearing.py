"""Alive as it is seen by one who takes part: at once where it may be watched, else within seconds, by looking.

The right to get it is enough to take part, so a watch that is refused must not make anybody deaf; it is tried again from time to time.
For `sdk`, so only the wire is needed. That there is none is no sighting, and neither is an answer that does not come.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, Final

from skoupa import names
from skoupa.errors import Forbidden, NotFound
from skoupa.kube import watch, watched
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource

LOOK_SECONDS: Final = 5.0
_LOOKS: Final = 12

Seen = dict[str, Any]


async def sightings(
    client: Client, kind: Resource, *, namespace: str, read: Callable[[], Awaitable[Seen]]
) -> AsyncGenerator[Seen, None]:
    """For ever. Raises what `read` is refused."""
    while True:
        async with aclosing(_watched(client, kind, namespace)) as seen:
            async for one in seen:
                yield one
        for _ in range(_LOOKS):
            with suppress(NotFound):
                yield await read()
            await client.clock.sleep(LOOK_SECONDS)


async def _watched(client: Client, kind: Resource, namespace: str) -> AsyncGenerator[Seen, None]:
    """Ends where it may not be watched."""
    scope = Scope(namespace=namespace, fields=f"metadata.name={names.ALIVE_NAME}")
    async with aclosing(watch.watch(client, kind, WHOLE, scope=scope)) as events:
        async for event in events:
            match event:
                case watched.Listed(objects, _):
                    found = list(objects)
                case watched.Changed(changes, _):
                    found = [change.object for change in changes if not change.deleted]
                case watched.Interrupted(Forbidden(), _):
                    return
                case _:
                    continue
            for one in found:
                yield one
