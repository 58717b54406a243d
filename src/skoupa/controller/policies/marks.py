"""Writes when a policy runs next into an annotation of it, where the definition of its kind has no room for that in the status.

Such are Kyverno's own definitions. For who reads only: nothing rests on it, so it comes after everything else, one at a time, some
a second, and fewer while runs begin. What is wanted twice before it is written is written once. Nothing but that annotation is in
the patch, so its policy keeps its generation, and what others apply keeps what is theirs. Where the right to patch is missing the
server is asked for it once a minute, and what was wanted meanwhile is written when it is there. A policy that is refused in spite of
that right is asked about once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.writing.denials import DENIED_SECONDS, Denials, Place, place_of
from skoupa.errors import BadRequest, Conflict, Forbidden, Invalid, NotFound, SkoupaError
from skoupa.kube.access import Access
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.runs.book import Book, Entry

PACE_SECONDS: Final = 0.05
# After runs began, for so long, they and what comes of them are what the server is for.
YIELD_SECONDS: Final = 10.0
YIELDING_PACE_SECONDS: Final = 1.0


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
        self._access = Access(client, clock=client.clock, fresh_seconds=0.0)
        self._wanted: dict[str, str | None] = {}
        self._written: dict[str, str | None] = {}
        self._news = asyncio.Event()
        # Where a right is missing; policies that are refused though there is one; and what is wanted of both.
        self._denials = Denials(client.clock, words=_poorer, told=told, untold=untold)
        self._barred: set[str] = set()
        self._put_off: dict[str, str | None] = {}
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
            self._denials.forget(entry.uid)
        elif self._may_not(entry):
            self._put_off[entry.uid] = when
        else:
            self._wanted[entry.uid] = when
            self._news.set()

    def forget(self, uid: str) -> None:
        """The policy is gone."""
        for known in (self._wanted, self._put_off, self._written):
            known.pop(uid, None)
        self._barred.discard(uid)
        self._denials.forget(uid)

    def give_way(self, runs: int) -> None:
        """So many begin."""
        if runs:
            self._yields_until = self._clock.monotonic() + YIELD_SECONDS

    def doubt(self) -> None:
        """Another may have written meanwhile, and rights may be others."""
        for known in (self._wanted, self._put_off, self._written):
            known.clear()
        self._barred.clear()
        self._denials.clear()
        self._refused.clear()

    async def follow(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow_rights())
            await self._follow()

    async def _follow_rights(self) -> None:
        while True:
            await self._lacks.wait()
            await self._clock.sleep(DENIED_SECONDS)
            for place in self._denials.due() if self._acting() else ():
                await self._ask_again(place)
            if not self._denials.standing:
                self._lacks.clear()

    async def _ask_again(self, place: Place) -> None:
        waiting = [
            entry
            for uid in self._put_off
            if (entry := self._book.get(uid)) is not None
            and place_of(entry) == place
            and uid not in self._barred
        ]
        if waiting and not await self._may_patch(waiting[0]):
            self._denials.refuse(place, waiting[0].uid)
            return
        for entry in waiting:
            self._denials.allow(place, entry.uid)
            if entry.uid in self._put_off:
                # What was wanted since is newer.
                self._wanted.setdefault(entry.uid, self._put_off.pop(entry.uid))
                self._news.set()

    async def _may_patch(self, entry: Entry) -> bool:
        try:
            return await self._access.may("patch", entry.kind, namespace=entry.namespace, name=entry.name)
        except SkoupaError:
            return False

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
        if self._may_not(entry):
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
            self._denials.allow(place_of(entry), entry.uid)
            self._written[entry.uid] = when
            if self._wanted.get(entry.uid, "") == when:
                # By who read it while this was on its way.
                del self._wanted[entry.uid]
        return None

    async def _deny(self, entry: Entry, when: str | None) -> None:
        """A right that is missing may come; who has it is refused by an admission, and to ask again does not help."""
        self._put_off[entry.uid] = when
        barred = await self._may_patch(entry)
        self._denials.refuse(place_of(entry), entry.uid, alone=barred)
        if barred:
            self._barred.add(entry.uid)
        else:
            self._lacks.set()

    def _may_not(self, entry: Entry) -> bool:
        return entry.uid in self._barred or self._denials.stands(place_of(entry))


def _poorer(kind: str, where: str) -> str:
    return (
        f"no permission to patch {kind}{where}, whose definition has no nextExecutionTime: when policies run "
        "next stands in the words of their condition Ready alone"
    )
