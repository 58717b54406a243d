"""The head of a manifest: whether it is a policy at all, and in a version that is known."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

from skoupa import names
from skoupa.expr.readings import quoted
from skoupa.kinds.definition import Definition
from skoupa.kinds.policies.cleanup import CLEANUP_POLICY, CLUSTER_CLEANUP_POLICY
from skoupa.kinds.policies.deleting import DELETING_POLICY, NAMESPACED_DELETING_POLICY
from skoupa.policy.problems import Problem

POLICY_KINDS: Final[dict[str, Definition]] = {
    definition.kind: definition
    for definition in (CLEANUP_POLICY, CLUSTER_CLEANUP_POLICY, DELETING_POLICY, NAMESPACED_DELETING_POLICY)
}
_RULE_FORM: Final = frozenset({"ClusterPolicy", "Policy"})


def definition_of(obj: Mapping[str, Any]) -> Definition | Problem:
    """The kind of policy that an object is, or why it is none."""
    kind = str(obj.get("kind") or "")
    definition = POLICY_KINDS.get(kind)
    if definition is None:
        return _no_policy(obj, kind)
    return version_problem(obj, definition) or definition


def version_problem(obj: Mapping[str, Any], definition: Definition) -> Problem | None:
    """What is wrong where an object of this kind names a version that nobody knows."""
    kind, version = definition.kind, str(obj.get("apiVersion") or "")
    known = [f"{definition.group}/{each.name}" for each in definition.versions]
    if version in known:
        return None
    group, _, _ = version.rpartition("/")
    what = f"there is no {kind} in {quoted(version)}" if version else "it is missing"
    instead = f"write {definition.group}/{definition.storage.name}"
    if group == definition.group and known[1:]:
        instead += f"; also known are {', '.join(known[1:])}"
    return Problem(path="apiVersion", what=what, instead=instead)


def _no_policy(obj: Mapping[str, Any], kind: str) -> Problem:
    if kind in _RULE_FORM and _has_cleanup_rules(obj):
        what = "cleanup rules inside of a policy are the form of a proposal, and nobody runs them"
        instead = f"`skoupa convert` makes a {names.CLUSTER_CLEANUP_POLICY_KIND} of each rule"
        return Problem(path="spec.rules", what=what, instead=instead)
    near = difflib.get_close_matches(kind, POLICY_KINDS, n=1)
    instead = f"did you mean {near[0]}?" if near else f"there are {', '.join(POLICY_KINDS)}"
    what = f"{quoted(kind)} is no kind of policy that deletes" if kind else "it is missing"
    return Problem(path="kind", what=what, instead=instead)


def _has_cleanup_rules(obj: Mapping[str, Any]) -> bool:
    spec = obj.get("spec")
    rules = spec.get("rules") if isinstance(spec, Mapping) else None
    return isinstance(rules, list) and any(isinstance(rule, Mapping) and "cleanup" in rule for rule in rules)
