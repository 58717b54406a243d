"""A policy as it counts, once it has been read: what it is about, what must hold besides, when it runs, and how.

A value: everything that runs, plans or explains a policy starts from it. Expressions stand in it as they were written; what
they mean is for who evaluates them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from skoupa.expr.schedules import Schedule
from skoupa.kinds.policies.context import ContextEntry
from skoupa.kinds.policies.deleting import NamedExpression
from skoupa.kinds.policies.scheduling import Propagation
from skoupa.policy.match import Subject

Kind = Literal["CleanupPolicy", "ClusterCleanupPolicy", "DeletingPolicy", "NamespacedDeletingPolicy"]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What the annotations of a policy say; 0 and empty are nothing said."""

    suspended: bool = False
    missed_runs: Literal["Once", "Skip"] = "Once"
    max_deletions: int = 0
    observe_seconds: int = 0
    service_account: str = ""
    notice_seconds: int = 0
    notify: str = ""


class Clauses(msgspec.Struct, frozen=True, kw_only=True):
    """What must hold besides the match: `comparisons` and `context` in a CleanupPolicy, the others (CEL) in a DeletingPolicy.

    `comparisons` is `spec.conditions` as it stands in the manifest.
    """

    namespace: str = ""
    comparisons: Mapping[str, Any] = {}
    context: tuple[ContextEntry, ...] = ()
    expressions: tuple[NamedExpression, ...] = ()
    variables: tuple[NamedExpression, ...] = ()

    @property
    def empty(self) -> bool:
        return not self.expressions and not any(self.comparisons.get(mode) for mode in ("any", "all"))


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """`created` is in seconds since the epoch, None where the object was never in a cluster."""

    kind: Kind
    namespace: str
    name: str
    uid: str = ""
    generation: int = 0
    created: float | None = None
    subject: Subject
    clauses: Clauses = Clauses()
    schedule: Schedule
    propagation: Propagation = "Background"
    options: Options = Options()

    @property
    def called(self) -> str:
        """As Brakes and messages name it."""
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)
