"""GlobalContextEntries whose values somebody gives, as tests do: nothing is fetched for them.

A policy of a namespace gets what it would get of a cluster: what is known to lie in its namespace, unless the settings allow more.
Entries that nobody gives are asked for as ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from skoupa.errors import UsageError
from skoupa.kube.kinds import Discovery
from skoupa.runs.calls.shared import SharedContext, beyond_namespace, spellings


class GivenEntry(msgspec.Struct, frozen=True):
    """`namespaces` is where all of it lies; None: nobody can tell."""

    value: Any
    namespaces: frozenset[str] | None = None
    about_secrets: bool = False


class GivenContext:
    def __init__(
        self, entries: Mapping[str, GivenEntry], otherwise: SharedContext, *, everywhere: bool
    ) -> None:
        self._entries = entries
        self._otherwise = otherwise
        self._everywhere = everywhere

    async def value(
        self,
        name: str,
        projection: str,
        *,
        namespace: str,
        discovery: Discovery,
        since: float = -math.inf,
        on_secrets: Callable[[], None] = lambda: None,
    ) -> Any:
        """As `SharedContext` has it."""
        for known, wanted in spellings(name, projection):
            entry = self._entries.get(known)
            if entry is None:
                continue
            if namespace and not self._everywhere and entry.namespaces != frozenset((namespace,)):
                raise beyond_namespace(known, namespace)
            if entry.about_secrets:
                on_secrets()
            return _part(entry.value, known, wanted)
        return await self._otherwise.value(
            name, projection, namespace=namespace, discovery=discovery, since=since, on_secrets=on_secrets
        )


def _part(value: Any, name: str, projection: str) -> Any:
    if not projection:
        return value
    if isinstance(value, Mapping) and projection in value:
        return value[projection]
    names = ", ".join(list(value)[:10]) if isinstance(value, Mapping) else ""
    raise UsageError(
        f"GlobalContextEntry {name} has no projection {projection}",
        advice=f"there are {names}" if names else "it has none: ask for all of it",
    )
