"""What can be seen: which kinds there are, what may be read of them, and the feeds that are open.

All three change while running. Definitions and API services that come and go are the hint to look at the kinds anew;
rights are asked for once a minute; a feed that is refused makes both doubtful. A group whose kinds can't be told for a
while keeps its feeds: what is not known must not look like what is not there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from typing import Any, Final

from skoupa.clock import Clock
from skoupa.controller.backlogs.first_readings import FirstReadings
from skoupa.controller.keeping.namespace_look import NamespaceLook
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.setting_doubts import doubts_of_kinds, doubts_of_namespaces
from skoupa.controller.sight.coming import Coming
from skoupa.controller.sight.ever_read import EverRead
from skoupa.controller.sight.feeds import Feeds
from skoupa.controller.sight.kind_news import POLL_SECONDS, KindNews
from skoupa.controller.sight.namespaces import NO_SUCH, NamespacePoll
from skoupa.controller.sight.rights import Rights, place_of
from skoupa.controller.sight.watchable import new_kinds, watchable
from skoupa.errors import SkoupaError
from skoupa.facts.store import Delta
from skoupa.judge.protected_kinds import Doubt, doubts
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.resources import API_SERVICES, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from skoupa.model.verdicts import Hold

RIGHTS_SECONDS: Final = 60.0
# How often kinds are looked at while the server can't tell those of a group: it holds nearly everything.
GAP_SECONDS: Final = 30.0
# Discovery shows a new definition a moment after it is established, and an API service once it answers.
DISCOVERY_ECHOES: Final[tuple[float, ...]] = (0.3, 1.0, 4.0)
DOUBT_SECONDS: Final = 10.0
_NAMESPACES_NEVER: Final = "no permission to list namespaces: keep labels on Namespaces are not seen"
_NAMESPACES_LOST: Final = (
    "no permission any more to list namespaces: keep labels on Namespaces are not seen, "
    "so what is in namespaces is held until the right is back"
)


class Outlook:
    """`look_again` hears that what is held has to be judged anew; `ready` is set once every feed has read its list.

    `on_look` is done after every look at kinds or rights; `waiting` are namespaces where something waits for a right;
    `ever` is what was ever read, and `first_readings` hears of what is going to be and of what may have been.
    """

    def __init__(
        self,
        client: Client,
        *,
        knowledge: Knowledge,
        rights: Rights,
        on_change: Callable[[Sequence[Delta]], None],
        look_again: Callable[[], None],
        on_look: Callable[[], Awaitable[None]],
        waiting: Callable[[], Collection[str]],
        ever: EverRead,
        first_readings: Callable[[], FirstReadings],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._knowledge = knowledge
        self._rights = rights
        self._on_change = on_change
        self._look_again = look_again
        self._on_look = on_look
        self._waiting = waiting
        self._ever = ever
        self._first_readings = first_readings
        self.feeds: Feeds | None = None
        self.ready = asyncio.Event()
        # Of the last look at kinds, and at rights.
        self._kinds_error: SkoupaError | None = None
        self._rights_error: SkoupaError | None = None
        # What is done in a poorer way for lack of rights, in words.
        self.degraded: set[str] = set()
        # What the settings protect and may not mean; a new list after each change of the kinds.
        self.doubts: list[Doubt] = []
        # Other settings that name what is not there, in words.
        self.setting_doubts: list[str] = []
        self._kinds_changed = asyncio.Event()
        self._coming = Coming(knowledge, client.clock, look=self._kinds_changed.set)
        self._health_changed = asyncio.Event()
        self._arranging = asyncio.Lock()
        self._namespaces = NamespacePoll(
            client,
            knowledge=knowledge,
            rights=rights,
            on_change=on_change,
            on_news=self._on_namespaces,
            told=self.degraded.add,
            read_before=lambda name: ever.has(NAMESPACES.qualified, name),
        )
        self._namespace_look = NamespaceLook(
            client, knowledge=knowledge, feeds=lambda: self.feeds, on_change=on_change
        )
        knowledge.freshen_namespace = self._freshen_namespace

    @property
    def last_error(self) -> SkoupaError | None:
        return self._kinds_error or self._rights_error

    @property
    def namespaces_lost(self) -> bool:
        """Whether one that is asked for by itself could be read before and may not be any more."""
        return self._namespaces.on and self._namespaces.lost

    async def open(self, group: asyncio.TaskGroup) -> None:
        """The first look; feeds become tasks of the group. Raises what stands in the way."""
        self.feeds = Feeds(
            self._client,
            knowledge=self._knowledge,
            rights=self._rights,
            group=group,
            on_change=self._on_change,
            on_health=self._health_changed.set,
            on_release=self._look_again,
            ever=self._ever,
            expect=self._first_readings().expect,
        )
        await self._look_at_kinds()

    def follow(self) -> list[Coroutine[Any, Any, None]]:
        return [
            self._follow_kinds(),
            *(
                KindNews(
                    self._client,
                    resource,
                    changed=changed,
                    poorer=self.degraded,
                    seen=seen,
                    untold=self._knowledge.kinds_untold,
                ).follow()
                for resource, seen, changed in (
                    (CUSTOM_RESOURCE_DEFINITIONS, self._knowledge.definitions, self._coming.definitions),
                    (API_SERVICES, set[str](), self._coming.api_services),
                )
            ),
            self._follow_rights(),
            self._follow_health(),
            self._namespaces.run(),
        ]

    def close(self) -> None:
        if self.feeds is not None:
            self.feeds.close()

    def doubt_kinds(self) -> None:
        """Somebody saw that the server has other kinds than those known."""
        self._kinds_changed.set()

    async def _freshen_namespace(self, name: str) -> Hold | None:
        if not self._namespaces.on:
            return await self._namespace_look.freshen(name)
        return await self._namespaces.freshen(name)

    def _on_namespaces(self) -> None:
        self._health_changed.set()
        self._look_again()

    async def _look_at_kinds(self, *, hinted: bool = True) -> None:
        """Where nothing hints at a change and there is none, rights need not be looked at with the kinds."""
        before, knowledge = self._knowledge.discovery, self._knowledge
        asked = self._clock.monotonic()
        found = await discover(self._client)
        if not hinted and found == before and not knowledge.coming:
            return
        if before.resources:
            self._coming.found(new_kinds(before, found, also=knowledge.settings.watch_also))
        knowledge.discovery = found
        if knowledge.discovery != before:
            self.doubts = list(doubts(knowledge.settings.protect, knowledge.discovery))
        await self._look_at_rights()
        if knowledge.coming:
            assert self.feeds is not None
            self.feeds.review()
            if self._coming.let_go(found, asked=asked):
                self._look_again()

    async def _look_at_rights(self) -> None:
        assert self.feeds is not None
        async with self._arranging:
            kinds = watchable(self._knowledge.discovery, also=self._knowledge.settings.watch_also)
            places = {place_of(row) for row in self._knowledge.store}
            self._rights.forget_places(but={*places, *self._knowledge.settings.namespaces})
            changed = await self._rights.refresh(kinds, waiting=self._waiting())
            await self.feeds.arrange()
            configured = bool(self._knowledge.settings.namespaces)
            self._namespaces.switch(
                on=configured and self.feeds.denied(NAMESPACES), listed_before=self.feeds.saw_namespaces
            )
            await self._on_look()
        self._health_changed.set()
        if changed:
            self._look_again()

    def _doubt_settings(self) -> None:
        settings, discovery = self._knowledge.settings, self._knowledge.discovery
        self.setting_doubts = list(doubts_of_kinds(settings, discovery))
        if self.ready.is_set() and settings.namespaces:
            self.setting_doubts += doubts_of_namespaces(self._missing_namespaces())

    def _missing_namespaces(self) -> list[str]:
        """Of those that the settings name, as far as that can be known."""
        assert self.feeds is not None
        knowledge, wanted = self._knowledge, self._knowledge.settings.namespaces
        if knowledge.namespace_doubt is not None:
            return [name for name in wanted if knowledge.namespace_doubt(name) == NO_SUCH]
        if self.feeds.denied(NAMESPACES) or knowledge.namespaces_unseen:
            return []
        resource = knowledge.discovery.find("", NAMESPACES.kind) or NAMESPACES
        seen = {row.name for row in knowledge.store.of_kind(resource)}
        return [name for name in wanted if name not in seen]

    async def _follow_kinds(self) -> None:
        """Looks at the kinds anew when something hints at a change, and now and then without a hint."""
        backoff = Backoff(self._clock)
        while True:
            waits, hinted = DISCOVERY_ECHOES, True
            try:
                async with self._clock.timeout(
                    GAP_SECONDS if self._knowledge.discovery.gaps else POLL_SECONDS
                ):
                    await self._kinds_changed.wait()
            except TimeoutError:
                waits, hinted = DISCOVERY_ECHOES[:1], False
            self._kinds_changed.clear()
            self._coming.more.clear()
            for number, wait in enumerate(waits):
                if not number:
                    await self._clock.sleep(wait)
                elif await self._more_within(wait):
                    # Everything waits for them.
                    break
                try:
                    await self._look_at_kinds(hinted=hinted)
                except SkoupaError as error:
                    self._kinds_error = error
                    self._kinds_changed.set()
                    await self._clock.sleep(backoff.next())
                    break
                self._kinds_error = None
                backoff.reset()

    async def _more_within(self, seconds: float) -> bool:
        try:
            async with self._clock.timeout(seconds):
                await self._coming.more.wait()
        except TimeoutError:
            return False
        return True

    async def _follow_rights(self) -> None:
        while True:
            await self._clock.sleep(RIGHTS_SECONDS)
            try:
                await self._look_at_rights()
            except SkoupaError as error:
                self._rights_error = error
            else:
                self._rights_error = None

    async def _follow_health(self) -> None:
        """A kind that became unreadable holds from now on; one that can be read again lets go."""
        assert self.feeds is not None
        asked_at = float("-inf")
        while True:
            await self._health_changed.wait()
            self._health_changed.clear()
            before = self._unseen()
            doubtful = self.feeds.review()
            if self.feeds.denied(NAMESPACES) and not self._knowledge.settings.namespaces:
                lost = self.feeds.saw_namespaces
                self.degraded.add(_NAMESPACES_LOST if lost else _NAMESPACES_NEVER)
                self.degraded.discard(_NAMESPACES_NEVER if lost else _NAMESPACES_LOST)
            if self.feeds.read_once() and self._namespaces.asked_once:
                self.ready.set()
            self._doubt_settings()
            self._first_readings().looked.set()
            if before != self._unseen():
                self._look_again()
            if doubtful and self._clock.monotonic() - asked_at > DOUBT_SECONDS:
                asked_at = self._clock.monotonic()
                self._kinds_changed.set()

    def _unseen(self) -> tuple[dict[str, bool], str]:
        blind = {kind: found.behind for kind, found in self._knowledge.blind.items()}
        return blind, self._knowledge.namespaces_unseen
