"""Which objects of the cluster stand for things that are to outlive it: by their annotations and by `spec.preserve`.

Only kinds that make things elsewhere are read, and of those the metadata. What a cloud knows besides (tags, ids) can't be seen from here;
what a participant leaves as it is it says itself. What may not be read is told, and never taken for nothing.
"""

from __future__ import annotations

import msgspec

from skoupa.alive.preserving import Thing, preserved
from skoupa.alive.reading import Alive
from skoupa.cli.alive.report import AliveReport, PreservedObject
from skoupa.cli.worlds import World
from skoupa.errors import Forbidden, NotFound
from skoupa.kube.lists import everything
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
    things: dict[str, Thing] = {}
    unread = []
    for kind in _KINDS:
        try:
            page = await everything(world.client, kind, METADATA)
        except NotFound:
            continue
        except Forbidden:
            unread.append(f"{kind.qualified} may not be listed: what of them is preserved is not known")
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
    return msgspec.structs.replace(
        told,
        preserved=tuple(sorted(objects, key=lambda one: one.object)),
        warnings=(*told.warnings, *unread),
    )


def _called(thing: Thing) -> str:
    place = f"{thing.namespace}/" if thing.namespace else ""
    return f"{thing.kind} {place}{thing.name}"
