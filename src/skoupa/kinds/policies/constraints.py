"""`matchConstraints` of a DeletingPolicy: the MatchResources of admissionregistration.k8s.io/v1, as Kyverno reads it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

import msgspec

from skoupa.kinds.policies.selectors import Selector
from skoupa.kinds.schema import Rule, about

SOME_RULE: Final = "it matches nothing: write resourceRules with at least one rule"

Scope = Literal["Cluster", "Namespaced", "*"]
MatchPolicy = Literal["Exact", "Equivalent"]


class ResourceRule(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """Kinds by group, version and plural; all combinations are meant."""

    api_groups: Annotated[
        tuple[str, ...], about('Groups: "" is the core group, "apps", or "*" for all.')
    ] = ()
    api_versions: Annotated[tuple[str, ...], about('Versions: "v1", or "*" for the one preferred.')] = ()
    resources: Annotated[
        tuple[str, ...],
        about(
            'Plurals in lower case: "pods", or "*" for all; no subresources. A wildcard never reaches cluster-wide kinds of '
            "Kubernetes, nor the parents of whole systems: those must be named."
        ),
    ] = ()
    resource_names: Annotated[
        tuple[str, ...], about("Names, one of which an object must have; without them every name.")
    ] = ()
    scope: Annotated[
        Scope | None,
        about("Only what is in namespaces (Namespaced), only what is not (Cluster), or both (*)."),
    ] = None
    operations: Annotated[
        tuple[str, ...],
        about("Taken for manifests that have it; nobody creates or updates anything when a policy runs."),
    ] = ()


class Constraints(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """Which objects are meant: one of the rules fits, none of the exclusions does, and both selectors do."""

    RULES: ClassVar = (Rule("has(self.resourceRules) && size(self.resourceRules) > 0", SOME_RULE),)

    resource_rules: Annotated[tuple[ResourceRule, ...], about("Kinds that are meant.")] = ()
    exclude_resource_rules: Annotated[
        tuple[ResourceRule, ...], about("Kinds, or objects by name, that are not meant.")
    ] = ()
    object_selector: Annotated[Selector | None, about("What the labels of an object must be.")] = None
    namespace_selector: Annotated[
        Selector | None,
        about(
            "What the labels of its namespace must be; of a Namespace, its own. Not asked of other cluster-wide objects."
        ),
    ] = None
    match_policy: Annotated[
        MatchPolicy | None,
        about("Whether excludeResourceRules mean just the versions they name (Exact) or all (Equivalent)."),
    ] = None
