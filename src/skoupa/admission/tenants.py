"""A policy for the API server: while what a deleted Tenant had is going, nothing new comes under its names.

What comes all the same is found and goes too; so an error in this policy must never stand in anybody's way (failurePolicy Ignore), nor
may the kind Tenant being away. Who finishes things in the cluster (its own controllers, machines, Skoupa) is not asked. It counts once
the status of the Tenant says that its deletion is under way: one that was refused freezes nothing. The server looks through all Tenants that the
binding selects whenever anything is made, so it selects those that are marked as leaving, and none that live.
"""

from __future__ import annotations

from typing import Final

from skoupa import names
from skoupa.admission.cel import literal
from skoupa.admission.policies import PART_OF, Manifest
from skoupa.admission.readings import variable
from skoupa.kinds.tenant import LEAVING_MARK, TENANTS
from skoupa.settings import Settings

LEAVING_TENANTS: Final = "skoupa-leaving-tenants"
_GROUP_VERSION: Final = "admissionregistration.k8s.io/v1"
_GROUPS: Final = "['system:serviceaccounts:kube-system', 'system:nodes']"
_DEFINES: Final = "request.kind.kind in ['CustomResourceDefinition', 'APIService']"


def tenant_admission(settings: Settings) -> tuple[Manifest, ...]:
    """For an installation; an observer refuses nobody anything, and without names there is nothing to see here."""
    by_name = settings.tenants.by_name and settings.features.tenants
    if not by_name or settings.namespaces or settings.mode != "enforce":
        return ()
    return _policy(settings.tenants.separator, home=settings.lease.namespace)


def _policy(separator: str, *, home: str) -> tuple[Manifest, ...]:
    account = literal(f"system:serviceaccount:{home}:{names.COMPONENT}")
    asked = (
        f"request.userInfo.?username.orValue('') != {account} && "
        f"!request.userInfo.?groups.orValue([]).exists(g, g in {_GROUPS})"
    )
    name = "object.metadata.?name.orValue(object.metadata.?generateName.orValue(''))"
    place = f"request.?namespace.orValue('') != '' ? request.namespace : {name}"
    told = (
        "'the Tenant ' + params.metadata.name + ' is being deleted, and ' + variables.prefix + '… means what was its: nothing new '"
        " + 'comes there until it is gone (kubectl get tenant ' + params.metadata.name + ')'"
    )
    fallback = "its Tenant is being deleted: nothing new comes under its names until it is gone"
    spec: Manifest = {
        "failurePolicy": "Ignore",
        "paramKind": {"apiVersion": TENANTS.api_version, "kind": TENANTS.kind},
        "matchConstraints": {
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {},
            "resourceRules": [
                {
                    "apiGroups": ["*"],
                    "apiVersions": ["*"],
                    "operations": ["CREATE"],
                    "resources": ["*"],
                    "scope": "*",
                }
            ],
        },
        "matchConditions": [{"name": "of-people", "expression": asked}],
        "variables": [
            variable("prefix", f"params.metadata.name + {literal(separator)}"),
            variable("leaving", "params.?status.?phase.orValue('') in ['Deleting', 'Verifying']"),
            variable("group", f"{_DEFINES} ? string(object.spec.?group.orValue('')) : request.kind.group"),
            variable("place", place),
        ],
        "validations": [
            {
                "expression": "!variables.leaving || !(variables.place.startsWith(variables.prefix) || "
                "variables.group.startsWith(variables.prefix))",
                "messageExpression": told,
                "message": fallback,
                "reason": "Forbidden",
            }
        ],
    }
    binding: Manifest = {
        "policyName": LEAVING_TENANTS,
        "paramRef": {
            "selector": {"matchLabels": {names.LEAVING_LABEL: LEAVING_MARK}},
            "parameterNotFoundAction": "Allow",
        },
        "validationActions": ["Deny"],
    }
    return tuple(
        {
            "apiVersion": _GROUP_VERSION,
            "kind": kind,
            "metadata": {"name": LEAVING_TENANTS, "labels": dict(PART_OF)},
            "spec": body,
        }
        for kind, body in (
            ("ValidatingAdmissionPolicy", spec),
            ("ValidatingAdmissionPolicyBinding", binding),
        )
    )
