"""Which objects of the cluster stand for things that are to outlive it: by their annotations and by `spec.preserve`.

Only kinds that make things elsewhere are read, and of those the metadata. What a cloud knows besides (tags, ids) can't be seen from here;
what a participant leaves as it is it says itself. What may not be read is told, and never taken for nothing.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from skoupa.alive.preserving import Thing, preserved
from skoupa.alive.reading import Alive
from skoupa.cli.alive.report import AliveReport
from skoupa.cli.terminal.alive_shapes import PreservedObject
from skoupa.cli.worlds import World
from skoupa.errors import Forbidden, NotFound
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import Resource

_KINDS = (
    Resource(version="v1", plural="services", kind="Service", namespaced=True),
    Resource(version="v1", plural="persistentvolumeclaims", kind="PersistentVolumeClaim", namespaced=True),
    Resource(version="v1", plural="persistentvolumes", kind="PersistentVolume", namespaced=False),
    Resource(group="networking.k8s.io", version="v1", plural="ingresses", kind="Ingress", namespaced=True),
    Resource(
        group="snapshot.storage.k8s.io",
        version="v1",
        plural="volumesnapshotcontents",
        kind="VolumeSnapshotContent",
        namespaced=False,
    ),
)


async def with_preserved(world: World, alive: Alive, told: AliveReport) -> AliveReport:
    kept, unread = await preserved_in(world, alive)
    doubts = [f"{kind} may not be listed: what of them is preserved is not known" for kind in unread]
    return msgspec.structs.replace(told, preserved=kept, warnings=(*told.warnings, *doubts))


async def preserved_in(
    world: World, alive: Alive, *, namespace: str = "", kinds: Collection[str] = ()
) -> tuple[tuple[PreservedObject, ...], tuple[str, ...]]:
    """In one namespace, or of some kinds (as kubectl shows them), where they are named. And the kinds that may not be listed."""
    things: dict[str, Thing] = {}
    unread = []
    for kind in _KINDS:
        if (kinds and kind.qualified not in kinds) or (namespace and not kind.namespaced):
            continue
        try:
            page = await everything(world.client, kind, METADATA, scope=Scope(namespace=namespace))
        except NotFound:
            continue
        except Forbidden:
            unread.append(kind.qualified)
            continue
        for one in page.items:
            metadata = one.metadata
            things[metadata.uid] = Thing(
                id=metadata.uid,
                kind=kind.kind,
                namespace=metadata.namespace,
                name=metadata.name,
                labels=metadata.labels or {},
                annotations=metadata.annotations or {},
            )
    kept = preserved(things.values(), alive.spec.preserve, now=world.now())
    objects = [
        PreservedObject(object=_called(things[uid]), why=why.why, doubt=why.doubt)
        for uid, why in kept.items()
    ]
    return tuple(sorted(objects, key=lambda one: one.object)), tuple(unread)


def _called(thing: Thing) -> str:
    place = f"{thing.namespace}/" if thing.namespace else ""
    return f"{thing.kind} {place}{thing.name}"
