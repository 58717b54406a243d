"""History and trash as answers to questions of people: what they may see of it, and the two things they may write.

Nothing here changes the cluster: who restores does it with their own rights, and only notes here what came back. Every
answer is bounded: rows come in pages, of which one ends early where it would take too many reviews, and bodies one by
one, so that the whole of a large restore is never in memory.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import Final

import msgspec

from skoupa.errors import LedgerUnusable, UsageError
from skoupa.expr.readings import quoted
from skoupa.kube.reviews import Caller
from skoupa.ledger.rows import Body, Entry
from skoupa.ledger.store import Place, Restored, Store, Wish
from skoupa.ledger.trash.contents import Kept, NotKept, sentences
from skoupa.ledger.trash.older_gaps import read_back
from skoupa.ledger.trash.sealing import Seal
from skoupa.web.mentions import Kinds, cut
from skoupa.web.permissions import Permissions, Rights, Spot, spot_of, spot_of_part
from skoupa.web.refusing import Refused
from skoupa.web.shapes import MOST_IDS, MOST_ROWS, CameBack, Line, One, Page, Question, Written, refusal

# Places that one page is reviewed for; a right everywhere needs one for each kind.
MOST_SPOTS: Final = 100
_MOST_LOOKED_AT: Final = 5000
# Bodies that are read from the ledger in one go, as they lie there: compressed.
_BYTES_AT_ONCE: Final = 4 << 20
# Few at a time: deletions write to the same ledger, and go first.
_READERS: Final = 2
_UNCLEAR: Final = "which only the ledger itself shows (--ledger): whom it may name is not known here"
# As the API server makes them.
_UID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class HistoryApi:
    """`seal` is asked for when a body is opened: keys that can't be read spoil nothing else, and new ones count."""

    def __init__(
        self, store: Store, permissions: Permissions, *, seal: Callable[[], Seal], kinds: Kinds
    ) -> None:
        self._store = store
        self._kinds = kinds
        self._permissions = permissions
        self._seal = seal
        self._reading = asyncio.Semaphore(_READERS)
        self._opening = asyncio.Semaphore(_READERS)

    async def find(self, caller: Caller, question: Question) -> Page:
        """Looks on over what may not be seen, but neither for ever nor at any price: then `next` says where to go on."""
        rights = self._permissions.asked_by(caller)
        found = _Found(rights, limit=question.limit, before=question.before)
        size = question.limit
        while not found.full:
            async with self._reading:
                rows = await self._store.find(question.wish, limit=size, before=found.before)
            await self._learn(rights, rows, found.since)
            if found.took_all(rows) and len(rows) < size:
                found.before = None
                break
            # Where much is hidden, small pages would be many.
            size = MOST_ROWS
        # Of one object that is asked for by name nobody learns whether it was there.
        named = question.wish.name is not None or question.wish.uid is not None
        items = [await self._cut(rights, entry) for entry in found.shown]
        return Page(items=tuple(items), hidden=0 if named else found.hidden, next=found.before)

    async def _learn(self, rights: Rights, rows: Iterable[Entry], since: dict[Spot, float]) -> None:
        """What may be seen of these, as long as one question has not taken too many reviews."""
        unknown = [spot for spot in dict.fromkeys(map(spot_of, rows)) if spot not in since]
        since |= await rights.of("get", unknown[: MOST_SPOTS - len(since)])

    async def get(self, caller: Caller, entry_id: str) -> One:
        entry = await self._existing(entry_id)
        rights = self._permissions.asked_by(caller)
        await rights.need("get", [entry])
        return One(item=await self._cut(rights, entry))

    async def _cut(self, rights: Rights, entry: Entry) -> Entry:
        """Without the names of others that it would have taken along, where they may not be read."""
        return await cut(entry, kinds=self._kinds, reaches=lambda spots: _reached(rights, spots, entry))

    async def bodies(self, caller: Caller, ids: Sequence[str]) -> AsyncGenerator[Line, None]:
        """The object itself first, then what went along and may be seen; what may not is counted."""
        if not 0 < len(ids) <= MOST_IDS:
            raise Refused(400, "BadRequest", f"one to {MOST_IDS} ids can be asked for at once")
        entries = [await self._existing(entry_id) for entry_id in dict.fromkeys(ids)]
        rights = self._permissions.asked_by(caller)
        await rights.need("get", entries)
        return self._bodies(rights, [entry for entry in entries if entry.kept > 0])

    async def _bodies(self, rights: Rights, entries: Sequence[Entry]) -> AsyncGenerator[Line, None]:
        async with self._opening:
            for some in _batches(entries):
                found = await self._store.bodies([entry.id for entry in some])
                for entry in some:
                    bodies = sorted(found.get(entry.id, ()), key=lambda body: body.part)
                    async for line in self._opened(rights, entry, bodies):
                        yield line

    async def _opened(
        self, rights: Rights, entry: Entry, bodies: Sequence[Body]
    ) -> AsyncGenerator[Line, None]:
        along = [body.part for body in bodies if body.part]
        seen = await _visible(rights, along, entry)
        hidden = sum(part not in seen for part in along)
        for body in bodies:
            if body.part and body.part not in seen:
                continue
            try:
                kept = await asyncio.to_thread(self._open, body, entry.uid)
            except (UsageError, LedgerUnusable) as error:
                # Some lines of it may be on their way already: the last one says why there are no more.
                yield Line(id=entry.id, refusal=refusal(409, "Sealed", _at_the_controller(error)))
                return
            if not body.part:
                told = await _told(rights, kept, entry)
                if hidden:
                    told.append(_counted(hidden, "object that went along", "objects that went along"))
                kept = msgspec.structs.replace(kept, gaps=tuple(told), unseen=hidden)
            yield Line(id=entry.id, kept=kept)

    async def came_back(self, caller: Caller, news: CameBack) -> Written:
        if len(news.uids) > MOST_IDS:
            raise Refused(400, "BadRequest", f"at most {MOST_IDS} can be noted at once")
        strange = next((uid for uid in news.uids.values() if not _UID.fullmatch(uid)), None)
        if strange is not None:
            raise Refused(400, "BadRequest", f"{quoted(strange)} is no uid of an object")
        entries = [entry for uid in news.uids for entry in await self._store.find(Wish(uid=uid), limit=1)]
        await self._permissions.asked_by(caller).need("create", entries)
        if entries:
            await self._store.write(
                [Restored(uid=entry.uid, restored_as=news.uids[entry.uid]) for entry in entries]
            )
        return Written(number=len(entries))

    async def purge(self, caller: Caller, entry_id: str) -> Written:
        entry = await self._existing(entry_id)
        rights = self._permissions.asked_by(caller)
        await rights.need("get", [entry])
        await rights.need("delete", [entry])
        return Written(number=int(await self._store.purge(entry.id)))

    async def _existing(self, entry_id: str) -> Entry:
        entry = await self._store.get(entry_id)
        if entry is None:
            raise Refused(404, "NotFound", f"there is no {entry_id[:60]} in the history")
        return entry

    def _open(self, body: Body, uid: str) -> Kept:
        return self._seal().open(body, uid=uid)


