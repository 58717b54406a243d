"""What the sweep tells, as a Protocol: who renders it (log, Events, metrics) lives above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row
from skoupa.kube.events import Regarding
from skoupa.ledger.rows import Entry
from skoupa.model.reasons import Reason
from skoupa.model.verdicts import Claim, Hold, Verdict
from skoupa.sweep.failures import News
from skoupa.sweep.tripping import Tripped


class PolicyRun(msgspec.Struct, frozen=True, kw_only=True):
    """How a run of a policy went, in numbers and in words; `trouble` is empty where nothing went wrong.

    `stays` says why something that matched stays, empty where all of it went.
    """

    policy: Regarding
    called: str
    matched: int = 0
    deleted: int = 0
    held: int = 0
    failed: int = 0
    trouble: str = ""
    stays: str = ""


class Unclear(msgspec.Struct, frozen=True, kw_only=True):
    """An object that a policy could not judge, and that stays; `kind` is the plural with its group."""

    about: Regarding
    kind: str
    why: Reason


class Announced(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy is going to delete at `claim.due`; `notify` is the route that the policy names."""

    policy: Regarding
    claim: Claim
    rows: Sequence[Row]
    notify: str = ""


class Report(Protocol):
    """Every call returns at once. A call is one decision or one outcome, never a step in between."""

    def deleted(self, row: Row, claim: Claim, *, at: float, terminating: bool) -> None:
        """The server took the delete; `terminating` when finalizers keep the object for a while."""

    def swept(self, rule: str, kind: str, number: int, *, observed: bool, at: float) -> None:
        """So many went by a rule that nothing tells of one by one, or would have."""

    def would_delete(self, row: Row, claim: Claim, *, at: float) -> None:
        """Observing: this would have gone."""

    def gone_already(self, row: Row, claim: Claim, *, at: float) -> None:
        """Somebody else deleted it first."""

    def held(self, row: Row, verdict: Verdict, *, at: float, holds: Sequence[Hold]) -> None:
        """It is due and stays."""

    def failed(
        self, row: Row, claim: Claim, *, at: float, error: SkoupaError, retry_in: float, news: News
    ) -> None:
        """A try that failed; `news` says whether the one before it did not, or for another reason, and whether it lasts."""

    def notice(self, row: Row, claim: Claim, *, at: float) -> None:
        """It will go at `claim.due`; told ahead, so that somebody can keep it."""

    def remark(self, row: Row, notes: Sequence[Reason], *, at: float) -> None:
        """Something about its labels that their writer should know, such as a value that is not understood."""

    def retell(self, entries: Sequence[Entry]) -> None:
        """Deletions of an earlier process that it may not have told of."""

    def tripped(self, tripped: Tripped, *, at: float) -> None:
        """A ceiling is full: nothing of its scope goes any more."""

    def brake_made(self, name: str, uid: str, *, why: str, at: float) -> None:
        """The Brake that holds it is in the cluster."""

    def brake_released(self, name: str, uid: str, *, by: str, held: int, at: float) -> None:
        """Somebody (`by` empty: nobody knows who) deleted a Brake, and what it held is judged anew."""

    def brake_ended(self, name: str, uid: str, *, held: int, at: float) -> None:
        """The time of a Brake is over, or that of its window; it held so many objects."""

    def of_alive(self, what: str, note: str, *, uid: str, at: float) -> None:
        """Something about the life of the cluster; `what` is the reason of the Event."""

    def of_tenant(self, what: str, note: str, *, name: str, uid: str, key: str, at: float) -> None:
        """Something about the deletion of a tenant as a whole; `what` is the reason of the Event, `key` what makes it the same when it is told again."""

    def policy_ran(self, ran: PolicyRun, *, at: float) -> None:
        """All that a run of a policy chose went, is held, or fails for now; or it could not be run."""

    def policy_broken(self, policy: Regarding, called: str, *, why: str, at: float) -> None:
        """A policy is not understood, so it does not run; told once for each reason."""

    def policy_left_out(self, called: str, *, why: str, at: float) -> None:
        """A policy missed a tick that no run makes up for, because it was changed before anybody led again."""

    def policy_deleted(self, policy: Regarding, row: Row, claim: Claim, *, at: float) -> None:
        """The same as `deleted`, for who looks at the policy."""

    def policy_refused(
        self, policy: Regarding, row: Row, claim: Claim, *, at: float, error: SkoupaError
    ) -> None:
        """The same as `failed`, where people are to hear of it."""

    def policy_unclear(self, ran: PolicyRun, unclear: Sequence[Unclear], *, run: str, at: float) -> None:
        """These stay, for their conditions have no answer; each is news."""

    def policy_left(self, row: Row, rule: str, *, why: str, at: float) -> None:
        """A policy chose it, was asked about it again, and does not mean it any more: it stays."""

    def policy_notice(self, announced: Announced, *, at: float) -> None:
        """These will go at the next run of a policy; told ahead, so that somebody can keep them."""

    def stuck(self, row: Row, *, at: float, news: bool) -> None:
        """Deleted a good while ago and still there; `row.finalizers` block it. `news`: others than when it was last told."""
