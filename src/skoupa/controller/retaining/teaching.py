"""What profiles teach, handed to all that read objects in a running controller: tables, ends, and what is doubted.

Kinds whose table is another now are read again. Until that is done nobody is said to be unneeded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator

from skoupa.controller.knowledge import Knowledge
from skoupa.controller.retaining.labelled import Labelled
from skoupa.controller.retaining.profile_status import ProfileStatuses
from skoupa.controller.retaining.profiles import NOT_READ, Profiles
from skoupa.controller.retaining.taught_ends import TaughtEnds
from skoupa.controller.retaining.usage_feeds import UsageFeeds
from skoupa.errors import SkoupaError
from skoupa.expr.cel.pool import Pool
from skoupa.facts.rows import Row, Uid
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.policy.retention.ends import Ending
from skoupa.policy.retention.teaching import PROFILES, Taught
from skoupa.runs.using.ends import Answer
from skoupa.usage.finishing import Doubt
from skoupa.usage.objects import Objects
from skoupa.usage.reading import Readings
from skoupa.usage.sight import Unread


class Teaching:
    """`on_known` hears of objects of which is known whether they have finished, `on_reread` that feeds have to be arranged.

    `on_taught` hears that kinds may end, or be used, otherwise than before.
    """

    def __init__(
        self,
        client: Client,
        objects: Objects,
        feeds: UsageFeeds,
        *,
        labelled: Labelled,
        knowledge: Knowledge,
        acting: Callable[[], bool],
        on_known: Callable[[Iterable[Uid]], None],
        on_reread: Callable[[], None],
        on_taught: Callable[[], None],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        self._objects = objects
        self._feeds = feeds
        self._on_reread = on_reread
        self._on_taught = on_taught
        self._pool = Pool(clock=client.clock)
        self._ignored = knowledge.settings.usage.ignore_kinds
        self.profiles = Profiles(
            client,
            self._pool,
            discovery=lambda: knowledge.discovery,
            waived=PROFILES in self._ignored,
            on_taught=self._learn,
            told=told,
            untold=untold,
        )
        self.ends = TaughtEnds(client, self._pool, places=knowledge.settings.namespaces, on_known=on_known)
        self._statuses = ProfileStatuses(client, self.profiles, acting=acting, told=told, untold=untold)
        # The second leaves nothing in doubt that the settings waive.
        self._taught = self._of_ends = self.profiles.taught
        self._endings: dict[str, Ending] = {}
        # Made when somebody asks, since most never do.
        self._takers: dict[str, Readings | None] = {}
        labelled.taught = self
        feeds.unclear = self._unclear
        knowledge.takes = self._takes

    @property
    def error(self) -> SkoupaError | None:
        return self.profiles.error or self.ends.error or self._statuses.error

    def open(self, group: asyncio.TaskGroup) -> None:
        self.profiles.open(group)

    def arrange(self) -> None:
        """After every look at the kinds."""
        self.profiles.arrange()

    def close(self) -> None:
        self.profiles.close()

    def take_over(self) -> None:
        self._statuses.doubt()

    async def follow(self) -> None:
        async with self._pool, asyncio.TaskGroup() as group:
            for task in (self.profiles.follow(), self.ends.follow(), self._statuses.follow()):
                group.create_task(task)

    def teaches(self, kind: str) -> bool:
        return self.ends.teaches(kind)

    def doubt(self, kind: str) -> Doubt | None:
        return self._of_ends.end_doubt(kind)

    def finish(self, row: Row) -> Answer:
        return self.ends.finish(row)

    def _takes(self, kind: str) -> Readings | None:
        if kind not in self._takers:
            self._takers[kind] = self._taught.takes(kind)
        return self._takers[kind]

    def _unclear(self, discovery: Discovery) -> Iterator[Unread]:
        return self._taught.unclear(discovery)

    def _learn(self, taught: Taught) -> None:
        before, self._taught = self._taught, taught
        # Those that are about to be read are waited for all the same.
        self._of_ends = taught if taught.unread == NOT_READ else taught.waived(self._ignored)
        self._statuses.want()
        if taught == before:
            return
        self._takers.clear()
        kinds = before.profiles.keys() | taught.profiles.keys()
        changed = {kind for kind in kinds if before.profiles.get(kind) != taught.profiles.get(kind)}
        fresh = taught.endings()
        self._endings = {
            kind: self._endings[kind] if kind in self._endings and kind not in changed else ending
            for kind, ending in fresh.items()
        }
        self.ends.learn(self._endings, anew=changed)
        kinds = before.tables.keys() | taught.tables.keys()
        reread = {kind for kind in kinds if before.tables.get(kind) != taught.tables.get(kind)}
        if reread:
            self._objects.read_by(taught.readings())
            self._feeds.reread(reread)
            self._on_reread()
        else:
            self._feeds.doubt()
        self._on_taught()
