"""Reads everything in no namespace once for all tenants that somebody asks about, and takes a census of it.

One list of metadata for each kind, in pages, in the version that the server prefers; of volumes the whole object. An object that the
server has under two kinds counts once. A kind that discovery names and that is not found is not read either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any, Final

import msgspec

from skoupa.errors import Forbidden, NotFound, SkoupaError
from skoupa.judge.cascade import waived, waived_group
from skoupa.kinds.tenant import Volume
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import EVERYWHERE, Scope, pages
from skoupa.kube.objects import METADATA, Metadata, View, detached
from skoupa.kube.resources import Resource
from skoupa.settings import TenantSettings
from skoupa.tenants.census import Belonging, Census, Kept, Uses
from skoupa.tenants.labels import may_have_label
from skoupa.tenants.ownership import (
    NEVER,
    Belongs,
    Candidate,
    Disputed,
    Ownership,
    is_namespace,
    is_shared,
)
from skoupa.tenants.tenant import Tenant
from skoupa.tenants.uses import Field, Kind, names_in, used_by
from skoupa.tenants.volumes import VIEWS, Data, data_that_goes, data_that_stays, failure, stands_for

LISTS_AT_A_TIME: Final = 4
_NOT_FOUND: Final = "the server does not find the kind, although it names it"
_DENIED: Final = "no permission to list them"


class _Naming(Data, frozen=True, gc=False, kw_only=True):
    """One that may name others."""

    role_ref: dict[str, Any] = msgspec.field(default_factory=dict, name="roleRef")


_WITH_USES: Final[View[Any]] = View(type=_Naming)


class _Read(msgspec.Struct, frozen=True, gc=False):
    """One that somebody may have; of data where it is, as far as it `stays`, or its driver takes it away (and why that `fails`)."""

    candidate: Candidate
    metadata: Metadata
    stays: Volume | None = None
    goes: Volume | None = None
    fails: str = ""


def countable(discovery: Discovery, ignored: Collection[str]) -> Iterator[Resource]:
    """Kinds whose objects are in no namespace and can be listed and deleted; Namespaces first, for others refer to them."""
    kinds = [
        one
        for one in discovery.preferred()
        if not one.namespaced
        and one.may("list", "delete")
        and (one.group, one.kind) not in NEVER
        and not waived(one, ignored)
    ]
    yield from sorted(kinds, key=lambda one: not is_namespace(one))


async def take_census(
    client: Client,
    tenants: Sequence[Tenant],
    *,
    settings: TenantSettings,
    wanted: Collection[str] | None = None,
    ownership: Ownership | None = None,
    ask_for_users: bool = False,
    labels: str = "",
    only_labelled: bool = False,
    known: Discovery | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Census:
    """Of all `tenants` that there are: without them their objects might be taken for somebody else's.

    `wanted` are those whose objects are remembered; None: all. `ownership` is another rule than theirs alone. `ask_for_users`: of kinds
    whose objects name others the whole is read, so that nobody has to read them once more. `labels` narrows the kinds that have Skoupa's label; `only_labelled`: the others, but for
    Namespaces, are not read at all. `known` spares to ask for the kinds that a server always has. Raises what keeps kinds from being known at all.
    """
    discovery = await discover(client, known=known)
    ids = {one.name for one in tenants} if wanted is None else set(wanted)
    counting = _Counting(
        client,
        ownership or Ownership(settings, tenants),
        wanted=ids,
        ask_for_users=ask_for_users,
        labels=labels,
        progress=progress,
    )
    kinds = countable(discovery, settings.ignore_kinds)
    await counting.count(
        [one for one in kinds if not only_labelled or is_namespace(one) or may_have_label(one)]
    )
    return Census(
        tenants={one.name: one for one in tenants},
        ownership=counting.ownership,
        discovery=discovery,
        belongings={name: tuple(found.values()) for name, found in counting.found.items()},
        disputed=tuple(counting.disputed.values()),
        owned=counting.owned,
        unread=counting.unread,
        gaps=tuple(gap for gap in discovery.gaps if not waived_group(gap.group, settings.ignore_kinds)),
        objects=counting.objects,
        uses=counting.uses,
        narrowed=bool(labels) or only_labelled,
    )


class _Counting:
    def __init__(
        self,
        client: Client,
        ownership: Ownership,
        *,
        wanted: Collection[str],
        ask_for_users: bool,
        labels: str,
        progress: Callable[[str], None],
    ) -> None:
        self._client = client
        self._progress = progress
        self.ownership = ownership
        self.found: dict[str, dict[str, Belonging]] = {one: {} for one in wanted}
        self.disputed: dict[str, Kept] = {}
        self.owned: dict[str, dict[str, str]] = {one: {} for one in wanted}
        self.unread: dict[str, str] = {}
        self.uses: dict[Kind, Uses] = {}
        self._ask_for_users = ask_for_users
        self._labels = labels
        self.objects = 0
        # Of Namespaces, which some servers have under a second name.
        self._namespaces: set[str] = set()

    async def count(self, kinds: Sequence[Resource]) -> None:
        for resource in filter(is_namespace, kinds):
            await self._kind(resource)
        others = iter([one for one in kinds if not is_namespace(one)])

        async def work() -> None:
            for resource in others:
                await self._kind(resource)

        async with asyncio.TaskGroup() as group:
            for _ in range(LISTS_AT_A_TIME):
                group.create_task(work())

    async def _kind(self, resource: Resource) -> None:
        self._progress(resource.qualified)
        kind = resource.group, resource.kind
        fields = used_by(kind) if self._ask_for_users else []
        view: View[Any] = _WITH_USES if fields else VIEWS.get(kind, METADATA)
        uses: Uses = {}
        # Who might use something of a tenant's is read whole, whosever it is.
        narrow = self._labels and not fields and may_have_label(resource) and not is_namespace(resource)
        scope = Scope(labels=self._labels) if narrow else EVERYWHERE
        read: list[_Read] = []
        number, bad = 0, ""
        try:
            async with aclosing(pages(self._client, resource, view, scope=scope)) as listing:
                async for page in listing:
                    if page.first:
                        read, number, bad = [], 0, ""
                        uses = {}
                    if page.undecodable:
                        bad = f"{page.undecodable[0].name or 'one of them'} can't be understood: {page.undecodable[0].why}"
                    number += len(page.items)
                    read += self._some(resource, page.items, fields, uses)
        except NotFound:
            bad = _NOT_FOUND
        except Forbidden:
            bad = _DENIED
        except SkoupaError as error:
            bad = error.brief
        if bad:
            self.unread[resource.qualified] = bad
        elif fields:
            self.uses[kind] = uses
        self.objects += number
        for one in read:
            self._note(one)

    def _some(
        self, resource: Resource, items: Iterable[Any], fields: Sequence[tuple[Field, Kind]], uses: Uses
    ) -> Iterator[_Read]:
        """Those that somebody may have: most of what is read is nobody's, and is not remembered."""
        for item in items:
            metadata: Metadata = item.metadata
            whole = item if isinstance(item, Data) and (resource.group, resource.kind) in VIEWS else None
            candidate = Candidate(
                resource=resource,
                name=metadata.name,
                labels=metadata.labels or {},
                owners=tuple(one.uid for one in metadata.owner_references or ()),
                stands_for=stands_for(whole) if whole is not None else None,
            )
            if is_namespace(resource):
                self._namespaces.add(metadata.uid)
                self.ownership.learn(candidate)
            elif metadata.uid in self._namespaces:
                continue
            whose = self.ownership.of(candidate)
            if fields:
                user = whose.tenant if isinstance(whose, Belongs) and not is_shared(metadata.labels) else ""
                found = {"spec": item.spec, "roleRef": item.role_ref}
                for field, kind in fields:
                    for name in names_in(found, field):
                        uses.setdefault((kind, name), {}).setdefault(user, f"{resource.kind} {metadata.name}")
            if whose is not None or self.ownership.owners_of(candidate):
                yield _Read(
                    candidate,
                    detached(metadata),
                    stays=data_that_stays(whole) if whole is not None else None,
                    goes=data_that_goes(whole) if whole is not None else None,
                    fails=failure(whole) if whole is not None else "",
                )

    def _note(self, found: _Read) -> None:
        candidate, metadata = found.candidate, found.metadata
        whose = self.ownership.of(candidate)
        called = f"{candidate.resource.kind} {candidate.name}"
        for tenant in self.ownership.owners_of(candidate):
            if tenant in self.owned:
                self.owned[tenant][metadata.uid] = called
        if isinstance(whose, Disputed):
            self.disputed[metadata.uid] = Kept(called=called, tenants=whose.tenants, why=whose.why)
        elif isinstance(whose, Belongs) and whose.tenant in self.found:
            belonging = Belonging(
                resource=candidate.resource,
                metadata=metadata,
                tenant=whose.tenant,
                proof=whose.proof,
                # Of a volume the claim counts as well, which may change, and come.
                lasting=whose.lasting and (candidate.resource.group, candidate.resource.kind) not in VIEWS,
                volume=found.stays,
                reclaimed=found.goes,
                failure=found.fails,
                claimed_in=candidate.stands_for.namespace if candidate.stands_for is not None else "",
                claim=candidate.stands_for.uid if candidate.stands_for is not None else "",
            )
            self.found[whose.tenant].setdefault(metadata.uid, belonging)
