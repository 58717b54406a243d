"""Writes when a policy runs next into an annotation of it, where the definition of its kind has no room for that in the status.

Such are Kyverno's own definitions. For who reads only: nothing rests on it, so it comes after everything else, one at a time, some
a second, and fewer while runs begin. What is wanted twice before it is written is written once. Nothing but that annotation is in
the patch, so its policy keeps its generation, and what others apply keeps what is theirs. Where the right to patch is missing the
server is asked for it once a minute, and what was wanted meanwhile is written when it is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.errors import BadRequest, Conflict, Forbidden, Invalid, NotFound, SkoupaError
from skoupa.kube.access import Access
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.runs.book import Book, Entry

PACE_SECONDS: Final = 0.05
# After runs began, for so long, they and what comes of them are what the server is for.
YIELD_SECONDS: Final = 10.0
YIELDING_PACE_SECONDS: Final = 1.0
DENIED_SECONDS: Final = 60.0


class NextRunMarks:
    def __init__(
        self,
        client: Client,
        *,
        book: Book,
        acting: Callable[[], bool],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._book = book
        self._acting = acting
        self._told = told
        self._untold = untold
        self._access = Access(client, clock=client.clock, fresh_seconds=0.0)
        self._wanted: dict[str, str | None] = {}
        self._written: dict[str, str | None] = {}
        self._news = asyncio.Event()
        # Kinds that may not be patched, what is wanted of them, and with one of them those that a right is missing for.
        self._denied: set[str] = set()
        self._put_off: dict[str, str | None] = {}
        self._lacking: dict[str, Entry] = {}
        self._lacks = asyncio.Event()
        # Kinds of which one was refused.
        self._refused: set[str] = set()
        self._yields_until = 0.0
        self.error: SkoupaError | None = None

    def want(self, entry: Entry, when: str | None, *, there: str | None) -> None:
        """`when` None: there is to be none; `there` is what the server had, maybe before the last write."""
        self._put_off.pop(entry.uid, None)
        if when in {there, self._written.get(entry.uid, there)}:
            self._wanted.pop(entry.uid, None)
        elif entry.kind.kind in self._denied:
            self._put_off[entry.uid] = when
        else:
            self._wanted[entry.uid] = when
            self._news.set()

    def forget(self, uid: str) -> None:
        """The policy is gone."""
        for known in (self._wanted, self._put_off, self._written):
            known.pop(uid, None)

    def give_way(self, runs: int) -> None:
        """So many begin."""
        if runs:
            self._yields_until = self._clock.monotonic() + YIELD_SECONDS

    def doubt(self) -> None:
        """Another may have written meanwhile, and rights may be others."""
        for known in (self._wanted, self._put_off, self._written, self._lacking):
            known.clear()
        self._denied.clear()
        self._refused.clear()

    async def follow(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow_rights())
            await self._follow()

    async def _follow_rights(self) -> None:
        while True:
            await self._lacks.wait()
            await self._clock.sleep(DENIED_SECONDS)
            for kind, entry in list(self._lacking.items()):
                if self._acting() and await self._may_patch(entry) and kind in self._lacking:
                    self._resume(kind)
            if not self._lacking:
                self._lacks.clear()

    async def _may_patch(self, entry: Entry) -> bool:
        try:
            return await self._access.may("patch", entry.kind, namespace=entry.namespace, name=entry.name)
        except SkoupaError:
            return False

    def _resume(self, kind: str) -> None:
        self._untold(_poorer(self._lacking.pop(kind)))
        self._denied.discard(kind)
        put_off, self._put_off = self._put_off, {}
        self._wanted = {**put_off, **self._wanted}
        self._news.set()

    async def _follow(self) -> None:
        backoff = Backoff(self._clock)
        while True:
            await self._news.wait()
            yields = self._clock.monotonic() < self._yields_until
            await self._clock.sleep(YIELDING_PACE_SECONDS if yields else PACE_SECONDS)
            if not self._wanted:
                self._news.clear()
                continue
            uid = next(iter(self._wanted))
            when = self._wanted.pop(uid)
            entry = self._book.get(uid)
            self.error = await self._write(entry, when) if entry is not None and self._acting() else None
            if self.error is None:
                backoff.reset()
            else:
                # What was wanted since is newer.
                self._wanted.setdefault(uid, when)
                await self._clock.sleep(backoff.next())

    async def _write(self, entry: Entry, when: str | None) -> SkoupaError | None:
        if entry.kind.kind in self._denied:
            self._put_off[entry.uid] = when
            return None
        annotations = {names.NEXT_EXECUTION_ANNOTATION: when}
        try:
            await self._client.merge_patch(
                entry.kind,
                entry.name,
                {"metadata": {"uid": entry.uid, "annotations": annotations}},
                namespace=entry.namespace,
            )
        except (NotFound, Conflict):
            # It is gone, or another of its name came.
            return None
        except Forbidden:
            await self._deny(entry, when)
        except (BadRequest, Invalid) as error:
            # As somebody's webhook does: to ask again does not help.
            self._written[entry.uid] = when
            if entry.kind.kind not in self._refused:
                self._refused.add(entry.kind.kind)
                self._told(
                    f"when some {entry.kind.qualified} run next can't be noted on them, {entry.called} for one: {error.brief}"
                )
        except SkoupaError as error:
            return error
        else:
            self._untold(_poorer(entry))
            self._written[entry.uid] = when
            if self._wanted.get(entry.uid, "") == when:
                # By who read it while this was on its way.
                del self._wanted[entry.uid]
        return None

    async def _deny(self, entry: Entry, when: str | None) -> None:
        """A right that is missing may come; who has it is refused by an admission, and to ask again does not help."""
        self._denied.add(entry.kind.kind)
        self._put_off[entry.uid] = when
        self._told(_poorer(entry))
        if not await self._may_patch(entry):
            self._lacking[entry.kind.kind] = entry
            self._lacks.set()


def _poorer(entry: Entry) -> str:
    return (
        f"no permission to patch {entry.kind.qualified}, whose definition has no nextExecutionTime: when policies run "
        "next stands in the words of their condition Ready alone"
    )
