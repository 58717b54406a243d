"""The context of a policy: entries that are brought when a condition first asks for them, and not before.

An entry sees those before it, as in Kyverno; a name that is written twice is, from there on, the later one. What looks at the object
(itself, or through another entry) is brought for each object; in Kyverno the first object's value stays for all. Everything
else is brought once in a run, its failure too. A failure is never an absent value: `||` does not heal it.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from skoupa.errors import ExpressionError, SkoupaError
from skoupa.expr import jmespath
from skoupa.kinds.policies.context import ContextEntry
from skoupa.policy.variable_names import ROOTS
from skoupa.runs.calls.protocol import Calls
from skoupa.runs.effort import Effort
from skoupa.runs.entries import Entry, Paths
from skoupa.runs.opinions import NOT_SHOWN
from skoupa.runs.untold import texts, trouble


class Failure(msgspec.Struct, frozen=True):
    """Why an entry has no value."""

    entry: str
    why: str

    def __str__(self) -> str:
        return f"context entry {self.entry}: {self.why}"


class Scene:
    """One object as its conditions see it: its roots, and the entries that were brought for it."""

    __slots__ = ("brought", "context", "roots")

    def __init__(self, roots: dict[str, Any], context: jmespath.Context) -> None:
        self.roots = roots
        self.context = context
        self.brought: dict[int, Any] = {}


class Surroundings:
    """All entries of one policy in one run."""

    def __init__(
        self,
        written: Sequence[ContextEntry],
        *,
        calls: Calls,
        now: float,
        seed: str,
        effort: Effort,
        namespaced: bool = False,
    ) -> None:
        self._effort = effort
        self._namespaced = namespaced
        self._asking = tuple(bool(one.api_call or one.global_reference) for one in written)
        self._texts = tuple(texts(msgspec.to_builtins(one)) for one in written)
        self._calls = calls
        self._now = now
        self._seed = seed
        self._entries = tuple(_entry(one) for one in written)
        self._wants = tuple(
            self.wanted_by(entry.paths, before=index) for index, entry in enumerate(self._entries)
        )
        own: list[bool] = []
        for entry, wants in zip(self._entries, self._wants, strict=True):
            own.append(looks_at_object(entry.paths) or any(own[index] for index in wants))
        self._own = tuple(own)
        self._shared: dict[int, Any] = {}
        self._locks: dict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(entry.name for entry in self._entries)

    @property
    def failures(self) -> tuple[str, ...]:
        """Of entries that are the same for all objects."""
        return tuple(
            dict.fromkeys(str(value) for value in self._shared.values() if isinstance(value, Failure))
        )

    def wanted_by(self, paths: Paths, *, before: int | None = None) -> tuple[int, ...]:
        """The entries that these paths lead into; the empty path leads into all of them."""
        latest = {entry.name: index for index, entry in enumerate(self._entries[:before])}
        names = latest.keys() if () in paths else {path[0] for path in paths}
        return tuple(sorted(latest[name] for name in names if name in latest and name not in ROOTS))

    def reached_from(self, wanted: Sequence[int]) -> tuple[Entry, ...]:
        """Those, and all that they want in turn."""
        return tuple(self._entries[index] for index in self._reached(wanted))

    def quotes_others(self, wanted: Sequence[int]) -> bool:
        """Whether what they hold is of others than the object, as far as whoever reads an error of it may not see it."""
        return self._namespaced or any(self._asking[index] for index in self._reached(wanted))

    def _reached(self, wanted: Sequence[int]) -> list[int]:
        reached: set[int] = set()
        waiting = list(wanted)
        while waiting:
            index = waiting.pop()
            if index not in reached:
                reached.add(index)
                waiting += self._wants[index]
        return sorted(reached)

    def asks_per_object(self, wanted: Sequence[int]) -> bool:
        return any(self._own[index] for index in wanted)

    async def bring(self, wanted: Sequence[int], scene: Scene) -> Failure | None:
        """Puts their values among the roots of the scene."""
        for index in wanted:
            value = await self._value(index, scene)
            if isinstance(value, Failure):
                return value
            scene.roots[self._entries[index].name] = value
        return None

    async def _value(self, index: int, scene: Scene) -> Any:
        if not self._own[index]:
            return await self._of_run(index, scene)
        if index not in scene.brought:
            scene.brought[index] = await self._load(index, scene, scene.context)
        return scene.brought[index]

    async def _of_run(self, index: int, scene: Scene) -> Any:
        if index in self._shared:
            return self._shared[index]
        # Several objects may be looked at side by side: one of them asks, the others wait.
        async with self._locks[index]:
            if index not in self._shared:
                chance = random.Random(f"{self._seed} {self._entries[index].name}")  # noqa: S311 - no secret
                context = jmespath.Context(now=self._now, chance=chance, budget=self._effort.budget)
                self._shared[index] = await self._load(index, scene, context)
            return self._shared[index]

    async def _load(self, index: int, scene: Scene, context: jmespath.Context) -> Any:
        entry = self._entries[index]
        seen: dict[str, Any] = {}
        for other in self._wants[index]:
            value = await self._value(other, scene)
            if isinstance(value, Failure):
                return value
            seen[self._entries[other].name] = value
        roots: Mapping[str, Any] = seen
        if self._own[index]:
            roots = seen | {root: scene.roots[root] for root in ROOTS}
        await self._effort.turn()
        if closed := self._effort.closed:
            return Failure(entry.name, closed)
        try:
            return await entry.value(roots, context, self._calls)
        except SkoupaError as error:
            return Failure(entry.name, self._said(index, error))
        finally:
            await self._effort.rest()

    def _said(self, index: int, error: SkoupaError) -> str:
        """It may quote what it is about, which can be a part of a Secret, or of what its reader may not read."""
        if self._calls.saw_secrets:
            return f"it has no value {NOT_SHOWN}"
        if isinstance(error, ExpressionError):
            quotes = self.quotes_others([index])
        else:
            # About a question, which quotes nothing but what it was made of.
            quotes = bool(self._entries[index].paths) and self.quotes_others(self._wants[index])
        return trouble(error, written=self._texts[index]) if quotes else str(error)


def looks_at_object(paths: Paths) -> bool:
    return any(not path or path[0] in ROOTS for path in paths)


def _entry(written: ContextEntry) -> Entry:
    try:
        return Entry(written)
    except SkoupaError as error:
        error.message = f"context entry {written.name}: {error.message}"
        raise
