"""PolicyExceptions: what stays though a deleting policy matches it. Reading one is always possible, and on the side of staying.

What can't be understood of one counts as everything that it could mean: policies that nobody can read are all policies, conditions
that nobody can read let everything stay, an end that nobody can read never comes. `problems` say what to write. Whether the
expressions compile is for who evaluates them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from skoupa.errors import UsageError
from skoupa.kinds.policies.deleting import NamedExpression
from skoupa.kinds.policies.exception import ExceptionSpec, PolicyReference
from skoupa.kinds.reading import read_field
from skoupa.policy.policies import Policy

T = TypeVar("T")


class Exemption(msgspec.Struct, frozen=True, kw_only=True):
    """`policies` None is all of them; without expressions everything stays; `until` in seconds since the epoch, None: for good."""

    namespace: str
    name: str
    policies: frozenset[tuple[str, str]] | None = None
    expressions: tuple[NamedExpression, ...] = ()
    until: float | None = None
    problems: tuple[str, ...] = ()

    def concerns(self, policy: Policy, *, now: float) -> bool:
        """Whether it is to be asked about what a policy matches; cleanup policies know no exceptions."""
        return self.is_about(policy) and (self.until is None or now < self.until)

    def is_about(self, policy: Policy) -> bool:
        """At any time."""
        if policy.kind not in {"DeletingPolicy", "NamespacedDeletingPolicy"}:
            return False
        return self.policies is None or (policy.kind, policy.name) in self.policies


def read_exemption(obj: Mapping[str, Any]) -> Exemption:
    """A PolicyException that is in the cluster, whatever it looks like."""
    found, written = obj.get("metadata"), obj.get("spec")
    metadata: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    spec: Mapping[str, Any] = written if isinstance(written, Mapping) else {}
    problems: list[str] = []

    def field(name: str, otherwise: T) -> T:
        value = spec.get(name)
        if value is None:
            return otherwise
        try:
            read: T = read_field(value, ExceptionSpec, name, where=f"spec.{name}")
        except UsageError as error:
            problems.append(str(error))
            return otherwise
        return read

    references: tuple[PolicyReference, ...] | None = field("policyRefs", None)
    if references is None and not problems:
        problems.append("spec.policyRefs is missing: write the policies that it is about")
    expressions: tuple[NamedExpression, ...] = field("matchConditions", ())
    until = field("expiresAt", None)
    return Exemption(
        namespace=str(metadata.get("namespace", "")),
        name=str(metadata.get("name", "")),
        policies=None if references is None else frozenset((one.kind, one.name) for one in references),
        expressions=expressions,
        until=None if until is None else until.timestamp(),
        problems=tuple(problems),
    )
