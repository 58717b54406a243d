"""One run of a policy: what it asks the server for, and what it says of each object that comes.

Every list is read to its end before anything of it counts. A list that fails costs its own objects, which stay; the others go on,
and the run says what it could not read. Nothing is deleted here, and nothing is remembered: the findings are a value.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container, Mapping, Sequence
from typing import Final

import msgspec

from skoupa.errors import SkoupaError
from skoupa.kube.client import describe
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import detached
from skoupa.kube.resources import NAMESPACES
from skoupa.policy.expansion import expand
from skoupa.policy.match import answer
from skoupa.policy.missing import Missing
from skoupa.policy.policies import Policy
from skoupa.policy.queries import Query, queries
from skoupa.runs.evaluation import UNKNOWN_NAMESPACES, Evaluation, Found, asks_for_labels, without_dependents
from skoupa.runs.lists import Lists

LISTS_OF_ONE: Final = 4

Namespaces = Mapping[str, Mapping[str, str]]


class Gap(msgspec.Struct, frozen=True):
    """A list that could not be read."""

    query: Query
    error: SkoupaError

    def __str__(self) -> str:
        return f"{describe(self.query.resource, namespace=self.query.scope.namespace)}: {self.error.message}"


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What goes, what is unclear and stays, what stays for a reason of its own; and what was not there or not readable.

    `unanswered`: something that its conditions asked for had no answer for a reason that passes.
    """

    claimed: tuple[Found, ...] = ()
    unclear: tuple[Found, ...] = ()
    spared: tuple[Found, ...] = ()
    gaps: tuple[Gap, ...] = ()
    missing: tuple[Missing, ...] = ()
    troubles: tuple[str, ...] = ()
    unanswered: bool = False

    @property
    def complete(self) -> bool:
        return not self.gaps and not self.unclear and not self.troubles


def about(findings: Findings, uids: Container[str]) -> Findings:
    """What it says of these objects alone."""
    return msgspec.structs.replace(
        findings,
        claimed=tuple(one for one in findings.claimed if one.metadata.uid in uids),
        unclear=tuple(one for one in findings.unclear if one.metadata.uid in uids),
        spared=tuple(one for one in findings.spared if one.metadata.uid in uids),
    )


def as_labelled(policy: Policy, findings: Findings, namespaces: Namespaces | None) -> Findings:
    """By the labels that namespaces have by now: a long run began with others, and who takes one off wants it to stop."""
    if not asks_for_labels(policy) or not findings.claimed:
        return findings
    if namespaces is None:
        return msgspec.structs.replace(
            findings, claimed=(), troubles=(*findings.troubles, UNKNOWN_NAMESPACES)
        )

    def still_matches(one: Found) -> bool:
        labels = namespaces.get(one.metadata.namespace)
        return answer(policy.subject, one.resource, one.metadata, namespace_labels=labels).matches

    return msgspec.structs.replace(findings, claimed=tuple(filter(still_matches, findings.claimed)))


async def find(
    policy: Policy,
    evaluation: Evaluation,
    *,
    lists: Lists,
    discovery: Discovery,
    namespaces: Namespaces | None,
    only: Sequence[str] = (),
    themselves: bool = False,
) -> Findings:
    """`only` are the namespaces that are looked into at all; empty: all. Raises where the policy can't be evaluated.

    `themselves`: those Namespaces are looked at too.
    """
    await evaluation.begin()
    expansion = expand(policy.subject, discovery)
    evaluation.expect(expansion.resources)
    wanted = queries(policy.subject, expansion.resources, namespaces=namespaces)
    if only:
        wanted = tuple(query for one in wanted for query in _within(one, only, themselves=themselves))
    reading = _Reading(evaluation, lists)
    try:
        await reading.read(dict.fromkeys(wanted))
    finally:
        evaluation.done()
    found = without_dependents(policy, reading.found)
    return Findings(
        claimed=tuple(one for one in found if one.outcome == "claimed"),
        unclear=tuple(one for one in found if one.outcome == "unclear"),
        spared=tuple(one for one in found if one.outcome == "left"),
        gaps=tuple(reading.gaps),
        missing=expansion.missing,
        troubles=evaluation.troubles,
        unanswered=evaluation.unanswered,
    )


def _within(query: Query, only: Sequence[str], *, themselves: bool) -> list[Query]:
    """The same list in these namespaces alone; what is in none is looked after by nobody here."""
    if themselves and query.resource.qualified == NAMESPACES.qualified:
        return [
            Query(
                query.resource, msgspec.structs.replace(query.scope, fields=_named(query.scope.fields, place))
            )
            for place in only
        ]
    if not query.resource.namespaced or query.scope.namespace:
        inside = query.resource.namespaced and query.scope.namespace in only
        return [query] if inside else []
    return [Query(query.resource, msgspec.structs.replace(query.scope, namespace=place)) for place in only]


def _named(fields: str, name: str) -> str:
    return ",".join(part for part in (fields, f"metadata.name={name}") if part)


class _Reading:
    """The lists of one run, a few at a time."""

    def __init__(self, evaluation: Evaluation, lists: Lists) -> None:
        self._evaluation = evaluation
        self._lists = lists
        self._turns = asyncio.Semaphore(LISTS_OF_ONE)
        self._seen: set[str] = set()
        self.found: list[Found] = []
        self.gaps: list[Gap] = []

    async def read(self, wanted: Mapping[Query, None]) -> None:
        async with asyncio.TaskGroup() as group:
            for query in wanted:
                await self._turns.acquire()
                group.create_task(self._list(query))

    async def _list(self, query: Query) -> None:
        found: list[Found] = []

        async def take(items: Sequence[msgspec.Raw], first: bool) -> None:  # noqa: FBT001 - as `Lists` calls it
            if first:
                found.clear()
            page = await self._evaluation.page(query.resource, items)
            found.extend(
                msgspec.structs.replace(one, metadata=detached(one.metadata))
                for one in page
                if one.outcome != "left" or one.why is not None
            )

        try:
            await self._lists.read(query, bodies=self._evaluation.needs_bodies, take=take)
        except SkoupaError as error:
            self.gaps.append(Gap(query, error))
        else:
            self._add(found)
        finally:
            self._turns.release()

    def _add(self, found: Sequence[Found]) -> None:
        """Each object once, though two lists may hold it."""
        for one in found:
            uid = one.metadata.uid
            if not uid or uid not in self._seen:
                self._seen.add(uid)
                self.found.append(one)
