"""The last look around an object before it goes, read freshly: what is inside it, and what hangs on it.

Feeds may be a moment behind. For most objects nothing has to be read: only Namespaces and definitions contain others,
only where kept objects have owners can an owner take one along, only an owner of no namespace reaches into others, and few
kinds take others along without an owner reference. Where nobody tells of new kinds, these are asked for too. All that is
read here is read after the question, save those kinds for an object of a namespace, which may be ten seconds old; objects
that go at the same time share it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from skoupa.controller.knowledge import Knowledge
from skoupa.controller.sight.served import KINDS
from skoupa.controller.sight.watchable import NOT_READ_YET, new_kinds
from skoupa.errors import Forbidden, SkoupaError
from skoupa.facts.rows import Row
from skoupa.judge.cascade import is_definition, is_namespace, waived
from skoupa.judge.owning import could_own
from skoupa.judge.tenants import NAME as TENANTS
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import WHOLE
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold, Verdict
from skoupa.sweep.carried import Carried
from skoupa.sweep.dependents import Dependents
from skoupa.sweep.parents import FreshLook
from skoupa.sweep.sharing import SharedReading
from skoupa.sweep.taken import Taken

_UNTOLD_SECONDS: Final = 10.0


class Surroundings:
    """`on_kinds` hears that the server has other kinds than those known."""

    def __init__(
        self, client: Client, knowledge: Knowledge, *, on_kinds: Callable[[], None] = lambda: None
    ) -> None:
        self._client = client
        self._knowledge = knowledge
        self._on_kinds = on_kinds
        self._kinds: SharedReading[Discovery] = SharedReading(client.clock, longest=0.0, shortest=0.0)
        # Where nobody tells of new kinds, before any other object goes.
        self._kinds_untold: SharedReading[Discovery] = SharedReading(
            client.clock, longest=_UNTOLD_SECONDS, shortest=_UNTOLD_SECONDS
        )
        self._equal: tuple[Discovery, Discovery] | None = None
        self._fresh = FreshLook(
            client,
            protection=knowledge.protection,
            brakes=knowledge.brake_guard,
            extraction=knowledge.extraction,
            ignore=knowledge.settings.cascade.ignore_kinds,
            of_tenant=self._inside_of_tenant,
        )
        self._dependents = Dependents(
            client,
            look=self._fresh,
            protection=knowledge.protection,
            brakes=knowledge.brake_guard,
            extraction=knowledge.extraction,
            ignore=knowledge.settings.cascade.ignore_kinds,
            kept_namespaces=knowledge.kept_namespaces,
            unwatched=bool(knowledge.settings.namespaces),
        )
        self._carried = Carried(
            self._fresh.patience,
            extraction=knowledge.extraction,
            ignore=knowledge.settings.cascade.ignore_kinds,
            keep_changes=lambda: knowledge.keep_changes,
        )
        self._taken = Taken(
            self._fresh.patience,
            self._carried,
            takes=lambda kind: knowledge.takes(kind),  # noqa: PLW0108 - who knows it is handed in later
            ignore=knowledge.settings.cascade.ignore_kinds,
        )

    async def takes(self, row: Row) -> list[str]:
        """What goes along by its own finalizer, as a profile of its kind says."""
        return await self._taken.named(row)

    async def look(self, row: Row, claim: Claim) -> Verdict | None:
        """The verdict that keeps it, or None."""
        freshen = self._knowledge.freshen_namespace
        if freshen is not None and row.namespace:
            # What else it changed is judged as the delete leaves.
            hold = await freshen(row.namespace)
            if hold is not None:
                return Verdict(claims=(claim,), holds=(hold,))
        of_tenant = claim.mechanism == TENANTS
        holds = await (self._of_tenant(row, claim) if of_tenant else self.holds(row, claim))
        return Verdict(claims=(claim,), holds=holds) if holds else None

    async def _of_tenant(self, row: Row, claim: Claim) -> tuple[Hold, ...]:
        """What hangs on it is orphaned, and kept things of the tenant go: only what is inside it has to be looked at."""
        look = self._knowledge.tenant_look
        if look is None:
            return (Hold(reason=reason("tenant-unsure", why="nobody follows Tenants here")),)
        holds = await look.before(row, claim)
        if holds or not (is_namespace(row) or is_definition(row)):
            return holds
        try:
            self._fresh.patience.check(KINDS)
            discovery = await self._kinds.get(self._read_kinds)
        except SkoupaError as error:
            why = f"which kinds there are is not known: {error.message}"
            return (Hold(reason=reason("keeps-unknown", kinds="some kinds", why=why)),)
        now = self._client.clock.now()
        return await self._fresh.inside(row, claim, discovery=discovery, now=now) or await look.around(
            row, claim
        )

    def _inside_of_tenant(self, row: Row, inside: Row, claim: Claim) -> Hold | None:
        look = self._knowledge.tenant_look
        if look is None:
            return Hold(reason=reason("tenant-unsure", why="nobody follows Tenants here"))
        return look.inside(row, inside, claim)

    async def holds(self, row: Row, claim: Claim) -> tuple[Hold, ...]:
        knowledge = self._knowledge
        discovery = knowledge.discovery
        if not row.namespace or knowledge.kinds_untold:
            # It may take along kinds that nobody has told of yet.
            kinds = self._kinds if not row.namespace else self._kinds_untold
            try:
                self._fresh.patience.check(KINDS)
                discovery = await kinds.get(self._read_kinds)
            except SkoupaError as error:
                why = f"which kinds there are is not known: {error.message}"
                return (Hold(reason=reason("keeps-unknown", kinds="some kinds", why=why)),)
            if self._differs(discovery):
                self._on_kinds()
                unread = self._unread(row, claim, discovery)
                if unread is not None:
                    return (unread,)
        now = self._client.clock.now()
        mirrored = await self._dependents.mirrored(row, now)
        if mirrored is not None:
            return (mirrored,)
        holds = await self._fresh.inside(row, claim, discovery=discovery, now=now)
        # What a definition defines goes by deletes of its own, whatever is said of the definition.
        if claim.propagation != "Orphan" or is_definition(row):
            owned = await knowledge.kept.holds_freshly(row, client=self._client, discovery=discovery, now=now)
            holds += (owned,) if owned is not None else ()
            holds = holds or await self._dependents.holds(row, claim, discovery=discovery, now=now)
        # The last of all: what feeds tell from here on of kept things makes the delete look around again.
        carried = await self._carried.hold(row, discovery=discovery, now=now)
        carried = carried or await self._taken.hold(row, discovery=discovery, now=now)
        return (*holds, carried) if carried is not None else holds

    async def _read_kinds(self) -> Discovery:
        patience = self._fresh.patience
        with patience.asking(KINDS):
            known = self._knowledge.discovery
            return await discover(patience.client, known=None if known.gaps else known)

    def _differs(self, found: Discovery) -> bool:
        """Remembered, since there are many kinds and one reading serves many deletes."""
        known = self._knowledge.discovery
        if self._equal is None or self._equal[0] is not found or self._equal[1] is not known:
            if found != known:
                return True
            self._equal = (found, known)
        return False

    def _unread(self, row: Row, claim: Claim, discovery: Discovery) -> Hold | None:
        """Kinds that came since somebody last looked: nobody has read yet what of them is kept."""
        settings = self._knowledge.settings
        if claim.propagation == "Orphan" or is_namespace(row) or is_definition(row):
            # What they contain is looked at here and now.
            return None
        new = new_kinds(self._knowledge.discovery, discovery, also=settings.watch_also)
        might = [
            kind.qualified
            for kind in new
            if could_own(row.resource, kind) and not waived(kind, settings.cascade.ignore_kinds)
        ]
        if not might:
            return None
        return Hold(reason=reason("keeps-behind", kinds=", ".join(sorted(might)), why=NOT_READ_YET))

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
