"""PolicyException (policies.kyverno.io): what it says stays, though a policy that it names matches.

It has all of Kyverno's fields, so that none is lost when one is written; deleting policies use policyRefs, matchConditions
and expiresAt.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec

from skoupa import names
from skoupa.kinds.definition import Definition, Version, resource
from skoupa.kinds.policies.deleting import NamedExpression
from skoupa.kinds.schema import about

_Text = Annotated[str, msgspec.Meta(min_length=1)]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]
_OTHERS: Final = "Deleting policies do not use it."


class PolicyReference(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """A policy by kind and name."""

    kind: Annotated[_Text, about("Its kind: DeletingPolicy or NamespacedDeletingPolicy, among others.")]
    name: Annotated[_Text, about("Its name.")]


_References = Annotated[tuple[PolicyReference, ...], msgspec.Meta(min_length=1)]


class ExceptionSpec(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """Which policies it is about, and what stays."""

    policy_refs: Annotated[_References, about("The policies that it is about.")]
    match_conditions: Annotated[
        tuple[NamedExpression, ...],
        about(
            "What must be true of an object for it to stay: all of them, in CEL. Without them everything stays."
        ),
    ] = ()
    expires_at: Annotated[_Time | None, about("Until when it counts (RFC 3339). Without it: for good.")] = (
        None
    )
    images: Annotated[tuple[str, ...], about(f"Images that are allowed. {_OTHERS}")] = ()
    allowed_values: Annotated[tuple[str, ...], about(f"Values that are allowed. {_OTHERS}")] = ()
    evaluation_mode: Annotated[str | None, about(f"How policies of other kinds take it. {_OTHERS}")] = None
    properties: Annotated[dict[str, str], about(f"Remarks for reports. {_OTHERS}")] = {}
    report_result: Annotated[
        Literal["skip", "pass"], about(f"How a report counts what it is about. {_OTHERS}")
    ] = "skip"


class ExceptionShape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What it says stays, though a policy that it names matches."""

    spec: ExceptionSpec


POLICY_EXCEPTION: Final = Definition(
    group=names.KYVERNO_POLICIES_GROUP,
    kind=names.POLICY_EXCEPTION_KIND,
    plural="policyexceptions",
    namespaced=True,
    versions=(
        Version(name="v1beta1", shape=ExceptionShape),
        Version(name="v1", shape=ExceptionShape, storage=False),
        Version(
            name="v1alpha1",
            shape=ExceptionShape,
            storage=False,
            deprecation=f"{names.KYVERNO_POLICIES_GROUP}/v1alpha1 PolicyException is old: write "
            f"{names.KYVERNO_POLICIES_GROUP}/v1",
        ),
    ),
)
POLICY_EXCEPTIONS: Final = resource(POLICY_EXCEPTION)
