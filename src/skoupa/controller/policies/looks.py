"""What a policy finds in the cluster when it looks, and what changed beside the objects while it did.

A look takes its time, and somebody may write an exception meanwhile, or take a label off a Namespace, to stop it. So labels are
heeded once more as the very last thing, and what rests on something that is not so any more is doubted: it is asked about again
before it goes. Nothing is waited for between that and what comes of it. Nothing is deleted or remembered here.
"""

from __future__ import annotations

import msgspec

from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.policies.evaluations import Labels, PolicyEvaluations
from skoupa.controller.policies.unread import Unread, unread_kinds
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Uid, pack_uid
from skoupa.kube.client import Client
from skoupa.policy.exemptions import Exemption
from skoupa.policy.policies import Policy
from skoupa.runs.accounts import Accounts
from skoupa.runs.book import Book
from skoupa.runs.lists import Lists
from skoupa.runs.run import Findings, as_labelled, find
from skoupa.settings import Settings


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What a look of a policy rests on beside the objects: as it was `at` its beginning."""

    policy: Policy
    at: float
    exemptions: tuple[Exemption, ...]
    labels: Labels | None
    unread_kinds: frozenset[str]


class PolicyLooks:
    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        knowledge: Knowledge,
        book: Book,
        evaluations: PolicyEvaluations,
    ) -> None:
        self._clock: Clock = client.clock
        self._only = settings.namespaces
        self._knowledge = knowledge
        self._book = book
        self._evaluations = evaluations
        self._lists = Lists(client)
        self.accounts = Accounts(client)

    async def look(self, policy: Policy, *, at: float | None = None, anew: bool = False) -> Findings:
        """What it finds, taking `at` for the present; nothing comes of it."""
        findings = await find(
            policy,
            await self._evaluations.make(policy, at=at, anew=anew),
            lists=self._lists,
            discovery=self._knowledge.discovery,
            namespaces=self._evaluations.namespace_labels(),
            only=self._only,
        )
        findings = await self.accounts.permitted(policy, findings)
        # The last thing: who takes a label off while something else is asked for wants it to stop, too.
        return as_labelled(policy, findings, self._evaluations.namespace_labels(anew=True))

    def ground(self, policy: Policy) -> Ground:
        """Before a look begins."""
        at = self._clock.now()
        return Ground(
            policy=policy,
            at=at,
            exemptions=self._exemptions(policy, at),
            labels=self._evaluations.namespace_labels(),
            unread_kinds=unread_kinds(policy, self._knowledge.discovery),
        )

    def doubted(self, ground: Ground, findings: Findings) -> list[Uid]:
        """What it chose by exceptions that are others by now, or may have chosen by labels that are; right after the look."""
        policy = ground.policy
        if "Deleting" not in policy.kind:
            # It knows no exceptions, and by labels it was asked in the end.
            return []
        claimed = [found for found in findings.claimed if found.metadata.uid]
        if self._exemptions(policy, ground.at) == ground.exemptions:
            # An expression may look at the Namespace. The look has just read all labels anew.
            before, now = ground.labels or {}, self._evaluations.namespace_labels() or {}
            claimed = [
                found
                for found in claimed
                if before.get(found.metadata.namespace) != now.get(found.metadata.namespace)
            ]
        return [pack_uid(found.metadata.uid) for found in claimed]

    def unread(self, ground: Ground, findings: Findings | None, error: SkoupaError | None) -> Unread:
        """What of it could not be read for something that passes."""
        return Unread.of(
            findings,
            error,
            kinds=ground.unread_kinds,
            labels_may_come=not self._evaluations.labels_refused(),
            at=ground.at,
        )

    def blind_still(self, policy: Policy, unread: Unread) -> bool:
        """Whether to read it again would bring nothing more."""
        known = self._evaluations.namespace_labels() is not None
        return unread.as_before(
            kinds=unread_kinds(policy, self._knowledge.discovery),
            labels=not known and not self._evaluations.labels_refused(),
        )

    def _exemptions(self, policy: Policy, at: float) -> tuple[Exemption, ...]:
        return tuple(one for one in self._book.exemptions if one.concerns(policy, now=at))
