"""Policies that guard Alive, by the API server alone: no Skoupa has to run, and there is no webhook.

The deletion (also by a collection, and that of its definition or Namespace, which would take it along) needs the verb `signal` and a
confirmation that names the uid: rights to delete everything are not enough, and a manifest that was copied confirms nothing. What may be
written on it is in `alive_changes`. Whoever may delete these policies may defeat them: the condition `Protected` tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa import names
from skoupa.admission.alive_changes import changes, may_signal
from skoupa.admission.cel import literal, sentence
from skoupa.admission.policies import Manifest, Writes, policy
from skoupa.admission.readings import variable
from skoupa.kinds.alive import (
    ALIVE,
    CHANGES_GUARD,
    DEFINITION_GUARD,
    DELETION_GUARD,
    NAMESPACED_ALIVE,
    STANDSTILL,
)
from skoupa.kinds.definition import Definition
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from skoupa.settings import Settings

NAMESPACE: Final = "skoupa-alive-namespace"

_CONFIRMATION: Final = f"metadata.?annotations[?{literal(names.CONFIRM_DELETION_ANNOTATION)}]"
# Its deletion was confirmed, and the controller that empties it can't confirm anything more.
_NAMESPACE_GOES: Final = "namespaceObject != null && has(namespaceObject.metadata.deletionTimestamp)"
_VERSION: Final = "admissionregistration.k8s.io/v1"


def alive_admission(settings: Settings) -> tuple[Manifest, ...]:
    """Whatever the mode: they concern nothing but Alive, until somebody wishes that nothing new is made while it goes."""
    if not settings.features.alive or settings.namespaces:
        return ()
    return tuple(guarding(ALIVE, home=settings.lease.namespace))


def guarding(definition: Definition, *, home: str, namespace: str = "") -> Iterator[Manifest]:
    """Policies and bindings for one form of Alive; `home` is where Skoupa lives, `namespace` that of the namespaced form."""
    end = f"-{namespace}" if namespace else ""
    yield from _deletion(
        DELETION_GUARD + end,
        definition,
        namespace=namespace,
        resources=(definition.plural,),
        group=definition.group,
        condition="request.operation == 'DELETE'",
        what="Alive",
        command=f"kubectl annotate {definition.name} {names.ALIVE_NAME}{f' -n {namespace}' if namespace else ''}",
        advice=f": run `skoupa alive delete{f' -n {namespace}' if namespace else ''}`, or",
        decided=_NAMESPACE_GOES if namespace else "false",
        preserves="oldObject != null && oldObject.?spec.?deletionPolicy.orValue('Signal') != 'Signal'",
    )
    yield from changes(CHANGES_GUARD + end, definition, home=home, namespace=namespace)
    yield from _deletion(
        DEFINITION_GUARD + end,
        definition,
        namespace=namespace,
        resources=(CUSTOM_RESOURCE_DEFINITIONS.plural,),
        group=CUSTOM_RESOURCE_DEFINITIONS.group,
        condition=f"oldObject == null || oldObject.metadata.name == {literal(definition.name)}",
        what=f"the definition {definition.name}",
        command=f"kubectl annotate crd {definition.name}",
    )
    if namespace:
        yield from _deletion(
            NAMESPACE + end,
            definition,
            namespace=namespace,
            resources=("namespaces",),
            group="",
            condition=f"oldObject == null || oldObject.metadata.name == {literal(namespace)}",
            what=f"the Namespace {namespace}",
            command=f"kubectl annotate namespace {namespace}",
        )
    yield from _standstill(STANDSTILL + end, definition, namespace=namespace)


def _deletion(
    name: str,
    definition: Definition,
    *,
    namespace: str,
    resources: tuple[str, ...],
    group: str,
    condition: str,
    what: str,
    command: str,
    advice: str = ":",
    decided: str = "false",
    preserves: str = "",
) -> Iterator[Manifest]:
    """`decided` holds where somebody who may has told everybody already, and this comes of it; `preserves` where nobody is to be told."""
    uid = "oldObject == null ? 'its uid' : oldObject.metadata.uid"
    right = f"the verb {names.SIGNAL_VERB} on {definition.name}"
    variables = [
        may_signal(definition, namespace),
        variable("decided", decided),
        variable(
            "confirmed",
            f"oldObject != null && oldObject.{_CONFIRMATION}.orValue('') == oldObject.metadata.uid",
        ),
    ]
    told = (
        f"deleting {what} tells everybody in this cluster that it is about to die, and has to be confirmed before{advice} {command} "
        f"{names.CONFIRM_DELETION_ANNOTATION}={{uid}}"
    )
    validations = [
        {
            "expression": "variables.decided || variables.maySignal",
            "messageExpression": sentence(
                f"deleting {what} tells everybody in this cluster that it is about to die, and {{user}} may not: ask for {right}",
                user="request.userInfo.?username.orValue('')",
            ),
            "message": f"who deletes {what} needs {right}",
            "reason": "Forbidden",
        },
        *([_preserving(preserves, what=what)] if preserves else ()),
        {
            "expression": "variables.decided || variables.confirmed",
            "messageExpression": sentence(told, uid=uid),
            "message": f"the deletion of {what} has to be confirmed before",
            "reason": "Forbidden",
        },
    ]
    writes = Writes(
        name="told-to-die",
        condition=condition,
        resources=resources,
        groups=(group,),
        operations=("DELETE",),
    )
    return policy(name, writes=writes, variables=variables, validations=validations, denies=True)


def _preserving(preserves: str, *, what: str) -> Manifest:
    return {
        "expression": f"variables.decided || !({preserves})",
        "message": (
            f"spec.deletionPolicy of {what} is not Signal: nobody is told that this cluster is about to die, and what participants own "
            "elsewhere outlives it; write Signal there first where they are to clean up"
        ),
        "reason": "Forbidden",
    }


def _standstill(name: str, definition: Definition, *, namespace: str) -> Iterator[Manifest]:
    """Only where `spec.blockCreation` says so, and only while it goes.

    It is a help and no guard: where Alive or its definition is gone nobody is kept from making a Service.
    """
    balancer = "LoadBalancer"
    asks = f"object.spec.?type.orValue('') == '{balancer}'"
    had = f"(oldObject != null && oldObject.spec.?type.orValue('') == '{balancer}')"
    message = "this cluster is about to die, and spec.blockCreation of its Alive wants nothing to be made that has to be cleaned up again"
    rules = [
        _rule("", ("services",), ("CREATE", "UPDATE")),
        _rule("", ("persistentvolumeclaims",), ("CREATE",)),
        _rule("networking.k8s.io", ("ingresses",), ("CREATE",)),
    ]
    spec: Manifest = {
        "failurePolicy": "Ignore",
        "paramKind": {"apiVersion": f"{definition.group}/{definition.storage.name}", "kind": definition.kind},
        "matchConstraints": {
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {},
            "resourceRules": rules,
        },
        "matchConditions": [
            {
                "name": "costs-something-elsewhere",
                "expression": f"request.resource.resource != 'services' || ({asks} && !{had})",
            }
        ],
        "validations": [
            {
                "expression": "!has(params.metadata.deletionTimestamp) || !params.spec.?blockCreation.orValue(false)",
                "message": message,
                "reason": "Forbidden",
            }
        ],
    }
    reference = {"name": names.ALIVE_NAME, "parameterNotFoundAction": "Allow"}
    if namespace:
        reference["namespace"] = namespace
    binding: Manifest = {"policyName": name, "validationActions": ["Deny"], "paramRef": reference}
    for kind, body in (("ValidatingAdmissionPolicy", spec), ("ValidatingAdmissionPolicyBinding", binding)):
        metadata = {"name": name, "labels": {names.PART_OF_LABEL: names.COMPONENT}}
        yield {"apiVersion": _VERSION, "kind": kind, "metadata": metadata, "spec": body}


def _rule(group: str, resources: tuple[str, ...], operations: tuple[str, ...]) -> Manifest:
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": list(operations),
        "resources": list(resources),
        "scope": "*",
    }


# The form of the seed: `Alive` in this namespace.
SEED_NAMESPACE: Final = "openshift-config"


def namespaced_admission(*, home: str) -> tuple[Manifest, ...]:
    return tuple(guarding(NAMESPACED_ALIVE, home=home, namespace=SEED_NAMESPACE))
