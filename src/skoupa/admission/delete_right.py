"""The policies for `ttl.requireDeleteRight`: who lets an object go must be allowed to delete it.

That is who sets its TTL label or that of `ttl-after`, and who takes back what puts its end off: a keep label removed or shortened, a
refresh removed or set back. Of objects without a TTL nothing is asked, nor of what keeps an object from outside, as the keep
label of its Namespace does. Nothing here may rest on what a client can forge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from skoupa import names
from skoupa.admission.cel import literal, matches, sentence
from skoupa.admission.grammar import TIME
from skoupa.admission.policies import Manifest, Writes, policy
from skoupa.admission.readings import (
    LABEL_CHANGED,
    Variable,
    created,
    label_changed,
    refresh,
    refreshed,
    variable,
)

DELETE_RIGHT_POLICY: Final = "skoupa-ttl-delete-right"
TTL_AFTER_RIGHT_POLICY: Final = "skoupa-ttl-after-delete-right"

_TTL: Final = f"metadata.?labels[?{literal(names.TTL_LABEL)}]"
_TTL_AFTER: Final = f"metadata.?labels[?{literal(names.TTL_AFTER_LABEL)}]"
_TTL_AFTER_CHANGED: Final = label_changed(names.TTL_AFTER_LABEL)
_KEEP: Final = f"metadata.?labels[?{literal(names.KEEP_LABEL)}]"
_REFRESHED: Final = f"metadata.?annotations[?{literal(names.REFRESHED_AT_ANNOTATION)}]"
_WAY_TO_STAY_CHANGED: Final = (
    f"(object.{_TTL}.hasValue() && oldObject != null && "
    f"(object.{_KEEP} != oldObject.{_KEEP} || object.{_REFRESHED} != oldObject.{_REFRESHED}))"
)
_SET: Final = "set {key} on it: leave the label out"
_KEEP_LESS: Final = "remove or shorten {key} on it: leave it as it is"


def delete_right_policy() -> Iterator[Manifest]:
    refreshed_less = _validation(
        "variables.refreshedLess",
        "remove {key} from it or set it back: leave it as it is",
        names.REFRESHED_AT_ANNOTATION,
    )
    return _policy(
        DELETE_RIGHT_POLICY,
        names.TTL_LABEL,
        changed=LABEL_CHANGED,
        stays_otherwise=_WAY_TO_STAY_CHANGED,
        variables=_variables(),
        more=[refreshed_less],
    )


def ttl_after_right_policy() -> Iterator[Manifest]:
    """The same for `skoupa.dev/ttl-after`, also while nobody goes by it: it is there when the feature is switched on."""
    kept = f"(object.{_TTL_AFTER}.hasValue() && oldObject != null && object.{_KEEP} != oldObject.{_KEEP})"
    return _policy(
        TTL_AFTER_RIGHT_POLICY,
        names.TTL_AFTER_LABEL,
        changed=_TTL_AFTER_CHANGED,
        stays_otherwise=kept,
        variables=_keeping(),
    )


def _policy(
    name: str,
    label: str,
    *,
    changed: str,
    stays_otherwise: str,
    variables: list[Variable],
    more: Sequence[Manifest] = (),
) -> Iterator[Manifest]:
    """`changed`: the label is set by this write; `stays_otherwise`: what puts the end off is another."""
    writes = Writes(
        name="label-added-or-changed",
        condition=f"({changed}) || {stays_otherwise}",
        label=label,
        # Status writes too: through those the labels of Pods and Namespaces can be changed.
        resources=("*", "*/status"),
    )
    validations = [
        _validation(f"({changed})", _SET, label),
        _validation("variables.keepsLess", _KEEP_LESS, names.KEEP_LABEL),
        *more,
    ]
    return policy(name, writes=writes, variables=variables, validations=validations, denies=True)


def _variables() -> list[Variable]:
    was, now = "variables.wasRefreshed", "variables.isRefreshed"
    return [
        *_keeping(),
        created(),
        variable("wasRefreshed", f"oldObject == null ? '' : {refreshed('oldObject')}"),
        variable("isRefreshed", refreshed("object")),
        variable("refreshedLess", f"{refresh(was)} > [variables.created, {refresh(now)}].max()"),
    ]


def _keeping() -> list[Variable]:
    kept, keeps = "variables.kept", "variables.keeps"
    # Dates and times sort as their texts do.
    later = f"{matches(kept, TIME)} && {keeps} >= {kept}"
    shorter = f"{keeps} == 'false' || ({matches(keeps, TIME)} && !({later}))"
    return [
        variable("name", "object.metadata.?name.orValue('')"),
        variable("mayDelete", f"{_authorizer()}.check('delete').allowed()"),
        # No label is as good as false.
        variable("kept", f"oldObject == null ? 'false' : oldObject.{_KEEP}.orValue('false')"),
        variable("keeps", f"object.{_KEEP}.orValue('false')"),
        variable("keepsLess", f"{kept} != 'false' && {keeps} != {kept} && ({shorter})"),
    ]


def _authorizer() -> str:
    """A Namespace lies within itself to an authorizer."""
    resource, group = "request.resource.resource", "request.resource.group"
    namespace = (
        f"({group} == '' && {resource} == 'namespaces' ? variables.name : request.?namespace.orValue(''))"
    )
    return f"authorizer.group({group}).resource({resource}).namespace({namespace}).name(variables.name)"


def _validation(where: str, act: str, key: str) -> Manifest:
    told = (
        f"{{user}} may not delete {{resource}} {{name}} and so may not {act}, or ask for the right to delete"
    )
    facts = {
        "resource": "request.resource.resource",
        "name": "variables.name",
        "key": literal(key),
        "user": "request.userInfo.?username.orValue('')",
    }
    return {
        "expression": f"!{where} || variables.mayDelete",
        "messageExpression": sentence(told, **facts),
        "message": f"who lets an object go by {key} must be allowed to delete it",
        "reason": "Forbidden",
    }
