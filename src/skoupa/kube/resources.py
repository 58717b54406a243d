"""A kind as the API server serves it, and the paths of its objects.

A `Resource` is one row of discovery: group, version, plural and what may be done with it. It is a value: equal rows are
the same kind, and it can be a key.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import msgspec


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    group: str = ""
    version: str
    plural: str
    kind: str
    namespaced: bool
    singular: str = ""
    short_names: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The name that kubectl shows: `pods`, `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, *, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Where its objects live; without a namespace a namespaced kind is addressed in all of them."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = [root]
        if namespace and self.namespaced:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def may(self, *verbs: str) -> bool:
        return all(verb in self.verbs for verb in verbs)


NAMESPACES = Resource(version="v1", plural="namespaces", kind="Namespace", namespaced=False)
CONFIG_MAPS = Resource(version="v1", plural="configmaps", kind="ConfigMap", namespaced=True)
PODS = Resource(version="v1", plural="pods", kind="Pod", namespaced=True)
EVENTS = Resource(group="events.k8s.io", version="v1", plural="events", kind="Event", namespaced=True)
LEASES = Resource(group="coordination.k8s.io", version="v1", plural="leases", kind="Lease", namespaced=True)
CUSTOM_RESOURCE_DEFINITIONS = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    namespaced=False,
)
API_SERVICES = Resource(
    group="apiregistration.k8s.io", version="v1", plural="apiservices", kind="APIService", namespaced=False
)

# Groups of Kubernetes itself, by name: `gateway.networking.k8s.io` and others that sound alike are definitions that somebody
# installed.
BUILT_IN_GROUPS: Final = frozenset(
    {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "extensions",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)
