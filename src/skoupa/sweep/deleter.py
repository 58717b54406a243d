"""The one function that deletes Kubernetes objects, and what it does when the object changed under its hands.

A delete names the very state that was judged (uid and resourceVersion). On a conflict the fresh object is judged anew.
A Claim that rests on labels alone, judged the same three times in a row, then goes with the uid only: an object that is
written to all the time must not escape, and nothing that matters for the Claim has changed. What takes all that is in it
along never goes so. Before anything is sent the intent is on record, and what was not judged just now is judged once more
as the bytes leave.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Final, Literal

import msgspec

from skoupa.clock import Clock
from skoupa.errors import Conflict, Forbidden, NotFound
from skoupa.facts.rows import Extraction, Row, Uid, pack_uid, uid_text
from skoupa.judge.brakes import is_brake
from skoupa.judge.cascade import is_definition, is_namespace
from skoupa.kube.client import Client, Deleted
from skoupa.kube.objects import METADATA, Partial
from skoupa.model.verdicts import Claim, Hold, Verdict
from skoupa.sweep.hanging import Hanging

EQUAL_VERDICTS: Final = 3
# A verdict that young is not asked for again: news takes longer to arrive.
_YOUNG_SECONDS: Final = 0.05
# An object that changes with every look is not worth following for ever within one attempt.
_MOST_LOOKS: Final = 6


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`row` is the state that was acted on; `verdict` is set where a fresh look found that it stays."""

    what: Literal["deleted", "terminating", "gone", "stays"]
    row: Row
    claim: Claim
    verdict: Verdict | None = None


class Deleter:
    """`judge` gives the verdict on a row; `look_around` is the fresh look that some rows need before they go.

    `intend` writes down what is about to be sent; what it raises keeps the object. A delete that waited (for a look around,
    its turn, a server that asked for patience) is judged again on what is `known` by then, before each try, and withdrawn
    where something holds it; one that did not wait only where `keep_changes` says that it may be kept now. `epoch` grows
    with every Brake but those of our own ceilings: under these it has its place. `hanging` hears how long each took.
    """

    def __init__(
        self,
        client: Client,
        *,
        judge: Callable[[Row, float], Verdict],
        extraction: Extraction,
        on_fresh: Callable[[Row], object],
        look_around: Callable[[Row, Claim], Awaitable[Verdict | None]],
        intend: Callable[[Row, Claim], Awaitable[Hold | None]],
        known: Callable[[Uid], Row | None],
        keep_changes: Callable[[], int],
        hanging: Hanging,
        epoch: Callable[[], int] = lambda: 0,
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._judge = judge
        self._extraction = extraction
        self._on_fresh = on_fresh
        self._look_around = look_around
        self._intend = intend
        self._known = known
        self._keep_changes = keep_changes
        self._hanging = hanging
        self._epoch = epoch

    async def delete(self, row: Row, claim: Claim) -> Outcome:
        """Deletes what was judged, or says why not; raises what the server or the way to it refused.

        An object that changed again and again while it was judged is a Conflict: it is tried again later.
        """
        equal = 1
        judged, epoch = self._judged(), self._epoch()
        intended: tuple[Claim, str] | None = None
        for left in range(_MOST_LOOKS - 1, -1, -1):
            around = await self._look_around(row, claim)
            if around is not None:
                return Outcome(what="stays", row=row, claim=claim, verdict=around)
            if intended != (claim, row.resource_version):
                hold = await self._intend(row, claim)
                if hold is not None:
                    kept = Verdict(claims=(claim,), holds=(hold,))
                    return Outcome(what="stays", row=row, claim=claim, verdict=kept)
                intended = (claim, row.resource_version)
            takes_all = is_namespace(row) or is_definition(row)
            by_uid_alone = claim.on_labels_alone and equal >= EQUAL_VERDICTS and not takes_all
            still_wanted = self._still_wanted(
                row, claim, judged=judged, epoch=epoch, by_uid_alone=by_uid_alone
            )
            try:
                deleted = await self._sent(row, claim, by_uid_alone=by_uid_alone, still_wanted=still_wanted)
            except NotFound:
                return Outcome(what="gone", row=row, claim=claim)
            except Conflict:
                if not left:
                    raise
                fresh = await self.fresh(row)
                if fresh is None or fresh.uid != row.uid:
                    return Outcome(what="gone", row=row, claim=claim)
                self._on_fresh(fresh)
                now, judged, epoch = self._clock.now(), self._judged(), self._epoch()
                verdict = self._judge(fresh, now)
                again = verdict.claim(now)
                if again is None:
                    return Outcome(what="stays", row=fresh, claim=claim, verdict=verdict)
                equal = equal + 1 if again == claim else 1
                row, claim = fresh, again
                continue
            return Outcome(what="deleted" if deleted.gone else "terminating", row=row, claim=claim)
        raise AssertionError("the last look returns or raises")

    async def _sent(
        self, row: Row, claim: Claim, *, by_uid_alone: bool, still_wanted: Callable[[], bool]
    ) -> Deleted:
        left_at = math.inf

        def leaves() -> bool:
            nonlocal left_at
            wanted = still_wanted()
            left_at = self._clock.monotonic() if wanted else math.inf
            return wanted

        try:
            return await self._client.delete(
                row.resource,
                row.name,
                namespace=row.namespace,
                uid=uid_text(row.uid),
                resource_version="" if by_uid_alone else row.resource_version,
                propagation=claim.propagation,
                rule=f"{claim.mechanism}; {claim.rule}",
                still_wanted=leaves,
            )
        finally:
            if left_at < math.inf:
                self._hanging.answered(row, self._clock.monotonic() - left_at)

    def _judged(self) -> tuple[float, int]:
        """When it was, and on which state of what is kept."""
        return self._clock.monotonic(), self._keep_changes()

    async def around(self, row: Row, claim: Claim) -> Verdict | None:
        """The fresh look by itself, for who only observes: the verdict that keeps it, or None."""
        return await self._look_around(row, claim)

    def _still_wanted(
        self, row: Row, claim: Claim, *, judged: tuple[float, int], epoch: int, by_uid_alone: bool
    ) -> Callable[[], bool]:
        def still() -> bool:
            now = self._clock.now()
            if claim.due > now:
                # The clock was wrong, and is right again.
                return False
            at, keep_changes = judged
            young = self._clock.monotonic() - at <= _YOUNG_SECONDS and self._keep_changes() == keep_changes
            if young and self._epoch() == epoch and not by_uid_alone:
                return True
            newest = self._known(row.uid)
            if newest is None and by_uid_alone:
                # Gone, or without its label: by the state that was judged the server can tell, by the uid it can't.
                return False
            verdict = self._judge(newest or row, now)
            if not verdict.claims or verdict.claims[0] != claim:
                return False
            if self._epoch() != epoch:
                return not verdict.holds
            # The ceiling that pulled a Brake meanwhile has counted this one.
            return all(is_brake(hold) for hold in verdict.holds)

        return still

    async def fresh(self, row: Row) -> Row | None:
        """The object as it is now; by a list on its name where get is not granted."""
        try:
            found: Partial
            try:
                found = await self._client.get(row.resource, row.name, namespace=row.namespace, view=METADATA)
            except Forbidden:
                found = await self._client.find(
                    row.resource, row.name, namespace=row.namespace, view=METADATA
                )
        except NotFound:
            return None
        if pack_uid(found.metadata.uid) != row.uid:
            return None
        return self._extraction.row(row.resource, found)
