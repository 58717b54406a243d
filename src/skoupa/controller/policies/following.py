"""Follows the kinds of policies that the cluster has: one task for each, begun and ended as kinds come and go.

A group that could not be read tells nothing of its kinds: those of it that are followed go on. An installation for some namespaces
follows the policies of those alone. Beside a Kyverno, whose exceptions mostly lie in a namespace of their own, it has to know those of the
whole cluster: the namespace of an exception does not matter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from skoupa.kinds.policies.exception import POLICY_EXCEPTION
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.runs.book import WATCHED, Book, served
from skoupa.runs.kyverno_config import has_kyverno


def places_of(kind: Resource, namespaces: Collection[str], discovery: Discovery) -> Collection[str]:
    """The namespaces to read policies or exceptions in; "" is all of them at once."""
    if not namespaces:
        return ("",)
    if kind.kind == POLICY_EXCEPTION.kind and has_kyverno(discovery):
        return ("",)
    return namespaces if kind.namespaced else ()


class PolicyFollowing:
    """`namespaces` are those of an installation for some."""

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
            for place in places_of(kind, self._namespaces, discovery)
        }
        for kind, place in [key for key in self._followed if key not in wanted and key[0].group not in gaps]:
            self._followed.pop((kind, place)).cancel()
            if not any(other.kind == kind.kind for other, _ in wanted):
                self._book.abandon(kind, place)
            elif (kind.kind, place) not in {(other.kind, there) for other, there in wanted}:
                self._book.leave(kind, place)
        for kind, place in sorted(wanted - self._followed.keys(), key=lambda key: (key[0].kind, key[1])):
            self._book.expect(kind, place)
            self._followed[kind, place] = self._group.create_task(self._book.follow(kind, place))
        self._book.read_again()

    def close(self) -> None:
        for task in self._followed.values():
            task.cancel()
        self._followed.clear()
