"""Which kinds are served, for who meets one that nobody knows: an owner reference may name it before discovery was read.

Asked only then, and once for all who ask within a few seconds. A kind that is not served although its group has a
definition of which no version is may be that one: what is stored of it is there, and nobody can read it. Where
definitions may not be listed that is not reckoned with.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import Final

import msgspec

from skoupa.errors import Forbidden, NotFound, SkoupaError
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import pages
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from skoupa.ledger.trash.patience import Patience
from skoupa.sweep.sharing import SharedReading

_SECONDS: Final = 10.0
# Of requests for the kinds themselves, which are of no kind.
KINDS: Final = ""


class _Kinds(msgspec.Struct, frozen=True, kw_only=True):
    discovery: Discovery
    # Groups with a definition of which no version is served.
    hidden: frozenset[str]


class Served:
    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._client = patience.client
        self._kinds: SharedReading[_Kinds] = SharedReading(
            self._client.clock, longest=_SECONDS, shortest=_SECONDS
        )

    async def find(self, group: str, kind: str, version: str) -> Resource | None:
        """None: there is no such kind. Raises where that is not known."""
        self._patience.check(KINDS)
        found = await self._kinds.get(self._read)
        resource = named(found.discovery, group, kind, version)
        if resource is None and group in found.hidden:
            raise SkoupaError(f"{kind} of {group} is not served")
        return resource

    async def _read(self) -> _Kinds:
        with self._patience.asking(KINDS):
            discovery = await discover(self._client)
        served = {resource.qualified for resource in discovery.resources}
        hidden: set[str] = set()
        asked = pages(self._client, CUSTOM_RESOURCE_DEFINITIONS, METADATA)
        listing = self._patience.pages(CUSTOM_RESOURCE_DEFINITIONS.qualified, asked)
        try:
            async with aclosing(listing):
                async for page in listing:
                    names = {item.metadata.name for item in page.items} - served
                    hidden |= {name.partition(".")[2] for name in names}
        except (Forbidden, NotFound):
            hidden = set()
        return _Kinds(discovery=discovery, hidden=frozenset(hidden))


def named(discovery: Discovery, group: str, kind: str, version: str) -> Resource | None:
    """The kind that an owner reference names; raises where its group can't be told."""
    resource = discovery.find(group, kind, version) or discovery.find(group, kind)
    if resource is None:
        gap = discovery.unreadable(group)
        if gap is not None:
            raise SkoupaError(f"the kinds of {gap.where} can't be read ({gap.why})")
    return resource
