"""Kyverno's own ConfigMap, where there is one: what it tells Kyverno to leave alone is left alone here too.

It is called `kyverno` and is in Kyverno's namespace: the one of that name, or one with the Lease of its cleanup controller. A
ConfigMap of that name anywhere else is somebody's own and says nothing. It is read when a run begins, and counts for a while. Who
may not list it everywhere asks in Kyverno's namespace. Where that is refused too it is `missing`, and nothing goes: but only in a
cluster that has a Kyverno, which is one with its Lease or with kinds that nobody else brings.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Any, Final

from skoupa import names
from skoupa.errors import Forbidden, NotFound
from skoupa.kinds.policies import DEFINITIONS
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, LEASES
from skoupa.policy.kyverno_filters import KEY, KyvernoFilters, parse_filters

# Its namespace is called the same, where nobody chose another.
NAME: Final = names.KYVERNO_CONFIG_MAP
COUNTS_SECONDS: Final = 30.0
_GROUPS: Final = frozenset(
    {names.KYVERNO_GROUP, names.KYVERNO_POLICIES_GROUP, f"reports.{names.KYVERNO_GROUP}"}
)
_OURS: Final = frozenset((one.group, one.kind) for one in DEFINITIONS)

Maps = list[dict[str, Any]]


class KyvernoConfig:
    """`told` hears in words what of it can't be known or read, `untold` the same words when that is over."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._read_at = float("-inf")
        self._known = KyvernoFilters()
        # Many runs begin at once.
        self._reading = asyncio.Lock()
        self.told: Callable[[str], None] = lambda _: None
        self.untold: Callable[[str], None] = lambda _: None
        self._said: frozenset[str] = frozenset()

    async def filters(self, discovery: Discovery) -> KyvernoFilters:
        """Raises what stands in the way, but for a right that is missing."""
        async with self._reading:
            now = self._client.clock.monotonic()
            if now - self._read_at > COUNTS_SECONDS:
                self._known = await self._read(discovery)
                self._read_at = now
                self._tell()
        return self._known

    async def _read(self, discovery: Discovery) -> KyvernoFilters:
        try:
            found = await self._listed()
        except Forbidden:
            return await self._one_by_one(discovery)
        if all(_place(one) == NAME for one in found):
            return _parsed(found)
        own = [one for one in found if _place(one) == NAME]
        try:
            homes = {NAME, *await self._with_lease()}
        except Forbidden:
            # One of the others may be Kyverno's, so each of them holds.
            return _parsed(own if own or not has_kyverno(discovery) else found)
        return _parsed(one for one in found if _place(one) in homes)

    async def _one_by_one(self, discovery: Discovery) -> KyvernoFilters:
        homes: set[str] | None = None
        with contextlib.suppress(Forbidden):
            homes = await self._with_lease()
        found: Maps = []
        refused: set[str] = set()
        for home in sorted({NAME, *(homes or ())}):
            try:
                found += await self._of(home)
            except Forbidden:
                refused.add(home)
        lost = refused & (homes or set())
        # Nobody knows where it lies, or it lies where it does mostly.
        unsure = not found and not homes and (homes is None or bool(refused))
        if lost or (unsure and has_kyverno(discovery)):
            return KyvernoFilters(missing=_missing(lost))
        return _parsed(found)

    async def _of(self, home: str) -> Maps:
        try:
            return await self._listed(home)
        except Forbidden:
            try:
                return [await self._client.get(CONFIG_MAPS, NAME, view=WHOLE, namespace=home)]
            except NotFound:
                return []

    async def _listed(self, namespace: str = "") -> Maps:
        scope = Scope(namespace=namespace, fields=f"metadata.name={NAME}")
        return list((await everything(self._client, CONFIG_MAPS, WHOLE, scope=scope)).items)

    async def _with_lease(self) -> set[str]:
        scope = Scope(fields=f"metadata.name={names.KYVERNO_CLEANUP_LEASE}")
        leases = await everything(self._client, LEASES, METADATA, scope=scope)
        return {lease.metadata.namespace for lease in leases.items}

    def _tell(self) -> None:
        known = self._known
        said = {f"resourceFilters of Kyverno: {one}, so that it holds nothing" for one in known.unread}
        if known.missing:
            said.add(f"nothing goes by policies: {known.missing}")
        for gone in self._said - said:
            self.untold(gone)
        for new in sorted(said - self._said):
            self.told(new)
        self._said = frozenset(said)


def _parsed(found: Iterable[dict[str, Any]]) -> KyvernoFilters:
    return parse_filters("".join(str((one.get("data") or {}).get(KEY) or "") for one in found))


def _missing(homes: Iterable[str]) -> str:
    places = " and ".join(sorted(homes)) or "its namespace"
    return (
        f"what Kyverno leaves alone ({KEY} of its ConfigMap {NAME} in {places}) may not be read: "
        f"grant list of configmaps with the name {NAME} there, or everywhere"
    )


def has_kyverno(discovery: Discovery) -> bool:
    """By the kinds that come with it and that policies here have no use for."""
    return any(one.group in _GROUPS and (one.group, one.kind) not in _OURS for one in discovery.resources)


def _place(found: dict[str, Any]) -> str:
    return str(found["metadata"].get("namespace", ""))