class _Found:
    """A page in the making; `before` is the place up to which it has been looked."""

    def __init__(self, rights: Rights, *, limit: int, before: Place | None) -> None:
        self._rights = rights
        self._limit = limit
        self._looked = 0
        self.before = before
        self.shown: list[Entry] = []
        self.hidden = 0
        self.since: dict[Spot, float] = {}

    @property
    def full(self) -> bool:
        return (
            len(self.shown) >= self._limit or self._looked >= _MOST_LOOKED_AT or len(self.since) >= MOST_SPOTS
        )

    def took_all(self, rows: Sequence[Entry]) -> bool:
        """False where it ends before the last of them: the page is full, or of the next one nothing is known."""
        for row in rows:
            spot = spot_of(row)
            if len(self.shown) >= self._limit or spot not in self.since:
                return False
            self.before = Place(at=row.at, id=row.id)
            self._looked += 1
            if self._rights.reaches(self.since[spot], row):
                self.shown.append(row)
            else:
                self.hidden += 1
        return True


async def _visible(rights: Rights, parts: Sequence[str], entry: Entry) -> set[str]:
    """Of what went along with this one."""
    spots = {part: spot_of_part(part) for part in parts}
    reached = await _reached(rights, spots.values(), entry)
    return {part for part, spot in spots.items() if spot in reached}


async def _told(rights: Rights, kept: Kept, entry: Entry) -> list[str]:
    """What is not kept of what went along; a sentence of which nobody knows whom it names is for nobody."""
    gaps, unclear = _gaps(kept, entry)
    reached = await _reached(rights, (_spot_of_gap(gap) for gap in gaps if gap.resource), entry)
    shown = [gap for gap in gaps if not gap.resource or _spot_of_gap(gap) in reached]
    told = list(sentences(shown))
    if hidden := len(gaps) - len(shown):
        told.append(_counted(hidden, "remark on what went along", "remarks on what went along"))
    if unclear:
        remarks = "remark" if unclear == 1 else "remarks"
        told.append(f"{unclear} {remarks} on what went along, of an earlier release, {_UNCLEAR}")
    return told


def _gaps(kept: Kept, entry: Entry) -> tuple[list[NotKept], int]:
    """Those of which it is known whom they name, and how many others there are."""
    gaps: list[NotKept] = []
    unclear = 0
    for gap in kept.gaps:
        found = [gap] if isinstance(gap, NotKept) else list(read_back(gap, entry))
        gaps += found
        unclear += not found
    return gaps, unclear


def _spot_of_gap(gap: NotKept) -> Spot:
    return Spot(resource=gap.resource, namespace=gap.namespace)


async def _reached(rights: Rights, spots: Iterable[Spot], entry: Entry) -> set[Spot]:
    wanted = list(dict.fromkeys(spots))
    since: dict[Spot, float] = {}
    for start in range(0, len(wanted), MOST_SPOTS):
        since |= await rights.of("get", wanted[start : start + MOST_SPOTS])
    return {spot for spot in wanted if rights.reaches(since[spot], entry)}


def _counted(number: int, one: str, more: str) -> str:
    what, kinds = (one, "a kind") if number == 1 else (more, "kinds")
    return f"{number} {what}, of {kinds} that you may not read"


def _batches(entries: Sequence[Entry]) -> Iterable[list[Entry]]:
    some: list[Entry] = []
    size = 0
    for entry in entries:
        if some and size + entry.kept > _BYTES_AT_ONCE:
            yield some
            some, size = [], 0
        some.append(entry)
        size += entry.kept
    if some:
        yield some


def _at_the_controller(error: UsageError | LedgerUnusable) -> str:
    """The advice of these errors is for who has the ledger at hand; here it is the controller that has it."""
    return f"the controller can't open it: {error.message}; its settings trash.keyFile and trash.keyEnv name the keys"
