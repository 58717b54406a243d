"""Writes when a policy runs next into an annotation of it, where the definition of its kind has no room for that in the status.

Such are Kyverno's own definitions. For who reads only: nothing rests on it, so it comes after everything else, one at a time, some
a second, and fewer while runs begin. What is wanted twice before it is written is written once. Nothing but that annotation is in
the patch, so its policy keeps its generation, and what others apply keeps what is theirs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.errors import BadRequest, Conflict, Forbidden, Invalid, NotFound, SkoupaError
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.runs.book import Book, Entry

PACE_SECONDS: Final = 0.05
# After runs began, for so long, they and what comes of them are what the server is for.
YIELD_SECONDS: Final = 10.0
YIELDING_PACE_SECONDS: Final = 1.0


class NextRunMarks:
    def __init__(
        self, client: Client, *, book: Book, acting: Callable[[], bool], told: Callable[[str], None]
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._book = book
        self._acting = acting
        self._told = told
        self._wanted: dict[str, str | None] = {}
        self._written: dict[str, str | None] = {}
        self._news = asyncio.Event()
        # Kinds that may not be patched, and those of which one was refused.
        self._denied: set[str] = set()
        self._refused: set[str] = set()
        self._yields_until = 0.0
        self.error: SkoupaError | None = None

    def want(self, entry: Entry, when: str | None, *, there: str | None) -> None:
        """`when` None: there is to be none; `there` is what the server had, maybe before the last write."""
        if when in {there, self._written.get(entry.uid, there)} or entry.kind.kind in self._denied:
            self._wanted.pop(entry.uid, None)
        else:
            self._wanted[entry.uid] = when
            self._news.set()

    def forget(self, uid: str) -> None:
        """The policy is gone."""
        self._wanted.pop(uid, None)
        self._written.pop(uid, None)

    def give_way(self, runs: int) -> None:
        """So many begin."""
        if runs:
            self._yields_until = self._clock.monotonic() + YIELD_SECONDS

    def doubt(self) -> None:
        """Another may have written meanwhile, and rights may be others."""
        self._wanted.clear()
        self._written.clear()
        self._denied.clear()
        self._refused.clear()

    async def follow(self) -> None:
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
            self._denied.add(entry.kind.kind)
            self._told(
                f"no permission to patch {entry.kind.qualified}, whose definition has no nextExecutionTime: when policies run "
                "next stands in the words of their condition Ready alone"
            )
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
            self._written[entry.uid] = when
            if self._wanted.get(entry.uid, "") == when:
                # By who read it while this was on its way.
                del self._wanted[entry.uid]
        return None
