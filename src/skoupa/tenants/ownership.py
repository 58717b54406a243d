"""What belongs to whom: a rule, exact and anchored, and never a guess.

By name it is KubeZoo's: id, separator, and something after that; of a definition the group begins so, of an APIService too. What is of
a kind in such a group is the tenant's, as is a volume that is bound to a claim in a Namespace of the tenant. Other conventions are
asked beside that, where settings name them. Two that name different tenants make an object nobody's: it stays, and is told. Every
Tenant that there is counts, whether or not it is deleted: who is not asked about could not object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from skoupa import names
from skoupa.kube.resources import API_SERVICES, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from skoupa.settings import TenantSettings
from skoupa.tenants.tenant import Tenant

# Machines and what their drivers say of them, and what says who is a tenant or what stands still.
NEVER: Final = frozenset(
    {
        ("", "ComponentStatus"),
        ("", "Node"),
        ("resource.k8s.io", "ResourceSlice"),
        ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "VolumeAttachment"),
        (names.SKOUPA_GROUP, names.BRAKE_KIND),
        (names.TENANT_GROUP, names.TENANT_KIND),
    }
)
# KubeZoo's own, on some Namespaces of each tenant.
KUBEZOO_LABEL: Final = "kubezoo.io/tenant"
# What the server makes by itself, and makes again.
_MADE_BY_THE_SERVER: Final = ("kubernetes.io/bootstrapping", "kube-aggregator.kubernetes.io/automanaged")


class StandsFor(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The claim that a volume (or the content of a snapshot) is for; `bound`: to that very claim, and not only meant for it."""

    namespace: str
    name: str
    bound: bool


class Candidate(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An object of no namespace, as far as ownership looks at it; `owners` are uids."""

    resource: Resource
    name: str
    labels: Mapping[str, str] = {}
    owners: tuple[str, ...] = ()
    stands_for: StandsFor | None = None


class Belongs(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """`lasting`: it is so whatever is written to the object; otherwise it was so in the state that was read."""

    tenant: str
    proof: str
    lasting: bool


class Disputed(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Something says that it is of one of `tenants`, and something else that it is not."""

    tenants: tuple[str, ...]
    why: str


class Ownership:
    """`tenants` are all that there are. Namespaces have to be told (`learn`) before what refers to them is asked about."""

    def __init__(self, settings: TenantSettings, tenants: Iterable[Tenant]) -> None:
        self._settings = settings
        self._uids = {tenant.uid: tenant.name for tenant in tenants if tenant.uid}
        self._ids = {tenant.name for tenant in tenants}
        # By their lengths, so that a name is looked up and not compared with all.
        self._prefixes: dict[int, dict[str, str]] = {}
        for name in self._ids if settings.by_name else ():
            prefix = f"{name}{settings.separator}"
            self._prefixes.setdefault(len(prefix), {})[prefix] = name
        self._namespaces: dict[str, Candidate] = {}
        self._whose: dict[str, frozenset[str]] = {}

    def by_name(self, name: str) -> frozenset[str]:
        """Whose names begin so; more than one where an id is the beginning of another."""
        found = (
            prefixes.get(name[:length]) for length, prefixes in self._prefixes.items() if len(name) > length
        )
        return frozenset(one for one in found if one is not None)

    def learn(self, namespace: Candidate) -> None:
        self._namespaces[namespace.name] = namespace
        self._whose.pop(namespace.name, None)

    def in_namespace(self, name: str) -> frozenset[str]:
        """Whose a Namespace is; of one that is not there its name tells."""
        found = self._namespaces.get(name)
        if found is None:
            return self.by_name(name)
        if name not in self._whose:
            self._whose[name] = frozenset(self._claimants(found))
        return self._whose[name]

    def among(self, tenants: Iterable[Tenant]) -> Ownership:
        """The same with other Tenants, and with what was told of Namespaces."""
        found = Ownership(self._settings, tenants)
        found._namespaces = self._namespaces
        return found

    def of(self, found: Candidate) -> Belongs | Disputed | None:
        kind = (found.resource.group, found.resource.kind)
        if kind in NEVER or any(key in found.labels for key in _MADE_BY_THE_SERVER):
            return None
        claimants = self._claimants(found)
        if not claimants:
            return None
        if len(claimants) > 1:
            return Disputed(
                tenants=tuple(sorted(claimants)),
                why=" and ".join(f"{proof} ({tenant})" for tenant, (proof, _) in sorted(claimants.items())),
            )
        ((tenant, (proof, lasting)),) = claimants.items()
        labelled = found.labels.get(KUBEZOO_LABEL, tenant)
        if labelled != tenant:
            return Disputed(tenants=(tenant,), why=f"{proof}, but its label {KUBEZOO_LABEL} says {labelled}")
        volume = found.stands_for
        if volume is not None and self.in_namespace(volume.namespace) != {tenant}:
            why = f"{proof}, but it is for the claim {volume.namespace}/{volume.name}, which is not in a Namespace of {tenant}"
            return Disputed(tenants=(tenant,), why=why)
        return Belongs(tenant=tenant, proof=proof, lasting=lasting)

    def _claimants(self, found: Candidate) -> dict[str, tuple[str, bool]]:
        """By tenant: what says so, and whether that lasts. What lasts is asked first."""
        claimants: dict[str, tuple[str, bool]] = {}
        group = named_group(found.resource, found.name)
        if group is None:
            for tenant in self.by_name(found.name):
                claimants.setdefault(tenant, (f"its name begins with {self._prefix(tenant)}", True))
        for tenant in self.by_name(found.resource.group if group is None else group):
            claimants.setdefault(tenant, (f"its group begins with {self._prefix(tenant)}", True))
        settings, labels = self._settings, found.labels
        key = settings.namespace_label if is_namespace(found.resource) else settings.object_label
        if key and labels.get(key, "") in self._ids:
            claimants.setdefault(labels[key], (f"its label {key} says so", False))
        for owner in found.owners if settings.owners else ():
            if owner in self._uids:
                claimants.setdefault(self._uids[owner], ("the Tenant is its owner", False))
        volume = found.stands_for
        if volume is not None and volume.bound:
            for tenant in self.in_namespace(volume.namespace):
                claim = f"{volume.namespace}/{volume.name}"
                claimants.setdefault(tenant, (f"it is bound to the claim {claim}", False))
        return claimants

    def _prefix(self, tenant: str) -> str:
        return f"{tenant}{self._settings.separator}"

    def is_own_group(self, tenant: str, group: str) -> bool:
        return tenant in self.by_name(group)


def named_group(resource: Resource, name: str) -> str | None:
    """The group that the name of a definition or an APIService ends with; None: the name is a name."""
    if is_definition(resource) or (resource.group, resource.kind) == (API_SERVICES.group, API_SERVICES.kind):
        return name.partition(".")[2]
    return None


def is_namespace(resource: Resource) -> bool:
    return (resource.group, resource.kind) == (NAMESPACES.group, NAMESPACES.kind)


def is_definition(resource: Resource) -> bool:
    wanted = CUSTOM_RESOURCE_DEFINITIONS
    return (resource.group, resource.kind) == (wanted.group, wanted.kind)
