"""What of a run could not be read for a reason that passes, so that it is read again: lists, calls, kinds, labels of namespaces.

A list that failed is read again after a while, and so is all where a call failed and objects are unclear. Where kinds or labels are
not known nothing is asked of the server: whoever follows those hears when they are, and a reading before that would bring nothing
more. A right that was never granted does not pass: the status tells it. Nor is a wildcard read again of which only some kinds are not
known: a broken API service may last for ever.
"""

from __future__ import annotations

from typing import Self

import msgspec

from skoupa.errors import PASSING, SkoupaError
from skoupa.kube.kinds import Discovery
from skoupa.policy.expansion import expand
from skoupa.policy.policies import Policy
from skoupa.runs.evaluation import UNKNOWN_NAMESPACES
from skoupa.runs.run import Findings


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """`failed`: a list, a call, or all of it. `kinds` are the places whose kinds were not known, where something of the policy may be."""

    failed: bool = False
    kinds: frozenset[str] = frozenset()
    labels: bool = False

    @classmethod
    def of(
        cls,
        findings: Findings | None,
        error: SkoupaError | None,
        *,
        kinds: frozenset[str],
        labels_may_come: bool,
    ) -> Self:
        if findings is None:
            return cls(failed=isinstance(error, PASSING))
        lists = any(isinstance(gap.error, PASSING) for gap in findings.gaps)
        return cls(
            failed=lists or (findings.unanswered and bool(findings.unclear)),
            kinds=kinds,
            labels=UNKNOWN_NAMESPACES in findings.troubles and labels_may_come,
        )

    def __bool__(self) -> bool:
        return self.failed or bool(self.kinds) or self.labels

    def as_before(self, *, kinds: frozenset[str], labels: bool) -> bool:
        """Whether nothing more can be read by now."""
        return not self.failed and self.kinds == kinds and self.labels == labels


def unread_kinds(policy: Policy, discovery: Discovery) -> frozenset[str]:
    """Where the server could not tell its kinds, if something that the policy names means nothing for that."""
    if not discovery.gaps or not expand(policy.subject, discovery).unread:
        return frozenset()
    return frozenset(gap.where for gap in discovery.gaps)
