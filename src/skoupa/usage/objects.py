"""Any object of a cluster, read for what it points at: by its table, by a walk where there is none, and as a deployer.

Which kinds can matter at all is said here too, for who reads a cluster once and for who follows it. This sends no request: schemas
of custom kinds are handed in, and without one the values alone are walked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import WHOLE, Metadata, View
from skoupa.kube.resources import BUILT_IN_GROUPS, Resource
from skoupa.usage import tracking
from skoupa.usage.edges.patterns import ANYTHING
from skoupa.usage.found import Found
from skoupa.usage.graph import kind_name
from skoupa.usage.reading import Readings
from skoupa.usage.sight import Sight, Unread
from skoupa.usage.silent import SILENT
from skoupa.usage.tracking import Tracks, apply_sets, kept, marks
from skoupa.usage.walking import walk

# Copies and measurements: they own nothing, use nothing, and are many.
_NEVER_READ: Final = frozenset(
    {"events", "events.events.k8s.io", "componentstatuses", "projects.project.openshift.io"}
)
_NEVER_READ_GROUPS: Final = frozenset({"metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"})

_LONGEST: Final = 1024


class Read(msgspec.Struct, frozen=True, gc=False):
    """What an object points at; `tracks` where it is a deployer, whose names are among what is found."""

    found: Found
    tracks: Tracks | None = None


class Objects:
    def __init__(self, readings: Readings) -> None:
        self.schemas: dict[Resource, Mapping[str, Any]] = {}
        self.read_by(readings)

    def read_by(self, readings: Readings) -> None:
        """By these tables from now on."""
        self.readings = readings
        self._unsighted = Sight(readings=readings, read=frozenset())

    def is_walked(self, resource: Resource) -> bool:
        return is_walked(resource, self.readings)

    def may_point(self, kind: str, targets: Collection[str]) -> bool:
        """Whether objects of this kind can point at objects of one of those."""
        return kind in tracking.KINDS or any(self._unsighted.may_point(kind, target) for target in targets)

    def view(self, resource: Resource) -> View[Any]:
        kind = kind_name(resource)
        whole = self.is_walked(resource) or kind in tracking.KINDS
        return WHOLE if whole else self.readings.view(kind)

    def read(self, resource: Resource, item: Any, metadata: Metadata) -> Read:
        """`item` is a value of the type of `view(resource)`, or a manifest."""
        kind = kind_name(resource)
        manifest = item if isinstance(item, dict) else None
        if manifest is None:
            found = self.readings.found(kind, item)
        else:
            found = self.readings.from_manifest(kind, manifest)
            if self.is_walked(resource):
                found = both(walk(manifest, schema=self.schemas.get(resource)), found)
        tracks = apply_sets.parent(metadata) if manifest is None else tracking.tracks(kind, manifest)
        return Read(found) if tracks is None else Read(both(found, tracks.found), tracks)


def is_walked(resource: Resource, readings: Readings) -> bool:
    """Whether no table knows this kind, or not all of it, so that the generic rule reads it: custom ones, and those of a newer Kubernetes."""
    kind = kind_name(resource)
    return readings.is_whole(kind) or (kind not in readings.kinds() and kind not in SILENT)


def marked_part(kind: str, metadata: Metadata) -> Metadata | None:
    """As little of an object as shows who deploys it; None where nothing does."""
    marked = next(marks(kind, metadata), None) is not None or kept.reason(metadata) is not None
    return short_part(metadata) if marked else None


def short_part(metadata: Metadata) -> Metadata:
    """What marks an object is short; what else stands in annotations may not be."""
    short = {key: value for key, value in (metadata.annotations or {}).items() if len(value) <= _LONGEST}
    return Metadata(
        name=metadata.name,
        namespace=metadata.namespace,
        labels=metadata.labels,
        annotations=short,
        finalizers=metadata.finalizers,
    )


def both(one: Found, other: Found) -> Found:
    return Found(
        uses=(*one.uses, *other.uses),
        choices=(*one.choices, *other.choices),
        doubts=(*one.doubts, *other.doubts),
    )


def readable(discovery: Discovery) -> Iterator[Resource]:
    """The kinds whose objects can use or own something."""
    for resource in discovery.preferred():
        left_out = resource.qualified in _NEVER_READ or resource.group in _NEVER_READ_GROUPS
        if resource.may("list") and not left_out:
            yield resource


def untold(discovery: Discovery) -> Iterator[Unread]:
    """What nobody can read: groups whose kinds the server could not tell, and custom kinds that it does not list."""
    for gap in discovery.gaps:
        yield Unread(kind=f"{gap.group}/{ANYTHING}", what=f"the kinds of {gap.where}", why=gap.why)
    for resource in discovery.preferred():
        if resource.group not in BUILT_IN_GROUPS and resource.may("get") and not resource.may("list"):
            why = "the server does not list them"
            yield Unread(kind=kind_name(resource), what=resource.qualified, why=why)


def may_be_inside(unread: Unread) -> bool:
    """Whether objects may be there that nobody has seen; measurements are none, and records of Helm are Secrets."""
    return unread.group not in _NEVER_READ_GROUPS and unread.kind != tracking.helm.ANY_RELEASES


def is_waived(unread: Unread, ignored: Collection[str]) -> bool:
    """Whether the settings (`usage.ignoreKinds`) say that this need not be read."""
    return unread.what in ignored or f"*.{unread.group}" in ignored
