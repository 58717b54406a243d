"""Reads what is about to go and makes it ready for the trash; the caller writes it together with the intent.

An object that can't be kept, or not with all that goes along because that is too much, is held or goes, as the settings
say. What goes along and can't be read never holds: it is named in what is kept. Secret values are kept only where bodies
are encrypted; that they are missing is no failure. Bodies are never logged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import Any, Final, Literal

import msgspec

from skoupa.errors import SkoupaError, UsageError
from skoupa.facts.rows import Row, uid_text
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.ledger.rows import FOUND_GONE, Body, Unkept
from skoupa.ledger.trash.bulk import Reader, why_not
from skoupa.ledger.trash.contents import SECRETS, YOUNG, NotKept, kept_of, packed, unpacked
from skoupa.ledger.trash.dependents import Dependents
from skoupa.ledger.trash.kinds import has_data
from skoupa.ledger.trash.patience import Patience
from skoupa.ledger.trash.sealing import Seal
from skoupa.model.reasons import Reason
from skoupa.model.verdicts import Claim, Hold

OnFailure = Literal["hold-data", "hold", "continue"]

NOT_IN_TRASH: Final = "not-in-trash"
_TOO_MUCH: Final = "more goes along than is kept of one deletion"
_TRY_AGAIN_SECONDS: Final = 45.0
# For a page of a list that others can do without, and for the object itself.
_LIST_SECONDS: Final = 5.0
_OBJECT_SECONDS: Final = 10.0
# What is not held then goes without being kept: soon it is tried again.
_SHORT_SILENCE_SECONDS: Final = 10.0


class Keeping(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept. `off` are kinds as kubectl shows them, `*.GROUP` is a whole group.

    `object_bytes` is the most of one object, `together_bytes` and `parts` of one deletion with all that goes along.
    """

    off: frozenset[str] = frozenset({"events", "events.events.k8s.io", "leases.coordination.k8s.io"})
    object_bytes: int = 2 << 20
    together_bytes: int = 32 << 20
    parts: int = 10_000
    on_failure: OnFailure = "hold-data"


class Keeper:
    """`discovery` gives the kinds of the server as they are known now, `named` whether an object is known to own others.

    `seal` is asked for each deletion, since keys change; whether there are any does not. It raises UsageError while its
    keys can't be read: then nothing is kept, and by default nothing goes.
    """

    def __init__(
        self,
        client: Client,
        *,
        seal: Callable[[], Seal],
        discovery: Callable[[], Discovery],
        keeping: Keeping | None = None,
        named: Callable[[Row], bool] = lambda _: False,
    ) -> None:
        self._clock = client.clock
        self._seal = seal
        self._encrypts = seal().encrypts
        self._keeping = keeping or Keeping()
        self._held = Patience(client, seconds=_OBJECT_SECONDS)
        self._going = Patience(client, seconds=_OBJECT_SECONDS, silence=_SHORT_SILENCE_SECONDS)
        lists = Patience(client, seconds=_LIST_SECONDS)
        self._reader = Reader(lists, pack=self._pack)
        self._dependents = Dependents(
            client, along=self._going, lists=lists, discovery=discovery, named=named
        )

    async def prepare(self, rows: Iterable[Row], *, labels: str = "") -> None:
        """Reads ahead in pages where many of a kind and namespace are about to go; `labels` selects at least these."""
        await self._reader.prepare((row for row in rows if self._keeps(row.resource)), labels=labels)

    async def keep(self, row: Row, claim: Claim) -> tuple[Body, ...] | Unkept | Hold:
        """What to write with the intent; empty: its kind is not kept."""
        if not self._keeps(row.resource):
            return ()
        try:
            seal = self._seal()
        except UsageError as error:
            return (
                Unkept(error.message) if self._keeping.on_failure == "continue" else self._hold(error.message)
            )
        try:
            own = await self._own(row)
            if own is None:
                return Unkept(FOUND_GONE)
            if len(own) > self._keeping.object_bytes:
                return self._failed(row, _too_large(own, self._keeping.object_bytes))
            return await self._with_dependents(row, claim, own, seal)
        except SkoupaError as error:
            return self._failed(row, why_not(error))

    async def _own(self, row: Row) -> bytes | None:
        return await self._reader.read(row, self._held if self._holds(row.resource) else self._going)

    async def _with_dependents(
        self, row: Row, claim: Claim, own: bytes, seal: Seal
    ) -> tuple[Body, ...] | Hold:
        uid = uid_text(row.uid)
        parts: dict[str, Body] = {}
        partly = row.resource.qualified == SECRETS and not self._encrypts and bool(unpacked(own).withheld)
        gaps: list[NotKept] = []
        room = self._keeping.together_bytes - len(own)
        async with aclosing(self._dependents.of(row, claim)) as going:
            async for one in going:
                if isinstance(one, NotKept):
                    gaps.append(one)
                    continue
                if not self._keeps(one.resource):
                    continue
                kept = kept_of(one.found, one.resource, with_values=self._encrypts)
                data = packed(kept)
                # What goes along is lost as well as what takes it along: either may be of a kind that has to be kept.
                holds = self._holds(row.resource) or self._holds(one.resource)
                if len(data) > self._keeping.object_bytes:
                    large = NotKept(
                        what=f"{kept.part} goes along",
                        why=_too_large(data, self._keeping.object_bytes),
                        resource=kept.resource,
                        namespace=kept.namespace,
                    )
                    if holds:
                        return self._hold(f"{large.what}: {large.why}")
                    gaps.append(large)
                elif len(data) > room or len(parts) >= self._keeping.parts:
                    too_much = NotKept(what=_TOO_MUCH, why=_most(self._keeping))
                    if holds:
                        return self._hold(f"{too_much.what}: {too_much.why}")
                    gaps.append(too_much)
                    break
                else:
                    room -= len(data)
                    # Closed at once: compressed it takes a fraction of the memory.
                    parts[kept.part] = seal.close(data, uid=uid, part=kept.part)
                    partly = partly or bool(kept.withheld)
        if gaps:
            own = packed(msgspec.structs.replace(unpacked(own), gaps=tuple(gaps)))
        partly = partly or any(not gap.what.startswith(YOUNG) for gap in gaps)
        return (seal.close(own, uid=uid, partly=partly), *parts.values())

    def _failed(self, row: Row, why: str) -> Unkept | Hold:
        return self._hold(why) if self._holds(row.resource) else Unkept(why)

    def _hold(self, why: str) -> Hold:
        reason = Reason(NOT_IN_TRASH, (("why", why),))
        return Hold(reason=reason, until=self._clock.now() + _TRY_AGAIN_SECONDS)

    def _holds(self, resource: Resource) -> bool:
        if self._keeping.on_failure == "hold-data":
            return has_data(resource)
        return self._keeping.on_failure == "hold"

    def _keeps(self, resource: Resource) -> bool:
        return self._keeping.off.isdisjoint({resource.qualified, f"*.{resource.group}"})

    def _pack(self, resource: Resource, found: dict[str, Any]) -> bytes:
        return packed(kept_of(found, resource, with_values=self._encrypts))


def _too_large(data: bytes, most: int) -> str:
    return f"it has {len(data)} bytes, and no more than {most} are kept (trash.maxObjectBytes)"


def _most(keeping: Keeping) -> str:
    return f"{keeping.parts} objects, {keeping.together_bytes} bytes (trash.maxObjects, trash.maxBytes)"
