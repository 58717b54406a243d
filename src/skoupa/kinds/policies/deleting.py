"""DeletingPolicy and NamespacedDeletingPolicy (policies.kyverno.io): the same as cleanup policies, with conditions in CEL."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from skoupa import names
from skoupa.kinds.definition import Definition, Version, resource
from skoupa.kinds.policies.constraints import SOME_RULE, Constraints
from skoupa.kinds.policies.scheduling import PropagationPolicy, ScheduleText
from skoupa.kinds.policies.status import DELETING_COLUMNS, DeletingPolicyStatus
from skoupa.kinds.schema import FORM, Rule, about

_Text = Annotated[str, msgspec.Meta(min_length=1)]
_Cel = Annotated[
    str,
    msgspec.Meta(min_length=1, extra={FORM: "write CEL, such as object.metadata.name.startsWith('old-')"}),
]


class NamedExpression(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """An expression in CEL and what it is called."""

    name: Annotated[_Text, about("What it is called; each name once.")]
    expression: Annotated[_Cel, about("The expression, in CEL.")]


class DeletingSpec(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """What goes, and when."""

    RULES = (Rule("has(self.matchConstraints)", f"matchConstraints is missing, so {SOME_RULE}"),)

    schedule: ScheduleText
    match_constraints: Annotated[
        Constraints | None,
        about(
            "Which objects are meant: one of the rules fits, none of the exclusions does, and both selectors do."
        ),
    ] = None
    conditions: Annotated[
        tuple[NamedExpression, ...],
        about(
            "What must be true of an object for it to go: all of them. `object` is the object, `namespaceObject` its namespace.",
            keys=("name",),
        ),
    ] = ()
    variables: Annotated[
        tuple[NamedExpression, ...],
        about(
            "Values by name, which conditions and later variables use as `variables.NAME`.", keys=("name",)
        ),
    ] = ()
    deletion_propagation_policy: PropagationPolicy = None


class DeletingShape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """On schedule, what matches in the cluster and meets the conditions is deleted."""

    spec: DeletingSpec
    status: DeletingPolicyStatus | None = None


class NamespacedDeletingShape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """On schedule, what matches in its namespace and meets the conditions is deleted."""

    spec: DeletingSpec
    status: DeletingPolicyStatus | None = None


def _current(shape: type[msgspec.Struct]) -> tuple[Version, ...]:
    return (
        Version(name="v1beta1", shape=shape, columns=DELETING_COLUMNS),
        Version(name="v1", shape=shape, columns=DELETING_COLUMNS, storage=False),
    )


DELETING_POLICY: Final = Definition(
    group=names.KYVERNO_POLICIES_GROUP,
    kind=names.DELETING_POLICY_KIND,
    plural="deletingpolicies",
    namespaced=False,
    short_names=("dpol",),
    categories=("kyverno",),
    versions=(
        *_current(DeletingShape),
        Version(
            name="v1alpha1",
            shape=DeletingShape,
            columns=DELETING_COLUMNS,
            storage=False,
            deprecation=f"{names.KYVERNO_POLICIES_GROUP}/v1alpha1 DeletingPolicy is old: write "
            f"{names.KYVERNO_POLICIES_GROUP}/v1",
        ),
    ),
)
NAMESPACED_DELETING_POLICY: Final = Definition(
    group=names.KYVERNO_POLICIES_GROUP,
    kind=names.NAMESPACED_DELETING_POLICY_KIND,
    plural="namespaceddeletingpolicies",
    namespaced=True,
    short_names=("ndpol",),
    categories=("kyverno",),
    versions=_current(NamespacedDeletingShape),
)
DELETING_POLICIES: Final = resource(DELETING_POLICY)
NAMESPACED_DELETING_POLICIES: Final = resource(NAMESPACED_DELETING_POLICY)
