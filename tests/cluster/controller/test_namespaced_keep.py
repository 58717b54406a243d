"""Keep labels on Namespaces for who has rights in single namespaces only, on a real authorizer."""

from __future__ import annotations

import secrets

import pytest

from harness.controlplane import ControlPlane
from skoupa.install.rights import own_namespace
from skoupa.kube.client import Client
from skoupa.kube.resources import NAMESPACES, Resource
from tests.cluster.controller.impatient import IMPATIENT
from tests.cluster.controller.objects import RBAC, AuditLog, People, grant
from tests.cluster.controller.running import Yard
from tests.cluster.reaching import until

pytestmark = pytest.mark.cluster

OWN = [
    ("get create update", "coordination.k8s.io", "leases"),
    ("get create patch", "", "configmaps"),
]
ROLES = Resource(group=RBAC, version="v1", plural="roles", kind="Role", namespaced=True)
BINDINGS = Resource(group=RBAC, version="v1", plural="rolebindings", kind="RoleBinding", namespaced=True)
ENOUGH = ("list watch delete", "", "configmaps")


async def grant_own_namespace(admin: Client, user: str, namespace: str) -> None:
    """The Role that `skoupa install` writes."""
    name = f"own-{secrets.token_hex(4)}"
    rules = [own_namespace(namespace).rule()]
    await admin.create(ROLES, {"metadata": {"name": name}, "rules": rules}, namespace=namespace)
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
    }
    await admin.create(BINDINGS, binding, namespace=namespace)


async def test_a_keep_label_on_a_namespace_counts_for_who_may_get_it_but_not_list_it(
    plane: ControlPlane, people: People, yard: Yard, audit: AuditLog
) -> None:
    user, boss = f"sweeper-{secrets.token_hex(4)}", people.client
    await grant(boss, user, OWN, namespace=yard.home)
    await grant(boss, user, [ENOUGH], namespace=people.namespace)
    await grant_own_namespace(boss, user, people.namespace)
    await people.label(people.namespace, resource=NAMESPACES, keep="true")
    process = await yard.started(
        program=IMPATIENT,
        kubeconfig=plane.kubeconfig_for(user=user),
        namespaces=f"{people.namespace},{yard.home}",
    )
    await people.make("web", "1s")
    held = await process.says("held", namespace=people.namespace, name="web")
    assert held["why"] == "kept: its Namespace has the label skoupa.dev/keep=true"
    await until(
        lambda: [line for line in process.said("degraded") if "are read one by one" in line["why"]],
        what="what is poorer to be told",
    )
    home = [line["why"] for line in process.said("degraded") if f"nor to get {yard.home}" in line["why"]]
    assert home, "nobody granted it there"

    await people.label(people.namespace, resource=NAMESPACES, keep=None)
    await people.gone("web", seconds=75)

    asked = [
        (entry["verb"], entry["objectRef"].get("name", ""), entry["responseStatus"]["code"])
        for entry in audit.entries()
        if entry["user"]["username"] == user
        and (entry.get("objectRef") or {}).get("resource") == "namespaces"
    ]
    assert asked, "it was asked for"
    assert set(asked) == {("get", people.namespace, 200)}
