"""What people do with their objects, and what the server's audit log says about it afterwards."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from skoupa import names
from skoupa.kube.client import Client
from skoupa.kube.resources import CONFIG_MAPS, Resource
from skoupa.kube.transport import Request
from tests.cluster.reaching import DEADLINE_SECONDS, eventually, exists

RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLES = Resource(
    group=RBAC, version="v1", plural="clusterroles", kind="ClusterRole", namespaced=False
)
CLUSTER_ROLE_BINDINGS = Resource(
    group=RBAC, version="v1", plural="clusterrolebindings", kind="ClusterRoleBinding", namespaced=False
)
PRIORITY_CLASSES = Resource(
    group="scheduling.k8s.io", version="v1", plural="priorityclasses", kind="PriorityClass", namespaced=False
)
SECRETS = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
CORE_EVENTS = Resource(version="v1", plural="events", kind="Event", namespaced=True)


class People:
    """Acts in one namespace."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    async def make(
        self,
        name: str,
        ttl: str | None = None,
        *,
        resource: Resource = CONFIG_MAPS,
        labels: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        **metadata: Any,
    ) -> dict[str, Any]:
        marks = {**(labels or {}), **({names.TTL_LABEL: ttl} if ttl is not None else {})}
        found = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name, "labels": marks, **metadata},
            **(body or {}),
        }
        return await self.client.create(resource, found, namespace=self._where(resource))

    async def label(self, name: str, *, resource: Resource = CONFIG_MAPS, **labels: str | None) -> None:
        keys = {"ttl": names.TTL_LABEL, "keep": names.KEEP_LABEL}
        patch = {"metadata": {"labels": {keys.get(key, key): value for key, value in labels.items()}}}
        await self.client.merge_patch(resource, name, patch, namespace=self._where(resource))

    async def remove(self, made: Mapping[str, Any], *, resource: Resource = CONFIG_MAPS) -> None:
        name, uid = made["metadata"]["name"], made["metadata"]["uid"]
        where = self._where(resource)
        await self.client.delete(resource, name, namespace=where, uid=uid, propagation="Background")

    async def there(self, name: str, *, resource: Resource = CONFIG_MAPS) -> bool:
        return await exists(self.client, resource, name, namespace=self._where(resource))

    async def gone(
        self, name: str, *, resource: Resource = CONFIG_MAPS, seconds: float = DEADLINE_SECONDS
    ) -> None:
        async def is_gone() -> bool:
            return not await self.there(name, resource=resource)

        await eventually(is_gone, what=f"{resource.qualified}/{name} to go", seconds=seconds, patiently=True)

    async def events(
        self, name: str, *, kind: str = "ConfigMap", namespace: str = ""
    ) -> list[dict[str, Any]]:
        """As `kubectl events --for` asks for them."""
        path = CORE_EVENTS.path(namespace=namespace or self.namespace)
        selector = f"involvedObject.name={name},involvedObject.kind={kind}"
        request = Request(path=path, query=(("fieldSelector", selector),), headers=self.client.headers())
        response = await self.client.ask(request, doing="list events")
        items: list[dict[str, Any]] = msgspec.json.decode(response.body)["items"]
        return items

    async def event(
        self, name: str, reason: str, *, kind: str = "ConfigMap", namespace: str = ""
    ) -> dict[str, Any]:
        async def found() -> list[dict[str, Any]]:
            events = await self.events(name, kind=kind, namespace=namespace)
            return [event for event in events if event["reason"] == reason]

        return (await eventually(found, what=f"an Event {reason} about {name}", patiently=True))[0]

    def _where(self, resource: Resource) -> str:
        return self.namespace if resource.namespaced else ""


class Grant(msgspec.Struct, kw_only=True):
    """A ClusterRole, or a Role in a namespace, that is bound to a user; it can be taken away again."""

    admin: Client
    name: str
    namespace: str
    uids: dict[str, str]

    async def revoke(self) -> None:
        binding = _kind("RoleBinding", self.namespace)
        await self.admin.delete(
            binding,
            self.name,
            namespace=self.namespace,
            uid=self.uids["RoleBinding"],
            propagation="Background",
        )


def _kind(kind: str, namespace: str) -> Resource:
    prefix = "" if namespace else "Cluster"
    return Resource(
        group=RBAC,
        version="v1",
        plural=f"{prefix}{kind}s".lower(),
        kind=f"{prefix}{kind}",
        namespaced=bool(namespace),
    )


async def grant(
    admin: Client, user: str, rules: Sequence[tuple[str, str, str]], *, namespace: str = ""
) -> Grant:
    """Rules are (verbs, group, resources), each several words separated by spaces."""
    name = f"skoupa-test-{secrets.token_hex(4)}"
    written = [
        {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
        for verbs, group, resources in rules
    ]
    role, binding = _kind("Role", namespace), _kind("RoleBinding", namespace)
    bodies: dict[str, dict[str, Any]] = {
        "Role": {"metadata": {"name": name}, "rules": written},
        "RoleBinding": {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC, "kind": role.kind, "name": name},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
        },
    }
    uids = {}
    for kind, resource in (("Role", role), ("RoleBinding", binding)):
        made = await admin.create(resource, bodies[kind], namespace=namespace)
        uids[kind] = made["metadata"]["uid"]
    return Grant(admin=admin, name=name, namespace=namespace, uids=uids)


class AuditLog:
    """What the server wrote down from the moment at which this is made."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = path.stat().st_size if path.exists() else 0
        self._entries: list[dict[str, Any]] = []

    def entries(self, *, agent: str = "skoupa/") -> Iterator[dict[str, Any]]:
        # Who waits for an entry asks fifty times a second, and there may be thousands. A line that is being written waits.
        with self._path.open("rb") as file:
            file.seek(self._read)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        self._entries += [msgspec.json.decode(line) for line in whole.splitlines()]
        for entry in self._entries:
            if str(entry.get("userAgent", "")).startswith(agent) and entry["stage"] != "ResponseStarted":
                yield entry

    def deletes(self, namespace: str) -> list[dict[str, Any]]:
        return [
            entry
            for entry in self.entries()
            if entry["verb"] == "delete" and (entry.get("objectRef") or {}).get("namespace") == namespace
        ]
