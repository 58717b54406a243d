"""Looks at who uses what, for runs of policies: one pass of lists each, shared by all who ask for the same at the same time.

A look is remembered only as long as some run holds it: a cluster's graph is large. One is taken at a time, so that many policies
which are due together cost the server one reading and not one each; who waited for its turn takes the look that was made meanwhile,
if that began late enough. Whoever is cancelled while looking leaves nothing behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final
from weakref import WeakSet

import msgspec

from skoupa.clock import Clock
from skoupa.errors import UsageUnknown
from skoupa.expr.cel.pool import Pool
from skoupa.expr.usage_functions import BEHIND_SERVICE, UNMOUNTED, UNUSED, USED_BY
from skoupa.facts.rows import Row, pack_uid
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.runs.using.lessons import Lessons, Passing
from skoupa.runs.using.reading import UsageReading
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers import answers
from skoupa.usage.leftovers.looked import Looked
from skoupa.usage.needs import Needs, Unknown
from skoupa.usage.sight import Unread

_MOST_TOLD: Final = 3
_REFUSED: Final = "no permission to list them"
_TRUTHS: Final[dict[str, Callable[[Looked, Row], bool | Unknown]]] = {
    UNUSED: answers.unused,
    UNMOUNTED: answers.unmounted,
    BEHIND_SERVICE: answers.behind_service,
}


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    """What a look is about: kinds as `usage` writes them, in one namespace or, where that is empty, everywhere."""

    kinds: frozenset[str]
    place: str

    def covers(self, other: Whole) -> bool:
        return self.place == other.place and self.kinds >= other.kinds


class Look:
    """`may_come`: what was not read was so for a reason that passes. `began` is by the monotonic clock.

    `still`: what was read can't have changed since, for it stands in files.
    """

    def __init__(
        self,
        reading: UsageReading,
        about: Whole,
        *,
        may_come: bool,
        began: float,
        began_at: float,
        now: float,
        still: bool,
    ) -> None:
        sight = reading.sight()
        needs = Needs(reading.graph, sight, natures=reading.natures, trackers=reading.trackers())
        self.about = about
        self.began = began
        self._began_at = began_at
        self._still = still
        self._may_come = may_come
        self._looked = Looked(
            reading.graph, needs, sight, particulars=reading.particulars, served=reading.served, now=now
        )

    def answer(self, function: str, metadata: Metadata, *, inside: str) -> bool | list[str]:
        """`inside`: the namespace of the policy, whose writer need not know who is in others. Raises UsageUnknown."""
        row = self._row(metadata)
        found: bool | tuple[str, ...] | Unknown
        if function == USED_BY:
            found = answers.used_by(self._looked, row, inside=inside)
        else:
            found = _TRUTHS[function](self._looked, row)
        if isinstance(found, Unknown):
            kind = Passing if self._may_come else UsageUnknown
            raise kind(
                _told(found), advice=f"`skoupa unused {row.resource.qualified}` tells all that was not read"
            )
        return found if isinstance(found, bool) else list(found)

    def _row(self, metadata: Metadata) -> Row:
        row = self._looked.graph.by_uid(pack_uid(metadata.uid))
        # A server may have one object under two kinds; only as one of those that were asked about all of it was read.
        if row is None or kind_name(row.resource) not in self.about.kinds:
            raise Passing("it was not there, or could not be read, when it was looked for who uses it")
        if row.resource_version != metadata.resource_version:
            raise Passing("it changed while it was looked for who uses it")
        if not self._still and row.created >= int(self._began_at):
            # Whoever needs it may have come after its list was read.
            raise Passing("it was made while it was looked for who uses it")
        return row


class UsageLooks:
    """`only` are the namespaces that are looked into at all; empty: all. `ignored` need not be read (`usage.ignoreKinds`).

    `pool` has the processes that profiles are asked in; without one it has its own, until it is closed. `profiles` count beside those
    of the cluster, as if they had been applied.
    """

    def __init__(
        self,
        client: Client,
        *,
        pool: Pool | None = None,
        ignored: Collection[str] = (),
        only: Collection[str] = (),
        still: bool = False,
        profiles: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.lessons = Lessons(client, pool=pool, ignored=ignored, supposed=profiles)
        self._client = client
        self._clock: Clock = client.clock
        self._ignored = tuple(ignored)
        self._still = still
        self.only = frozenset(only)
        self._turn = asyncio.Lock()
        self._taken: WeakSet[Look] = WeakSet()
        # How many were taken.
        self.made = 0

    async def look(
        self, kinds: Iterable[Resource], place: str, *, discovery: Discovery, since: float
    ) -> Look:
        """One that began no earlier than `since`, by the monotonic clock. Raises what kept it from being taken."""
        asked = {kind_name(resource): resource for resource in kinds}
        about = Whole(kinds=frozenset(asked), place=place)
        async with self._turn:
            for known in self._taken:
                if known.began >= since and known.about.covers(about):
                    return known
            look = await self._take(asked.values(), about, discovery, since=since)
            self._taken.add(look)
            return look

    async def _take(
        self, asked: Iterable[Resource], about: Whole, discovery: Discovery, *, since: float
    ) -> Look:
        began, began_at = self._clock.monotonic(), self._clock.now()
        self.made += 1
        taught = await self.lessons.heard(discovery, since=since)
        reading = UsageReading(
            self._client,
            discovery,
            taught,
            asked=asked,
            place=about.place,
            ignored=self._ignored,
            keys=False,
            progress=lambda _: None,
        )
        await reading.read()
        may_come = reading.may_come or taught.may_come
        return Look(
            reading,
            about,
            may_come=may_come,
            began=began,
            began_at=began_at,
            now=self._clock.now(),
            still=self._still,
        )


def _told(unknown: Unknown) -> str:
    """Kinds, and no other object by its name: who reads it may not be allowed to know of those."""
    parts = [_gap(one) for one in unknown.unread[:_MOST_TOLD]]
    parts = list(dict.fromkeys(parts))
    if (more := len(unknown.unread) - _MOST_TOLD) > 0:
        parts.append(f"{more} more")
    if unknown.doubts:
        parts.append(f"{len(unknown.doubts)} that can't be understood")
    return f"not everything that says so could be read: {', '.join(parts)}"


def _gap(gap: Unread) -> str:
    why = _REFUSED if "is forbidden" in gap.why else gap.why
    return f"{gap.what.partition('/')[0]} ({why})"
