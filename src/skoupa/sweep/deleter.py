"""The one function that deletes Kubernetes objects, and what it does when the object changed under its hands.

A delete names the very state that was judged (uid and resourceVersion). On a conflict the fresh object is judged anew.
A Claim that rests on labels alone, judged the same three times in a row, then goes with the uid only: an object that is
written to all the time must not escape, and nothing that matters for the Claim has changed. What takes all that is in it
along never goes so, nor does anything where deletes take longer than a moment (where they did, it is tried out). Before
anything is sent the intent is on record, and what was not judged just now is judged once more as the bytes leave.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import (
    ApiError,
    Conflict,
    CutShort,
    Forbidden,
    LeaseLost,
    NotFound,
    TooManyRequests,
    Withdrawn,
)
from skoupa.facts.rows import Extraction, Row, Uid, pack_uid, uid_text
from skoupa.judge.brakes import is_brake
from skoupa.judge.cascade import is_definition, is_namespace
from skoupa.kube.client import Client
from skoupa.kube.deleted import Deleted
from skoupa.kube.objects import METADATA, Partial
from skoupa.model.verdicts import Claim, Hold, Verdict
from skoupa.sweep.attempts import Attempt, Outcome
from skoupa.sweep.carried import carries
from skoupa.sweep.gate import by
from skoupa.sweep.hanging import Hanging
from skoupa.sweep.slowness import Slowness, withheld

EQUAL_VERDICTS: Final = 3
# A verdict that young is not asked for again: news takes longer to arrive.
_YOUNG_SECONDS: Final = 0.05
# What a look around found is good for so long; a delete that had to wait for longer looks around again.
_LOOK_SECONDS: Final = 2.0
# By the uid alone an object goes only right after it was read.
_READ_SECONDS: Final = 0.2
# An object that changes with every look is not worth following for ever within one attempt.
_MOST_LOOKS: Final = 6


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
        self._slowness = Slowness(client.clock)

    async def delete(self, row: Row, claim: Claim) -> Outcome:
        """Deletes what was judged, or says why not; raises what the server or the way to it refused.

        An object that changed again and again while it was judged is a Conflict: it is tried again later.
        """
        attempt = Attempt(row, claim, judged=self._judged())
        for left in range(_MOST_LOOKS - 1, -1, -1):
            done = await self._prepared(attempt)
            if done is not None:
                return done
            try:
                deleted = await self._sent(attempt)
            except NotFound:
                return attempt.ended("gone")
            except (Withdrawn, TooManyRequests):
                # Not sent, or refused unread.
                if not left or not attempt.too_old:
                    raise
                newest = self._known(attempt.row.uid) or attempt.row
                done = self._judged_again(attempt, newest, equal=attempt.equal)
            except Conflict:
                if not left:
                    raise
                done = await self._looked_afresh(attempt)
            else:
                return attempt.sent(deleted)
            if done is not None:
                return done
        raise AssertionError("the last look returns or raises")

    async def _prepared(self, attempt: Attempt) -> Outcome | None:
        """Looks around and writes the intent down. What keeps the object, or None: it may be sent now."""
        takes_all = is_namespace(attempt.row) or is_definition(attempt.row)
        enough = attempt.equal >= EQUAL_VERDICTS
        by_uid_alone = attempt.claim.on_labels_alone and enough and not takes_all
        if by_uid_alone and not attempt.too_slow:
            # What is written to it while somebody is asked about the delete would go unnoticed.
            attempt.too_slow = not await self._slowness.passes(
                attempt.row, lambda leaves: self._asked(attempt, "", still_wanted=leaves, dry_run=True)
            )
        around = await self._look_around(attempt.row, attempt.claim)
        if around is not None:
            return attempt.ended("stays", around)
        attempt.looked_at, attempt.keeps_looked_at = self._clock.monotonic(), self._keep_changes()
        if attempt.intended != (attempt.claim, attempt.row.resource_version):
            hold = await self._intend(attempt.row, attempt.claim)
            if hold is not None:
                return attempt.ended("stays", Verdict(claims=(attempt.claim,), holds=(hold,)))
            attempt.intended = (attempt.claim, attempt.row.resource_version)
        attempt.by_uid_alone = by_uid_alone and not attempt.too_slow
        # The server can't tell then whether the object was changed: it is read once more, as the last thing.
        return await self._looked_afresh(attempt) if attempt.by_uid_alone else None

    async def _looked_afresh(self, attempt: Attempt) -> Outcome | None:
        fresh = await self.fresh(attempt.row)
        if fresh is None:
            return attempt.ended("gone")
        self._on_fresh(fresh)
        return self._judged_again(attempt, fresh, equal=attempt.equal + 1)

    def _judged_again(self, attempt: Attempt, row: Row, *, equal: int) -> Outcome | None:
        """`equal` is how many verdicts in a row on fresh states are the same, if this one is.

        Its place under the ceilings is that of the rule by which it came: by another's it has to come again.
        """
        if row.deleted_at and attempt.unanswered:
            # A try before this one was carried out, most likely.
            return Outcome(what="terminating", row=row, claim=attempt.claim)
        now = self._clock.now()
        epoch = attempt.judged[2]
        attempt.judged, attempt.too_old = self._judged(), False
        verdict = self._judge(row, now)
        again = verdict.claim(now) or self._counted(verdict, attempt.claim, epoch, now)
        if again is None:
            return Outcome(what="stays", row=row, claim=attempt.claim, verdict=verdict)
        if by(again) != by(attempt.claim):
            raise Withdrawn(f"it is {again.rule} by now that lets it go, and not {attempt.claim.rule}")
        attempt.equal = equal if again == attempt.claim else 1
        attempt.by_uid_alone = attempt.by_uid_alone and again == attempt.claim
        attempt.row, attempt.claim = row, again
        return None

    def _counted(self, verdict: Verdict, claim: Claim, epoch: int, now: float) -> Claim | None:
        """The Claim of one that nothing holds but the Brake of a ceiling which has counted it, and pulled for the next.

        Counted it was for this Claim: what a Brake holds of another may be held for long, and by somebody's wish.
        """
        same = verdict.of(claim.rule)
        if same.claims[:1] != (claim,) or self._epoch() != epoch:
            return None
        if not all(is_brake(hold) for hold in same.holds):
            return None
        return msgspec.structs.replace(same, holds=()).claim(now)

    async def _sent(self, attempt: Attempt) -> Deleted:
        row = attempt.row
        left_at, carried_out, cut_short = math.inf, False, False

        def leaves() -> bool:
            nonlocal left_at
            wanted = self._still_wanted(attempt)
            left_at = self._clock.monotonic() if wanted else math.inf
            return wanted

        try:
            named = "" if attempt.by_uid_alone else row.resource_version
            deleted = await self._asked(attempt, named, still_wanted=leaves)
        except (LeaseLost, Withdrawn):
            left_at = math.inf
            raise
        except CutShort:
            cut_short = True
            raise
        except ApiError as error:
            # It speaks for the last try only: an earlier one may have been carried out.
            attempt.unanswered = attempt.unanswered or error.after_silence
            if attempt.too_slow and isinstance(error, Conflict):
                raise withheld(error) from error
            raise
        else:
            carried_out = deleted.answered
            return deleted
        finally:
            if left_at < math.inf:
                took = self._clock.monotonic() - left_at
                if not cut_short:
                    self._hanging.answered(row, took)
                self._slowness.note(row, took, carried_out=carried_out)

    async def _asked(
        self,
        attempt: Attempt,
        resource_version: str,
        *,
        still_wanted: Callable[[], bool],
        dry_run: bool = False,
    ) -> Deleted:
        row, claim = attempt.row, attempt.claim
        return await self._client.delete(
            row.resource,
            row.name,
            namespace=row.namespace,
            uid=uid_text(row.uid),
            resource_version=resource_version,
            propagation=claim.propagation,
            dry_run=dry_run,
            rule=f"{claim.mechanism}; {claim.rule}",
            still_wanted=still_wanted,
        )

    def _judged(self) -> tuple[float, int, int]:
        """When it was, on which state of what is kept, and under which Brakes."""
        return self._clock.monotonic(), self._keep_changes(), self._epoch()

    async def around(self, row: Row, claim: Claim) -> Verdict | None:
        """The fresh look by itself, for who only observes: the verdict that keeps it, or None."""
        return await self._look_around(row, claim)

    def _still_wanted(self, attempt: Attempt) -> bool:
        """Asked as the bytes leave; where the answer needs another look, `too_old` says so."""
        now, moment = self._clock.now(), self._clock.monotonic()
        if attempt.claim.due > now:
            # The clock was wrong, and is right again.
            return False
        at, keep_changes, epoch = attempt.judged
        read_long_ago = attempt.by_uid_alone and moment - at > _READ_SECONDS
        # Whether it would take along what feeds told of since then only another look around can tell.
        news = carries(attempt.row) and self._keep_changes() != attempt.keeps_looked_at
        if news or read_long_ago or moment - attempt.looked_at > _LOOK_SECONDS:
            attempt.too_old = True
            return False
        if moment - at <= _YOUNG_SECONDS and self._keep_changes() == keep_changes and self._epoch() == epoch:
            self._answered_for(attempt)
            return True
        newest = self._known(attempt.row.uid)
        if newest is None and attempt.by_uid_alone:
            # Gone, or without its label: by the state that was judged the server can tell, by the uid it can't.
            return False
        verdict = self._judge(newest or attempt.row, now)
        if not verdict.claims or verdict.claims[0] != attempt.claim:
            return False
        if self._epoch() != epoch:
            # What lives in no namespace may take along what a new Brake holds: that needs another look around.
            attempt.too_old = not attempt.row.namespace
            wanted = not verdict.holds and not attempt.too_old
        else:
            # As in `_counted`.
            wanted = all(is_brake(hold) for hold in verdict.holds)
        if wanted:
            self._answered_for(attempt)
        return wanted

    def _answered_for(self, attempt: Attempt) -> None:
        """It is asked when its turn comes and again as its bytes leave: one answer is good for both, unless that is long."""
        if not attempt.by_uid_alone:
            attempt.judged = self._judged()

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
