"""Everything that the sweep tells, told: one log line, one counter, and an Event where the object's people look for it.

While observing no Event is written: an observer writes nothing on objects that are not its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row
from skoupa.judge.ttl import will_return
from skoupa.kube.events import Event, EventWriter, Regarding
from skoupa.kube.timestamps import whole_seconds
from skoupa.ledger.rows import Entry
from skoupa.model.reasons import Reason, render
from skoupa.model.verdicts import Claim, Hold, Verdict
from skoupa.report.alive_reporting import ALIVE_EVENT_REASONS, AliveReporting
from skoupa.report.brake_reporting import BRAKE_EVENT_REASONS, BrakeReporting
from skoupa.report.bundles import Bundles, regarding
from skoupa.report.log import Log
from skoupa.report.metrics import Metrics
from skoupa.report.notices.notice import about
from skoupa.report.notices.notifier import Notifier
from skoupa.report.policy_reporting import PolicyReporting
from skoupa.report.retold import retold
from skoupa.report.tenant_reporting import TENANT_EVENT_REASONS, TenantReporting
from skoupa.settings.notices import What
from skoupa.sweep.failures import News, refused, server_words, shared_words
from skoupa.sweep.reporting import Announced, PolicyRun, Unclear

# Event reasons, all of them; docs/events.md is written from this table.
EVENT_REASONS: Final[dict[str, str]] = {
    "SkoupaDeleted": "The object, or the objects named in the note, were deleted; or they were to be when Skoupa was interrupted, "
    "and are gone since.",
    "SkoupaNotice": "The object will be deleted at the time in the note, which says how to keep it.",
    "SkoupaLabelProblem": "A label on the object is not understood or does not do what its writer meant.",
    "SkoupaFailed": "The object, or those named in the note, are due, but a webhook, a policy or the server refuses the "
    "delete in the words of the note, or a webhook that has to be asked does not answer; it is tried again. Told once, and again when the words change. Whatever else a delete fails for is told "
    "once, when it has failed for a minute.",
    "SkoupaStuck": "The object was deleted but finalizers keep it.",
    **BRAKE_EVENT_REASONS,
    "SkoupaPolicyRan": "On a policy: its run deleted something, or what it matched stays and that is news (a Warning where nothing went); "
    "the note says how much, and what holds it.",
    "SkoupaPolicyFailed": "On a policy: it is not understood and does not run, or not all of its run could be read, judged or "
    "deleted; the note says why.",
    "SkoupaPolicyDeleted": "On a policy: its run deleted the objects named in the note. What was in flight, or not told yet, when "
    "Skoupa was interrupted is not among them: that is told on the objects (`SkoupaDeleted`) and in the history.",
    "SkoupaPolicyRefused": "On a policy: a webhook, a policy or the server refuses to delete the objects named in the note, "
    "or a webhook that has to be asked does not answer; or they could not be deleted for a minute, for whatever reason.",
    "SkoupaPolicyUnclear": "On a policy: whether the objects named in the note meet its conditions is not known, so they "
    "stay; the note says why. Told once for as long as that is so.",
    **ALIVE_EVENT_REASONS,
    **TENANT_EVENT_REASONS,
    "SkoupaHeld": "The object is due, or a policy matches it, but it stays for a reason that its people can mend; the "
    "note says which.",
}
# Holds that somebody with rights on the object alone can end.
_MENDABLE: Final = frozenset(
    {"bad-propagation", "refresh-unclear", "re-created", "re-created-by", "re-created-with"}
)
# Holds that no object's people can end, and that are nobody's wish: who runs Skoupa has something to do.
_ALARMING: Final = frozenset({"clock-skew", "first-start-backlog", "retroactive-label", "brakes-unknown"})


class Reporter:
    def __init__(
        self,
        clock: Clock,
        *,
        log: Log,
        metrics: Metrics,
        events: EventWriter | None,
        notices: Notifier | None = None,
    ) -> None:
        self._clock = clock
        self._log = log
        self._metrics = metrics
        self._events = events
        self._notices = notices
        self.bundles = Bundles(events, clock) if events is not None else None
        self.of_alive = AliveReporting(log=log, events=events).tell
        self.of_tenant = TenantReporting(log=log, events=events, notices=notices).tell
        brakes = BrakeReporting(log=log, metrics=metrics, events=events, notices=notices)
        self.tripped, self.brake_made = brakes.tripped, brakes.made
        self.brake_released, self.brake_ended = brakes.released, brakes.ended
        self._of_policies = PolicyReporting(log=log, metrics=metrics, events=events, bundles=self.bundles)

    def deleted(self, row: Row, claim: Claim, *, at: float, terminating: bool) -> None:
        kind = row.resource.qualified
        self._metrics.count("skoupa_deletions_total", kind, claim.mechanism)
        lag = _lag(row, claim, at)
        self._metrics.lag(claim.mechanism, lag)
        again, why = will_return(row), render(claim.reason)
        self._say(
            "deleted",
            row,
            why=why,
            lag=f"{lag:.3f}",
            terminating=terminating,
            note=render(again) if again else "",
        )
        self._notify(row, "deleted", why=why, at=at)
        if self.bundles is not None:
            self.bundles.add(row, claim, at)

    def swept(self, rule: str, kind: str, number: int, *, observed: bool, at: float) -> None:  # noqa: ARG002 - the log has its own
        metric = "skoupa_would_delete_total" if observed else "skoupa_deletions_total"
        self._metrics.count(metric, kind, "retention", amount=number)
        self._log("would sweep" if observed else "swept", kind=kind, rule=rule, number=str(number))

    def would_delete(self, row: Row, claim: Claim, *, at: float) -> None:
        overdue = f"{at - claim.due:.1f}"
        self._metrics.count("skoupa_would_delete_total", row.resource.qualified, claim.mechanism)
        self._say("would delete", row, why=render(claim.reason), overdue=overdue)
        self._notify(row, "would-delete", why=render(claim.reason), at=at)

    def gone_already(self, row: Row, claim: Claim, *, at: float) -> None:
        self._say("gone already", row, why=render(claim.reason), lag=f"{_lag(row, claim, at):.3f}")

    def held(self, row: Row, verdict: Verdict, *, at: float, holds: Sequence[Hold]) -> None:
        due = verdict.due if verdict.due is not None else at
        self._log(
            "held",
            level="warning" if any(hold.reason.code in _ALARMING for hold in holds) else "info",
            **_called(row),
            why="; ".join(render(hold.reason) for hold in holds),
            due=whole_seconds(due),
        )
        self._notify(row, "held", why="; ".join(render(hold.reason) for hold in holds), at=at, due=due)
        for hold in holds:
            if hold.reason.code in _MENDABLE:
                note = f"due since {whole_seconds(due)}, but {render(hold.reason)}"
                self._tell(row, "SkoupaHeld", "Hold", note, at=due, warning=True, now=at)

    def failed(
        self, row: Row, claim: Claim, *, at: float, error: SkoupaError, retry_in: float, news: News
    ) -> None:
        self._metrics.count("skoupa_delete_failures_total", row.resource.qualified, type(error).__name__)
        # Routes have a memory of their own, which is shorter.
        self._notify(row, "failed", why=error.message, at=at)
        if news.is_other:
            self._log(
                "delete failed",
                level="warning",
                **_called(row),
                overdue=f"{at - claim.due:.1f}",
                error=error.message,
                retry_in=f"{retry_in:.1f}",
            )
        if self.bundles is not None and news.concerns(error):
            words, shared = server_words(error), shared_words(row, error)
            self.bundles.add_refusal(row, words=words, shared=shared, at=at, patient=not refused(error))

    def notice(self, row: Row, claim: Claim, *, at: float) -> None:
        self._metrics.count("skoupa_notices_total", row.resource.qualified)
        due = whole_seconds(claim.due)
        target = f"{row.resource.qualified}/{row.name}"
        where = f" -n {row.namespace}" if row.namespace else ""
        note = f"will be deleted at {due} ({render(claim.reason)}). To keep it: skoupa keep {target}{where}"
        self._say("notice", row, due=due)
        self._notify(row, "notice", why=render(claim.reason), at=at, due=claim.due)
        # The due time is part of the name of the Event: telling the same notice twice makes one.
        self._tell(row, "SkoupaNotice", "Notice", note, at=claim.due, warning=True, now=at)

    def remark(self, row: Row, notes: Sequence[Reason], *, at: float) -> None:
        for note in notes:
            self._metrics.count("skoupa_invalid_labels_total", row.resource.qualified, note.code)
            self._log("label problem", level="warning", **_called(row), why=render(note))
            self._tell(
                row, "SkoupaLabelProblem", "Read", render(note), at=float(row.created), warning=True, now=at
            )

    def retell(self, entries: Sequence[Entry]) -> None:
        if self.bundles is not None:
            self.bundles.add_made(retold(entries))

    def policy_ran(self, ran: PolicyRun, *, at: float) -> None:
        self._of_policies.ran(ran, at=at)

    def policy_broken(self, policy: Regarding, called: str, *, why: str, at: float) -> None:
        self._of_policies.broken(policy, called, why=why, at=at)

    def policy_left_out(self, called: str, *, why: str, at: float) -> None:  # noqa: ARG002 - it is told as it comes
        self._log("policy run left out", level="warning", policy=called, why=why)

    def policy_deleted(self, policy: Regarding, row: Row, claim: Claim, *, at: float) -> None:
        self._of_policies.deleted(policy, row, claim, at=at)

    def policy_refused(
        self, policy: Regarding, row: Row, claim: Claim, *, at: float, error: SkoupaError
    ) -> None:
        self._of_policies.refused(policy, row, claim, at=at, error=error)

    def policy_unclear(self, ran: PolicyRun, unclear: Sequence[Unclear], *, run: str, at: float) -> None:
        self._of_policies.unclear(ran, unclear, run=run, at=at)

    def policy_left(self, row: Row, rule: str, *, why: str, at: float) -> None:  # noqa: ARG002 - it is told as it comes
        self._say("stays", row, policy=rule, why=f"asked again: {why}")

    def policy_notice(self, announced: Announced, *, at: float) -> None:
        claim = announced.claim
        for row in announced.rows:
            self._metrics.count("skoupa_notices_total", row.resource.qualified)
            self._say("notice", row, due=whole_seconds(claim.due), why=render(claim.reason))
            self._notify(
                row, "notice", why=render(claim.reason), at=at, due=claim.due, route=announced.notify
            )
        self._of_policies.announced(announced, at=at)

    def stuck(self, row: Row, *, at: float, news: bool) -> None:
        blockers = ", ".join(row.finalizers) or "no finalizer of its own"
        if news:
            self._metrics.count("skoupa_stuck_total", row.resource.qualified)
            self._notify(row, "stuck", why=f"waiting for {blockers}", at=at)
        self._log("stuck", level="warning", **_called(row), finalizers=blockers)
        note = f"deleted at {whole_seconds(row.deleted_at)} and still there; waiting for {blockers}"
        self._tell(row, "SkoupaStuck", "Delete", note, at=float(row.deleted_at), warning=True, now=at)

    def _notify(
        self, row: Row, what: What, *, why: str, at: float, due: float | None = None, route: str = ""
    ) -> None:
        """`route` is where to, should the object itself say nothing."""
        if self._notices:
            notify = row.annotation(names.NOTIFY_ANNOTATION) or route
            self._notices.tell(about(row, what, why=why, at=at, due=due, notify=notify))

    def _say(self, event: str, row: Row, **facts: object) -> None:
        self._log(event, level="info", **_called(row), **facts)

    def _tell(
        self, row: Row, reason: str, action: str, note: str, *, at: float, warning: bool, now: float
    ) -> None:
        """`at` makes the Event's name; what is in the future is dated now, as the server wants it."""
        if self._events is not None:
            self._events.tell(
                Event(
                    regarding=regarding(row),
                    reason=reason,
                    action=action,
                    note=note,
                    type="Warning" if warning else "Normal",
                    at=now,
                    identity=f"{at:.0f}",
                )
            )


def _lag(row: Row, claim: Claim, at: float) -> float:
    """Since it could go: a time that was over when it was written makes nobody late."""
    return at - max(claim.due, row.created, row.labelled_at)


def _called(row: Row) -> dict[str, object]:
    return {"kind": row.resource.qualified, "namespace": row.namespace, "name": row.name}
