"""What else is known of a claim of volumes than who points at it: its volume, and what it was made for.

A volume is there for its claim and says its name, in its claimRef and as drivers do in its attributes; no claim is needed for that. What
else a volume says counts like the words of others: the claim that a driver keeps its data in, for one. As long as a machine has the
volume attached the claim is in use, also when the Pod is gone. And a claim that an operator made stays while the object lives that it
was made for: one that shrank wants its claims back, as a StatefulSet does. This asks nobody and keeps nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from skoupa.facts.rows import Row
from skoupa.usage.found import Target
from skoupa.usage.graph import Graph, User, kind_name, target_of
from skoupa.usage.rules import Means

CLAIM: Final = "PersistentVolumeClaim"
VOLUME: Final = "PersistentVolume"
_ATTACHMENT: Final = "storage.k8s.io/VolumeAttachment"
# The prefixes of labels that everybody writes onto everything: `app.kubernetes.io/instance`.
_OF_EVERYBODY: Final = (".kubernetes.io", ".k8s.io", ".helm.sh")


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


def using(graph: Graph, row: Row, kinds: frozenset[str]) -> Iterator[User]:
    """Who has its volume attached, and what it was made for, of these kinds."""
    for volume in graph.users(target_of(row)):
        if kind_name(volume.row.resource) == VOLUME and volume.means is Means.CONCERNS:
            for user in graph.users(target_of(volume.row)):
                if kind_name(user.row.resource) == _ATTACHMENT:
                    yield User(user.row, f"{user.at}, the volume {volume.row.name} of the claim", user.means)
    for key, value in row.labels:
        for kind in _kinds_of(key, kinds):
            for place in (row.namespace, ""):
                maker = graph.get(Target(kind, place, value))
                if maker is not None:
                    yield User(maker, f"the label {key} of the claim", Means.MENTIONS)


def is_made_for(row: Row, other: Row) -> bool:
    """Whether a label of the claim says so: `strimzi.io/cluster: orders`, of a Kafka in the group `kafka.strimzi.io`."""
    return other.namespace in (row.namespace, "") and any(
        value == other.name and is_word_of(key, other.resource.group) for key, value in row.labels
    )


@lru_cache(maxsize=4096)
def _kinds_of(key: str, kinds: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(kind for kind in kinds if is_word_of(key, kind.rpartition("/")[0])))


def is_word_of(key: str, group: str) -> bool:
    """Whether a label is one of those who serve the group: its prefix is the group, or the one is a part of the other."""
    prefix, slash, _ = key.partition("/")
    said, served = f".{prefix}", f".{group}"
    if not slash or "." not in prefix or "." not in group or said.endswith(_OF_EVERYBODY):
        return False
    return served.endswith(said) or said.endswith(served)
