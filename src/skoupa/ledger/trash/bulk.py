"""Whole objects, read before they go: one by one, or in pages where many of one kind and namespace are about to go.

What was read in pages counts only for the very state that was read (uid and resourceVersion), and for a minute; what
changed meanwhile, or was not found in the pages, is read alone. Memory is bounded, and a list that brings mostly others
or takes long is given up: whoever plans deletions waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import Any, Final

from skoupa.errors import ApiError, BadReply, Forbidden, MethodNotAllowed, NotFound, SkoupaError
from skoupa.facts.rows import Row, uid_text
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.ledger.trash.patience import Patience

Pack = Callable[[Resource, dict[str, Any]], bytes]

# Below this a GET for each is quicker than a page of which most is not wanted.
MANY: Final = 10
_MOST_WAITING_BYTES: Final = 32 << 20
# What was held meanwhile is not waited for.
_LONGEST_WAIT_SECONDS: Final = 60.0
# So many objects may be read for one that is wanted.
_WASTE: Final = 5
# Whole objects may have a megabyte each, and a page is in memory at once.
PAGE: Final = 50
# Of all lists together; what they did not bring by then is read alone.
_LONGEST_AHEAD_SECONDS: Final = 10.0


class Alone:
    """Reads one object; by a list on its name where get is not granted, as in the controller's role."""

    def __init__(self) -> None:
        # Kinds of which get was refused: it is not asked for again.
        self._only_listed: set[str] = set()

    async def read(
        self, resource: Resource, name: str, *, namespace: str, patience: Patience
    ) -> dict[str, Any]:
        patience.check(resource.qualified)
        with patience.asking(resource.qualified):
            return await self._read(patience.client, resource, name, namespace)

    async def _read(self, client: Client, resource: Resource, name: str, namespace: str) -> dict[str, Any]:
        found: dict[str, Any] | None = None
        if resource.qualified not in self._only_listed:
            try:
                found = await client.get(resource, name, namespace=namespace, view=WHOLE)
            except (Forbidden, MethodNotAllowed):
                self._only_listed.add(resource.qualified)
        if found is None:
            found = await client.find(resource, name, namespace=namespace, view=WHOLE)
        if not (found.get("metadata") or {}).get("uid"):
            raise BadReply(f"{resource.qualified}/{name} came without its uid")
        return found


class Reader:
    """`lists` is for pages, which nobody has to wait for; `pack` makes of an object what is kept of it."""

    def __init__(self, lists: Patience, *, pack: Pack) -> None:
        self._lists = lists
        self._alone = Alone()
        self._pack = pack
        self._clock = lists.client.clock
        # With the time until which it is waited for.
        self._ready: dict[tuple[str, str], tuple[bytes, float]] = {}
        self._waiting_bytes = 0

    async def prepare(self, rows: Iterable[Row], *, labels: str = "") -> int:
        """Reads ahead; how many were found. `labels` selects at least these rows. Fails silently: each is read later."""
        self._drop_old()
        groups: dict[tuple[Resource, str], list[Row]] = {}
        for row in rows:
            groups.setdefault((row.resource, row.namespace), []).append(row)
        before = len(self._ready)
        try:
            async with self._clock.timeout(_LONGEST_AHEAD_SECONDS):
                for (resource, namespace), wanted in groups.items():
                    if len(wanted) >= MANY:
                        await self._read_some(resource, Scope(namespace=namespace, labels=labels), wanted)
        except TimeoutError:
            pass
        return len(self._ready) - before

    async def read(self, row: Row, patience: Patience) -> bytes | None:
        """None: it is gone or on its way, or another one has its name by now."""
        uid = uid_text(row.uid)
        ready = self._take((uid, row.resource_version))
        if ready is not None:
            return ready
        try:
            found = await self._alone.read(row.resource, row.name, namespace=row.namespace, patience=patience)
        except NotFound:
            return None
        metadata = found["metadata"]
        # Of one that is on its way, what goes along may be gone already: what an earlier try kept of it is more.
        if metadata["uid"] != uid or metadata.get("deletionTimestamp"):
            return None
        return self._pack(row.resource, found)

    async def _read_some(self, resource: Resource, scope: Scope, rows: list[Row]) -> None:
        try:
            await self._read_pages(resource, scope, rows)
        except SkoupaError:
            # Each is read alone, and says then what is wrong.
            return

    async def _read_pages(self, resource: Resource, scope: Scope, rows: list[Row]) -> None:
        wanted = {(uid_text(row.uid), row.resource_version) for row in rows}
        seen = 0
        whole = pages(self._lists.client, resource, WHOLE, scope=scope, page_size=PAGE)
        async with aclosing(self._lists.pages(resource.qualified, whole)) as listing:
            async for page in listing:
                seen += len(page.items)
                for found in page.items:
                    metadata = found.get("metadata") or {}
                    state = (metadata.get("uid", ""), metadata.get("resourceVersion", ""))
                    if state in wanted and self._waiting_bytes < _MOST_WAITING_BYTES:
                        wanted.discard(state)
                        self._put(state, self._pack(resource, found))
                full = self._waiting_bytes >= _MOST_WAITING_BYTES
                if not wanted or full or seen > PAGE + _WASTE * len(rows):
                    return

    def _put(self, state: tuple[str, str], packed: bytes) -> None:
        self._take(state)
        self._waiting_bytes += len(packed)
        self._ready[state] = (packed, self._clock.monotonic() + _LONGEST_WAIT_SECONDS)

    def _take(self, state: tuple[str, str]) -> bytes | None:
        packed, _ = self._ready.pop(state, (None, 0.0))
        if packed is not None:
            self._waiting_bytes -= len(packed)
        return packed

    def _drop_old(self) -> None:
        now = self._clock.monotonic()
        for state in [state for state, (_, until) in self._ready.items() if until < now]:
            self._take(state)


def why_not(error: SkoupaError) -> str:
    """Without what came instead of an answer: that may be half of a Secret."""
    if isinstance(error, BadReply):
        return "the server's answer could not be read"
    return error.status.message or error.message if isinstance(error, ApiError) else error.message
