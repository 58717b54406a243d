"""Namespaces that may not be listed: each configured one is asked for by itself, now and then.

A Role in a namespace can grant `get` of that Namespace, never list or watch. What is read goes into the store like what
a feed brings. A reading that fails keeps what was known; once that is old, what lives in the Namespace is held. What is
to go holds at once where its Namespace does not answer. A right that was never there is told and holds nothing, since it
was decided so; one that is lost holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.sight.rights import Rights
from skoupa.errors import ApiError, Forbidden, NotFound, SkoupaError
from skoupa.facts.rows import Row
from skoupa.facts.store import Delta, FeedView
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold
from skoupa.sweep.parents import PAGE_SECONDS

POLL_SECONDS: Final = 60.0
# Three that failed in a row, and a bit.
STALE_SECONDS: Final = 200.0
AT_A_TIME: Final = 4
# Before something goes, its Namespace was read no longer ago than this.
FRESH_SECONDS: Final = 2.0
NO_SUCH: Final = "there is no such Namespace"
_NO_RIGHT: Final = "no permission: get namespaces"
_NO_ANSWER: Final = "no answer in time"


class NamespacePoll:
    """`told` hears what is done in a poorer way; `on_news` that what is held has to be judged anew.

    `read_before` says that a Namespace was read at some time, by this process or one before.
    """

    def __init__(
        self,
        client: Client,
        *,
        knowledge: Knowledge,
        rights: Rights,
        on_change: Callable[[Sequence[Delta]], None],
        on_news: Callable[[], None],
        told: Callable[[str], None],
        read_before: Callable[[str], bool],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._knowledge = knowledge
        self._rights = rights
        self._on_change = on_change
        self._on_news = on_news
        self._told = told
        self._read_before = read_before
        self._names = knowledge.settings.namespaces
        # None: they can be listed, so that nobody has to ask for single ones.
        self._view: FeedView | None = None
        self._resource = NAMESPACES
        self._listed_before = False
        self._rows: dict[str, Row] = {}
        self._read_at: dict[str, float] = {}
        # The last try, whatever it brought.
        self._asked_at: dict[str, float] = {}
        # Why the last try brought nothing.
        self._failures: dict[str, str] = {}
        self._woken = asyncio.Event()
        self._asking: dict[str, asyncio.Lock] = {}

    @property
    def on(self) -> bool:
        return self._view is not None

    @property
    def asked_once(self) -> bool:
        """Whether every Namespace was read, or has a reason why it was not."""
        return self._view is None or all(
            name in self._read_at or name in self._failures for name in self._names
        )

    @property
    def lost(self) -> bool:
        """Whether one of them could be read before and may not be any more."""
        return any(why == _NO_RIGHT and self._was_read(name) for name, why in self._failures.items())

    def switch(self, *, on: bool, listed_before: bool) -> None:
        """Takes effect at once: what was known through a list counts no more, and holds until it is read anew."""
        if on == self.on:
            return
        if on:
            self._resource = self._knowledge.discovery.find("", NAMESPACES.kind) or NAMESPACES
            self._rows, self._read_at, self._asked_at, self._failures = {}, {}, {}, {}
            self._view = self._knowledge.store.add_feed(self._resource)
            self._listed_before = listed_before
            self._knowledge.namespace_doubt = self.doubt
            self._woken.set()
        elif self._view is not None:
            view, self._view = self._view, None
            self._knowledge.namespace_doubt = None
            self._on_change(self._knowledge.store.remove_feed(view))

    def doubt(self, name: str) -> str:
        """Why the keep label of a Namespace may be another than the one known; empty: it is not."""
        why = self._failures.get(name, "")
        read_at = self._read_at.get(name)
        if read_at is not None:
            return why if self._clock.monotonic() - read_at > STALE_SECONDS else ""
        if why == _NO_RIGHT and not self._listed_before and not self._read_before(name):
            return ""
        return why or "not read yet"

    async def freshen(self, name: str) -> Hold | None:
        """Reads it once more, unless that was just done; one question at a time, however many wait for the answer.

        Afterwards what is known of it is fresh, or there is a Hold.
        """
        if name not in self._read_at:
            # What was never read is doubted already, or was never granted.
            return None
        async with self._asking.setdefault(name, asyncio.Lock()):
            if self._clock.monotonic() - self._asked_at.get(name, float("-inf")) > FRESH_SECONDS:
                await self._ask_for(name)
        why = self._failures.get(name, "")
        return Hold(reason=reason("namespace-unread", kind=NAMESPACES.qualified, why=why)) if why else None

    async def run(self) -> None:
        while True:
            self._woken.clear()
            if self._view is not None:
                await self._ask_for_all()
            try:
                async with self._clock.timeout(self._clock.jitter(POLL_SECONDS)):
                    await self._woken.wait()
            except TimeoutError:
                continue

    async def _ask_for_all(self) -> None:
        doubts = [self.doubt(name) for name in self._names]
        ahead = iter(self._names)

        async def work() -> None:
            for name in ahead:
                await self._ask_for(name)

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_A_TIME):
                group.create_task(work())
        if doubts != [self.doubt(name) for name in self._names]:
            self._on_news()

    async def _ask_for(self, name: str) -> None:
        self._asked_at[name] = self._clock.monotonic()
        try:
            async with self._clock.timeout(PAGE_SECONDS):
                if not await self._rights.may_get_namespace(name):
                    self._refused(name)
                    return
                found = await self._client.get(self._resource, name, view=METADATA)
        except TimeoutError:
            # Who waited meanwhile need not wait once more.
            self._asked_at[name] = self._clock.monotonic()
            self._failures[name] = _NO_ANSWER
        except NotFound:
            # One of that name that comes later may be kept from the beginning.
            self._failures[name] = NO_SUCH
            self._read_at.pop(name, None)
            self._learn(name, None)
        except Forbidden:
            self._refused(name)
        except SkoupaError as error:
            self._failures[name] = error.status.message if isinstance(error, ApiError) else error.message
        else:
            self._learn(name, self._knowledge.extraction.row(self._resource, found))
            self._read_at[name] = self._clock.monotonic()
            self._failures.pop(name, None)
            self._told("no permission to list namespaces: keep labels on Namespaces are read one by one")

    def _refused(self, name: str) -> None:
        self._failures[name] = _NO_RIGHT
        held = f", so what is in {name} is held until a right is back" if self._was_read(name) else ""
        self._told(
            f"no permission to list namespaces, nor to get {name}: keep labels on Namespaces are not seen{held}"
        )

    def _was_read(self, name: str) -> bool:
        return self._listed_before or name in self._read_at or self._read_before(name)

    def _learn(self, name: str, row: Row | None) -> None:
        if self._view is None:
            return
        store, before = self._knowledge.store, self._rows.pop(name, None)
        deltas = [store.changed(self._view, row)] if row is not None else []
        if before is not None and (row is None or row.uid != before.uid):
            deltas.append(store.deleted(self._view, before.uid))
        if row is not None:
            self._rows[name] = row
        self._on_change([delta for delta in deltas if delta is not None])
