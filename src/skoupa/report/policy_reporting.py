"""What policies did, told: a log line and a counter for each run, and Events on the policy beside those on the objects.

What could not be judged stays and is told like anything else that is held: each object with the expression and the reason. The same
is not told again with every run; who keeps count of that is who calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row
from skoupa.kube.events import Event, EventWriter, Regarding
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import render
from skoupa.model.verdicts import Claim
from skoupa.report.bundles import FEW, Bundles, regarding
from skoupa.report.log import Log
from skoupa.report.metrics import Metrics
from skoupa.report.notes import note, pieces
from skoupa.report.notices.notice import keep_command
from skoupa.report.policy_bundles import DELETED, REFUSED, UNCLEAR, Told
from skoupa.sweep.failures import refused, shared_words
from skoupa.sweep.reporting import Announced, PolicyRun, Unclear


class PolicyReporting:
    """`events` and `bundles` are None while observing."""

    def __init__(
        self, *, log: Log, metrics: Metrics, events: EventWriter | None, bundles: Bundles | None
    ) -> None:
        self._log = log
        self._metrics = metrics
        self._events = events
        self._bundles = bundles
        # By policy, why what it matched last stays.
        self._stays: dict[str, str] = {}

    def ran(self, ran: PolicyRun, *, at: float) -> None:
        self._metrics.count("skoupa_policy_runs_total", ran.called, "failed" if ran.trouble else "succeeded")
        if not ran.matched and not ran.trouble:
            # Many policies run every few minutes, and mostly find nothing.
            return
        self._log(
            "policy ran",
            level="warning" if ran.trouble else "info",
            policy=ran.called,
            matched=ran.matched,
            deleted=ran.deleted,
            held=ran.held,
            failed=ran.failed,
            trouble=ran.trouble,
            stays=ran.stays,
        )
        # Why something stays is told once, not with every run that finds it so.
        news = bool(ran.stays) and self._stays.get(ran.called) != ran.stays
        self._stays.pop(ran.called, None)
        if ran.stays:
            self._stays[ran.called] = ran.stays
        if self._events is None or not (ran.deleted or ran.trouble or news):
            return
        tally = f"matched {ran.matched}, deleted {ran.deleted}, held {ran.held}, failed {ran.failed}"
        reason = "SkoupaPolicyFailed" if ran.trouble else "SkoupaPolicyRan"
        said = "; ".join(filter(None, (tally, ran.trouble, ran.stays)))
        empty = ran.stays and not ran.deleted
        kind: Literal["Normal", "Warning"] = "Warning" if ran.trouble or empty else "Normal"
        self._events.tell(
            Event(regarding=ran.policy, reason=reason, action="Run", note=said, type=kind, at=at)
        )

    def broken(self, policy: Regarding, called: str, *, why: str, at: float) -> None:
        self._log("policy not understood", level="warning", policy=called, why=why)
        if self._events is not None:
            said = f"it is not understood and does not run: {why}"
            self._events.tell(
                Event(
                    regarding=policy,
                    reason="SkoupaPolicyFailed",
                    action="Read",
                    note=said,
                    type="Warning",
                    at=at,
                    identity="broken",
                )
            )

    def deleted(self, policy: Regarding, row: Row, claim: Claim, *, at: float) -> None:
        self._metrics.count("skoupa_policy_deletions_total", claim.rule)
        if self._bundles is not None:
            self._bundles.add_to_policy(_told(policy, row, claim, reason=DELETED), row.name, at)

    def refused(self, policy: Regarding, row: Row, claim: Claim, *, at: float, error: SkoupaError) -> None:
        if self._bundles is not None:
            told = _told(policy, row, claim, reason=REFUSED, words=shared_words(row, error))
            self._bundles.add_to_policy(told, row.name, at, patient=not refused(error))

    def unclear(self, ran: PolicyRun, unclear: Sequence[Unclear], *, run: str, at: float) -> None:
        for one in unclear:
            why = render(one.why)
            self._log(
                "held",
                level="warning",
                kind=one.kind,
                namespace=one.about.namespace,
                name=one.about.name,
                policy=ran.called,
                why=why,
            )
            if self._events is None or self._bundles is None:
                continue
            told = Told(
                policy=ran.policy,
                reason=UNCLEAR,
                run=run,
                kind=one.kind,
                namespace=one.about.namespace,
                words=dict(one.why.facts).get("why", why),
            )
            self._bundles.add_to_policy(told, one.about.name, at)
            if len(unclear) <= FEW:
                self._events.tell(
                    Event(
                        regarding=one.about,
                        reason="SkoupaHeld",
                        action="Hold",
                        note=why,
                        type="Warning",
                        at=at,
                        identity=run,
                    )
                )

    def announced(self, announced: Announced, *, at: float) -> None:
        """A few of a kind and place get an Event each, many share some, as deletions do."""
        if self._events is None or self._bundles is None:
            return
        alike: dict[tuple[str, str], list[Row]] = {}
        for row in announced.rows:
            alike.setdefault((row.namespace, row.resource.qualified), []).append(row)
        for rows in alike.values():
            self._bundles.add_made(_notices(rows, announced.claim, at=at))


def _notices(rows: Sequence[Row], claim: Claim, *, at: float) -> list[Event]:
    first, due = rows[0], whole_seconds(claim.due)
    head = f"will be deleted at {due} ({render(claim.reason)}). To keep "
    if len(rows) <= FEW:
        return [_notice(row, f"{head}it: {keep_command(row)}", claim, at=at) for row in rows]
    where = f" -n {first.namespace}" if first.namespace else ""
    head += f"one: skoupa keep {first.resource.qualified}/NAME{where}. They are: "
    names = [row.name for row in rows]
    return [
        _notice(rows[piece.start], note(head, names[piece]), claim, at=at) for piece in pieces(names, head)
    ]


def _notice(row: Row, said: str, claim: Claim, *, at: float) -> Event:
    """The due time is part of the name of the Event: telling the same notice twice makes one."""
    return Event(
        regarding=regarding(row),
        reason="SkoupaNotice",
        action="Notice",
        note=said,
        type="Warning",
        at=at,
        identity=f"{claim.due:.0f}",
    )


def _told(policy: Regarding, row: Row, claim: Claim, *, reason: str, words: str = "") -> Told:
    return Told(
        policy=policy,
        reason=reason,
        run=claim.run,
        kind=row.resource.qualified,
        namespace=row.namespace,
        words=words,
    )
