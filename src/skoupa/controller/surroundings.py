"""The last look around an object before it goes, read freshly: what is inside it, and what hangs on it.

Feeds may be a moment behind. For most objects nothing has to be read: only Namespaces and definitions contain others,
only where kept objects have owners can an owner take one along, and only an owner of no namespace reaches into others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from skoupa.controller.knowledge import Knowledge
from skoupa.errors import Forbidden, SkoupaError
from skoupa.facts.rows import Row
from skoupa.judge.cascade import is_namespace
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import WHOLE
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold, Verdict
from skoupa.sweep.dependents import Dependents
from skoupa.sweep.parents import FreshLook
from skoupa.sweep.sharing import SharedReading

_KINDS_SECONDS: Final = 4.0


class Surroundings:
    """`on_kinds` hears that the server has other kinds than those known."""

    def __init__(
        self, client: Client, knowledge: Knowledge, *, on_kinds: Callable[[], None] = lambda: None
    ) -> None:
        self._client = client
        self._knowledge = knowledge
        self._on_kinds = on_kinds
        self._kinds: SharedReading[Discovery] = SharedReading(client.clock, longest=_KINDS_SECONDS)
        self._fresh = FreshLook(
            client,
            protection=knowledge.protection,
            brakes=knowledge.brake_guard,
            extraction=knowledge.extraction,
            ignore=knowledge.settings.cascade.ignore_kinds,
        )
        self._dependents = Dependents(
            client,
            look=self._fresh,
            protection=knowledge.protection,
            extraction=knowledge.extraction,
            ignore=knowledge.settings.cascade.ignore_kinds,
            kept_namespaces=knowledge.kept_namespaces,
        )

    async def look(self, row: Row, claim: Claim) -> Verdict | None:
        """The verdict that keeps it, or None."""
        freshen = self._knowledge.freshen_namespace
        if freshen is not None and row.namespace:
            # What else it changed is judged as the delete leaves.
            hold = await freshen(row.namespace)
            if hold is not None:
                return Verdict(claims=(claim,), holds=(hold,))
        holds = await self.holds(row, claim)
        return Verdict(claims=(claim,), holds=holds) if holds else None

    async def holds(self, row: Row, claim: Claim) -> tuple[Hold, ...]:
        discovery = self._knowledge.discovery
        if not row.namespace:
            # It may take along kinds that nobody has told of yet.
            try:
                discovery = await self._kinds.get(lambda: discover(self._client))
            except SkoupaError as error:
                why = f"which kinds there are is not known: {error.message}"
                return (Hold(reason=reason("keeps-unknown", kinds="some kinds", why=why)),)
            if discovery != self._knowledge.discovery:
                self._on_kinds()
        now = self._client.clock.now()
        holds = await self._fresh.inside(row, claim, discovery=discovery, now=now)
        if claim.propagation != "Orphan":
            owned = await self._knowledge.kept.holds_freshly(
                row, client=self._client, discovery=discovery, now=now
            )
            holds += (owned,) if owned is not None else ()
            holds = holds or await self._dependents.holds(row, claim, discovery=discovery, now=now)
        return holds

    async def look_closer(self, row: Row) -> Row:
        """After its delete: what a Namespace waits for stands in its conditions, not among its finalizers."""
        if not is_namespace(row):
            return row
        try:
            found = await self._read(row)
        except SkoupaError:
            return row
        conditions = (found.get("status") or {}).get("conditions") or ()
        waiting = tuple(
            str(condition.get("message"))
            for condition in conditions
            if condition.get("status") == "True" and condition.get("message")
        )
        return msgspec.structs.replace(row, finalizers=(*row.finalizers, *waiting))

    async def _read(self, row: Row) -> dict[str, Any]:
        try:
            return await self._client.get(row.resource, row.name, view=WHOLE)
        except Forbidden:
            return await self._client.find(row.resource, row.name, view=WHOLE)
