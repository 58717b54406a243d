"""Follows the kinds of policies that the cluster has: one task for each, begun and ended as kinds come and go.

A group that could not be read tells nothing of its kinds: those of it that are followed go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.runs.book import WATCHED, Book, served


class PolicyFollowing:
    """`namespaces`: an installation for some namespaces runs the policies of those alone."""

    def __init__(
        self, book: Book, *, discovery: Callable[[], Discovery], namespaces: Collection[str]
    ) -> None:
        self._book = book
        self._discovery = discovery
        self._namespaces = namespaces
        self._followed: dict[tuple[Resource, str], asyncio.Task[None]] = {}
        self._looked_at: Discovery | None = None
        self._group: asyncio.TaskGroup | None = None

    def open(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._followed.clear()
        self._looked_at = None

    def arrange(self) -> None:
        """After every look at the kinds: follows those that there are, and those alone."""
        if self._group is None or self._discovery() is self._looked_at:
            return
        discovery = self._looked_at = self._discovery()
        gaps = {gap.group for gap in discovery.gaps}
        wanted = {
            (kind, place)
            for definition in WATCHED
            if (kind := served(definition, discovery)) is not None
            for place in self._places(kind)
        }
        for kind, place in [key for key in self._followed if key not in wanted and key[0].group not in gaps]:
            self._followed.pop((kind, place)).cancel()
            if not any(other.kind == kind.kind for other, _ in wanted):
                self._book.abandon(kind, place)
        for kind, place in sorted(wanted - self._followed.keys(), key=lambda key: (key[0].kind, key[1])):
            self._book.expect(kind, place)
            self._followed[kind, place] = self._group.create_task(self._book.follow(kind, place))
        self._book.read_again()

    def _places(self, kind: Resource) -> Collection[str]:
        if not self._namespaces:
            return ("",)
        return self._namespaces if kind.namespaced else ()

    def close(self) -> None:
        for task in self._followed.values():
            task.cancel()
        self._followed.clear()
