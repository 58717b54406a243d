"""The Brakes that are in the cluster, followed by a watch, and how far what is known of them can be trusted.

A Brake that vanishes may have gone along with its definition, and then nobody has released it. So it counts until it is
certain that the definition stands; while that goes, or is gone, nothing is certain. A Brake that is older than the
definition that stands now went along with an earlier one: it is lost, and counts until it is there again.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from datetime import datetime
from typing import Any, Final, NamedTuple

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.braking.listing import INSTALL_AGAIN
from skoupa.errors import ApiError, Forbidden, NotFound, SkoupaError
from skoupa.kinds.brake import BRAKES
from skoupa.kube import watch, watched
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource

LONGEST_CHECK_SECONDS: Final = 5.0
Found = dict[str, Any]
_NOT_READ: Final = "they are not read yet"
_LOOK: Final = "make those again that are still needed, then take brakesUnlisted out of the ConfigMap skoupa-state and start again"
GOING: Final = f"their definition brakes.skoupa.dev is being deleted; bring it back with {INSTALL_AGAIN}"


class Unlisted(NamedTuple):
    """Of how many nothing is written down (0: nobody knows), and when the oldest of them was made."""

    number: int
    oldest: int

    def why(self) -> str:
        which = (
            f"{self.number} of more than 300 Brakes were not written down"
            if self.number
            else "what was written down of Brakes can't be understood"
        )
        return f"{which}, and some may have gone along with their definition; {_LOOK}"

    def may_be_lost(self, made: float) -> bool:
        """With an earlier definition than the one that was made then; where nobody can tell when that was, too."""
        return made > self.oldest or made == -math.inf


class BrakeFeed:
    """`on_change` hears of every change, of the Brakes or of the trust in them."""

    def __init__(self, client: Client, *, on_change: Callable[[], None]) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._on_change = on_change
        self.synced = False
        self.definition_going = False
        # Why the watch is behind.
        self.behind = ""
        self._objects: dict[str, Found] = {}
        self._listed: dict[str, Found] = {}
        self._unreadable = 0
        # Gone, but perhaps along with their definition.
        self._leaving: dict[str, Found] = {}
        # Gone along with their definition: nobody has released them.
        self._lost: dict[str, Found] = {}
        # Those of which nothing is written down, while some of them may be lost.
        self.unlisted: Unlisted | None = None
        self._check_wanted = asyncio.Event()

    def __iter__(self) -> Iterator[Found]:
        """Those that are there."""
        return iter(list(self._objects.values()))

    @property
    def lost(self) -> list[Found]:
        """Those that went along with their definition, and hold until they are brought back."""
        return list(self._lost.values())

    @property
    def leaving(self) -> list[Found]:
        """Those that are gone, and hold until that is certain to mean something."""
        return list(self._leaving.values())

    def brought_back(self, found: Found) -> None:
        self._lost.pop(_uid(found), None)

    def recall(self, known: Iterable[Found], unlisted: Unlisted | None = None) -> None:
        """Those that were there before this process began: what became of them is looked into."""
        self.unlisted = unlisted
        if unlisted is not None:
            self._check_wanted.set()
        for found in known:
            uid = _uid(found)
            if uid not in self._objects and uid not in self._lost:
                self._leaving[uid] = found
                self._check_wanted.set()

    def doubt(self) -> str:
        """Why what is known may not be all; empty: it is."""
        if self.definition_going:
            return GOING
        if self._unreadable:
            return f"{self._unreadable} of them can't be understood"
        known = self.behind or ("" if self.synced else _NOT_READ)
        return known or (self.unlisted.why() if self.unlisted is not None else "")

    @property
    def misses_others(self) -> bool:
        """Whether all is certain but for those of which nothing is written down."""
        return self.unlisted is not None and self.doubt() == self.unlisted.why()

    async def follow(self, kind: Resource) -> None:
        events = watch.watch(self._client, kind, WHOLE)
        async with aclosing(events):
            async for event in events:
                self._take(event)
                self._on_change()

    async def check(self) -> None:
        """Believes that Brakes are gone only while their definition stands; as long as it does not, asks again."""
        backoff = Backoff(self._clock, cap=LONGEST_CHECK_SECONDS)
        while True:
            await self._check_wanted.wait()
            self._check_wanted.clear()
            leaving, unlisted = set(self._leaving), self.unlisted
            try:
                made = await definition_made(self._client)
            except SkoupaError:
                self._check_wanted.set()
                await self._clock.sleep(backoff.next())
                continue
            self.definition_going = made is None
            if made is None:
                self._on_change()
                self._check_wanted.set()
                await self._clock.sleep(backoff.next())
                continue
            if unlisted is not None and unlisted is self.unlisted and not unlisted.may_be_lost(made):
                self.unlisted = None
            for uid in leaving & self._leaving.keys():
                found = self._leaving.pop(uid)
                if made_at(found) < made:
                    self._lost[uid] = found
            backoff.reset()
            self._on_change()

    async def definition_stands(self) -> bool:
        """Asked by who is about to let a Brake go."""
        stands = await definition_made(self._client) is not None
        if not stands:
            self.definition_going = True
            self._check_wanted.set()
            self._on_change()
        return stands

    def _take(self, event: watched.WatchEvent[Found]) -> None:
        match event:
            case watched.Begun():
                self._listed, self._unreadable = {}, 0
            case watched.Listed(objects, undecodable):
                self._listed |= {_uid(found): found for found in objects}
                self._unreadable += len(undecodable)
            case watched.Synced():
                self._swap()
                self.synced, self.behind = True, ""
            case watched.Changed(changes, undecodable):
                self.behind = ""
                self._unreadable += len(undecodable)
                for change in changes:
                    uid = _uid(change.object)
                    if change.deleted:
                        self._lose((uid,))
                    else:
                        self._objects[uid] = change.object
            case watched.Interrupted(error, _):
                self.behind = error.status.message if isinstance(error, ApiError) else error.message
            case watched.Progressed() | watched.Resumed():
                self.behind = ""

    def _swap(self) -> None:
        """What was listed is all that is there."""
        self._lose(uid for uid in self._objects if uid not in self._listed)
        self._objects, self._listed = self._listed, {}
        for uid in self._objects:
            self._leaving.pop(uid, None)
        if self.definition_going:
            self._check_wanted.set()

    def _lose(self, uids: Iterable[str]) -> None:
        for uid in list(uids):
            found = self._objects.pop(uid, None)
            if found is not None:
                self._leaving[uid] = found
                self._check_wanted.set()


async def definition_made(client: Client) -> float | None:
    """When the definition that stands was made; None: it is gone, or about to go."""
    try:
        found = await client.find(
            CUSTOM_RESOURCE_DEFINITIONS, f"{BRAKES.plural}.{BRAKES.group}", view=METADATA
        )
    except NotFound:
        return None
    except Forbidden:
        # While a definition goes, discovery offers no creating any more; when it was made it does not say.
        kind = kind_in(await discover(client))
        return -math.inf if kind is not None and kind.may("create") else None
    if found.metadata.deletion_timestamp is not None:
        return None
    created = found.metadata.creation_timestamp
    return created.timestamp() if created is not None else -math.inf


def kind_in(discovery: Discovery) -> Resource | None:
    """The kind Brake, where it can be followed."""
    found = discovery.find(names.SKOUPA_GROUP, names.BRAKE_KIND)
    return found if found is not None and found.may("list", "watch") else None


def _uid(found: Found) -> str:
    return str(found["metadata"].get("uid", ""))


def made_at(found: Found) -> float:
    try:
        return datetime.fromisoformat(str(found["metadata"].get("creationTimestamp"))).timestamp()
    except ValueError:
        return math.inf
