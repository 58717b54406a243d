"""How late objects go, as a watcher of its own sees it: each counts once, when it is gone or begins to go."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import aclosing

from harness.bench.arena import Arena
from skoupa.kube import watch, watched
from skoupa.kube.lists import Scope
from skoupa.kube.objects import METADATA, Metadata
from skoupa.kube.resources import CONFIG_MAPS


async def until_gone(
    arena: Arena, scope: Scope, number: int, *, due: Callable[[Metadata], float], late: list[float]
) -> None:
    """Returns when that many ConfigMaps have gone; `late` gets by how many seconds after it was due each of them went."""
    gone: set[str] = set()
    async with aclosing(watch.watch(arena.client, CONFIG_MAPS, METADATA, scope=scope)) as events:
        async for event in events:
            now = time.time()
            if not isinstance(event, watched.Changed):
                continue
            for change in event.changes:
                meta = change.object.metadata
                if (change.deleted or meta.deletion_timestamp) and meta.uid not in gone:
                    gone.add(meta.uid)
                    late.append(now - due(meta))
            if len(gone) == number:
                return
