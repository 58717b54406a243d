"""What goes along although no owner reference says so: a controller of Kubernetes takes it.

The token Secrets of a ServiceAccount, the Pods of a Node, and the volume of a claim where it is not to be retained. Kept
ones among them are asked for by their label after each question, and once more where a feed told meanwhile of something
kept; claims that ask at the same time share the answer, and nobody waits for one for long: a kind that does not answer
holds. An object of any other kind costs nothing. Only the object itself is looked at: not what goes along with its owner,
save the claims in a Namespace.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from contextlib import aclosing
from typing import Any, Final

from skoupa import names
from skoupa.errors import ApiError, Forbidden, NotFound, SkoupaError
from skoupa.facts.rows import Extraction, Row, uid_text
from skoupa.judge.cascade import called, waived
from skoupa.judge.protection import finite, kept_until
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope, everything, pages
from skoupa.kube.objects import METADATA, WHOLE, Partial
from skoupa.kube.resources import Resource
from skoupa.ledger.trash.patience import Patience
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold
from skoupa.sweep.sharing import SharedReading

_ACCOUNT: Final = "kubernetes.io/service-account.name"
_KEPT: Final = names.KEEP_LABEL
_Volumes = list[dict[str, Any]]


# Who is told of kept things faster than he can look does not know what is kept.
_MOST_LOOKS: Final = 5
_TOO_FAST: Final = "kept objects change faster than they can be read"
_CARRYING: Final = frozenset({"serviceaccounts", "nodes", "persistentvolumeclaims", "namespaces"})


def carries(row: Row) -> bool:
    """Whether it takes along what no owner reference tells of, so that no feed of kept objects tells that either."""
    return not row.resource.group and row.resource.plural in _CARRYING


class Carried:
    """`keep_changes` is how often feeds told of something kept."""

    def __init__(
        self,
        patience: Patience,
        *,
        extraction: Extraction,
        ignore: Collection[str],
        keep_changes: Callable[[], int] = lambda: 0,
    ) -> None:
        self._patience = patience
        self._client = patience.client
        self._keep_changes = keep_changes
        self._extraction = extraction
        self._ignore = ignore
        self._volumes: SharedReading[_Volumes] = SharedReading(
            patience.client.clock, longest=0.0, shortest=0.0
        )
        # All of them are of the core group.
        self._looks: dict[str, tuple[str, Callable[[Row, Resource, float], Awaitable[Hold | None]]]] = {
            "serviceaccounts": ("Secret", self._tokens),
            "nodes": ("Pod", self._pods),
            "persistentvolumeclaims": ("PersistentVolume", self._volume),
            "namespaces": ("PersistentVolume", self._volume),
        }

    async def hold(self, row: Row, *, discovery: Discovery, now: float) -> Hold | None:
        """Why it stays; where what it would take along can't be read, that."""
        if not carries(row):
            return None
        kind, look = self._looks[row.resource.plural]
        resource = discovery.find("", kind)
        if resource is None:
            return None
        try:
            for _ in range(_MOST_LOOKS):
                known = self._keep_changes()
                hold = await look(row, resource, now)
                if hold is not None or self._keep_changes() == known:
                    return hold
            return Hold(reason=reason("keeps-behind", kinds=resource.qualified, why=_TOO_FAST))
        except SkoupaError as error:
            if waived(resource, self._ignore) or not await self._matters(row, error):
                return None
            why = error.status.message if isinstance(error, ApiError) else error.message
            return Hold(reason=reason("keeps-unknown", kinds=resource.qualified, why=why))

    async def _tokens(self, account: Row, secrets: Resource, now: float) -> Hold | None:
        return await self.first_kept(
            secrets,
            now,
            namespace=account.namespace,
            among=lambda found: _annotation(found, _ACCOUNT) == account.name,
        )

    async def _pods(self, node: Row, pods: Resource, now: float) -> Hold | None:
        return await self.first_kept(pods, now, fields=f"spec.nodeName={node.name}", among=lambda _: True)

    async def first_kept(
        self,
        resource: Resource,
        now: float,
        *,
        among: Callable[[Partial], bool],
        namespace: str = "",
        fields: str = "",
    ) -> Hold | None:
        """The first that is kept holds. Raises what stood in the way of reading."""
        scope = Scope(namespace=namespace, labels=_KEPT, fields=fields)
        asked = pages(self._client, resource, METADATA, scope=scope)
        listing = self._patience.pages(resource.qualified, asked)
        async with aclosing(listing):
            async for page in listing:
                if page.undecodable:
                    raise SkoupaError(page.undecodable[0].why)
                for found in page.items:
                    row = self._extraction.row(resource, found)
                    until = kept_until(row.label(_KEPT), now)
                    if until is not None and among(found):
                        return Hold(reason=reason("keeps-inside", object=called(row)), until=finite(until))
        return None

    async def _volume(self, row: Row, volumes: Resource, now: float) -> Hold | None:
        self._patience.check(volumes.qualified)
        for found in await self._volumes.get(lambda: self._kept_volumes(volumes)):
            meta, spec = found["metadata"], found.get("spec") or {}
            until = kept_until((meta.get("labels") or {}).get(_KEPT), now)
            goes = spec.get("persistentVolumeReclaimPolicy") in {"Delete", "Recycle"}
            if until is not None and goes and _is_bound_by(row, spec.get("claimRef") or {}):
                kept = f"{volumes.kind} {meta['name']}"
                return Hold(reason=reason("keeps-inside", object=kept), until=finite(until))
        return None

    async def _kept_volumes(self, volumes: Resource) -> _Volumes:
        with self._patience.asking(volumes.qualified):
            found = await everything(self._client, volumes, WHOLE, scope=Scope(labels=_KEPT))
        if found.undecodable:
            raise SkoupaError(found.undecodable[0].why)
        return found.items

    async def _matters(self, row: Row, error: SkoupaError) -> bool:
        """A Namespace without the right to read volumes goes, as it does by owner references; a claim that has none too."""
        if row.resource.plural == "namespaces":
            return not isinstance(error, Forbidden)
        if row.resource.plural != "persistentvolumeclaims":
            return True
        try:
            self._patience.check(row.resource.qualified)
            with self._patience.asking(row.resource.qualified):
                claim = await self._claim(row)
        except NotFound:
            return False
        except SkoupaError:
            return True
        return bool((claim.get("spec") or {}).get("volumeName"))

    async def _claim(self, row: Row) -> dict[str, Any]:
        try:
            return await self._client.get(row.resource, row.name, namespace=row.namespace, view=WHOLE)
        except Forbidden:
            return await self._client.find(row.resource, row.name, namespace=row.namespace, view=WHOLE)


def _annotation(found: Partial, key: str) -> str | None:
    return (found.metadata.annotations or {}).get(key)


def _is_bound_by(row: Row, claim: dict[str, Any]) -> bool:
    if not row.namespace:
        return claim.get("namespace") == row.name
    named = (claim.get("namespace"), claim.get("name")) == (row.namespace, row.name)
    return named and claim.get("uid") in {None, "", uid_text(row.uid)}
