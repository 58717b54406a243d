"""Conditions of a CleanupPolicy: comparisons of values in which variables stand, with the context that they ask for.

All of `all` in their order, then `any` until one holds. What is decided is not asked further, so that a later comparison that
could not be answered does not matter; the first that can't be answered leaves the object unclear, as in Kyverno.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import ExpressionError, Unanswered, UsageUnknown
from skoupa.expr import jmespath
from skoupa.expr.jmespath.paths import parts_of
from skoupa.expr.usage_functions import FINISHED, AskUsage
from skoupa.kube.resources import Resource
from skoupa.policy.operators import canonical, holds
from skoupa.policy.policies import Policy
from skoupa.policy.target_images import images_of
from skoupa.policy.variables import roots_of
from skoupa.runs.calls.protocol import Calls
from skoupa.runs.context import Failure, Scene, Surroundings
from skoupa.runs.effort import Effort, Pace
from skoupa.runs.entries import Filled, Looking, Paths
from skoupa.runs.opinions import CLAIMED, LEFT, Item, Opinion, shown, unclear
from skoupa.runs.turns import Turns
from skoupa.runs.untold import texts, trouble
from skoupa.runs.using.asking import UsageCalls

# Objects whose context is asked for side by side.
_WIDTH: Final = 8
_METADATA: Final = frozenset({"apiVersion", "kind", "metadata"})
_LONGEST_SIDE: Final = 120
_WHOLE: Final = msgspec.json.Decoder(dict[str, Any])


class Comparison:
    """`place` is where it stands in the policy, `wanted` the entries of the context that it looks at.

    `usage`: which of Skoupa's own functions it calls, itself or through them.
    """

    __slots__ = ("_key", "_operator", "_value", "_written", "paths", "place", "random", "usage", "wanted")

    def __init__(self, written: Mapping[str, Any], surroundings: Surroundings, *, place: str) -> None:
        self.place = place
        self._written = written
        self._key = Filled(written.get("key"))
        self._value = Filled(written.get("value"))
        self._operator = canonical(str(written.get("operator", "")))
        self.paths: Paths = self._key.paths | self._value.paths
        self.random = self._key.random or self._value.random
        self.wanted = surroundings.wanted_by(self.paths)
        reached = surroundings.reached_from(self.wanted)
        self.usage = frozenset().union(
            self._key.usage, self._value.usage, *(entry.usage for entry in reached)
        )

    def holds(self, scene: Scene) -> bool:
        key = self._key.fill(scene.roots, scene.context)
        return holds(self._operator, key, self._value.fill(scene.roots, scene.context))

    def told(self, scene: Scene) -> str:
        """As it is written, and what its variables stand for."""
        sides = []
        for side, filled in (("key", self._key), ("value", self._value)):
            found = filled.fill(scene.roots, scene.context)
            if found != self._written.get(side):
                sides.append(f"{side} is {_brief(found)}")
        written = f"{_brief(self._written.get('key'))} {self._operator} {_brief(self._written.get('value'))}"
        return f"{written} ({', '.join(sides)})" if sides else written


class Comparing:
    """The conditions of one policy at one moment. A BadExpression where one of them can't be meant."""

    def __init__(
        self, policy: Policy, *, calls: Calls, clock: Clock, now: float, pace: Pace | None = None
    ) -> None:
        self._policy = policy
        self._calls = calls
        self._clock = clock
        self._now = now
        self._seed = f"{policy.uid or policy.called} {self._now:.0f}"
        self._effort = Effort(pace or Pace(clock))
        self._context = Surroundings(
            policy.clauses.context,
            calls=calls,
            now=self._now,
            seed=self._seed,
            effort=self._effort,
            namespaced=bool(policy.namespace),
        )
        self._all = self._read("all")
        self._any = self._read("any")
        every = [*self._all, *self._any]
        wanted = tuple({index for one in every for index in one.wanted})
        looking: list[Looking] = [*every, *self._context.reached_from(wanted)]
        self._paths: Paths = frozenset().union(*(one.paths for one in looking))
        self._quotes_others = self._context.quotes_others(wanted)
        self._images = any(not path or path[0] == "images" for path in self._paths)
        self._random = any(one.random for one in looking)
        self._usage = any(one.usage for one in every)
        self._asks = self._context.asks_per_object(wanted)
        self._plain = jmespath.Context(now=self._now, budget=self._effort.budget)

    def _read(self, mode: str) -> list[Comparison]:
        return [
            Comparison(one, self._context, place=f"conditions.{mode}[{index}]")
            for index, one in enumerate(self._policy.clauses.comparisons.get(mode) or ())
        ]

    @property
    def needs_bodies(self) -> bool:
        parts = parts_of(self._paths, "target")
        return self._images or parts is None or not _METADATA.issuperset(parts)

    def looks_into(self, fields: frozenset[str]) -> bool:
        parts = parts_of(self._paths, "target")
        return parts is None or bool(parts & fields)

    @property
    def troubles(self) -> tuple[str, ...]:
        closed = self._effort.closed
        return (closed, *self._context.failures) if closed else self._context.failures

    @property
    def interrupted(self) -> bool:
        """Nobody else is asked to work anything out."""
        return False

    async def begin(self) -> None:
        """Everything is read when it is made; context is brought when it is first asked for."""

    async def ask(self, resource: Resource, items: Sequence[Item]) -> list[Opinion]:
        if not self._all and not self._any:
            return [CLAIMED] * len(items)
        found: list[Opinion] = [LEFT] * len(items)
        waiting = iter(enumerate(items))
        page = _Page(resource, items, self._calls.usage)
        if not self._asks or len(items) == 1:
            await self._work(page, waiting, found)
            return found
        async with asyncio.TaskGroup() as group:
            for _ in range(min(_WIDTH, len(items))):
                group.create_task(self._work(page, waiting, found))
        return found

    async def _work(self, page: _Page, waiting: Iterator[tuple[int, Item]], found: list[Opinion]) -> None:
        turns = Turns(self._clock)
        for index, item in waiting:
            found[index] = await self._opinion(page, item)
            await turns.pause()

    async def _opinion(self, page: _Page, item: Item) -> Opinion:
        place, resource = "images", page.resource
        try:
            scene = self._scene(resource, item)
            for index, one in enumerate((*self._all, *self._any)):
                place = one.place
                if closed := self._effort.closed:
                    return self._unclear(resource, why=closed, gist=closed)
                if failure := await self._brought(one, scene, page, item):
                    return self._failed(failure, resource)
                held = await self._held(one, scene)
                # The first of `all` that does not hold decides, and the first of `any` that does.
                if held is (index >= len(self._all)):
                    return CLAIMED if held else LEFT
        except ExpressionError as error:
            return self._unanswered(error, resource, place)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            gist = "the object can't be read"
            return self._unclear(resource, why=f"{gist}: {error}", gist=gist)
        return LEFT if self._any else CLAIMED

    async def _held(self, one: Comparison, scene: Scene) -> bool:
        await self._effort.turn()
        try:
            with self._effort.work():
                return one.holds(scene)
        finally:
            await self._effort.rest()

    async def unmet(self, resource: Resource, item: Item) -> str:
        try:
            scene, page = self._scene(resource, item), _Page(resource, (item,), self._calls.usage)
            for one in (*self._all, *self._any):
                if await self._brought(one, scene, page, item):
                    return ""
                if not one.holds(scene):
                    gist = f"{one.place} does not hold"
                    why = f"{gist}: {one.told(scene)}"
                    if one not in self._all and len(self._any) > 1:
                        why += "; nor does another of conditions.any"
                    return shown(resource, why=why, gist=gist, secret=self._calls.saw_secrets)
        except (ExpressionError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
        return ""

    async def _brought(self, one: Comparison, scene: Scene, page: _Page, item: Item) -> Failure | None:
        """All that a comparison looks at beside the object."""
        if one.usage:
            await self._calls.usage.prepare(one.usage, page.resource, (item.metadata.namespace,))
        if FINISHED in one.usage:
            await page.read_ends()
        return await self._context.bring(one.wanted, scene) if one.wanted else None

    def _failed(self, failure: Failure, resource: Resource) -> Opinion:
        gist = f"context entry {failure.entry} has no value"
        return self._unclear(resource, why=str(failure), gist=gist)

    def _unanswered(self, error: ExpressionError, resource: Resource, place: str) -> Opinion:
        why, gist = str(error), f"{place} has no answer"
        if self._quotes_others:
            why = f"{place}: {trouble(error, written=texts(self._policy.clauses.comparisons))}"
        if isinstance(error, Unanswered):
            # It quotes nothing but the expression.
            gist = f"{gist}: {error.reason}"
        return self._unclear(resource, why=why, gist=gist)

    def _unclear(self, resource: Resource, *, why: str, gist: str) -> Opinion:
        return unclear(self._policy, resource, why=why, gist=gist, secret=self._calls.saw_secrets)

    def _scene(self, resource: Resource, item: Item) -> Scene:
        target = _WHOLE.decode(item.raw)
        # Lists leave these out, and lists of metadata say something else.
        target["apiVersion"], target["kind"] = resource.api_version, resource.kind
        context = self._plain
        if self._random:
            # The same object gets the same chance on whichever page it comes.
            chance = random.Random(f"{self._seed} {item.metadata.uid}")  # noqa: S311 - no secret
            context = msgspec.structs.replace(self._plain, chance=chance)
        if self._usage:
            context = msgspec.structs.replace(context, usage=self._asker(resource, item))
        images = images_of(target) if self._images else None
        return Scene(roots_of(target, images=images), context)

    def _asker(self, resource: Resource, item: Item) -> AskUsage:
        def ask(function: str, uid: str) -> bool | list[str]:
            if uid != item.metadata.uid:
                raise UsageUnknown(
                    "it is about the object that is judged, and no other", advice=f"write {function}(target)"
                )
            return self._calls.usage.answer(function, resource, item.metadata, item.raw)

        return ask


class _Page:
    """Objects that are judged side by side: whether they have ended is asked of all at once, when the first of them wants to know."""

    def __init__(self, resource: Resource, items: Sequence[Item], usage: UsageCalls) -> None:
        self.resource = resource
        self._items = items
        self._usage = usage
        self._turn = asyncio.Lock()
        self._asked = False

    async def read_ends(self) -> None:
        async with self._turn:
            if not self._asked:
                await self._usage.read_ends(self.resource, self._items)
                self._asked = True


def _brief(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST_SIDE else f"{text[: _LONGEST_SIDE - 1]}…"
