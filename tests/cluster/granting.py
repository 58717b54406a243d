"""Roles for users of the tests."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from skoupa.kube.client import Client
from skoupa.kube.resources import Resource
from skoupa.kube.transport import Request
from tests.cluster.reaching import eventually

_GROUP = "rbac.authorization.k8s.io"
_ROLES = Resource(group=_GROUP, version="v1", plural="roles", kind="Role", namespaced=True)
_BINDINGS = Resource(group=_GROUP, version="v1", plural="rolebindings", kind="RoleBinding", namespaced=True)


async def grant(
    admin: Client,
    user: str,
    *,
    namespace: str,
    verbs: Sequence[str],
    resources: Sequence[str],
    group: str = "",
) -> None:
    """The user may do this in the namespace, as soon as this returns: the authorizer hears of a Role by a watch."""
    name = f"grant-{secrets.token_hex(4)}"
    rule = {"verbs": list(verbs), "apiGroups": [group], "resources": list(resources)}
    await admin.create(_ROLES, {"metadata": {"name": name}, "rules": [rule]}, namespace=namespace)
    binding = {
        "metadata": {"name": name},
        "subjects": [{"kind": "User", "name": user, "apiGroup": _GROUP}],
        "roleRef": {"kind": "Role", "name": name, "apiGroup": _GROUP},
    }
    await admin.create(_BINDINGS, binding, namespace=namespace)
    path = Resource(group=group, version="v1", plural=resources[0], kind="", namespaced=True)

    async def counts() -> bool:
        headers = (("Impersonate-User", user), *admin.headers())
        request = Request(path=path.path(namespace=namespace), headers=headers, verb="list")
        return (await admin.transport.send(request)).status == 200

    await eventually(counts, what=f"the Role of {user} to count")
