"""How a ValidatingAdmissionPolicy and its binding are written.

A policy that only warns has failurePolicy Ignore: an error (a policy with Fail then refuses even where its binding only
warns) must never block a write for the sake of a warning. One that denies has Fail: a guard that can't look is no open
door. Only one that is about them looks at Skoupa's own kinds. What the server would fill in by itself is written out: it
takes the match constraints as one value, and what differs from it in a default would be a conflict between kubectl and
`--apply`.

Where settings decide whether a policy warns or denies, each has a binding by a name of its own. The actions of one binding are a
set to the server: of two writers each has its own, and Warn beside Deny is refused, so that nothing would deny.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.admission.readings import LABEL_CHANGED, Variable

Manifest = dict[str, Any]

PART_OF: Final = {names.PART_OF_LABEL: names.COMPONENT}
_GROUP_VERSION: Final = "admissionregistration.k8s.io/v1"
# A TTL label on these is ignored by the engine, so there is nothing to check.
_OWN_GROUPS: Final = (
    names.SKOUPA_GROUP,
    names.NAMESPACED_ALIVE_GROUP,
    names.KYVERNO_GROUP,
    names.KYVERNO_POLICIES_GROUP,
)


class Writes(msgspec.Struct, frozen=True, kw_only=True):
    """Which writes a policy looks at: to kinds of any group but Skoupa's own, or of the `groups` alone.

    `left_out` are kinds, by group, that it does not look at besides.

    The server asks `condition` of every write that has the `label`, or of all where there is none.
    """

    name: str
    condition: str
    label: str = ""
    resources: tuple[str, ...]
    left_out: tuple[tuple[str, tuple[str, ...]], ...] = ()
    groups: tuple[str, ...] = ()
    operations: tuple[str, ...] = ("CREATE", "UPDATE")

    def constraints(self) -> Manifest:
        exists = {"matchExpressions": [{"key": self.label, "operator": "Exists"}]}
        constraints = {
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": exists if self.label else {},
            "resourceRules": [_rule(self.groups or ("*",), self.resources, self.operations)],
        }
        excluded = [_rule((group,), resources, self.operations) for group, resources in self.left_out]
        if not self.groups:
            excluded.insert(0, _rule(_OWN_GROUPS, self.resources, self.operations))
        return {**constraints, "excludeResourceRules": excluded} if excluded else constraints


# Status writes too: through those the labels of Pods and Namespaces can be changed.
OF_THE_LABEL: Final = Writes(
    name="label-added-or-changed",
    condition=LABEL_CHANGED,
    label=names.TTL_LABEL,
    resources=("*", "*/status"),
)


def policy(
    name: str,
    *,
    writes: Writes = OF_THE_LABEL,
    variables: list[Variable],
    validations: list[Manifest],
    denies: bool,
    by_settings: bool = False,
    parameters: Manifest | None = None,
) -> Iterator[Manifest]:
    """The policy, then its binding. `parameters` is the metadata of the ConfigMap that it reads.

    `by_settings` says that with other settings it would not deny, or would.
    """
    spec: Manifest = {
        "failurePolicy": "Fail" if denies else "Ignore",
        "matchConstraints": writes.constraints(),
        "matchConditions": [{"name": writes.name, "expression": writes.condition}],
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
    bound = denying(name) if denies and by_settings else name
    for kind, called, body in (
        ("ValidatingAdmissionPolicy", name, spec),
        ("ValidatingAdmissionPolicyBinding", bound, binding),
    ):
        metadata = {"name": called, "labels": dict(PART_OF)}
        yield {"apiVersion": _GROUP_VERSION, "kind": kind, "metadata": metadata, "spec": body}


def denying(name: str) -> str:
    """The binding by which a policy denies that would warn with other settings."""
    return f"{name}-deny"


def validation(*, unless: str, message: str, fallback: str) -> Manifest:
    """Speaks where `unless` is false. The server says `fallback` should the message itself fail.

    The server works out every message of a policy, needed or not; the guard before it saves that for good values.
    """
    guarded = f"({unless}) ? '' : ({message})"
    return {"expression": unless, "messageExpression": guarded, "message": fallback, "reason": "Invalid"}


def _rule(groups: Sequence[str], resources: Sequence[str], operations: Sequence[str]) -> Manifest:
    return {
        "apiGroups": list(groups),
        "apiVersions": ["*"],
        "operations": list(operations),
        "resources": list(resources),
        "scope": "*",
    }
