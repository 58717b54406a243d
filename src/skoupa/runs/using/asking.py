"""Skoupa's own functions in one run of one policy: looks are taken when the first object asks, and all objects share them.

A policy of a namespace is told of users in that namespace alone. Whether there are any at all it hears as true or false: half a
truth would delete what others use. An object that is not as it was read has no answer, never a no.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, Protocol

import msgspec

from skoupa.errors import SkoupaError, UsageUnknown
from skoupa.expr.usage_functions import FINISHED, OF_OTHERS
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.runs.calls.answers import passes
from skoupa.runs.opinions import Item
from skoupa.runs.using.ends import AskedEnds
from skoupa.runs.using.lessons import Passing
from skoupa.runs.using.looks import Look, UsageLooks
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.answers import no_question
from skoupa.usage.reading import Readings

# Policies that are due together see the same cluster.
SHARED_SECONDS: Final = 1.0


class UsageCalls(Protocol):
    """As evaluation sees it."""

    def expect(self, resources: Iterable[Resource]) -> None:
        """These kinds are going to be asked about: one look is for all of them."""
        ...

    async def prepare(
        self, functions: Collection[str], resource: Resource, namespaces: Iterable[str]
    ) -> None:
        """Before `answer`: looks, where that has not been done. What fails is told to who asks."""
        ...

    async def read_ends(self, resource: Resource, items: Collection[Item]) -> None:
        """Before `answer` is asked whether these have ended."""
        ...

    def answer(
        self, function: str, resource: Resource, metadata: Metadata, body: msgspec.Raw
    ) -> bool | list[str]:
        """Raises a UsageUnknown, or what kept it from being looked for."""
        ...

    def done(self) -> None:
        """Nobody asks any more: what was looked at is forgotten."""
        ...

    @property
    def told(self) -> frozenset[str]:
        """What was told instead of an answer, in words that quote no value and name no other object."""
        ...

    @property
    def looked(self) -> bool:
        """Whether a look was taken, which costs as much as a cluster is large."""
        ...

    @property
    def unanswered(self) -> bool:
        """Whether something had no answer for a reason that passes."""
        ...


class PolicyUsage:
    """`namespace` is that of the policy, empty for one of the whole cluster. `anew`: no older look counts."""

    def __init__(
        self, looks: UsageLooks, *, namespace: str, discovery: Discovery, now: float, anew: bool = False
    ) -> None:
        self._looks = looks
        self._namespace = namespace
        self._discovery = discovery
        self._since = now if anew else now - SHARED_SECONDS
        self._expected: dict[str, Resource] = {}
        self._known: dict[tuple[str, str], Look | SkoupaError] = {}
        self._ends = AskedEnds(looks.lessons, discovery=discovery, since=self._since, quoting=not namespace)
        self._readings: Readings | None = None
        self._told: set[str] = set()
        self._unanswered = False
        self._looked = False
        self._within: list[PolicyUsage] = []

    @property
    def told(self) -> frozenset[str]:
        return frozenset(self._told)

    @property
    def looked(self) -> bool:
        return self._looked or any(one.looked for one in self._within)

    @property
    def unanswered(self) -> bool:
        return self._unanswered or any(one.unanswered for one in self._within)

    def within(self, namespace: str) -> PolicyUsage:
        """The same run for who asks from that namespace, and is told of what is in it alone."""
        inner = PolicyUsage(
            self._looks, namespace=namespace, discovery=self._discovery, now=self._since, anew=True
        )
        inner.expect(self._expected.values())
        self._within.append(inner)
        return inner

    def expect(self, resources: Iterable[Resource]) -> None:
        self._expected = {kind_name(resource): resource for resource in resources}
        for inner in self._within:
            inner.expect(self._expected.values())

    async def prepare(
        self, functions: Collection[str], resource: Resource, namespaces: Iterable[str]
    ) -> None:
        if OF_OTHERS.isdisjoint(functions):
            return
        taught = await self._looks.lessons.heard(self._discovery, since=self._since)
        self._readings = taught.readings()
        asked = [one for one in functions if one in OF_OTHERS and self._refused(one, resource) is None]
        if not asked:
            return
        kind = kind_name(resource)
        for place in {self._place(resource, namespace) for namespace in namespaces}:
            if (place, kind) in self._known:
                continue
            wanted = self._wanted(resource, place, asked)
            found: Look | SkoupaError
            self._looked = True
            try:
                found = await self._looks.look(
                    wanted.values(), place, discovery=self._discovery, since=self._since
                )
            except SkoupaError as error:
                found = error
            self._known.update({(place, one): found for one in wanted})

    def answer(
        self, function: str, resource: Resource, metadata: Metadata, body: msgspec.Raw
    ) -> bool | list[str]:
        try:
            if function == FINISHED:
                return self._ends.answer(resource, metadata, body)
            return self._of_others(function, resource, metadata)
        except SkoupaError as error:
            self._unanswered = self._unanswered or isinstance(error, Passing) or passes(error)
            self._told.add(str(error))
            raise

    async def read_ends(self, resource: Resource, items: Collection[Item]) -> None:
        await self._ends.read(resource, items)

    def done(self) -> None:
        self._known.clear()
        self._ends.done()
        for inner in self._within:
            inner.done()

    def _of_others(self, function: str, resource: Resource, metadata: Metadata) -> bool | list[str]:
        if refused := self._refused(function, resource):
            raise UsageUnknown(refused[0], advice=refused[1])
        if self._namespace and metadata.namespace != self._namespace:
            raise UsageUnknown(
                "a policy of a namespace asks only about what is in it",
                advice="use a policy of the whole cluster",
            )
        place = self._place(resource, metadata.namespace)
        look = self._known.get((place, kind_name(resource)))
        if isinstance(look, Look):
            return look.answer(function, metadata, inside=self._namespace)
        said = look.brief if look is not None else "nobody has looked"
        raise UsageUnknown(f"who uses it could not be looked for: {said}") from look

    def _place(self, resource: Resource, namespace: str) -> str:
        """Where one namespace is enough, or all that may be read, others are read only as far as they reach into it."""
        inside = resource.namespaced and (self._namespace or namespace in self._looks.only)
        return namespace if inside else ""

    def _wanted(self, resource: Resource, place: str, functions: Collection[str]) -> dict[str, Resource]:
        """As the server prefers them, and all at once that the policy is going to ask about."""
        own = kind_name(resource)
        wanted = {own: resource} | {
            kind: one
            for kind, one in self._expected.items()
            if one.namespaced == bool(resource.namespaced) or not place
            if any(self._refused(function, one) is None for function in functions)
        }
        preferred = {kind_name(one): one for one in self._discovery.preferred()}
        return {kind: preferred.get(kind, one) for kind, one in wanted.items()}

    def _refused(self, function: str, resource: Resource) -> tuple[str, str] | None:
        return no_question(function, resource, self._readings)
