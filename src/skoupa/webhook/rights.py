"""What somebody must be allowed to do for what a policy means: every kind of it, also those that can't be looked up.

A wildcard means kinds that are still to come, and a kind that the server has not may come: for those every kind is asked about, of their
group where that is written. As far as they are known, kinds are asked about one by one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import product
from typing import Final

import msgspec

from skoupa.errors import SkoupaError
from skoupa.expr.wildcards import has_wildcard
from skoupa.kube.kinds import Discovery
from skoupa.kube.reviews import Ask, Caller
from skoupa.policy.expansion import expand, meant
from skoupa.policy.filters import Filters
from skoupa.policy.match import Subject
from skoupa.webhook.review import Asked, Decision, warned

May = Callable[[Caller | None, Ask], Awaitable[bool]]

_ALL: Final = "*"
_EVERYTHING: Final = "*.*"
# Questions under way at once: the server waits for the answer, and other people ask it as well.
_WIDTH: Final = 16
# So many are named.
_MOST_NAMED: Final = 5


class Wanted(msgspec.Struct, frozen=True):
    """A verb on a kind, and how it is told."""

    ask: Ask
    words: str


def known(subject: Subject, discovery: Discovery, *, verbs: Iterable[str] = ("delete",)) -> Iterator[Wanted]:
    """Of the kinds that the server has."""
    verbs = tuple(verbs)
    for resource in expand(subject, discovery).resources:
        place = subject.namespace if resource.namespaced else ""
        for verb in verbs:
            yield _wanted(verb, resource.qualified, place, everywhere=resource.namespaced)


def unknown(subject: Subject, discovery: Discovery | None) -> Iterator[Wanted]:
    """Of what may mean more than the server has; without discovery that is all."""
    for kind in dict.fromkeys(_unresolved(subject, discovery)):
        yield _wanted("delete", kind, subject.namespace, everywhere=True)


def everything(namespace: str) -> Wanted:
    return _wanted("delete", _EVERYTHING, namespace, everywhere=True)


async def decided(
    may: May,
    asked: Asked,
    *,
    ours: Iterable[Wanted],
    theirs: Iterable[Wanted],
    strict: bool,
    doubts: list[str],
    warnings: list[str],
) -> Decision:
    """Of a policy that is let in unless its writer lacks a right and that is `strict`; `doubts` are told with a refusal too."""
    try:
        lacked = await lacking(may, None, ours)
        if lacked:
            warnings = [*warnings, f"Skoupa may not {named(lacked)}: those stay until a role of it says so"]
        missing = await lacking(may, asked.caller, theirs)
    except SkoupaError as error:
        what = f"rights could not be asked for: {error.message}"
        if strict:
            return Decision(refusal=f"{what}; who writes a policy must be allowed to delete: try again")
        return warned([*doubts, *warnings, what])
    if missing:
        what = f"you may not {named(missing)}, and this policy would for you"
        if strict:
            advice = "ask for that right, or let somebody write it who has it"
            return Decision(refusal="; ".join([*doubts, f"{what}: {advice}"]))
        warnings = [*warnings, what]
    return warned([*doubts, *warnings])


async def lacking(may: May, caller: Caller | None, wanted: Iterable[Wanted]) -> tuple[str, ...]:
    """What is missing, in words. Raises where that can't be found out."""
    asked = list(dict.fromkeys(wanted))
    limit = asyncio.Semaphore(_WIDTH)

    async def allowed(ask: Ask) -> bool | SkoupaError:
        async with limit:
            try:
                return await may(caller, ask)
            except SkoupaError as error:
                return error

    # Who may delete everything everywhere is asked no more.
    if len(asked) > 1 and await allowed(Ask(verb=_ALL, resource=_EVERYTHING)) is True:
        return ()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(allowed(one.ask)) for one in asked]
    answers = [task.result() for task in tasks]
    for answer in answers:
        if isinstance(answer, SkoupaError):
            raise answer
    return tuple(one.words for one, answer in zip(asked, answers, strict=True) if not answer)


def named(words: tuple[str, ...]) -> str:
    more = len(words) - _MOST_NAMED
    return ", ".join(words[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _unresolved(subject: Subject, discovery: Discovery | None) -> Iterator[str]:
    match = subject.match
    if isinstance(match, Filters):
        for pattern in match.patterns:
            if pattern.wild or discovery is None or not meant(pattern, discovery):
                group = pattern.group if pattern.grouped and not has_wildcard(pattern.group) else _ALL
                yield _qualified(_ALL, group)
        return
    for rule in match.rules:
        for group, plural in product(sorted(rule.groups), sorted(rule.plurals)):
            here = discovery is not None and any(
                (row.group, row.plural) == (group, plural) for row in discovery.resources
            )
            if not here:
                yield _qualified(plural, group)


def _qualified(plural: str, group: str) -> str:
    return f"{plural}.{group}" if group else plural


def _wanted(verb: str, kind: str, place: str, *, everywhere: bool) -> Wanted:
    plural, _, group = kind.partition(".")
    what = kind
    if plural == _ALL:
        what = "every kind" if group == _ALL else f"every kind of {group or 'the core group'}"
    where = f" in {place}" if place else " in all namespaces" if everywhere else ""
    return Wanted(Ask(verb=verb, resource=kind, namespace=place), f"{verb} {what}{where}")
