"""`match` and `exclude` of a CleanupPolicy: which objects are meant.

The rules here are those that Kyverno's webhook has, so that they hold without any webhook. What takes knowledge of the cluster (which
kinds there are, which are in no namespace) is asked by who reads a policy.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

import msgspec

from skoupa import names
from skoupa.kinds.policies.selectors import WildSelector
from skoupa.kinds.schema import Rule, about

# Bounds the cost of the rules below, which the server works out before it takes a definition.
MOST_FILTERS: Final = 500
MOST_KINDS: Final = 1000

_Kind = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
_Kinds = Annotated[tuple[_Kind, ...], msgspec.Meta(max_length=MOST_KINDS)]
_Wild: Final = "* stands for any characters, ? for one."
_USER: Final = "an object that lies in the cluster has no user who asks for it"


class Subject(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """A user, a group or a ServiceAccount."""

    kind: Annotated[str, about("User, Group or ServiceAccount.")]
    name: Annotated[str, about("Its name.")]
    api_group: Annotated[str | None, about("The API group of its kind.")] = None
    namespace: Annotated[str | None, about("The namespace of a ServiceAccount.")] = None


class Resources(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """What an object has to be like; everything that is written has to fit."""

    RULES: ClassVar = (
        Rule(
            "!(has(self.name) && has(self.names))", "name and names can't stand together: write names alone"
        ),
        Rule(
            "!has(self.selector) || (has(self.selector.matchLabels) && size(self.selector.matchLabels) > 0)"
            " || (has(self.selector.matchExpressions) && size(self.selector.matchExpressions) > 0)",
            "selector is empty: write matchLabels or matchExpressions, or leave selector out",
        ),
    )

    kinds: Annotated[
        _Kinds,
        about(
            "Kinds, one of which it must be: Pod, v1/Pod, apps/v1/Deployment; * and ? are wildcards. A wildcard never "
            "reaches cluster-wide kinds of Kubernetes, nor the parents of whole systems: those must be named."
        ),
    ] = ()
    name: Annotated[str | None, about(f"What it must be called. {_Wild} Better write names.")] = None
    names: Annotated[tuple[str, ...], about(f"Names, one of which must fit. {_Wild}")] = ()
    namespaces: Annotated[
        tuple[str, ...],
        about(f"Namespaces, one of which it must be in; a Namespace must be called so itself. {_Wild}"),
    ] = ()
    annotations: Annotated[
        dict[str, str], about(f"Annotations that must be there. In keys and values {_Wild}")
    ] = {}
    selector: Annotated[WildSelector | None, about("What its labels must be.")] = None
    namespace_selector: Annotated[
        WildSelector | None,
        about(
            "What the labels of its namespace must be; of a Namespace, in match its own, while in exclude every Namespace meets it."
        ),
    ] = None
    operations: Annotated[
        tuple[Literal["CREATE", "CONNECT", "UPDATE", "DELETE"], ...],
        about("Taken for manifests that have it; nobody creates or updates anything when a policy runs."),
    ] = ()


class Filter(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """One description of objects."""

    RULES: ClassVar = (
        Rule("!has(self.subjects) || size(self.subjects) == 0", f"leave out subjects: {_USER}"),
        Rule("!has(self.roles) || size(self.roles) == 0", f"leave out roles: {_USER}"),
        Rule("!has(self.clusterRoles) || size(self.clusterRoles) == 0", f"leave out clusterRoles: {_USER}"),
    )

    resources: Annotated[
        Resources | None, about("What an object has to be like; everything that is written has to fit.")
    ] = None
    subjects: Annotated[tuple[Subject, ...], about(f"Can't be used here: {_USER}.")] = ()
    roles: Annotated[tuple[str, ...], about(f"Can't be used here: {_USER}.")] = ()
    cluster_roles: Annotated[tuple[str, ...], about(f"Can't be used here: {_USER}.")] = ()


_Filters = Annotated[tuple[Filter, ...], msgspec.Meta(max_length=MOST_FILTERS)]

TOGETHER: Final = Rule(
    "!(has(self.any) && has(self.all))",
    "any and all can't stand together: write all filters under one of them",
)
SOME_KIND: Final = Rule(
    "(has(self.any) && self.any.exists(f, has(f.resources) && has(f.resources.kinds) && size(f.resources.kinds) > 0))"
    " || (has(self.all) && self.all.exists(f, has(f.resources) && has(f.resources.kinds) && size(f.resources.kinds) > 0))",
    "it matches nothing: write any or all with at least one filter that names kinds",
)
_NAMES_NONE: Final = (
    "(!has(f.resources) || !has(f.resources.namespaces) || size(f.resources.namespaces) == 0)"
)


def no_namespaces(kind: str, of_the_cluster: str) -> Rule:
    """A policy of a namespace is about that namespace."""
    return Rule(
        f"(!has(self.any) || self.any.all(f, {_NAMES_NONE})) && (!has(self.all) || self.all.all(f, {_NAMES_NONE}))",
        f"leave out namespaces: a {kind} is about its own namespace; a {of_the_cluster} takes them",
    )


NO_NAMESPACES: Final = no_namespaces(names.CLEANUP_POLICY_KIND, names.CLUSTER_CLEANUP_POLICY_KIND)


class Filters(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """Several descriptions of objects."""

    RULES: ClassVar = (TOGETHER,)

    any: Annotated[_Filters, about("An object is meant when one of these fits it.")] = ()
    all: Annotated[_Filters, about("An object is meant when all of these fit it.")] = ()
