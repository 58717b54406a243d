"""Which objects of the cluster stand for things that are to outlive it: by their annotations and by `spec.preserve`.

Only kinds that make things elsewhere are read: of those the metadata, and which volume a claim has, since that stays with it. What a cloud
knows besides (tags, ids) can't be seen from here; what a participant leaves as it is it says itself. What may not be read is told, and
never taken for nothing; so is an entry that fits no object, which may be one that was misspelt.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec

from skoupa.alive.preserving import Thing, fitting_nothing, preserved
from skoupa.alive.reading import Alive
from skoupa.cli.alive.report import AliveReport
from skoupa.cli.terminal.alive_shapes import PreservedObject
from skoupa.cli.worlds import World
from skoupa.errors import Forbidden, NotFound
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, Metadata, View
from skoupa.kube.resources import Resource


class _ClaimSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    volume_name: str = ""


class _Claim(msgspec.Struct, frozen=True, kw_only=True):
    metadata: Metadata
    spec: _ClaimSpec = _ClaimSpec()


_CLAIMS = Resource(
    version="v1", plural="persistentvolumeclaims", kind="PersistentVolumeClaim", namespaced=True
)
_VOLUMES = Resource(version="v1", plural="persistentvolumes", kind="PersistentVolume", namespaced=False)
_KINDS = (
    Resource(version="v1", plural="services", kind="Service", namespaced=True),
    _CLAIMS,
    _VOLUMES,
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
    things, unread = await _things(world, _KINDS)
    doubts = [f"{kind} may not be listed: what of them is preserved is not known" for kind in unread]
    if not unread:
        doubts += [
            f"spec.preserve[{number}] fits nothing in this cluster: look whether it is written as it is meant"
            for number in fitting_nothing(things, alive.spec.preserve)
        ]
    kept = tuple(_kept(things, alive, now=world.now()))
    return msgspec.structs.replace(told, preserved=kept, warnings=(*told.warnings, *doubts))


async def preserved_in(
    world: World, alive: Alive, *, namespace: str = "", kinds: Collection[str] = ()
) -> tuple[tuple[PreservedObject, ...], tuple[str, ...]]:
    """In one namespace, or of some kinds (as kubectl shows them), where they are named. And the kinds that may not be listed."""
    asked = [kind for kind in _KINDS if not kinds or kind.qualified in kinds]
    # A volume stays also because of its claim.
    read = [kind for kind in _KINDS if kind in asked or (kind == _CLAIMS and _VOLUMES in asked)]
    things, unread = await _things(world, read, namespace=namespace)
    kept = _kept(things, alive, now=world.now())
    return tuple(one for one in kept if one.object.split(" ")[0] in {kind.kind for kind in asked}), unread


async def _things(
    world: World, kinds: Iterable[Resource], *, namespace: str = ""
) -> tuple[list[Thing], tuple[str, ...]]:
    things = []
    unread = []
    for kind in kinds:
        if namespace and not kind.namespaced:
            continue
        view: View[Any] = View(type=_Claim) if kind == _CLAIMS else METADATA
        try:
            page = await everything(world.client, kind, view, scope=Scope(namespace=namespace))
        except NotFound:
            continue
        except Forbidden:
            unread.append(kind.qualified)
            continue
        things += [_thing(kind, one) for one in page.items]
    return things, tuple(unread)


def _thing(kind: Resource, one: Any) -> Thing:
    metadata: Metadata = one.metadata
    place = f"{metadata.namespace}/" if metadata.namespace else ""
    volume = one.spec.volume_name if isinstance(one, _Claim) else ""
    return Thing(
        id=f"{kind.kind} {place}{metadata.name}",
        kind=kind.kind,
        namespace=metadata.namespace,
        name=metadata.name,
        labels=metadata.labels or {},
        annotations=metadata.annotations or {},
        needs=(f"{_VOLUMES.kind} {volume}",) if volume else (),
    )


def _kept(things: Iterable[Thing], alive: Alive, *, now: float) -> Iterator[PreservedObject]:
    kept = preserved(things, alive.spec.preserve, now=now)
    for called in sorted(kept):
        yield PreservedObject(object=called, why=kept[called].why, doubt=kept[called].doubt)
