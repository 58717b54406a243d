"""Conditions of a DeletingPolicy, in CEL, and the PolicyExceptions that stand against them.

Only objects that match go to the child processes of the Pool, in batches that fit into their memory. What goes by the conditions is then
asked for exceptions: one that can't be evaluated lets the object stay. A Namespace that can't be read leaves the objects in it unclear
where an expression looks at it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from skoupa.errors import BadExpression, SkoupaError
from skoupa.expr.cel.accounts import Account
from skoupa.expr.cel.messages import Circumstances, Report, Result, Source
from skoupa.expr.cel.pool import Pool
from skoupa.expr.usage_functions import FINISHED
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.policy.cel_checks import source_of
from skoupa.policy.exemptions import Exemption
from skoupa.policy.policies import Clauses, Policy
from skoupa.runs.calls.protocol import Calls
from skoupa.runs.exempting import Exempting, exempting, looks_into, told
from skoupa.runs.opinions import CLAIMED, LEFT, Item, Opinion, clipped, unclear
from skoupa.runs.using.brokering import OF_ALL, UsageBroker

# What is no Namespace there is a SkoupaError.
NamespaceReader = Callable[[str], Awaitable[Any]]

# Far below what a child may have: it holds a batch besides what its functions were answered.
_BATCH_BYTES: Final = 8 * 2**20


class Expressions:
    """The conditions of one policy at one moment."""

    def __init__(
        self,
        policy: Policy,
        *,
        pool: Pool,
        calls: Calls,
        now: float,
        exemptions: Iterable[Exemption] = (),
        namespace_object: NamespaceReader | None = None,
    ) -> None:
        self._policy = policy
        self._pool = pool
        self._account = Account()
        self._calls = calls
        self._now = now
        self._waiting = [one for one in exemptions if one.concerns(policy, now=now)]
        self._exempting: list[Exempting] = []
        self._namespace_object = namespace_object or self._asked
        self._namespaces: dict[str, msgspec.Raw | str] = {}
        self._source = source_of(policy.clauses)
        self._report = Report(fields=None)

    @property
    def needs_bodies(self) -> bool:
        reports = [self._report, *(one.report for one in self._exempting if not one.broken)]
        return not all(report.needs_only_metadata for report in reports)

    def looks_into(self, fields: frozenset[str]) -> bool:
        reports = [self._report, *(one.report for one in self._exempting if not one.broken)]
        return any(looks_into(report, fields) for report in reports)

    @property
    def troubles(self) -> tuple[str, ...]:
        troubles = tuple(trouble for one in self._exempting for trouble in one.troubles)
        return (self._account.closed, *troubles) if self._account.closed else troubles

    @property
    def interrupted(self) -> bool:
        return self._account.interrupted

    async def begin(self) -> None:
        """A BadExpression where a condition does not compile."""
        self._report = await self._compiled(self._source)
        if self._report.problems:
            first = self._report.problems[0]
            raise BadExpression(first.what, expression=first.expression or first.where, advice=first.advice)
        for one in self._waiting:
            self._exempting.append(await self._prepared(one))
        self._waiting.clear()

    async def ask(self, resource: Resource, items: Sequence[Item]) -> list[Opinion]:
        found = await self._opinions(resource, items)
        for one in self._exempting:
            going = [index for index, opinion in enumerate(found) if opinion is CLAIMED]
            if not going:
                break
            answers = await self._exempted(one, resource, [items[index] for index in going])
            for index, answer in zip(going, answers, strict=True):
                found[index] = answer
        return found

    async def unmet(self, resource: Resource, item: Item) -> str:
        for one in self._source.conditions:
            alone = msgspec.structs.replace(self._source, conditions=(one,))
            (result,) = await self._results(alone, self._report, resource, items=[item], calls=self._calls)
            if result.error:
                return ""
            if not result.matched:
                return clipped(f"the condition {one.name} is false: {' '.join(one.expression.split())}")
        return ""

    async def _compiled(self, source: Source) -> Report:
        return await self._pool.compile(source) if source.conditions else Report()

    async def _prepared(self, exemption: Exemption) -> Exempting:
        source = source_of(Clauses(namespace=self._policy.namespace, expressions=exemption.expressions))
        return exempting(exemption, source, await self._compiled(source), calls=self._calls)

    async def _opinions(self, resource: Resource, items: Sequence[Item]) -> list[Opinion]:
        return [
            unclear(
                self._policy,
                resource,
                why=told(self._policy, self._source, result.error, calls=self._calls),
                gist=self._gist("a condition has no answer", result.error),
                secret=self._calls.saw_secrets,
            )
            if result.error
            else CLAIMED
            if result.matched
            else LEFT
            for result in await self._results(
                self._source, self._report, resource, items=items, calls=self._calls
            )
        ]

    async def _exempted(self, one: Exempting, resource: Resource, items: Sequence[Item]) -> list[Opinion]:
        if refused := one.refused(resource):
            return [one.unclear(self._policy, refused)] * len(items)
        results = await self._results(
            one.source, one.report, resource, items=one.seen(resource, items), calls=one.calls
        )
        return [one.opinion(self._policy, resource, result) for result in results]

    def _gist(self, gist: str, said: str) -> str:
        """With what quotes nothing: who uses an object is no part of it."""
        known = next((word for word in self._calls.usage.told if word in said), "")
        return f"{gist}: {known}" if known else gist

    async def _results(
        self, source: Source, report: Report, resource: Resource, *, items: Sequence[Item], calls: Calls
    ) -> list[Result]:
        """One for each item; whatever goes wrong is the error of those that it concerns. `calls` are those of who asks."""
        if not source.conditions:
            return [Result(True)] * len(items)
        found: list[Result] = []
        for batch in _batches(items):
            unread: dict[str, str] = {}
            known: dict[str, msgspec.Raw] = {}
            if report.looks_at_namespace and resource != NAMESPACES:
                known, unread = await self._namespaces_of(batch)
            circumstances = Circumstances(
                now=self._now,
                seed=self._policy.uid or self._policy.called,
                api_version=resource.api_version,
                kind=resource.kind,
                namespaces=known,
            )
            broker = calls.broker
            if asked := OF_ALL.intersection(report.asks):
                # A look takes longer than a question may.
                places = dict.fromkeys(item.metadata.namespace for item in batch)
                await calls.usage.prepare(asked, resource, places)
                if FINISHED in asked:
                    await calls.usage.read_ends(resource, batch)
                broker = UsageBroker(broker, calls.usage, resource=resource, items=batch)
            try:
                results = await self._pool.judge(
                    source,
                    _page(batch),
                    circumstances=circumstances,
                    broker=broker,
                    account=self._account,
                )
            except SkoupaError as error:
                results = [Result(False, str(error))] * len(batch)
            found += [
                Result(False, unread[item.metadata.namespace])
                if item.metadata.namespace in unread
                else result
                for item, result in zip(batch, results, strict=True)
            ]
        return found

    async def _namespaces_of(self, items: Sequence[Item]) -> tuple[dict[str, msgspec.Raw], dict[str, str]]:
        """The Namespaces of some objects, each read once in a run, and why others can't be had."""
        known: dict[str, msgspec.Raw] = {}
        unread: dict[str, str] = {}
        for name in dict.fromkeys(item.metadata.namespace for item in items if item.metadata.namespace):
            if name not in self._namespaces:
                self._namespaces[name] = await self._namespace(name)
            value = self._namespaces[name]
            if isinstance(value, str):
                unread[name] = value
            else:
                known[name] = value
        return known, unread

    async def _namespace(self, name: str) -> msgspec.Raw | str:
        try:
            return msgspec.Raw(msgspec.json.encode(await self._namespace_object(name)))
        except SkoupaError as error:
            return f"namespace {name} could not be read, so namespaceObject is not known: {error}"

    async def _asked(self, name: str) -> Any:
        return await self._calls.api("GET", NAMESPACES.path(name=name))


def namespaces_of(client: Client, *, one_by_one: bool = False) -> NamespaceReader:
    """By a list on the name, for which the right to list is enough; `one_by_one` where only single ones may be read."""

    async def read(name: str) -> Any:
        ask = client.get if one_by_one else client.find
        return await ask(NAMESPACES, name, view=WHOLE)

    return read


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """An object that is larger than a batch makes one by itself."""
    start, size = 0, 0
    for index, item in enumerate(items):
        length = len(memoryview(item.raw))
        if size and size + length > _BATCH_BYTES:
            yield items[start:index]
            start, size = index, 0
        size += length
    if items[start:]:
        yield items[start:]


def _page(items: Sequence[Item]) -> bytes:
    return b'{"items":[' + b",".join(item.raw for item in items) + b"]}"
