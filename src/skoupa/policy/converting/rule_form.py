"""The form of seed 004: a ClusterPolicy or Policy with rules that have `cleanup`. Each such rule becomes a policy of its own.

Match, exclude, context and conditions are taken as they are written; preconditions are conditions here. What is no part of cleanup is
left out with a remark, never silently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from skoupa import names
from skoupa.kube.kinds import Discovery
from skoupa.policy.converting.conversion import Converted
from skoupa.policy.converting.metadata import kept_metadata
from skoupa.policy.reading import read_policy

_KINDS: Final = {
    "ClusterPolicy": names.CLUSTER_CLEANUP_POLICY_KIND,
    "Policy": names.CLEANUP_POLICY_KIND,
}
_API_VERSION: Final = f"{names.KYVERNO_GROUP}/v2"
_TAKEN: Final = ("name", "match", "exclude", "context", "preconditions", "cleanup")
_TWO_CHOICES: Final = (
    "its preconditions and its conditions both have `any`, and one policy has room for one; write them as one"
)
_NO_NAME: Final = re.compile("[^a-z0-9.-]+")


def has_rules(obj: Mapping[str, Any]) -> bool:
    """Whether it is such a policy; one without any cleanup is somebody else's."""
    return obj.get("kind") in _KINDS and any("cleanup" in rule for rule in _rules(obj))


def policies_of(obj: Mapping[str, Any], discovery: Discovery) -> Iterator[Converted]:
    """One policy for each rule with `cleanup`; remarks of a rule stand with its policy."""
    names_seen: set[str] = set()
    left_out = [str(rule.get("name") or "?") for rule in _rules(obj) if "cleanup" not in rule]
    for index, rule in enumerate(rule for rule in _rules(obj) if "cleanup" in rule):
        name = _name(obj, rule, index, names_seen)
        body, remarks = _policy(obj, rule, name)
        if not index and left_out:
            remarks.append(f"these rules have no cleanup and are left out: {', '.join(left_out)}")
        if body is None:
            yield Converted(body=None, remarks=tuple(remarks))
            continue
        reading = read_policy(body, discovery=discovery)
        remarks += (f"`skoupa check` says: {problem}" for problem in (*reading.problems, *reading.warnings))
        yield Converted(body=body, remarks=tuple(remarks), changed=True)


def _policy(
    obj: Mapping[str, Any], rule: Mapping[str, Any], name: str
) -> tuple[dict[str, Any] | None, list[str]]:
    remarks = [
        f"{field} of the rule means nothing to a cleanup and is left out"
        for field in rule
        if field not in _TAKEN
    ]
    cleanup = rule["cleanup"] if isinstance(rule["cleanup"], Mapping) else {}
    remarks += (
        f"cleanup.{field} is not known and left out"
        for field in cleanup
        if field not in {"schedule", "conditions"}
    )
    spec: dict[str, Any] = {}
    if "schedule" in cleanup:
        spec["schedule"] = cleanup["schedule"]
    spec |= {field: rule[field] for field in ("match", "exclude", "context") if rule.get(field)}
    conditions = _joined(rule.get("preconditions"), cleanup.get("conditions"))
    if conditions is None:
        return None, [f"rule {name} is left out: {_TWO_CHOICES}"]
    if conditions:
        spec["conditions"] = conditions
    metadata = {**kept_metadata(obj.get("metadata") or {}), "name": name}
    return {
        "apiVersion": _API_VERSION,
        "kind": _KINDS[str(obj["kind"])],
        "metadata": metadata,
        "spec": spec,
    }, remarks


def _joined(before: Any, conditions: Any) -> dict[str, Any] | None:
    """Both have to hold; None where one policy can't say that."""
    parts = [part for part in (before, conditions) if isinstance(part, Mapping) and any(part.values())]
    if len(parts) == 1:
        return dict(parts[0])
    choices = [part["any"] for part in parts if part.get("any")]
    if len(choices) > 1:
        return None
    every = [one for part in parts for one in part.get("all") or ()]
    return {**({"any": choices[0]} if choices else {}), **({"all": every} if every else {})}


def _name(obj: Mapping[str, Any], rule: Mapping[str, Any], index: int, seen: set[str]) -> str:
    above = str((obj.get("metadata") or {}).get("name") or "cleanup")
    name = _NO_NAME.sub("-", str(rule.get("name") or f"{above}-{index + 1}").lower()).strip("-.")
    while name in seen or not name:
        name = f"{name or above}-{index + 1}"
    seen.add(name)
    return name


def _rules(obj: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    spec = obj.get("spec")
    rules = spec.get("rules") if isinstance(spec, Mapping) else None
    return [rule for rule in rules if isinstance(rule, Mapping)] if isinstance(rules, list) else []
