"""What happened in the demo, as lines: what Skoupa did and why, and what people did."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence

import msgspec

from skoupa.cli.looking.waiting import awaited
from skoupa.clock import Clock
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row, Uid
from skoupa.judge.brakes import holding
from skoupa.judge.cascade import called
from skoupa.kinds.brake_effect import scope_text
from skoupa.kube.events import Regarding
from skoupa.ledger.rows import Entry
from skoupa.model.reasons import Reason, render
from skoupa.model.verdicts import Claim, Hold, Verdict
from skoupa.sweep.failures import News
from skoupa.sweep.reporting import Announced, PolicyRun, Unclear
from skoupa.sweep.tripping import Tripped


class Line(msgspec.Struct, frozen=True):
    at: float
    who: str
    text: str


class Journal:
    """A `Report` for people. `on_line` hears every line; the newest are kept for the screen."""

    def __init__(
        self, clock: Clock, *, on_line: Callable[[Line], None] = lambda _: None, keep: int = 50
    ) -> None:
        self._clock = clock
        self._on_line = on_line
        self.lines: deque[Line] = deque(maxlen=keep)
        self.counts: Counter[str] = Counter()
        self.deleted_kinds: Counter[str] = Counter()
        # What holds each object, as it was told last: it is judged again and again.
        self._held: dict[Uid, str] = {}

    def tell(self, text: str, *, who: str = "people") -> None:
        line = Line(self._clock.now(), who, text)
        self.lines.append(line)
        self._on_line(line)

    def _say(self, word: str, text: str) -> None:
        self.counts[word] += 1
        self.tell(f"{word} {text}", who="skoupa")

    def deleted(self, row: Row, claim: Claim, *, at: float, terminating: bool) -> None:  # noqa: ARG002
        self.deleted_kinds[row.resource.kind] += 1
        self._held.pop(row.uid, None)
        waits = f"; waiting for {awaited(row, claim)}" if terminating else ""
        self._say("deleted", f"{called(row)}: {render(claim.reason)}{waits}")

    def swept(self, rule: str, kind: str, number: int, *, observed: bool, at: float) -> None:
        """The story has no policies about Events."""

    def would_delete(self, row: Row, claim: Claim, *, at: float) -> None:  # noqa: ARG002
        self._say("would delete", f"{called(row)}: {render(claim.reason)}")

    def gone_already(self, row: Row, claim: Claim, *, at: float) -> None:  # noqa: ARG002
        self._say("found gone", called(row))

    def held(self, row: Row, verdict: Verdict, *, at: float, holds: Sequence[Hold]) -> None:  # noqa: ARG002
        if holding(holds[0]):
            # That was told with the Brake, once for all that it holds.
            self.counts["held"] += 1
            return
        why = render(holds[0].reason)
        if self._held.get(row.uid) != why:
            self._held[row.uid] = why
            self._say("held", f"{called(row)}: {why}")

    def failed(
        self,
        row: Row,
        claim: Claim,  # noqa: ARG002
        *,
        at: float,  # noqa: ARG002
        error: SkoupaError,
        retry_in: float,  # noqa: ARG002
        news: News,
    ) -> None:
        if news.is_other:
            self._say("failed", f"{called(row)}: {error.message}; trying again")

    def notice(self, row: Row, claim: Claim, *, at: float) -> None:  # noqa: ARG002
        self._say("noticed", f"{called(row)}: it will go soon")

    def remark(self, row: Row, notes: Sequence[Reason], *, at: float) -> None:  # noqa: ARG002
        for note in notes:
            self._say("warned", f"about {called(row)}: {render(note)}")

    def retell(self, entries: Sequence[Entry]) -> None:
        """The demo keeps no ledger, so nobody came before it."""

    def tripped(self, tripped: Tripped, *, at: float) -> None:  # noqa: ARG002
        self._say("braked", f"{scope_text(tripped.spec.scope)}: {tripped.by}")

    def brake_made(self, name: str, uid: str, *, why: str, at: float) -> None:
        """It was told when it was pulled."""

    def brake_released(self, name: str, uid: str, *, by: str, held: int, at: float) -> None:  # noqa: ARG002
        self._say("released", f"the Brake {name}, which held {held}")

    def brake_ended(self, name: str, uid: str, *, held: int, at: float) -> None:  # noqa: ARG002
        self._say("ended", f"the Brake {name}, which held {held}")

    def of_alive(self, what: str, note: str, *, uid: str, at: float) -> None:  # noqa: ARG002
        # The cluster in memory evaluates no admission policies, so there is no guard to be missed.
        if what != "SkoupaUnprotected":
            self._say("alive", note)

    def of_tenant(self, what: str, note: str, *, name: str, uid: str, key: str, at: float) -> None:  # noqa: ARG002
        self._say("tenant", f"{name}: {note}")

    def policy_ran(self, ran: PolicyRun, *, at: float) -> None:  # noqa: ARG002
        if ran.matched or ran.trouble:
            self._say("ran", f"{ran.called}: deleted {ran.deleted} of {ran.matched} {ran.trouble}".rstrip())

    def policy_broken(self, policy: Regarding, called: str, *, why: str, at: float) -> None:  # noqa: ARG002
        self._say("not understood", f"{called}: {why}")

    def policy_left_out(self, called: str, *, why: str, at: float) -> None:  # noqa: ARG002
        self._say("left out", f"a run of {called}: {why}")

    def policy_deleted(self, policy: Regarding, row: Row, claim: Claim, *, at: float) -> None:
        """It was told with the object."""

    def policy_refused(
        self, policy: Regarding, row: Row, claim: Claim, *, at: float, error: SkoupaError
    ) -> None:
        """The same."""

    def policy_unclear(self, ran: PolicyRun, unclear: Sequence[Unclear], *, run: str, at: float) -> None:  # noqa: ARG002
        for one in unclear:
            self._say("held", f"{one.kind} {one.about.name}: {render(one.why)}")

    def policy_left(self, row: Row, rule: str, *, why: str, at: float) -> None:  # noqa: ARG002
        self._say("stays", f"{called(row)}: {why}")

    def policy_notice(self, announced: Announced, *, at: float) -> None:
        for row in announced.rows:
            self.notice(row, announced.claim, at=at)

    def stuck(self, row: Row, *, at: float, news: bool) -> None:  # noqa: ARG002
        if news:
            self._say("stuck", f"{called(row)} waits for {', '.join(row.finalizers) or 'what is inside'}")
