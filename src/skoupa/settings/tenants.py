"""What belongs to a tenant, and what has to be so before its deletion begins."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from skoupa.settings.sections import Duration, Section, about

# Where the name of the tenant stands in the key of a label.
IN_THE_KEY: Final = "{tenant}"


class TenantSettings(Section, frozen=True, kw_only=True):
    """Ownership is a rule: each convention that is on says for itself what is a tenant's, and two that differ make it nobody's."""

    guard: Annotated[
        bool,
        about(
            "Nothing of a deleted Tenant goes before `skoupa.dev/confirm-deletion` on it says its uid "
            "(`skoupa tenant delete` writes that)."
        ),
    ] = False
    grace: Annotated[
        Duration | None,
        about(
            "Nothing of a deleted Tenant goes before this time has passed; who takes its finalizers off meanwhile keeps it all."
        ),
    ] = None
    by_name: Annotated[
        bool,
        about(
            "Objects of no namespace and Namespaces called ID-NAME, and definitions of groups called ID-GROUP, are the tenant's, "
            "as KubeZoo names them."
        ),
    ] = True
    separator: Annotated[str, about("What stands between the id of a tenant and the rest of a name.")] = "-"
    shortest_id: Annotated[
        int,
        msgspec.Meta(
            ge=2, le=63, description="A Tenant with a shorter name is refused, so that nothing goes with it."
        ),
    ] = 6
    namespace_label: Annotated[
        str,
        about(
            "A Namespace with this label is of the tenant that is its value, such as `capsule.clastix.io/tenant`; empty: none. "
            "With `{tenant}` in it, such as `{tenant}.tree.hnc.x-k8s.io/depth`, of the one whose name stands there, whatever the value."
        ),
    ] = ""
    object_label: Annotated[
        str,
        about(
            "An object of no namespace with this label is of the tenant that is its value (or that `{tenant}` stands for in the key); "
            "empty: none. Who can write such a label can give what they like to a tenant."
        ),
    ] = ""
    label: Annotated[
        str,
        about(
            "Skoupa writes this label on what belongs to a tenant, with its name, so that the server can select by it, such as "
            "`skoupa.dev/tenant`; empty: none. It says nothing about ownership: the rule does."
        ),
    ] = ""
    owners: Annotated[
        bool, about("What has the Tenant itself among its owners, and is in no namespace, is the tenant's.")
    ] = False
    keep_used: Annotated[
        bool,
        about(
            "What others use of what a tenant had (a class that somebody's claim names, a role that a binding elsewhere grants) stays, "
            "and what nobody can tell of waits. Every kind that can use such things is read for that."
        ),
    ] = True
    protected: Annotated[
        tuple[str, ...],
        about(
            "Names of objects in no namespace that no tenant may own, beside those of Kubernetes itself: a Tenant whose names "
            "would mean one of them is refused."
        ),
    ] = ()
    ignore_kinds: Annotated[
        tuple[str, ...],
        about(
            "Kinds that need not be readable before a Tenant counts as gone; `*.GROUP` is a whole group. What a tenant has of "
            "them is left."
        ),
    ] = (
        "componentstatuses",
        "*.metrics.k8s.io",
        "*.custom.metrics.k8s.io",
        "*.external.metrics.k8s.io",
    )
    most_objects: Annotated[
        int,
        msgspec.Meta(
            ge=1, description="A Tenant with more objects in no namespace than this is held, and says so."
        ),
    ] = 20_000
