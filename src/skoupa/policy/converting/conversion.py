"""A manifest in its newer form, with what its reader has to know as remarks.

A CleanupPolicy becomes a DeletingPolicy only as a whole: a condition that can't be said leaves the policy as it was. The rules of seed 004
become policies one by one. Other objects are left as they are. What comes out is valid whenever what went in was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.kube.kinds import Discovery
from skoupa.policy.converting.comparisons import conditions
from skoupa.policy.converting.matching import matching
from skoupa.policy.converting.metadata import kept_metadata
from skoupa.policy.converting.wording import Unsaid
from skoupa.policy.headings import definition_of
from skoupa.policy.policies import Policy
from skoupa.policy.problems import Problem
from skoupa.policy.reading import read_policy

_CLEANUP: Final = {
    names.CLEANUP_POLICY_KIND: names.NAMESPACED_DELETING_POLICY_KIND,
    names.CLUSTER_CLEANUP_POLICY_KIND: names.DELETING_POLICY_KIND,
}
_API_VERSION: Final = f"{names.KYVERNO_POLICIES_GROUP}/v1"
_BOTH: Final = "both would delete while both are applied: delete the {kind} when this is applied"


class Converted(msgspec.Struct, frozen=True, kw_only=True):
    """`changed` False: the object stays as it was, and `remarks` say why; without a body there is only the remark."""

    body: Mapping[str, Any] | None
    remarks: tuple[str, ...] = ()
    changed: bool = False


def converted(obj: Mapping[str, Any], discovery: Discovery) -> Converted:
    """A CleanupPolicy as a DeletingPolicy, where that can be said."""
    definition = definition_of(obj)
    if isinstance(definition, Problem) or definition.kind not in _CLEANUP:
        return Converted(body=obj)
    reading = read_policy(obj, discovery=discovery)
    if reading.policy is None:
        problems = tuple(str(problem) for problem in reading.problems)
        return Converted(body=obj, remarks=("left as it is, for it would not run:", *problems))
    try:
        return _deleting(obj, reading.policy, discovery)
    except Unsaid as unsaid:
        reason = f"left as it is, for this can't be said in CEL: {unsaid}"
        return Converted(body=obj, remarks=(reason,))


def _deleting(obj: Mapping[str, Any], policy: Policy, discovery: Discovery) -> Converted:
    made = matching(policy.subject, discovery)
    expressions = [*made.expressions, *conditions(policy.clauses.comparisons)]
    remarks = [_BOTH.format(kind=policy.kind), *made.remarks]
    if policy.clauses.context:
        dropped = ", ".join(entry.name for entry in policy.clauses.context)
        remarks.append(f"no condition looks at the context {dropped}, so it is left out")
    written = obj["spec"]
    spec = {
        "schedule": written["schedule"],
        "matchConstraints": made.constraints,
        **(
            {"conditions": [{"name": name, "expression": text} for name, text in expressions]}
            if expressions
            else {}
        ),
    }
    if written.get("deletionPropagationPolicy") is not None:
        spec["deletionPropagationPolicy"] = written["deletionPropagationPolicy"]
    body = {
        "apiVersion": _API_VERSION,
        "kind": _CLEANUP[policy.kind],
        "metadata": kept_metadata(obj["metadata"]),
        "spec": spec,
    }
    return Converted(body=body, remarks=tuple(remarks), changed=True)
