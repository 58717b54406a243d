"""What is still there of what an object hung on: its owners, by their names, and the volume of a claim.

Owners that come back in the same run are told by `learn`; others are looked for once, where they were: in another
namespace one of that name is somebody else. Who can't be found or read is taken as gone: a reference to an owner that
is not there would let the server collect the object at once.
"""

from __future__ import annotations

from typing import Any, Final

from skoupa.errors import NotFound, SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import Resource
from skoupa.ledger.trash.manifests import Manifest, comes_back

_VOLUMES: Final = Resource(
    version="v1", plural="persistentvolumes", kind="PersistentVolume", namespaced=False
)


class Owners:
    def __init__(self, client: Client) -> None:
        self._client = client
        # By old uid; None: looked for and not there.
        self._uids: dict[str, str | None] = {}

    def learn(self, old: str, new: str) -> None:
        self._uids[old] = new

    def returned(self, manifest: Manifest) -> set[str]:
        """The new uids of its owners, as far as they are known."""
        owners = manifest["metadata"].get("ownerReferences") or ()
        return {new for owner in owners if (new := self._uids.get(str(owner.get("uid", ""))))}

    async def of(
        self, manifest: Manifest, *, namespace: str | None, discovery: Discovery
    ) -> dict[str, str | None]:
        """By the uid that the manifest names; None is an owner that is not there.

        `namespace` is where both were; None: the object comes back to another one.
        """
        found: dict[str, str | None] = {}
        for owner in manifest["metadata"].get("ownerReferences") or ():
            old = str(owner.get("uid", ""))
            if old not in self._uids:
                self._uids[old] = await self._by_name(owner, namespace=namespace, discovery=discovery)
            found[old] = self._uids[old]
        return found

    async def _by_name(
        self, owner: dict[str, Any], *, namespace: str | None, discovery: Discovery
    ) -> str | None:
        group = str(owner.get("apiVersion", "")).rpartition("/")[0]
        resource = discovery.find(group, str(owner.get("kind", "")))
        where = namespace if resource is not None and resource.namespaced else ""
        if resource is None or where is None:
            return None
        try:
            found = await self._client.get(resource, str(owner.get("name")), namespace=where, view=METADATA)
        except SkoupaError:
            return None
        # One that is going would take it along.
        return None if found.metadata.deletion_timestamp else found.metadata.uid


def maker_of(manifest: Manifest, kind: str) -> dict[str, Any] | None:
    """The owner that makes another one by itself, and deletes one too many: a ReplicaSet of its Pods."""
    owners = manifest["metadata"].get("ownerReferences") or ()
    own = next((owner for owner in owners if owner.get("controller")), None)
    return own if own is not None and comes_back(manifest, kind) else None


async def with_volume(client: Client, manifest: Manifest) -> tuple[Manifest, str]:
    """A claim with what is left of its volume, and what is to be said about it."""
    spec: dict[str, Any] = manifest.get("spec") or {}
    name = spec.get("volumeName")
    if not name:
        return manifest, ""
    try:
        volume = await client.get(_VOLUMES, str(name), view=WHOLE)
    except NotFound:
        left = {key: value for key, value in spec.items() if key != "volumeName"}
        said = f"its volume {name} is gone, and the data with it: it gets a new, empty one"
        return {**manifest, "spec": left}, said
    except SkoupaError:
        return manifest, f"whether its volume {name} is still there can't be read"
    claim = volume.get("spec", {}).get("claimRef") or {}
    if claim.get("uid"):
        release = (
            f"""kubectl patch pv {name} --type json -p '[{{"op":"remove","path":"/spec/claimRef/uid"}}]'"""
        )
        return manifest, f"its volume {name} is there with its data, and is bound again after: {release}"
    return manifest, f"its volume {name} is there, and is bound again"
