"""History and trash as answers to questions of people: what they may see of it, and the two things they may write.

Nothing here changes the cluster: who restores does it with their own rights, and only notes here what came back. Every
answer is bounded: rows come in pages, of which one ends early where it would take too many reviews, and bodies one by
one, so that the whole of a large restore is never in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import Final

import msgspec

from skoupa.errors import LedgerUnusable, UsageError
from skoupa.kube.reviews import Caller
from skoupa.ledger.rows import Body, Entry
from skoupa.ledger.store import Place, Restored, Store, Wish
from skoupa.ledger.trash.contents import Kept
from skoupa.ledger.trash.sealing import Seal
from skoupa.web.permissions import Permissions, Spot, spot_of, spot_of_part
from skoupa.web.refusing import Refused
from skoupa.web.shapes import MOST_IDS, MOST_ROWS, CameBack, Line, One, Page, Question, Written, refusal

# Places that one page is reviewed for; a right everywhere needs one for each kind.
MOST_SPOTS: Final = 100
_MOST_LOOKED_AT: Final = 5000
# Bodies that are read from the ledger in one go, as they lie there: compressed.
_BYTES_AT_ONCE: Final = 4 << 20
# Few at a time: deletions write to the same ledger, and go first.
_READERS: Final = 2


class HistoryApi:
    """`seal` is made when the first body is opened: keys that can't be read spoil nothing else."""

    def __init__(self, store: Store, permissions: Permissions, *, seal: Callable[[], Seal]) -> None:
        self._store = store
        self._permissions = permissions
        self._make_seal = seal
        self._seal: Seal | None = None
        self._reading = asyncio.Semaphore(_READERS)
        self._opening = asyncio.Semaphore(_READERS)

    async def find(self, caller: Caller, question: Question) -> Page:
        """Looks on over what may not be seen, but neither for ever nor at any price: then `next` says where to go on."""
        found = _Found(limit=question.limit, before=question.before)
        size = question.limit
        while not found.full:
            async with self._reading:
                rows = await self._store.find(question.wish, limit=size, before=found.before)
            await self._learn(caller, rows, found.allowed)
            if found.took_all(rows) and len(rows) < size:
                found.before = None
                break
            # Where much is hidden, small pages would be many.
            size = MOST_ROWS
        # Of one object that is asked for by name nobody learns whether it was there.
        named = question.wish.name is not None or question.wish.uid is not None
        return Page(items=tuple(found.shown), hidden=0 if named else found.hidden, next=found.before)

    async def _learn(self, caller: Caller, rows: Iterable[Entry], allowed: dict[Spot, bool]) -> None:
        """What may be seen of these, as long as one question has not taken too many reviews."""
        unknown = [spot for spot in dict.fromkeys(map(spot_of, rows)) if spot not in allowed]
        allowed |= await self._permissions.of(caller, "get", unknown[: MOST_SPOTS - len(allowed)])

    async def get(self, caller: Caller, entry_id: str) -> One:
        return One(item=await self._entry(caller, entry_id))

    async def bodies(self, caller: Caller, ids: Sequence[str]) -> AsyncGenerator[Line, None]:
        """The object itself first, then what went along and may be seen; what may not is counted."""
        if not 0 < len(ids) <= MOST_IDS:
            raise Refused(400, "BadRequest", f"one to {MOST_IDS} ids can be asked for at once")
        entries = [await self._existing(entry_id) for entry_id in dict.fromkeys(ids)]
        await self._permissions.need(caller, "get", map(spot_of, entries))
        return self._bodies(caller, [entry for entry in entries if entry.kept > 0])

    async def _bodies(self, caller: Caller, entries: Sequence[Entry]) -> AsyncGenerator[Line, None]:
        async with self._opening:
            for some in _batches(entries):
                found = await self._store.bodies([entry.id for entry in some])
                for entry in some:
                    bodies = sorted(found.get(entry.id, ()), key=lambda body: body.part)
                    async for line in self._opened(caller, entry, bodies):
                        yield line

    async def _opened(
        self, caller: Caller, entry: Entry, bodies: Sequence[Body]
    ) -> AsyncGenerator[Line, None]:
        along = [body.part for body in bodies if body.part]
        seen = await self._visible(caller, along)
        hidden = sum(part not in seen for part in along)
        for body in bodies:
            if body.part and body.part not in seen:
                continue
            try:
                kept = await asyncio.to_thread(self._open, body, entry.uid)
            except (UsageError, LedgerUnusable) as error:
                # Some lines may be on their way already: the last one says why there are no more.
                yield Line(refusal=refusal(409, "Sealed", _at_the_controller(error)))
                return
            if hidden and not body.part:
                what = "1 object" if hidden == 1 else f"{hidden} objects"
                kind = "a kind" if hidden == 1 else "kinds"
                said = f"{what} that went along, of {kind} that you may not read"
                kept = msgspec.structs.replace(kept, unknown=(*kept.unknown, said))
            yield Line(id=entry.id, kept=kept)

    async def _visible(self, caller: Caller, parts: Sequence[str]) -> set[str]:
        spots = {part: spot_of_part(part) for part in parts}
        wanted = list(dict.fromkeys(spots.values()))
        allowed: dict[Spot, bool] = {}
        for start in range(0, len(wanted), MOST_SPOTS):
            some = wanted[start : start + MOST_SPOTS]
            allowed |= await self._permissions.of(caller, "get", some)
        return {part for part, spot in spots.items() if allowed[spot]}

    async def came_back(self, caller: Caller, news: CameBack) -> Written:
        if len(news.uids) > MOST_IDS:
            raise Refused(400, "BadRequest", f"at most {MOST_IDS} can be noted at once")
        entries = [entry for uid in news.uids for entry in await self._store.find(Wish(uid=uid), limit=1)]
        await self._permissions.need(caller, "create", map(spot_of, entries))
        if entries:
            await self._store.write(
                [Restored(uid=entry.uid, restored_as=news.uids[entry.uid]) for entry in entries]
            )
        return Written(number=len(entries))

    async def purge(self, caller: Caller, entry_id: str) -> Written:
        entry = await self._entry(caller, entry_id)
        await self._permissions.need(caller, "delete", [spot_of(entry)])
        return Written(number=int(await self._store.purge(entry.id)))

    async def _entry(self, caller: Caller, entry_id: str) -> Entry:
        entry = await self._existing(entry_id)
        await self._permissions.need(caller, "get", [spot_of(entry)])
        return entry

    async def _existing(self, entry_id: str) -> Entry:
        entry = await self._store.get(entry_id)
        if entry is None:
            raise Refused(404, "NotFound", f"there is no {entry_id[:60]} in the history")
        return entry

    def _open(self, body: Body, uid: str) -> Kept:
        if self._seal is None:
            self._seal = self._make_seal()
        return self._seal.open(body, uid=uid)


class _Found:
    """A page in the making; `before` is the place up to which it has been looked."""

    def __init__(self, *, limit: int, before: Place | None) -> None:
        self._limit = limit
        self._looked = 0
        self.before = before
        self.shown: list[Entry] = []
        self.hidden = 0
        self.allowed: dict[Spot, bool] = {}

    @property
    def full(self) -> bool:
        return (
            len(self.shown) >= self._limit
            or self._looked >= _MOST_LOOKED_AT
            or len(self.allowed) >= MOST_SPOTS
        )

    def took_all(self, rows: Sequence[Entry]) -> bool:
        """False where it ends before the last of them: the page is full, or of the next one nothing is known."""
        for row in rows:
            spot = spot_of(row)
            if len(self.shown) >= self._limit or spot not in self.allowed:
                return False
            self.before = Place(at=row.at, id=row.id)
            self._looked += 1
            if self.allowed[spot]:
                self.shown.append(row)
            else:
                self.hidden += 1
        return True


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
