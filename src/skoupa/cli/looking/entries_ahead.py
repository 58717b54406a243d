"""GlobalContextEntries that are not applied yet, answered as if they were: before those of the cluster that have the same names.

Only the question for an entry by its name is answered here, which is how runs ask; everything else goes on as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import msgspec

from skoupa.kinds.policies.global_context import GLOBAL_CONTEXT_ENTRIES
from skoupa.kube.kinds import Discovery
from skoupa.kube.transport import Request, Response, Stream, Transport

_BY_NAME: Final = "metadata.name="


class EntriesAhead:
    """A transport over another."""

    def __init__(self, transport: Transport, entries: Iterable[Mapping[str, Any]]) -> None:
        self._transport = transport
        self._entries = {str(one["metadata"].get("name")): one for one in entries}

    async def send(self, request: Request) -> Response:
        entry = self._entries.get(_asked(request))
        if entry is None:
            return await self._transport.send(request)
        return Response(status=200, body=msgspec.json.encode({"metadata": {}, "items": [entry]}))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(request)

    async def close(self) -> None:
        await self._transport.close()


def with_entries(discovery: Discovery) -> Discovery:
    """The kinds of a cluster that knows GlobalContextEntries, as it will when they are applied."""
    known = GLOBAL_CONTEXT_ENTRIES
    if discovery.find(known.group, known.kind) is not None:
        return discovery
    return msgspec.structs.replace(discovery, resources=(*discovery.resources, known))


def _asked(request: Request) -> str:
    """The name of the entry that is asked for; empty: the question is another."""
    if request.verb != "list" or request.kind != GLOBAL_CONTEXT_ENTRIES.qualified:
        return ""
    selector = dict(request.query).get("fieldSelector", "")
    return selector.removeprefix(_BY_NAME) if selector.startswith(_BY_NAME) else ""
