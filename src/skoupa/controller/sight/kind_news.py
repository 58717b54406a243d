"""Hears of kinds that come and go: definitions and API services are watched, all else about them is left to discovery.

Where they can't be watched, kinds are still looked at now and then, and before something goes; that is the poorer way, and
is said. Nothing here holds anything: a kind that nobody has noticed yet is late, not lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import ApiError, Forbidden, NotFound, SkoupaError
from skoupa.kube import watch, watched
from skoupa.kube.client import Client
from skoupa.kube.lines import Change
from skoupa.kube.lists import EVERYWHERE
from skoupa.kube.objects import METADATA, Partial
from skoupa.kube.resources import Resource

# How often kinds are looked at without a hint, and how often a right to be told is tried again.
POLL_SECONDS: Final = 300.0
# A watch that breaks and stands again within seconds is nobody's business.
LASTING_SECONDS: Final = 10.0


class News(msgspec.Struct, frozen=True, kw_only=True):
    """Names: `came` are new or came again, `others` were written anew or, in the `first` news, are simply there."""

    came: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    first: bool = False


# The uid, since another may have come under the same name; and what grows with each change of what is asked for.
_State = tuple[str, int]


class KindNews:
    """`changed` hears of each change; `seen` gets the names of all that was ever there.

    `poorer` has the words for what can't be watched now, by this one and others; `untold` the name of this resource while
    it is not followed.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        changed: Callable[[News], None],
        poorer: set[str],
        seen: set[str],
        untold: set[str],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._resource = resource
        self._changed = changed
        self._poorer = poorer
        self._seen = seen
        self._untold = untold
        self._untold.add(resource.qualified)
        self._said = ""
        self._behind_since: float | None = None
        self._present: dict[str, _State] | None = None

    async def follow(self) -> None:
        """Ends only where the server has no such thing."""
        while not await self._follow_once():
            await self._clock.sleep(POLL_SECONDS)

    async def _follow_once(self) -> bool:
        """Until it is refused; whether there is nothing to follow."""
        events = watch.watch(self._client, self._resource, METADATA, anew=EVERYWHERE)
        listed: dict[str, _State] = {}
        async with aclosing(events):
            async for event in events:
                match event:
                    case watched.Interrupted(error, _) if isinstance(error, NotFound):
                        # A server without definitions or aggregation has no kinds that come and go that way.
                        self._untold.discard(self._resource.qualified)
                        return True
                    case watched.Interrupted(error, _):
                        self._note(error)
                        if isinstance(error, Forbidden):
                            return False
                    case watched.Begun():
                        listed = {}
                    case watched.Listed(objects, _):
                        listed.update(map(_state, objects))
                    case watched.Synced():
                        self._tell_list(listed)
                        # What it told holds from here on; before, whoever deletes asks for the kinds.
                        self._well()
                    case watched.Changed(changes, _):
                        self._tell_changes(changes)
                        self._well()
                    case watched.Progressed() | watched.Resumed():
                        self._well()
                    case _:
                        pass
        return False

    def _tell_list(self, listed: dict[str, _State]) -> None:
        if self._present is None:
            news = News(others=frozenset(listed), first=True)
        else:
            news = _news(self._present, listed)
        self._seen.update(listed)
        self._present = dict(listed)
        self._changed(news)

    def _tell_changes(self, changes: Iterable[Change[Partial]]) -> None:
        """One by one: what goes and comes again may be told at once."""
        present = self._present if self._present is not None else {}
        came: set[str] = set()
        others: set[str] = set()
        for change in changes:
            name, state = _state(change.object)
            if change.deleted:
                present.pop(name, None)
                continue
            news = _news(present, {name: state})
            came |= news.came
            others |= news.others
            present[name] = state
        self._seen.update(came)
        self._changed(News(came=frozenset(came), others=frozenset(others)))

    def _note(self, error: SkoupaError) -> None:
        self._untold.add(self._resource.qualified)
        now = self._clock.monotonic()
        if self._behind_since is None:
            self._behind_since = now
        refused = isinstance(error, Forbidden)
        if self._said or not (refused or now - self._behind_since >= LASTING_SECONDS):
            return
        kind, minutes = self._resource.qualified, f"{POLL_SECONDS / 60:.0f}"
        why = (isinstance(error, ApiError) and error.status.message) or error.message
        what = f"no permission to watch {kind}" if refused else f"{kind} can't be watched ({why})"
        self._said = f"{what}: new kinds are noticed every {minutes} min"
        self._poorer.add(self._said)

    def _well(self) -> None:
        self._behind_since = None
        self._untold.discard(self._resource.qualified)
        self._poorer.discard(self._said)
        self._said = ""


def _state(found: Partial) -> tuple[str, _State]:
    return found.metadata.name, (found.metadata.uid, found.metadata.generation)


def _news(before: dict[str, _State], after: dict[str, _State]) -> News:
    came = {name for name, (uid, _) in after.items() if name not in before or before[name][0] != uid}
    others = {name for name, state in after.items() if name not in came and before[name] != state}
    return News(came=frozenset(came), others=frozenset(others))
