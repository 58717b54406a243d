"""The profiles of a cluster for who looks once: what they teach together.

One that can't be read or understood teaches nothing, is told, and what it could mean is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skoupa import names
from skoupa.errors import PASSING, ApiError, BadReply, TimedOut
from skoupa.expr.cel.messages import Report, Source
from skoupa.expr.cel.pool import Pool
from skoupa.kinds.definition import resource
from skoupa.kinds.retention.profile import KIND_PROFILE
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import everything
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.policy.problems import Problem
from skoupa.policy.retention.profile_expressions import expression_problems, source_of
from skoupa.policy.retention.profiles import Profile, read_profile
from skoupa.policy.retention.teaching import NOTHING, PROFILES, Read, Taught, replaced, teach, written_kind
from skoupa.runs.book import served


class Compiling:
    """Whether expressions compile, each text asked about once."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._known: dict[Source, Report] = {}

    async def problems(self, profile: Profile | None) -> tuple[Problem, ...]:
        """A SkoupaError where the compiler could not be asked: that says nothing of the profile."""
        source = source_of(profile) if profile is not None else None
        if profile is None or source is None:
            return ()
        report = self._known.get(source)
        if report is None:
            report = await self._pool.compile(source)
            if all(one.expression for one in report.problems):
                # Else the compiler died, and the next time may be better.
                self._known[source] = report
        return tuple(expression_problems(profile, report))


async def read_one(
    kind: Resource, found: Mapping[str, Any], *, compiling: Compiling, discovery: Discovery | None
) -> Read:
    # Items of a list may come without.
    whole = {"apiVersion": kind.api_version, "kind": kind.kind, **found}
    reading = read_profile(whole, discovery=discovery)
    return Read(
        name=str(found["metadata"]["name"]),
        written=written_kind(found),
        reading=reading,
        problems=await compiling.problems(reading.profile),
    )


async def profiles_of(
    client: Client,
    discovery: Discovery,
    *,
    compiling: Compiling | None = None,
    supposed: Sequence[Mapping[str, Any]] = (),
) -> tuple[Taught, list[str]]:
    """With what is to be said of them. Without `compiling` their expressions are compiled in a process that ends with this.

    `supposed` count as if they had been applied, in the place of those of their names.
    """
    kind = served(KIND_PROFILE, discovery)
    items: dict[str, Mapping[str, Any]] = {}
    if kind is not None:
        try:
            found = await everything(client, kind, WHOLE)
        except (ApiError, BadReply, TimedOut) as error:
            return _unread(error.brief, may_come=isinstance(error, PASSING))
        if found.undecodable:
            return _unread(found.undecodable[0].why)
        items = {str(one["metadata"]["name"]): one for one in found.items}
    elif (gap := discovery.unreadable(KIND_PROFILE.group)) is not None:
        return _unread(gap.why, may_come=True)
    items |= {str(one["metadata"]["name"]): one for one in supposed}
    if not items:
        return NOTHING, []
    kind = kind or resource(KIND_PROFILE)
    async with Pool(clock=client.clock) as pool:
        known = compiling or Compiling(pool)
        read = [await read_one(kind, one, compiling=known, discovery=discovery) for one in items.values()]
    taught = teach(read)
    return taught, list(_said(taught))


def _unread(why: str, *, may_come: bool = False) -> tuple[Taught, list[str]]:
    said = f"{PROFILES} could not be read, so what they teach is not known: {why}"
    return Taught(unread=why, may_come=may_come), [said]


def _said(taught: Taught) -> Iterator[str]:
    for name, why in taught.wrong.items():
        yield f"{names.KIND_PROFILE_KIND}/{name} does not count, and what its kind may need is not judged: {why}"
    for profile in taught.profiles.values():
        rests = replaced(profile)
        if rests and profile.name not in taught.wrong:
            yield f"{profile.called} takes the place of what Skoupa knows of {profile.kind}: {', '.join(rests)}"
