"""What belongs to whom: a rule, exact and anchored, and never a guess.

By name it is KubeZoo's: id, separator, and something after that (and its quota of a tenant); of a definition the group begins so, of an APIService too. What is of
a kind in such a group is the tenant's, as is a volume that is bound to a claim in a Namespace of the tenant. Other conventions are
asked beside that, where settings name them. Two that name different tenants make an object nobody's: it stays, and is told, and so does
what is in it. What is called as the cluster's own is nobody's by any label. Every Tenant that there is counts, whether or not it is
deleted: who is not asked about could not object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from skoupa import names
from skoupa.kube.resources import (
    API_SERVICES,
    BUILT_IN_GROUPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    Resource,
)
from skoupa.settings import TenantSettings
from skoupa.settings.tenants import IN_THE_KEY
from skoupa.tenants.ids import KNOWN, reserved
from skoupa.tenants.tenant import Tenant

# Machines and what their drivers say of them, the server's own book of addresses, and what says who is a tenant or what stands still.
NEVER: Final = frozenset(
    {
        ("", "ComponentStatus"),
        ("", "Node"),
        ("networking.k8s.io", "IPAddress"),
        ("resource.k8s.io", "ResourceSlice"),
        ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "VolumeAttachment"),
        (names.SKOUPA_GROUP, names.BRAKE_KIND),
        (names.SKOUPA_GROUP, names.ALIVE_KIND),
        (names.NAMESPACED_ALIVE_GROUP, names.ALIVE_KIND),
        (names.TENANT_GROUP, names.TENANT_KIND),
    }
)
# KubeZoo's own, on some Namespaces of each tenant.
KUBEZOO_LABEL: Final = "kubezoo.io/tenant"
# What it makes of each tenant and calls in its own way: what stands before the id, with nothing after that.
_MADE_BY_KUBEZOO: Final[Mapping[tuple[str, str], str]] = {
    ("quota.kubezoo.io", "ClusterResourceQuota"): "kubezoo-tenant-quota-"
}
# On an APIService that the server makes of a definition, and makes again.
_AUTOMANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"
_OF_KUBERNETES: Final = (".k8s.io", ".kubernetes.io")
# Among those whose a Namespace is: somebody objects, so that nothing in it is anybody's.
NOBODY: Final = ""
_NO_CLAIMS: Final[Mapping[str, str]] = {}


class StandsFor(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The claim that a volume (or the content of a snapshot) is for; `bound`: to that very claim (its `uid`), and not only meant for it."""

    namespace: str
    name: str
    bound: bool
    uid: str = ""


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
    """`tenants` are all that there are. Namespaces have to be told (`learn`) before what refers to them is asked about.

    `claims` says by uid whose a claim was, as long as its Namespace was there to be asked: volumes outlive both.
    """

    def __init__(
        self, settings: TenantSettings, tenants: Iterable[Tenant], *, claims: Mapping[str, str] = _NO_CLAIMS
    ) -> None:
        self._settings = settings
        self._claims = claims
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
        """Whose a Namespace is, `NOBODY` among them where that is disputed or it is shared; of one that is not there its name tells."""
        found = self._namespaces.get(name)
        if found is None:
            return self.by_name(name)
        if name not in self._whose:
            claimants = frozenset(self._claimants(found))
            objected = is_shared(found.labels) or isinstance(self.of(found), Disputed)
            self._whose[name] = claimants | {NOBODY} if objected else claimants
        return self._whose[name]

    def whose_claim(self, claim: StandsFor) -> frozenset[str]:
        """Whose the Namespace of a claim is; of one that is not there any more what was known of that very claim counts too."""
        whose = self.in_namespace(claim.namespace)
        known = self._claims.get(claim.uid) if claim.namespace not in self._namespaces else None
        return whose if known is None else whose | {known}

    def owners_of(self, found: Candidate) -> list[str]:
        """Tenants that are among its owners, whether or not that makes it theirs: with its last owner the server deletes it."""
        return [self._uids[owner] for owner in found.owners if owner in self._uids]

    def among(self, tenants: Iterable[Tenant]) -> Ownership:
        """The same with other Tenants, and with what was told of Namespaces."""
        found = Ownership(self._settings, tenants, claims=self._claims)
        found._namespaces = self._namespaces
        return found

    def of(self, found: Candidate) -> Belongs | Disputed | None:
        kind = (found.resource.group, found.resource.kind)
        if kind in NEVER or (is_api_service(found.resource) and _AUTOMANAGED in found.labels):
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
        if why := self._objection(found, tenant):
            return Disputed(tenants=(tenant,), why=f"{proof}, but {why}")
        volume = found.stands_for
        if volume is not None and self.whose_claim(volume) != {tenant}:
            why = f"{proof}, but it is for the claim {volume.namespace}/{volume.name}, which is not in a Namespace of {tenant} alone"
            return Disputed(tenants=(tenant,), why=why)
        return Belongs(tenant=tenant, proof=proof, lasting=lasting)

    def _objection(self, found: Candidate, tenant: str) -> str:
        """What speaks against the one tenant that it would be of; empty: nothing."""
        called = found.name
        if named_group(found.resource, called) is None and (
            called in KNOWN or called in self._settings.protected or reserved(called)
        ):
            return "it is called as what is the cluster's own"
        convention = self._convention(found.resource)
        for key, nothing in ((KUBEZOO_LABEL, None), *([(convention, "")] if convention else [])):
            said = found.labels.get(key)
            if said not in {None, nothing, tenant}:
                return f"its label {key} says {said}"
        return ""

    def _convention(self, resource: Resource) -> str:
        settings = self._settings
        return settings.namespace_label if is_namespace(resource) else settings.object_label

    def _claimants(self, found: Candidate) -> dict[str, tuple[str, bool]]:
        """By tenant: what says so, and whether that lasts. What lasts is asked first."""
        claimants: dict[str, tuple[str, bool]] = {}
        group = named_group(found.resource, found.name)
        if group is None:
            for tenant in self.by_name(found.name):
                claimants.setdefault(tenant, (f"its name begins with {self._prefix(tenant)}", True))
        made_for = id_in_name(found.resource, found.name) if self._settings.by_name else ""
        if made_for in self._ids:
            claimants.setdefault(made_for, ("it is called as what KubeZoo makes of each tenant", True))
        for tenant in self._by_group(found.resource.group if group is None else group):
            claimants.setdefault(tenant, (f"its group begins with {self._prefix(tenant)}", True))
        for tenant, key in self._labelled(found):
            claimants.setdefault(tenant, (f"its label {key} says so", False))
        for owner in found.owners if self._settings.owners else ():
            if owner in self._uids:
                claimants.setdefault(self._uids[owner], ("the Tenant is its owner", False))
        volume = found.stands_for
        if volume is not None and volume.bound:
            for tenant in self.whose_claim(volume) - {NOBODY}:
                claim = f"{volume.namespace}/{volume.name}"
                claimants.setdefault(tenant, (f"it is bound to the claim {claim}", False))
        return claimants

    def _labelled(self, found: Candidate) -> Iterator[tuple[str, str]]:
        """Those that a label names, by its value or (then there may be several) in its key."""
        key = self._convention(found.resource)
        before, place, after = key.partition(IN_THE_KEY)
        if not place:
            if key and found.labels.get(key, "") in self._ids:
                yield found.labels[key], key
            return
        for label in found.labels:
            tenant = label.removeprefix(before).removesuffix(after)
            if tenant in self._ids and label == f"{before}{tenant}{after}":
                yield tenant, label

    def _prefix(self, tenant: str) -> str:
        return f"{tenant}{self._settings.separator}"

    def is_own_group(self, tenant: str, group: str) -> bool:
        return tenant in self._by_group(group)

    def _by_group(self, group: str) -> frozenset[str]:
        """Whose a group is; those of Kubernetes are nobody's, which a separator with a dot could mean."""
        with_dot = "." in self._settings.separator and group.endswith(_OF_KUBERNETES)
        return frozenset() if with_dot or group in BUILT_IN_GROUPS else self.by_name(group)


def id_in_name(resource: Resource, name: str) -> str:
    """The tenant of which KubeZoo has made it and called it so; empty: it is nothing of that sort."""
    before = _MADE_BY_KUBEZOO.get((resource.group, resource.kind))
    return name.removeprefix(before) if before is not None and name.startswith(before) else ""


def named_group(resource: Resource, name: str) -> str | None:
    """The group that the name of a definition or an APIService ends with; None: the name is a name."""
    if is_definition(resource) or is_api_service(resource):
        return name.partition(".")[2]
    return None


def is_api_service(resource: Resource) -> bool:
    return (resource.group, resource.kind) == (API_SERVICES.group, API_SERVICES.kind)


def is_shared(labels: Mapping[str, str] | None) -> bool:
    """Whatever the label says, but for `false`."""
    value = (labels or {}).get(names.SHARED_LABEL)
    return value is not None and value != "false"


def is_namespace(resource: Resource) -> bool:
    return (resource.group, resource.kind) == (NAMESPACES.group, NAMESPACES.kind)


def is_definition(resource: Resource) -> bool:
    wanted = CUSTOM_RESOURCE_DEFINITIONS
    return (resource.group, resource.kind) == (wanted.group, wanted.kind)
