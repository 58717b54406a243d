"""The table of rights as roles and bindings: ClusterRoles, or Roles in just the namespaces that are watched.

Cluster-wide, `skoupa-delete` is an aggregated ClusterRole: whoever creates a ClusterRole with the label
`skoupa.dev/aggregate-to-delete: "true"` adds to it, and no manifest of ours has to change. It is written without rules, because
those belong to the server's own controller. Roles can't be aggregated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from skoupa import names
from skoupa.install.labelling import SERVICE_ACCOUNT, Manifest, manifest
from skoupa.install.rights import (
    ASK,
    DELETE,
    DELETE_TENANTS,
    HOME,
    LABEL_TENANTS,
    READ,
    REPORT,
    Right,
    RoleName,
    home_namespace,
    own_namespace,
)
from skoupa.kinds.brake import BRAKES
from skoupa.kube.resources import CONFIG_MAPS

AGGREGATE_LABEL: Final = f"{names.SKOUPA_GROUP}/aggregate-to-delete"
SHIPPED_DELETE_ROLE: Final = "skoupa-delete-shipped"
SWEEP_ROLE: Final = "skoupa-sweep"
SWEEP_VERBS: Final = ("get", "list", "watch")
_GROUP: Final = "rbac.authorization.k8s.io"
_VERSION: Final = f"{_GROUP}/v1"
CLUSTER_ROLES: Final = f"clusterroles.{_GROUP}"
_EVERYWHERE: Final[tuple[RoleName, ...]] = (READ, REPORT, DELETE)


def roles(rights: Sequence[Right], *, home: str, namespaces: Sequence[str]) -> Iterator[Manifest]:
    """`home` is Skoupa's own namespace; `namespaces` empty: everywhere."""
    if namespaces:
        for namespace in namespaces:
            yield from _namespaced(rights, namespace=namespace, home=home)
        rights = (*rights, home_namespace(home))
    else:
        yield from _cluster_wide(rights, home=home)
    yield _role(HOME, rules(right for right in rights if right.role == HOME), namespace=home)
    yield _binding(HOME, namespace=home, home=home)


def rules(rights: Iterable[Right]) -> list[dict[str, Any]]:
    """One rule for all kinds of a group that share verbs and names."""
    merged: dict[tuple[object, ...], dict[str, list[str]]] = {}
    for right in rights:
        rule = merged.setdefault((right.group, right.verbs, right.names), {**right.rule(), "resources": []})
        rule["resources"] += [plural for plural in right.resources if plural not in rule["resources"]]
    return list(merged.values())


def _cluster_wide(rights: Sequence[Right], *, home: str) -> Iterator[Manifest]:
    for of_tenants in (DELETE_TENANTS, LABEL_TENANTS):
        granted = rules(right for right in rights if right.role == of_tenants)
        if granted:
            labels = {AGGREGATE_LABEL: "true"}
            yield manifest(_VERSION, "ClusterRole", of_tenants, labels=labels, rules=granted)
    for name in (*_EVERYWHERE, ASK):
        granted = rules(right for right in rights if right.role == name)
        if name == ASK and not granted:
            continue
        if name == DELETE:
            aggregation = {"clusterRoleSelectors": [{"matchLabels": {AGGREGATE_LABEL: "true"}}]}
            yield manifest(_VERSION, "ClusterRole", name, aggregationRule=aggregation)
            labels = {AGGREGATE_LABEL: "true"}
            yield manifest(_VERSION, "ClusterRole", SHIPPED_DELETE_ROLE, labels=labels, rules=granted)
        else:
            yield manifest(_VERSION, "ClusterRole", name, rules=granted)
        yield manifest(
            _VERSION,
            "ClusterRoleBinding",
            name,
            roleRef={"apiGroup": _GROUP, "kind": "ClusterRole", "name": name},
            subjects=_subjects(home),
        )


def sweep_role() -> Manifest:
    """For people with rights in some namespaces who sweep by hand. Nobody is bound to it: an operator does that."""
    brakes = {"apiGroups": [BRAKES.group], "resources": [BRAKES.plural], "verbs": list(SWEEP_VERBS)}
    settings = {
        "apiGroups": [CONFIG_MAPS.group],
        "resources": [CONFIG_MAPS.plural],
        "resourceNames": [names.SETTINGS_CONFIG_MAP],
        # A list on this name finds an installation with another home.
        "verbs": ["get", "list"],
    }
    return manifest(_VERSION, "ClusterRole", SWEEP_ROLE, rules=[brakes, settings])


def _namespaced(rights: Sequence[Right], *, namespace: str, home: str) -> Iterator[Manifest]:
    for name in _EVERYWHERE:
        wanted = (*rights, own_namespace(namespace))
        granted = rules(right for right in wanted if right.role == name and right.namespaced)
        yield _role(name, granted, namespace=namespace)
        yield _binding(name, namespace=namespace, home=home)


def _role(name: RoleName, granted: list[dict[str, Any]], *, namespace: str) -> Manifest:
    return manifest(_VERSION, "Role", name, namespace=namespace, rules=granted)


def _binding(name: RoleName, *, namespace: str, home: str) -> Manifest:
    return manifest(
        _VERSION,
        "RoleBinding",
        name,
        namespace=namespace,
        roleRef={"apiGroup": _GROUP, "kind": "Role", "name": name},
        subjects=_subjects(home),
    )


def _subjects(home: str) -> list[dict[str, str]]:
    return [{"kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": home}]
