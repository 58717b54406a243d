"""What a retention policy is about at a moment, counted for its status.

There may be very many objects, and each is judged: a few at a time, so that nobody waits for it. What changes meanwhile is counted the
next time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.retaining.matched import Matched
from skoupa.controller.retaining.policy_book import Entry
from skoupa.controller.retaining.policy_feeds import PolicyFeeds
from skoupa.controller.retaining.policy_status import Counts
from skoupa.controller.retaining.quotas import RESOURCE_QUOTAS
from skoupa.facts.rows import Row
from skoupa.judge.retention import NAME, Evidence
from skoupa.model.verdicts import Verdict
from skoupa.policy.retention.policies import Retention
from skoupa.usage.finishing import Ends, Finish
from skoupa.usage.graph import kind_name
from skoupa.usage.needs import Needed, owner_kind

AT_A_TIME: Final = 200
# Controllers of Kubernetes and others that keep only so many of what they own, by kind of the owner and of what it owns.
_LIMITS: Final = {
    ("batch/CronJob", "batch/Job"): "spec.successfulJobsHistoryLimit and spec.failedJobsHistoryLimit",
    ("apps/Deployment", "apps/ReplicaSet"): "spec.revisionHistoryLimit",
    ("apps/StatefulSet", "apps/ControllerRevision"): "spec.revisionHistoryLimit",
    ("apps/DaemonSet", "apps/ControllerRevision"): "spec.revisionHistoryLimit",
    ("cert-manager.io/Certificate", "cert-manager.io/CertificateRequest"): "spec.revisionHistoryLimit",
}


class Counting:
    """`beside` is how many objects each policy is about that are not followed, by its uid."""

    def __init__(
        self,
        clock: Clock,
        matched: Matched,
        *,
        feeds: PolicyFeeds,
        evidence: Callable[[], Evidence],
        verdict: Callable[[Row, float], Verdict],
        beside: Callable[[], Mapping[str, int]],
        without_quota: Callable[[Retention], str],
        unread_quotas: Callable[[Retention], str],
    ) -> None:
        self._clock = clock
        self._matched = matched
        self._feeds = feeds
        self._evidence = evidence
        self._verdict = verdict
        self._beside = beside
        self._without_quota = without_quota
        self._unread_quotas = unread_quotas

    async def of(self, entry: Entry) -> Counts:
        waiting = owned = held = 0
        coming: list[float] = []
        sooner: Counter[str] = Counter()
        limited: Counter[str] = Counter()
        ties: set[str] = set()
        limiting: set[str] = set()
        rows = [row for row in self._matched.of_policy(entry.uid).values() if not row.deleted_at]
        for number, row in enumerate(rows, 1):
            if number % AT_A_TIME == 0:
                await self._clock.sleep(0.0)
            now = self._clock.now()
            terms = self._matched.terms(row.uid)
            beside = [one for one in terms.by if one.uid != entry.uid] if terms is not None else []
            ties.update(one.called for one in beside)
            limiting.update(one.called for one in beside if one.limit is not None)
            need = self._evidence().needs(row)
            if isinstance(need, Needed) and need.needs and need.needs[0].how == "owner":
                owned += 1
            if self._is_over(row):
                limited.update(_limits_of(row))
            found = self._verdict(row, now)
            sooner.update(dict(note.facts)["path"] for note in found.notes if note.code == "goes-sooner")
            claim = next((one for one in found.claims if one.mechanism == NAME), None)
            if claim is None:
                continue
            if claim.due > now:
                waiting += 1
                coming.append(claim.due)
            elif found.holds:
                held += 1
        return Counts(
            matched=len(rows) + self._beside().get(entry.uid, 0),
            waiting=waiting,
            held_by_owners=owned,
            held=held,
            overridden=self._matched.overridden(entry.uid),
            next_time=min(coming, default=None),
            sooner=tuple(sorted(sooner.items())),
            limited=tuple(sorted(limited.items())),
            ties=tuple(sorted(ties)),
            limiting=tuple(sorted(limiting)),
            without_quota=self._without_quota(entry.policy) if entry.policy is not None else "",
            unread=self._unread(entry),
        )

    def _is_over(self, row: Row) -> bool:
        """Limits of owners are about what has ended, where it ends at all."""
        evidence = self._evidence()
        return evidence.ends(row) is Ends.NEVER or isinstance(evidence.finish(row), Finish)

    def _unread(self, entry: Entry) -> tuple[str, ...]:
        """What it is about and can't be seen."""
        policy = entry.policy
        if policy is None:
            return ()
        found = {
            f"{kind.qualified}: {why}"
            for kind in self._feeds.kinds()
            if self._matched.may_be_about(policy, kind)
            and (why := self._feeds.unread(kind, policy.namespace))
        }
        if why := self._unread_quotas(policy):
            found.add(f"{RESOURCE_QUOTAS.qualified}: {why}")
        return tuple(sorted(found))


def _limits_of(row: Row) -> set[str]:
    kind, found = kind_name(row.resource), set()
    for owner in row.owners:
        limit = _LIMITS.get((owner_kind(owner), kind))
        if limit is not None:
            found.add(f"{limit} of their {owner.kind}")
    return found
