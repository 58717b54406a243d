"""Writes since when nobody needs an object into an annotation of it, and takes that off again.

One patch for each, which names the object by its uid and holds nothing but that annotation, so that an object keeps its generation and
what others apply stays theirs. A few are under way at once. Who is gone, or was made anew, needs none. What is wanted twice before it
is written is written once, and while the feed has not shown what was written nothing more is. Where the right to patch is missing
those objects stay unmarked, which is told; it is tried again, for rights come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.writing.denials import Denials, Place
from skoupa.errors import BadRequest, Conflict, Forbidden, Invalid, NotFound, SkoupaError
from skoupa.facts.rows import Row, Uid, uid_text
from skoupa.facts.store import Store
from skoupa.judge.retention import unneeded_since
from skoupa.kube.access import Access
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.timestamps import whole_seconds

_AT_ONCE: Final = 4
# Who refuses a single object (a webhook) or takes the mark off again is asked again after this time.
REFUSED_SECONDS: Final = 600.0
_RULE: Final = "retention"


class Marks:
    """`acting` says whether this replica may write; `told` hears what can't be done for lack of rights, `untold` its end."""

    def __init__(
        self,
        client: Client,
        *,
        store: Store,
        acting: Callable[[], bool],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._store = store
        self._acting = acting
        self._told = told
        self._access = Access(client, clock=client.clock, fresh_seconds=0.0)
        self._wanted: dict[Uid, float | None] = {}
        self._leaving: dict[Uid, Row] = {}
        self._news = asyncio.Event()
        # By the version that the server gave to what was written, until a feed shows it.
        self._written: dict[Uid, tuple[int | str, int | str]] = {}
        self._denials = Denials(client.clock, words=_poorer, told=told, untold=untold)
        # Refused for themselves, by the clock that never jumps.
        self._refused: dict[Uid, float] = {}
        self._refusing: set[str] = set()
        self._under_way: set[Uid] = set()
        self.error: SkoupaError | None = None
        self.patches = 0

    def want(self, uid: Uid, moment: float | None) -> None:
        if not self._acting():
            return
        self._wanted[uid] = moment
        self._news.set()

    def leave(self, row: Row) -> None:
        """Nobody follows it any more: a mark on it must not count for who does so later. It may not be in the store any longer."""
        if self.is_marked(row) and self._acting():
            self._leaving[row.uid] = row
            self.want(row.uid, None)

    def is_settled(self, row: Row) -> bool:
        """Whether the row shows what was last written, and nothing is on its way."""
        if row.uid in self._under_way:
            return False
        written = self._written.get(row.uid)
        if written is None:
            return True
        before, after = written
        if isinstance(row.version, int) and isinstance(after, int):
            shown = row.version >= after
        else:
            shown = row.version != before
        if shown:
            del self._written[row.uid]
        return shown

    def mark(self, row: Row, now: float) -> float | None:
        return unneeded_since(row, now)

    def is_marked(self, row: Row) -> bool:
        return row.annotation(names.UNNEEDED_SINCE_ANNOTATION) is not None

    def forget(self, uid: Uid) -> None:
        """It is gone, or has no label any more."""
        for known in (self._wanted, self._written, self._refused):
            known.pop(uid, None)
        self._denials.forget(uid_text(uid))

    def doubt(self) -> None:
        """Another may have written meanwhile, and rights may be others."""
        for known in (self._wanted, self._written, self._refused):
            known.clear()
        self._denials.clear()
        self._refusing.clear()

    def heed_time(self) -> None:
        """Where a right was missing it may be tried again after a while."""
        self._denials.due()

    async def follow(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(_AT_ONCE):
                group.create_task(self._work())

    async def _work(self) -> None:
        backoff = Backoff(self._clock)
        while True:
            await self._news.wait()
            uid = next((one for one in self._wanted if one not in self._under_way), None)
            if uid is None:
                self._news.clear()
                continue
            moment = self._wanted.pop(uid)
            row = self._store.get(uid) or self._leaving.get(uid)
            self._leaving.pop(uid, None)
            if row is None or not self._acting() or not self._may_try(row):
                continue
            self._under_way.add(uid)
            try:
                self.error = await self._write(row, moment)
            finally:
                self._under_way.discard(uid)
            if uid in self._wanted:
                # While it was on its way nobody took that up.
                self._news.set()
            if self.error is None:
                backoff.reset()
            else:
                # What was wanted since is newer.
                self._wanted.setdefault(uid, moment)
                self._news.set()
                await self._clock.sleep(backoff.next())

    def _may_try(self, row: Row) -> bool:
        refused = self._refused.get(row.uid, float("-inf"))
        return refused <= self._clock.monotonic() and not self._denials.stands(_place_of(row))

    async def _write(self, row: Row, moment: float | None) -> SkoupaError | None:
        text = None if moment is None else whole_seconds(moment)
        annotations = {names.UNNEEDED_SINCE_ANNOTATION: text}
        self.patches += 1
        try:
            found = await self._client.merge_patch(
                row.resource,
                row.name,
                {"metadata": {"uid": uid_text(row.uid), "annotations": annotations}},
                namespace=row.namespace,
                rule=_RULE,
            )
        except (NotFound, Conflict):
            # It is gone, or another of its name came.
            return None
        except Forbidden as error:
            await self._deny(row, error)
        except (BadRequest, Invalid) as error:
            # As somebody's webhook does: to ask again at once does not help.
            self._refuse(row, error.brief)
        except SkoupaError as error:
            return error
        else:
            self._denials.allow(_place_of(row), uid_text(row.uid))
            metadata = found.get("metadata") or {}
            version = str(metadata.get("resourceVersion", ""))
            self._written[row.uid] = (row.version, int(version) if version.isdecimal() else version)
            if (metadata.get("annotations") or {}).get(names.UNNEEDED_SINCE_ANNOTATION) != text:
                self._refuse(row, "the server took it and wrote something else")
        return None

    def _refuse(self, row: Row, why: str) -> None:
        self._refused[row.uid] = self._clock.monotonic() + REFUSED_SECONDS
        kind = row.resource.qualified
        if kind not in self._refusing:
            self._refusing.add(kind)
            self._told(f"some {kind} can't be marked as needed by nobody and stay, {row.name} for one: {why}")

    async def _deny(self, row: Row, error: Forbidden) -> None:
        """A right that is missing may come; who has it is refused by an admission."""
        try:
            allowed = await self._access.may("patch", row.resource, namespace=row.namespace, name=row.name)
        except SkoupaError:
            allowed = False
        if allowed:
            self._refuse(row, error.brief)
        else:
            self._denials.refuse(_place_of(row), uid_text(row.uid))


def _place_of(row: Row) -> Place:
    return row.resource.qualified, row.namespace


def _poorer(kind: str, where: str) -> str:
    return (
        f"no permission to patch {kind}{where}: those with the label {names.TTL_AFTER_LABEL} are not marked as needed "
        "by nobody, and stay"
    )
