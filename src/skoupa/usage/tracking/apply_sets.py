"""ApplySets (`kubectl apply --prune`), kapp and inventories of cli-utils: members carry a label, and a parent its other half.

The parent of an ApplySet chooses its members by the label. What the others remember is inside a ConfigMap, which is not read:
their members stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa.kube.objects import Metadata
from skoupa.usage.found import Choice, Found, Target
from skoupa.usage.rules import Means
from skoupa.usage.tracking.values import Mark, Tracks

PART_OF: Final = "applyset.kubernetes.io/part-of"
ID: Final = "applyset.kubernetes.io/id"
_KAPP: Final = "kapp.k14s.io/app"
_INVENTORY: Final = "config.k8s.io/owning-inventory"


def parent(metadata: Metadata) -> Tracks | None:
    """For any object: what it tracks as the parent of an ApplySet; None where it is none."""
    identity = (metadata.labels or {}).get(ID)
    if not identity:
        return None
    choices = tuple(
        Choice(
            kind="*",
            namespace=namespace,
            selector=f"{PART_OF}={identity}",
            at=f'metadata.labels."{ID}"',
            means=Means.MANAGES,
        )
        for namespace in ("*", "")
    )
    return Tracks(found=Found(choices=choices))


def marks(metadata: Metadata) -> Iterator[Mark]:
    """The parent is not known by its name, only by its label: `*` with the label's value as a name."""
    labels, annotations = metadata.labels or {}, metadata.annotations or {}
    for key, told in ((PART_OF, labels), (_KAPP, labels), (_INVENTORY, annotations)):
        if identity := told.get(key):
            where = "label" if told is labels else "annotation"
            yield Mark(by=Target(f"{PARENT_OF}{key}", "*", identity), at=f"{where} {key}")


# A kind that no server has: whoever is the parent of such members.
PARENT_OF: Final = "parent of "
