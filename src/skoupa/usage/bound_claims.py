"""What else is known of a claim of volumes than who points at it: its volume, and who has that.

A volume is there for its claim and says its name, in its claimRef and as drivers do in its attributes; no claim is needed for that. What
else a volume says counts like the words of others: the claim that a driver keeps its data in, for one. As long as a machine has the
volume attached the claim is in use, also when the Pod is gone. This asks nobody and keeps nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa.facts.rows import Row
from skoupa.usage.found import Target
from skoupa.usage.graph import Graph, User, kind_name, target_of
from skoupa.usage.rules import Means

CLAIM: Final = "PersistentVolumeClaim"
VOLUME: Final = "PersistentVolume"
_ATTACHMENT: Final = "storage.k8s.io/VolumeAttachment"


def is_claim(row: Row) -> bool:
    return kind_name(row.resource) == CLAIM


def is_its_volume(graph: Graph, user: User, row: Row) -> bool:
    """Whether it is a volume that says the name of its own claim, wherever that is: names of claims are the same in many namespaces."""
    return (
        user.means is Means.MENTIONS
        and is_claim(row)
        and kind_name(user.row.resource) == VOLUME
        and any(claim.name == row.name for claim in claims_of(graph, user.row))
    )


def claims_of(graph: Graph, volume: Row) -> Iterator[Target]:
    """The claim that a volume is bound to, or kept for."""
    for use in graph.uses_of(volume.uid):
        if use.target.kind == CLAIM and use.means is Means.CONCERNS:
            yield use.target


def using(graph: Graph, row: Row) -> Iterator[User]:
    """Who has its volume attached."""
    for volume in graph.users(target_of(row)):
        if kind_name(volume.row.resource) == VOLUME and volume.means is Means.CONCERNS:
            for user in graph.users(target_of(volume.row)):
                if kind_name(user.row.resource) == _ATTACHMENT:
                    yield User(user.row, f"{user.at}, the volume {volume.row.name} of the claim", user.means)
