"""What Skoupa's own account may change on a policy: the annotation that says when it runs next, and nothing else.

A role can't say that: `patch` on policies is all of them or none, and who can write a policy can have it delete. So the API server
is told, and whoever holds the controller's token can't turn a policy into another. Also here: how a write of that annotation alone
is recognised, which concerns no policy and no webhook.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa import names
from skoupa.admission.cel import literal
from skoupa.admission.policies import Manifest, Writes, policy, validation

OWN_MARKS: Final = "skoupa-policy-marks"

_GROUPS: Final = (names.KYVERNO_GROUP, names.KYVERNO_POLICIES_GROUP)
_RESOURCES: Final = (
    "cleanuppolicies",
    "clustercleanuppolicies",
    "deletingpolicies",
    "namespaceddeletingpolicies",
)
_MARK: Final = literal(names.NEXT_EXECUTION_ANNOTATION)
_NOW, _WAS = (f"{one}.metadata.?annotations.orValue({{}})" for one in ("object", "oldObject"))
_ANNOTATIONS_KEPT: Final = (
    f"{_NOW}.all(k, k == {_MARK} || (k in {_WAS} && {_WAS}[k] == {_NOW}[k])) && "
    f"{_WAS}.all(k, k == {_MARK} || k in {_NOW})"
)
_SPEC_KEPT: Final = "object.?spec == oldObject.?spec"
# Nothing is read from labels, but whoever writes there what belongs into annotations is to hear of it.
_LABELS_KEPT: Final = "object.metadata.?labels == oldObject.metadata.?labels"
_REST: Final = ("labels", "finalizers", "ownerReferences")

# A write that is no more than that annotation tells nothing about the policy.
SAYS_SOMETHING: Final = f"oldObject == null || !({_SPEC_KEPT}) || !({_LABELS_KEPT}) || !({_ANNOTATIONS_KEPT})"


def own_marks(home: str) -> Iterator[Manifest]:
    """Policy and binding; `home` is the namespace that Skoupa lives in."""
    account = literal(f"system:serviceaccount:{home}:{names.COMPONENT}")
    kept = " && ".join(f"object.metadata.?{field} == oldObject.metadata.?{field}" for field in _REST)
    message = f"Skoupa changes nothing on a policy but the annotation {names.NEXT_EXECUTION_ANNOTATION}"
    return policy(
        OWN_MARKS,
        writes=Writes(
            name="by-skoupa",
            condition=f"request.userInfo.?username.orValue('') == {account}",
            resources=_RESOURCES,
            groups=_GROUPS,
        ),
        variables=[],
        validations=[
            validation(
                unless=f"oldObject != null && {_SPEC_KEPT} && {_ANNOTATIONS_KEPT} && {kept}",
                message=literal(message),
                fallback=message,
            )
        ],
        denies=True,
    )
