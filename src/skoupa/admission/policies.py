"""How a ValidatingAdmissionPolicy and its binding are written.

A policy that only warns has failurePolicy Ignore: an error (a policy with Fail then refuses even where its binding only
warns) must never block a write for the sake of a warning. One that denies has Fail: a guard that can't look is no open
door. Every policy here looks only at writes that add or change the TTL label, of every kind but Skoupa's own, and at
status writes too: through those the labels of Pods and Namespaces can be changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from skoupa import names
from skoupa.admission.readings import LABEL_CHANGED, Variable

Manifest = dict[str, Any]

PART_OF: Final = {names.PART_OF_LABEL: names.COMPONENT}
_GROUP_VERSION: Final = "admissionregistration.k8s.io/v1"
# A TTL label on these is ignored by the engine, so there is nothing to check.
_OWN_GROUPS: Final = [names.SKOUPA_GROUP, names.KYVERNO_GROUP, names.KYVERNO_POLICIES_GROUP]


def policy(
    name: str,
    *,
    variables: list[Variable],
    validations: list[Manifest],
    denies: bool,
    parameters: Manifest | None = None,
) -> Iterator[Manifest]:
    """The policy, then its binding. `parameters` is the metadata of the ConfigMap that it reads."""
    spec: Manifest = {
        "failurePolicy": "Fail" if denies else "Ignore",
        "matchConstraints": {
            "objectSelector": {"matchExpressions": [{"key": names.TTL_LABEL, "operator": "Exists"}]},
            "resourceRules": [_rule(["*"])],
            "excludeResourceRules": [_rule(_OWN_GROUPS)],
        },
        "matchConditions": [{"name": "label-added-or-changed", "expression": LABEL_CHANGED}],
        "variables": variables,
        "validations": validations,
    }
    binding: Manifest = {"policyName": name, "validationActions": ["Deny" if denies else "Warn"]}
    if parameters:
        spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
        binding["paramRef"] = {
            "name": parameters["name"],
            "namespace": parameters["namespace"],
            "parameterNotFoundAction": "Deny",
        }
    for kind, body in (("ValidatingAdmissionPolicy", spec), ("ValidatingAdmissionPolicyBinding", binding)):
        metadata = {"name": name, "labels": dict(PART_OF)}
        yield {"apiVersion": _GROUP_VERSION, "kind": kind, "metadata": metadata, "spec": body}


def validation(*, unless: str, message: str, fallback: str) -> Manifest:
    """Speaks where `unless` is false. The server says `fallback` should the message itself fail.

    The server works out every message of a policy, needed or not; the guard before it saves that for good values.
    """
    guarded = f"({unless}) ? '' : ({message})"
    return {"expression": unless, "messageExpression": guarded, "message": fallback, "reason": "Invalid"}


def _rule(groups: list[str]) -> Manifest:
    return {
        "apiGroups": list(groups),
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["*", "*/status"],
    }
