"""In which order a tenant's objects go: what can stand in the way of the rest first, rights last.

Webhooks and admission policies, and API services of its own; then objects of its own kinds, definitions and Namespaces; then all else
in no namespace; roles and their bindings at the end, for controllers of the tenant need them to finish. What only waits for a
finalizer, or is held, lets the next step begin: one object must not keep all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from skoupa.kube.resources import API_SERVICES, BUILT_IN_GROUPS, Resource
from skoupa.tenants.census import Belonging
from skoupa.tenants.ownership import Ownership, is_definition, is_namespace

IN_THE_WAY, CONTENTS, OTHERS, ROLES = range(4)
STEPS: Final = (
    "webhooks, admission policies and API services",
    "its own kinds and Namespaces",
    "all other objects in no namespace",
    "roles and their bindings",
)
_FIRST: Final = frozenset({"admissionregistration.k8s.io", API_SERVICES.group})
_LAST: Final = frozenset({"rbac.authorization.k8s.io"})


def step_of(resource: Resource, *, own_group: bool) -> int:
    """`own_group`: the kind is one that the tenant brought."""
    if resource.group in _FIRST:
        return IN_THE_WAY
    if is_namespace(resource) or is_definition(resource) or own_group:
        return CONTENTS
    return ROLES if resource.group in _LAST else OTHERS


def step(belonging: Belonging, ownership: Ownership) -> int:
    group = belonging.resource.group
    own = group not in BUILT_IN_GROUPS and ownership.is_own_group(belonging.tenant, group)
    return step_of(belonging.resource, own_group=own)


def open_step(
    belongings: Iterable[Belonging], ownership: Ownership, *, waited_for: Callable[[Belonging], bool]
) -> int:
    """The step that is under way: all up to it may go. `waited_for`: it is still to go, and nothing holds it."""
    steps = (step(one, ownership) for one in belongings if waited_for(one))
    return min(steps, default=ROLES)


def after_its_instances(belonging: Belonging, all_of_it: Iterable[Belonging]) -> bool:
    """Whether a definition still has objects in no namespace of which nobody has asked the deletion."""
    if not is_definition(belonging.resource):
        return False
    return any(one.resource.qualified == belonging.metadata.name and not one.is_leaving for one in all_of_it)
