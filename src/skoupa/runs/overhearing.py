"""Hears what becomes of objects, on the way to who tells it: so a policy knows how its run goes.

Everything is passed on as it came. Nothing is told here, and nothing is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row
from skoupa.kube.events import Regarding
from skoupa.ledger.rows import Entry
from skoupa.model.reasons import Reason
from skoupa.model.verdicts import Claim, Hold, Verdict
from skoupa.sweep.failures import News
from skoupa.sweep.reporting import Announced, PolicyRun, Report, Unclear
from skoupa.sweep.tripping import Tripped


def _nobody(row: Row, claim: Claim, *heard: object) -> None:
    """Until somebody listens."""


class Overhearing:
    """`on_refused` hears of failures of which people are to hear; `on_gone` of what is not there any more, by us or by others.

    `on_leaving` hears of what finalizers keep for a while, `on_failed` of every delete that failed.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self.on_deleted: Callable[[Row, Claim, float], None] = _nobody
        self.on_refused: Callable[[Row, Claim, float, SkoupaError], None] = _nobody
        self.on_gone: Callable[[Row, Claim], None] = _nobody
        self.on_leaving: Callable[[Row, Claim], None] = _nobody
        self.on_failed: Callable[[Row, Claim], None] = _nobody

    def deleted(self, row: Row, claim: Claim, *, at: float, terminating: bool) -> None:
        self._report.deleted(row, claim, at=at, terminating=terminating)
        self.on_deleted(row, claim, at)
        (self.on_leaving if terminating else self.on_gone)(row, claim)

    def swept(self, rule: str, kind: str, number: int, *, observed: bool, at: float) -> None:
        self._report.swept(rule, kind, number, observed=observed, at=at)

    def would_delete(self, row: Row, claim: Claim, *, at: float) -> None:
        self._report.would_delete(row, claim, at=at)

    def gone_already(self, row: Row, claim: Claim, *, at: float) -> None:
        self._report.gone_already(row, claim, at=at)
        self.on_gone(row, claim)

    def held(self, row: Row, verdict: Verdict, *, at: float, holds: Sequence[Hold]) -> None:
        self._report.held(row, verdict, at=at, holds=holds)

    def failed(
        self, row: Row, claim: Claim, *, at: float, error: SkoupaError, retry_in: float, news: News
    ) -> None:
        self._report.failed(row, claim, at=at, error=error, retry_in=retry_in, news=news)
        self.on_failed(row, claim)
        if news.concerns(error):
            self.on_refused(row, claim, at, error)

    def notice(self, row: Row, claim: Claim, *, at: float) -> None:
        self._report.notice(row, claim, at=at)

    def remark(self, row: Row, notes: Sequence[Reason], *, at: float) -> None:
        self._report.remark(row, notes, at=at)

    def retell(self, entries: Sequence[Entry]) -> None:
        self._report.retell(entries)

    def tripped(self, tripped: Tripped, *, at: float) -> None:
        self._report.tripped(tripped, at=at)

    def brake_made(self, name: str, uid: str, *, why: str, at: float) -> None:
        self._report.brake_made(name, uid, why=why, at=at)

    def brake_released(self, name: str, uid: str, *, by: str, held: int, at: float) -> None:
        self._report.brake_released(name, uid, by=by, held=held, at=at)

    def brake_ended(self, name: str, uid: str, *, held: int, at: float) -> None:
        self._report.brake_ended(name, uid, held=held, at=at)

    def of_alive(self, what: str, note: str, *, uid: str, at: float) -> None:
        self._report.of_alive(what, note, uid=uid, at=at)

    def of_tenant(self, what: str, note: str, *, name: str, uid: str, key: str, at: float) -> None:
        self._report.of_tenant(what, note, name=name, uid=uid, key=key, at=at)

    def policy_ran(self, ran: PolicyRun, *, at: float) -> None:
        self._report.policy_ran(ran, at=at)

    def policy_broken(self, policy: Regarding, called: str, *, why: str, at: float) -> None:
        self._report.policy_broken(policy, called, why=why, at=at)

    def policy_left_out(self, called: str, *, why: str, at: float) -> None:
        self._report.policy_left_out(called, why=why, at=at)

    def policy_deleted(self, policy: Regarding, row: Row, claim: Claim, *, at: float) -> None:
        self._report.policy_deleted(policy, row, claim, at=at)

    def policy_refused(
        self, policy: Regarding, row: Row, claim: Claim, *, at: float, error: SkoupaError
    ) -> None:
        self._report.policy_refused(policy, row, claim, at=at, error=error)

    def policy_unclear(self, ran: PolicyRun, unclear: Sequence[Unclear], *, run: str, at: float) -> None:
        self._report.policy_unclear(ran, unclear, run=run, at=at)

    def policy_left(self, row: Row, rule: str, *, why: str, at: float) -> None:
        self._report.policy_left(row, rule, why=why, at=at)

    def policy_notice(self, announced: Announced, *, at: float) -> None:
        self._report.policy_notice(announced, at=at)

    def stuck(self, row: Row, *, at: float, news: bool) -> None:
        self._report.stuck(row, at=at, news=news)
