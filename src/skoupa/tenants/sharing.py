"""What a tenant had that others use: a StorageClass of its own that somebody else's claim names stays, and is told.

Asked once for all tenants that go together, and only of kinds that can use what one of them has. Whoever could not be read might use
it: then it waits, and that is told too. `skoupa.dev/shared` says the same beforehand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from skoupa.errors import SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.lists import pages
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.tenants.census import Belonging, Census, Uses
from skoupa.tenants.uses import USES, Field, Kind, names_in


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """By uid: who else uses it, and of which nobody can tell whether somebody does."""

    used: dict[str, str] = {}
    unknown: dict[str, str] = {}


async def shared_by(
    client: Client,
    census: Census,
    asked: Sequence[Belonging],
    *,
    going: Collection[str],
    leaving: bool = False,
) -> Shared:
    """Of what the tenants `going` have, and go with together: who belongs to one of them is nobody else.

    `leaving`: also of what is on its way out, which is asked otherwise before it is sent there.
    """
    wanted: dict[Kind, dict[str, Belonging]] = {}
    for one in asked:
        kind = (one.resource.group, one.resource.kind)
        if kind in USES and (leaving or not one.is_leaving):
            wanted.setdefault(kind, {})[one.metadata.name] = one
    users: dict[Kind, list[tuple[Field, Kind]]] = {}
    for kind in wanted:
        for field in USES[kind]:
            users.setdefault(field.user, []).append((field, kind))
    used: dict[str, str] = {}
    unknown: dict[str, str] = {}
    own = _Own(census, going)
    for user, fields in users.items():
        if user in census.uses:
            used |= _told_before(census.uses[user], wanted, frozenset(going))
            continue
        resource = census.discovery.find(*user)
        if resource is None or not resource.may("list"):
            continue
        try:
            used |= await _users(client, resource, fields, wanted, own)
        except SkoupaError as error:
            why = f"whether somebody else uses it is not known: {resource.qualified} can't be read ({error.brief}); tenants.keepUsed: false waives that"
            unknown |= {one.uid: why for _, kind in fields for one in wanted[kind].values()}
    return Shared(used=used, unknown={uid: why for uid, why in unknown.items() if uid not in used})


def _told_before(
    uses: Uses, wanted: dict[Kind, dict[str, Belonging]], going: frozenset[str]
) -> dict[str, str]:
    """What the census itself was told of that."""
    found = {}
    for kind, belongings in wanted.items():
        for name, belonging in belongings.items():
            users = uses.get((kind, name), {})
            others = [user for tenant, user in users.items() if tenant not in going]
            if others:
                found[belonging.uid] = _in_words(others[0])
    return found


class _Own:
    """Who goes along."""

    def __init__(self, census: Census, going: Iterable[str]) -> None:
        self._ownership = census.ownership
        self._tenants = frozenset(going)
        self._uids = {one.uid for name in self._tenants for one in census.of(name) if not one.is_shared}

    def has(self, metadata: dict[str, Any]) -> bool:
        namespace = metadata.get("namespace")
        if not namespace:
            return metadata.get("uid") in self._uids
        whose = self._ownership.in_namespace(str(namespace))
        return bool(whose) and whose <= self._tenants


async def _users(
    client: Client,
    resource: Resource,
    fields: Sequence[tuple[Field, Kind]],
    wanted: dict[Kind, dict[str, Belonging]],
    own: _Own,
) -> dict[str, str]:
    found: dict[str, str] = {}
    async with aclosing(pages(client, resource, WHOLE)) as listing:
        async for page in listing:
            if page.first:
                found.clear()
            if page.undecodable:
                raise SkoupaError(page.undecodable[0].why)
            for item in page.items:
                if own.has(item["metadata"]):
                    continue
                for field, kind in fields:
                    for name in names_in(item, field):
                        if name in wanted[kind]:
                            found[wanted[kind][name].uid] = _told(resource, item["metadata"])
    return found


def _told(resource: Resource, metadata: dict[str, Any]) -> str:
    where = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return _in_words(f"{resource.kind} {where}{metadata['name']}")


def _in_words(user: str) -> str:
    return f"{user} uses it, which is not of the Tenant"
