"""What the sweep writes down: an intent before each delete, and what came of it.

A delete whose intent could not be recorded is not sent. Decisions of a replica carry the epoch of its lease, so that a
new leader can tell whose open rows it finds. While the ledger is away everything due is held, and looked at again as
soon as it is back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.facts.rows import Row, Uid, uid_text
from skoupa.ledger.journal import Journal, OnFailure
from skoupa.ledger.nowhere import NoStore
from skoupa.ledger.rows import Body, Entry, Ids, Result, Unkept, error_text
from skoupa.ledger.store import Intent, Store
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold, Verdict

_OUTCOMES: Final[dict[str, Result]] = {"deleted": "deleted", "terminating": "terminating", "gone": "gone"}


async def _no_bodies(row: Row, claim: Claim) -> tuple[Body, ...] | Unkept | Hold:  # noqa: ARG001 - of the Protocol
    return ()


async def _not_ahead(rows: Iterable[Row]) -> None:  # noqa: ARG001 - of the Protocol
    return


class Record:
    """`bodies` reads what goes to the trash along with an intent; a Hold where nothing may go without it."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        on_failure: OnFailure = "stop",
        epoch: Callable[[], int] = lambda: 0,
        bodies: Callable[[Row, Claim], Awaitable[tuple[Body, ...] | Unkept | Hold]] = _no_bodies,
    ) -> None:
        self.store = store
        self.journal = Journal(store, clock=clock, on_failure=on_failure)
        self._clock = clock
        self._on_failure = on_failure
        self._epoch = epoch
        self.bodies = bodies
        # Hears of what is about to go, so that bodies of many can be read in one go.
        self.read_ahead: Callable[[Iterable[Row]], Awaitable[None]] = _not_ahead
        # How many objects it counts for, as the ceilings do.
        self.weight: Callable[[Uid], int] = lambda _: 1
        # Who else claims it and had an allowance that it used, each with mechanism and rule.
        self.beside: Callable[[Uid], tuple[tuple[str, str], ...]] = lambda _: ()
        # Whether nobody knows what became of an earlier delete of it.
        self.is_open: Callable[[Uid], bool] = lambda _: False
        self._ids = Ids(clock)
        # Those whose intent is on record, and of which nothing else is yet.
        self._intended: set[Uid] = set()
        # Whether something was held since somebody last asked, however short the ledger was away.
        self.held = False
        # Where nothing is kept nothing has to be written, nor waited for.
        self.kept = not isinstance(store, NoStore)

    @property
    def epoch(self) -> int:
        return self._epoch()

    async def intend(self, row: Row, claim: Claim) -> Hold | None:
        """Returns when it is on disk. After a Hold, or LedgerUnavailable, nothing may be sent."""
        if not self.kept:
            return None
        bodies = await self.bodies(row, claim)
        if isinstance(bodies, Hold):
            return bodies
        entry = msgspec.structs.replace(self._entry(row, (claim,), ()), beside=self.beside(row.uid))
        if isinstance(bodies, Unkept):
            entry, bodies = msgspec.structs.replace(entry, unkept=error_text(bodies.why)), ()
        await self.journal.intend([Intent(entry=entry, bodies=bodies, open_before=self.is_open(row.uid))])
        self._intended.add(row.uid)
        return None

    async def intend_releases(
        self, asked: Iterable[tuple[Row, Claim]], *, open_before: Collection[Uid] = ()
    ) -> None:
        """As `intend`, of finalizers that are to be taken off: nothing goes that the trash could keep. Each row stands for one."""
        if self.kept:
            intents = [
                Intent(entry=self._entry(row, (claim,), ()), open_before=row.uid in open_before)
                for row, claim in asked
            ]
            await self.journal.intend(intents)

    def is_intended(self, uid: Uid) -> bool:
        """Whether its row says that a delete is about to be sent, and nobody has said yet what came of it."""
        return uid in self._intended

    def finished(self, row: Row, outcome: str) -> None:
        self._finish(row, _OUTCOMES[outcome])

    def failed(self, row: Row, why: str) -> None:
        self._finish(row, "failed", error=why)

    def unanswered(self, row: Row, why: str) -> None:
        """It failed, but may have gone all the same: the row stays open until somebody knows."""
        self._finish(row, "intended", error=why)

    def gone_unanswered(self, row: Row) -> None:
        self._finish(row, "gone-by-unknown", error="no answer came to its delete, and then it was gone")

    async def room(self) -> None:
        """Before what may have to be noted: very many are found at once, and quicker than they are written."""
        if self.kept:
            await self.journal.room()

    def would_delete(self, row: Row, claim: Claim) -> bool:
        """Whether it is taken; what is not is to be told again when it is looked at next."""
        return self._note(row, (claim,), (), "would-delete")

    def braked(self, row: Row, verdict: Verdict) -> bool:
        """As `would_delete`."""
        return self._note(row, verdict.claims, verdict.holds, "braked")

    def told(self, uids: Sequence[str]) -> None:
        """The Event of these deletions was written."""
        if self.kept:
            self.journal.told(uids)

    def hold(self, row: Row, now: float) -> Hold | None:  # noqa: ARG002 - it is the same for all
        error = self.journal.error
        if error is None or self._on_failure == "continue":
            return None
        self.held = True
        return Hold(reason=reason("ledger-away", why=error.message))

    def _note(self, row: Row, claims: tuple[Claim, ...], holds: tuple[Hold, ...], outcome: Result) -> bool:
        if not self.kept:
            return True
        entry = self._entry(row, claims, holds)
        taken = self.journal.note(msgspec.structs.replace(entry, outcome=outcome, finished_at=entry.at))
        # Whoever hears that the ledger is back has all that waits looked at again.
        self.held = self.held or not taken
        return taken

    def _finish(self, row: Row, outcome: Result, *, error: str = "") -> None:
        if not self.kept:
            return
        if outcome != "intended":
            self._intended.discard(row.uid)
        self.journal.finish(uid_text(row.uid), outcome=outcome, epoch=self.epoch, error=error)

    def _entry(self, row: Row, claims: tuple[Claim, ...], holds: tuple[Hold, ...]) -> Entry:
        claim = claims[0]
        resource = row.resource
        return Entry(
            id=self._ids.next(),
            cluster=self.store.cluster,
            at=self._clock.now(),
            api_version=resource.api_version,
            kind=resource.kind,
            resource=resource.qualified,
            namespace=row.namespace,
            name=row.name,
            uid=uid_text(row.uid),
            labels=row.labels,
            mechanism=claim.mechanism,
            rule=claim.rule,
            author=claim.author,
            run=claim.run,
            weight=self.weight(row.uid),
            due=claim.due,
            claims=claims,
            holds=holds,
            propagation=claim.propagation,
            epoch=self.epoch,
        )
