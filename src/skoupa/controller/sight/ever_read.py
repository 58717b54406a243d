"""Which kinds were ever read, and in which namespaces.

Two things follow. What was read once and may not be read any more is lost, and holds, also for a process that started
after the loss; what was never granted was decided so. And what is read for the first time may bring a backlog, however
long others were swept before. Nothing is forgotten but where it gets too much: then what is not served any more goes
first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from skoupa.kube.resources import Resource

# In the state, where an empty name would look like a mistake.
_EVERYWHERE: Final = "*"
# A ConfigMap holds a megabyte, and not all of it is ours.
MOST: Final = 10_000


class Place(msgspec.Struct, frozen=True):
    """A kind, and the namespace it was read in; empty: everywhere."""

    resource: Resource
    namespace: str

    def __str__(self) -> str:
        return f"{self.resource.qualified} in {self.namespace}" if self.namespace else self.resource.qualified


class EverRead:
    def __init__(self) -> None:
        # By kind: the namespaces; the empty one is all of them.
        self._places: dict[str, set[str]] = {}

    def has(self, kind: str, namespace: str) -> bool:
        known = self._places.get(kind, ())
        return "" in known or namespace in known

    def lost(self, place: Place) -> bool:
        """Whether some of it was read, now that it may not be."""
        kind = place.resource.qualified
        if place.namespace or not place.resource.namespaced:
            return self.has(kind, place.namespace)
        return kind in self._places

    def add(self, kind: str, namespace: str) -> None:
        if not self.has(kind, namespace):
            self._places.setdefault(kind, set()).add(namespace)

    def has_all(self, other: EverRead) -> bool:
        return all(self.has(kind, place) for kind, places in other._places.items() for place in places)

    def load(self, written: Mapping[str, Iterable[str]]) -> None:
        """What the state says, beside what this process has read itself."""
        for kind, namespaces in written.items():
            for namespace in namespaces:
                self.add(kind, "" if namespace == _EVERYWHERE else namespace)

    def written(self, *, served: Collection[str]) -> dict[str, list[str]]:
        """For the state."""
        places = sorted(
            (kind not in served, kind, namespace or _EVERYWHERE)
            for kind, namespaces in self._places.items()
            for namespace in ({""} if "" in namespaces else namespaces)
        )
        found: dict[str, list[str]] = {}
        for _, kind, namespace in sorted(places[:MOST], key=lambda place: place[1:]):
            found.setdefault(kind, []).append(namespace)
        return found
