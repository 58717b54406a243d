"""What the embedded cluster serves: every kind in every version, and the shelf its objects lie on.

Versions of one kind share a shelf, so an object written in one is read in the other; where their fields differ
(Events, HorizontalPodAutoscalers) a `Shape` turns the stored form into the version's and back. Order of arrival is
the order of discovery; the first version of a group is the preferred one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from skoupa.kube.resources import Resource
from skoupa.sim.state.storage import Shelf, Store

Body = dict[str, Any]


class Shape(msgspec.Struct, frozen=True):
    """Two ways between the fields that are stored and those that a version shows."""

    shown: Callable[[Body], Body]
    stored: Callable[[Body], Body]


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """A kind in one version. `custom` kinds follow the rules of custom resources where those differ."""

    resource: Resource
    shelf: Shelf
    custom: bool = False
    shape: Shape | None = None
    list_kind: str = ""
    selectable: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None

    @property
    def has_status(self) -> bool:
        return "status" in self.resource.subresources


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    kinds: dict[tuple[str, str], Served]
    shelves: dict[Shelf, Served]


class Catalogue:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._versions: dict[tuple[str, str], dict[str, Served]] = {}
        self.listeners: list[Callable[[], None]] = []
        # Custom kinds (group, plural) whose definition is being deleted: nothing new may be created.
        self.closing: set[tuple[str, str]] = set()
        # None: something changed, and nobody has asked since. A new cluster gets its kinds one by one.
        self._found: _Found | None = None

    def add(
        self,
        resource: Resource,
        *,
        custom: bool = False,
        shape: Shape | None = None,
        kept_as: tuple[str, str] | None = None,
        list_kind: str = "",
        selectable: tuple[str, ...] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Served:
        """Serves a kind from now on; `kept_as` names the (group, plural) of the shelf if it is another's."""
        group, plural = kept_as or (resource.group, resource.plural)
        served = Served(
            resource=resource,
            shelf=self._store.shelf(group=group, plural=plural),
            custom=custom,
            shape=shape,
            list_kind=list_kind or f"{resource.kind}List",
            selectable=selectable,
            schema=schema,
        )
        self._versions.setdefault((resource.group, resource.version), {})[resource.plural] = served
        self._changed()
        return served

    def remove(self, *, group: str, plural: str) -> None:
        """Stops serving a kind in all versions; its shelf must be empty."""
        for place, kinds in tuple(self._versions.items()):
            if place[0] == group and plural in kinds:
                del kinds[plural]
                if not kinds:
                    del self._versions[place]
        if not any(plural in kinds for (owner, _), kinds in self._versions.items() if owner == group):
            self._store.shelves.pop((group, plural), None)
        self._changed()

    def keep_versions(self, *, group: str, plural: str, versions: Iterable[str]) -> None:
        """Stops serving a kind in all versions but these."""
        wanted = set(versions)
        for place, kinds in tuple(self._versions.items()):
            if place[0] == group and place[1] not in wanted and plural in kinds:
                del kinds[plural]
                if not kinds:
                    del self._versions[place]
                self._changed()

    def find(self, *, group: str, version: str, plural: str) -> Served | None:
        return self._versions.get((group, version), {}).get(plural)

    def of_kind(self, *, api_version: str, kind: str) -> Served | None:
        return self._index().kinds.get((api_version, kind))

    def has_version(self, *, group: str, version: str) -> bool:
        return (group, version) in self._versions

    def groups(self) -> dict[str, list[str]]:
        """Groups in order of arrival, each with its versions, the preferred one first."""
        found: dict[str, list[str]] = {}
        for group, version in self._versions:
            found.setdefault(group, []).append(version)
        for versions in found.values():
            versions.sort(key=version_priority)
        return found

    def kinds(self, *, group: str, version: str) -> list[Served]:
        return [self._versions[group, version][plural] for plural in sorted(self._versions[group, version])]

    def served(self) -> Iterator[Served]:
        """Every kind in every version."""
        for kinds in self._versions.values():
            yield from kinds.values()

    def preferred(self) -> Iterator[Served]:
        """Each kind once, in the version that its group prefers."""
        for group, versions in self.groups().items():
            seen: set[str] = set()
            for version in versions:
                for served in self.kinds(group=group, version=version):
                    if served.resource.plural not in seen:
                        seen.add(served.resource.plural)
                        yield served

    def of_shelf(self, shelf: Shelf) -> Served:
        """The served form that controllers use for what lies on a shelf."""
        return self._index().shelves[shelf]

    def find_of_shelf(self, shelf: Shelf) -> Served | None:
        """The same; None where no version is served."""
        return self._index().shelves.get(shelf)

    def _changed(self) -> None:
        self._found = None
        for hear in self.listeners:
            hear()

    def _index(self) -> _Found:
        if self._found is None:
            kinds = {(one.resource.api_version, one.resource.kind): one for one in self.served()}
            shelves: dict[Shelf, Served] = {}
            for one in self.preferred():
                # A shelf that two groups share is written in the shape it is kept in.
                if one.shape is None:
                    shelves.setdefault(one.shelf, one)
            self._found = _Found(kinds=kinds, shelves=shelves)
        return self._found


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sorts versions as Kubernetes does: stable before beta before alpha, newer first, other names last."""
    match = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", version)
    if match is None:
        return (3, 0, 0, version)
    rank = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return (rank, -int(match[1]), -int(match[3] or 0), version)
