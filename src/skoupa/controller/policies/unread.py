"""What of a run could not be read for a reason that passes, so that it is read again: lists, calls, kinds, labels of namespaces.

A list that failed is read again after a while, and so is all where a call failed and objects are unclear. What comes after the first
reading waits for the next tick, and so does, where all could be read, what first matches later. Where kinds or labels are not known nothing is asked of the server: whoever follows those hears when they are, and a reading before that would bring nothing
more. A right that was never granted does not pass: the status tells it. Nor is a wildcard read again of which only some kinds are not
known: a broken API service may last for ever.
"""

from __future__ import annotations

from typing import Self

import msgspec

from skoupa.errors import PASSING, SkoupaError
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import Metadata
from skoupa.policy.expansion import expand
from skoupa.policy.policies import Policy
from skoupa.runs.evaluation import UNKNOWN_NAMESPACES
from skoupa.runs.run import Findings, about


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """`failed`: a list, a call, or all of it. `kinds` is what the policy names that may mean kinds which were not known.

    `at` is when the tick was first read; `among`, once all could be read, are those that matched or were unclear then.
    """

    failed: bool = False
    kinds: frozenset[str] = frozenset()
    labels: bool = False
    at: float = 0.0
    among: frozenset[str] | None = None

    @classmethod
    def of(
        cls,
        findings: Findings | None,
        error: SkoupaError | None,
        *,
        kinds: frozenset[str],
        labels_may_come: bool,
        at: float,
    ) -> Self:
        if findings is None:
            return cls(failed=isinstance(error, PASSING), at=at)
        lists = any(isinstance(gap.error, PASSING) for gap in findings.gaps)
        labels = UNKNOWN_NAMESPACES in findings.troubles and labels_may_come
        found = (one.metadata.uid for one in (*findings.claimed, *findings.unclear))
        return cls(
            failed=lists or (findings.unanswered and bool(findings.unclear)),
            kinds=kinds,
            labels=labels,
            at=at,
            among=None if lists or kinds or labels else frozenset(found),
        )

    def after(self, before: Unread | None) -> Unread:
        """As it is for the reading after this one, which was itself one after `before`."""
        if before is None:
            return self
        among = before.among if before.among is not None else self.among
        return msgspec.structs.replace(self, at=before.at, among=among)

    def narrowed(self, findings: Findings) -> Findings:
        """What of a reading again is for this tick."""
        found = (*findings.claimed, *findings.unclear, *findings.spared)
        return about(findings, {one.metadata.uid for one in found if self._is_for(one.metadata)})

    def _is_for(self, metadata: Metadata) -> bool:
        created = metadata.creation_timestamp
        if created is not None and created.timestamp() > self.at:
            return False
        return self.among is None or metadata.uid in self.among

    def __bool__(self) -> bool:
        return self.failed or bool(self.kinds) or self.labels

    def as_before(self, *, kinds: frozenset[str], labels: bool) -> bool:
        """Whether nothing more can be read by now."""
        return not self.failed and self.kinds == kinds and self.labels == labels


def unread_kinds(policy: Policy, discovery: Discovery) -> frozenset[str]:
    """What the policy names that means nothing, maybe only because the server could not tell all of its kinds."""
    return expand(policy.subject, discovery).unread if discovery.gaps else frozenset()
