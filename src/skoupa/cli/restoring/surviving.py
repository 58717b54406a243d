"""What is still there of what an object hung on: its owners, by their names, and the volume of a claim.

Owners that come back in the same run are told by `learn`; others are looked for once, where they were: in another
namespace or cluster one of that name is somebody else. Who can't be found or read is taken as gone: a reference to an
owner that is not there would let the server collect the object at once. A volume is a claim's own while it says so
itself, by the claim's uid or, where nobody else has it, by its name: one that others have got is left to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa.cli.restoring.came_back import CameBack
from skoupa.cli.restoring.pieces import Piece
from skoupa.errors import NotFound, SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import Resource
from skoupa.ledger.trash.manifests import Manifest, comes_back
from skoupa.ledger.trash.returning import relinked

_VOLUMES: Final = Resource(
    version="v1", plural="persistentvolumes", kind="PersistentVolume", namespaced=False
)
_CLAIMS: Final = Resource(
    version="v1", plural="persistentvolumeclaims", kind="PersistentVolumeClaim", namespaced=True
)
_EMPTY: Final = "it gets a new, empty one"


class Owners:
    """`came_back` has the uids that an owner got when an earlier command brought it back, by the one that it had."""

    def __init__(self, client: Client, *, came_back: CameBack) -> None:
        self._client = client
        self._came_back = came_back
        # By old uid; None: looked for and not there.
        self._uids: dict[str, str | None] = {}
        self._replaced: set[str] = set()
        self._maybe_restored: set[str] = set()

    def learn(self, old: str, new: str, *, replaced: bool = False) -> None:
        """`replaced`: the new one was not brought back, but made by somebody under the same name."""
        self._uids[old] = new
        if replaced:
            self._replaced.add(old)

    def returned(self, manifest: Manifest) -> set[str]:
        """The new uids of its owners, as far as they are known."""
        return {new for owner in _owners(manifest) if (new := self._uids.get(str(owner.get("uid", ""))))}

    async def of(
        self, piece: Piece, *, discovery: Discovery, unless: Collection[str] = ()
    ) -> dict[str, str | None]:
        """By the uid that the manifest names; None is an owner that is not there. `unless`: those are not looked for."""
        found: dict[str, str | None] = {}
        for owner in _owners(piece.manifest):
            old = str(owner.get("uid", ""))
            if old in unless:
                continue
            if old not in self._uids:
                new = await self._by_name(owner, piece, discovery=discovery)
                self._uids[old] = new
                if new not in {None, old, *self._came_back.get(old, ())}:
                    (self._maybe_restored if piece.again else self._replaced).add(old)
            found[old] = self._uids[old]
        return found

    async def foresee(self, piece: Piece, *, discovery: Discovery, coming: Collection[str]) -> None:
        """What is known of its owners before it is created; `coming`: what becomes of those is still to be seen."""
        unless = {old for old in coming if not self._uids.get(old)}
        owners = await self.of(piece, discovery=discovery, unless=unless)
        piece.owners_said = tuple(self._said(piece, owners))

    def relink(self, piece: Piece, owners: Mapping[str, str | None]) -> Manifest:
        """Its manifest with its owners as they are now; what became of them is said."""
        piece.owners_said = tuple(self._said(piece, owners))
        return relinked(piece.manifest, owners)[0]

    def _said(self, piece: Piece, owners: Mapping[str, str | None]) -> Iterator[str]:
        called = {
            str(owner.get("uid", "")): f"{owner.get('kind')} {owner.get('name')}"
            for owner in _owners(piece.manifest)
        }
        if gone := [called[old] for old, new in owners.items() if new is None]:
            why = "did not come along" if piece.elsewhere else "is not there any more"
            yield f"without its owner {', '.join(gone)}, which {why}"
        if others := [called[old] for old in owners if old in self._replaced]:
            yield f"its owner {', '.join(others)} is another one of that name, made since"
        if others := [called[old] for old in owners if old in self._maybe_restored]:
            yield f"its owner {', '.join(others)} has another uid by now, maybe since an earlier restore"

    async def _by_name(self, owner: dict[str, Any], piece: Piece, *, discovery: Discovery) -> str | None:
        group = str(owner.get("apiVersion", "")).rpartition("/")[0]
        resource = discovery.find(group, str(owner.get("kind", "")))
        if resource is None or piece.foreign or (resource.namespaced and piece.moved):
            return None
        where = piece.namespace if resource.namespaced else ""
        try:
            found = await self._client.get(resource, str(owner.get("name")), namespace=where, view=METADATA)
        except SkoupaError:
            return None
        # One that is going would take it along.
        return None if found.metadata.deletion_timestamp else found.metadata.uid


def maker_of(manifest: Manifest, kind: str) -> dict[str, Any] | None:
    """The owner that makes another one by itself, and deletes one too many: a ReplicaSet of its Pods."""
    own = next((owner for owner in _owners(manifest) if owner.get("controller")), None)
    return own if own is not None and comes_back(manifest, kind) else None


async def with_volume(client: Client, piece: Piece) -> tuple[Manifest, str]:
    """A claim with what is left of its volume, and what is to be said about it.

    A command is shown only where it takes the volume from nobody.
    """
    name = (piece.manifest.get("spec") or {}).get("volumeName")
    if not name:
        return piece.manifest, ""
    if piece.foreign:
        said = f"its volume {name} stays in the other cluster, and the data with it: {_EMPTY}"
        return _without_volume(piece.manifest), said
    try:
        volume = await client.get(_VOLUMES, str(name), view=WHOLE)
    except NotFound:
        said = f"its volume {name} is gone, and the data with it: {_EMPTY}"
        return _without_volume(piece.manifest), said
    except SkoupaError:
        return piece.manifest, f"whether its volume {name} is still there can't be read"
    if volume["metadata"].get("deletionTimestamp"):
        said = f"its volume {name} is being deleted, and its data may go with it: {_EMPTY}"
        return _without_volume(piece.manifest), said
    claim: dict[str, Any] = volume.get("spec", {}).get("claimRef") or {}
    if not claim or (not claim.get("uid") and _names(claim, piece)):
        return piece.manifest, f"its volume {name} is there, and is bound again"
    released = (volume.get("status") or {}).get("phase") == "Released"
    if await _is_left_to(piece, claim, released=released, client=client):
        command = _release(str(name), piece, claim)
        return (
            piece.manifest,
            f"its volume {name} is there with its data, and is bound again after: {command}",
        )
    whose = f"the claim {claim.get('namespace')}/{claim.get('name')}"
    said = f"was that of {whose} last" if released else f"is that of {whose} now"
    return _without_volume(piece.manifest), f"its volume {name} {said}: {_EMPTY}"


async def _is_left_to(piece: Piece, claim: Mapping[str, Any], *, released: bool, client: Client) -> bool:
    """Whether the volume is its own, and no other claim is there to have it.

    Where it comes back to its own name, that is also so after another one of that name, such as itself when it was
    restored before and went again: the volume has the uid of that one, and the data.
    """
    own, named = claim.get("uid") in piece.own_uids, bool(claim.get("uid")) and _names(claim, piece)
    if not own and (piece.moved or not named):
        return False
    if released or not named:
        # One that never went, or came back elsewhere, still has it.
        return released
    try:
        found = await client.get(_CLAIMS, piece.kept.name, namespace=piece.namespace, view=METADATA)
    except SkoupaError:
        # Gone a moment ago, or not to be read: a claim that waits for its data is mended, an empty volume is not noticed.
        return True
    return found.metadata.uid != claim.get("uid")


def _release(volume: str, piece: Piece, claim: Mapping[str, Any]) -> str:
    """Does nothing once another claim has got the volume; and nobody else may have it before the one that comes back."""
    patch: list[dict[str, Any]] = [{"op": "test", "path": "/spec/claimRef/uid", "value": claim["uid"]}]
    if _names(claim, piece):
        patch.append({"op": "remove", "path": "/spec/claimRef/uid"})
    else:
        own = {"namespace": piece.namespace, "name": piece.kept.name}
        patch.append({"op": "replace", "path": "/spec/claimRef", "value": own})
    return f"kubectl patch pv {volume} --type json -p '{msgspec.json.encode(patch).decode()}'"


def _names(claim: Mapping[str, Any], piece: Piece) -> bool:
    return (claim.get("namespace"), claim.get("name")) == (piece.namespace, piece.kept.name)


def _without_volume(manifest: Manifest) -> Manifest:
    return {
        **manifest,
        "spec": {key: value for key, value in manifest["spec"].items() if key != "volumeName"},
    }


def _owners(manifest: Manifest) -> Iterable[dict[str, Any]]:
    return manifest["metadata"].get("ownerReferences") or ()
