"""What there is of Skoupa in a cluster, what deleting each piece means, and the commands that do it.

Found by the label that all its objects carry; the Lease, which carries none, by its name in the namespaces of the rest.
What another object of the list owns goes with that and is not listed. What could not be read is a gap: a list with gaps
never means that nothing is left. Nothing is deleted here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import yaml

from skoupa import names
from skoupa.errors import ApiError, BadReply, NotFound, SkoupaError, TimedOut
from skoupa.install.labelling import INSTANCE_LABEL
from skoupa.install.roles import AGGREGATE_LABEL, CLUSTER_ROLES
from skoupa.kinds.alive import ALIVES
from skoupa.kinds.brake import BRAKES
from skoupa.kinds.tenant import TENANTS, own_finalizers
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, WHOLE, Metadata
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, LEASES, NAMESPACES, Resource
from skoupa.settings import LeaseSettings

_OWN: Final = f"{names.PART_OF_LABEL}={names.COMPONENT}"
# Made by operators, found by the label that gives them their meaning.
_ADDED: Final = f"{AGGREGATE_LABEL}=true,{names.PART_OF_LABEL}!={names.COMPONENT}"
# Copies of other objects' labels, made and removed by the server itself.
_DERIVED: Final = frozenset(
    {"endpoints", "endpointslices.discovery.k8s.io", "events", "events.events.k8s.io", "componentstatuses"}
)
# In the order in which they are best removed: what acts first, what holds the rest last.
_ACTING: Final = "deployments.apps"
_MEANING: Final = {
    _ACTING: "nothing is judged or deleted any more; labels on objects stay, and do nothing",
    "poddisruptionbudgets.policy": "drains do not wait for a replica",
    "services": "metrics are not found under this name, and `skoupa history` finds nobody to ask",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": "its policy is not asked any more",
    "validatingadmissionpolicies.admissionregistration.k8s.io": "TTL labels are not checked when they are written",
    "clusterrolebindings.rbac.authorization.k8s.io": "the controller loses these rights everywhere",
    "rolebindings.rbac.authorization.k8s.io": "the controller loses these rights in this namespace",
    "clusterroles.rbac.authorization.k8s.io": "rights that nobody holds without a binding",
    "roles.rbac.authorization.k8s.io": "rights that nobody holds without a binding",
    "serviceaccounts": "the controller can't log in",
    "leases.coordination.k8s.io": "nobody leads; a running controller makes it again",
    BRAKES.qualified: "what it holds is not held any more",
    CUSTOM_RESOURCE_DEFINITIONS.qualified: "takes along all objects of this kind, whoever made them",
    "configmaps": "settings or limits are gone; what reads them stops or refuses",
    "persistentvolumeclaims": "history and trash are gone; nothing can be restored",
    "namespaces": "takes along everything in it",
}
_ADDED_MEANING: Final = "an operator added these kinds to skoupa-delete"
_STATE_MEANING: Final = "the cluster counts as never swept: the next start holds a backlog again"
_BRAKES_MEANING: Final = "takes along all Brakes; a controller that still runs then holds everything"
_BRAKE_MEANING: Final = (
    f"what it holds is not held any more; its finalizer {names.BRAKE_FINALIZER} is removed by the controller, "
    "so without one by hand"
)
_ALIVE_MEANING: Final = (
    "deleting it tells everybody who takes part that this cluster is about to die, and they clean up what people still need: let "
    "them leave first (docs/alive.md)"
)
_TENANT_MEANING: Final = (
    f"somebody's customer, and not Skoupa's; its finalizer {names.TENANT_FINALIZER} is removed by the controller (with features.tenants off), "
    "so without one by hand: else it can't be deleted any more"
)
_STRANGER_MEANING: Final = (
    "somebody's customer, and not Skoupa's; the definition that Skoupa brought takes it along"
)
_TENANTS_MEANING: Final = "takes along all Tenants, and KubeZoo, where it runs, cleans up after each: keep it while there are any (docs/tenants.md)"
_OWN_FINALIZERS: Final = frozenset({names.BRAKE_FINALIZER, names.ALIVE_FINALIZER})
# What deleting one of these does is no part of taking Skoupa away.
_NEVER_BY_THE_WAY: Final = (ALIVES.qualified, TENANTS.qualified)
_OTHER_MEANING: Final = "carries Skoupa's label; look at it first"
_AT_A_TIME: Final = 16


class Found(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    api_version: str
    kind: str
    resource: str
    namespace: str
    name: str
    meaning: str
    # The namespace of the installation that it belongs to, where it says so.
    instance: str = ""
    terminating: bool = False
    finalizers: tuple[str, ...] = ()
    # Of a Tenant, which is not Skoupa's: those that are Skoupa's to take off.
    ours: tuple[str, ...] = ()
    command: str


class Presence(msgspec.Struct, frozen=True, kw_only=True):
    """`found` in the order of removal; `gaps` are kinds that could not be read, with the reason."""

    found: tuple[Found, ...]
    gaps: tuple[tuple[str, str], ...] = ()


def removal_order(found: Iterable[Found]) -> list[Found]:
    return sorted(found, key=_rank)


def removal(found: Sequence[Found], gaps: Iterable[tuple[str, str]] = ()) -> list[str]:
    """Commands for all of it, in order. What lies in a Namespace of ours goes with that, but what acts is stopped first.

    Neither Alive nor a Tenant is deleted by the way, nor the definition that would take it along, where there is one or `gaps` hide it.
    """
    there = {kind for kind in _NEVER_BY_THE_WAY if _is_there(kind, found, gaps)}
    going = {one.name for one in found if one.resource == NAMESPACES.qualified}
    together: dict[tuple[str, str], list[str]] = {}
    for one in found:
        if (
            one.terminating
            or (one.namespace in going and one.resource != _ACTING)
            or any(_is_or_defines(one, kind) for kind in there)
        ):
            continue
        together.setdefault((one.resource, one.namespace), []).append(one.name)
    freeing = [_freeing(one) for one in found if _own_of(one)]
    commands = []
    for (resource, namespace), called in together.items():
        # With a controller that still runs, deleting a Brake would let go what it holds.
        if resource != _ACTING:
            commands += freeing
            freeing = []
        commands.append(
            f"kubectl delete {resource} {' '.join(called)}{f' -n {namespace}' if namespace else ''}"
        )
    return [*commands, *freeing]


def _is_there(kind: str, found: Iterable[Found], gaps: Iterable[tuple[str, str]]) -> bool:
    """Also where that is not known."""
    return any(one.resource == kind for one in found) or any(what.startswith(kind) for what, _ in gaps)


def _is_or_defines(found: Found, kind: str) -> bool:
    """One of that kind, or its definition, which takes them along."""
    return kind in {
        found.resource,
        found.name if found.resource == CUSTOM_RESOURCE_DEFINITIONS.qualified else "",
    }


def _own_of(found: Found) -> frozenset[str]:
    return _OWN_FINALIZERS.intersection(found.finalizers) | frozenset(found.ours)


def _freeing(found: Found) -> str:
    left = [one for one in found.finalizers if one not in _own_of(found)]
    patch = msgspec.json.encode({"metadata": {"finalizers": left or None}}).decode()
    return f"kubectl patch {found.resource} {found.name} --type=merge -p '{patch}'"


async def look(
    client: Client, *, discovery: Discovery, home: str, namespaces: Sequence[str] = ()
) -> Presence:
    """`home` is where a Lease is looked for in any case; `namespaces` narrows the look to those."""
    kinds = [
        resource
        for resource in discovery.preferred()
        if resource.may("list") and resource.qualified not in _DERIVED
        if resource.namespaced or not namespaces
    ]
    limit = asyncio.Semaphore(_AT_A_TIME)
    gaps = [(f"the kinds of {gap.where}", gap.why) for gap in discovery.gaps]

    async def read(resource: Resource, namespace: str, labels: str = _OWN) -> list[Found]:
        async with limit:
            try:
                scope = Scope(namespace=namespace, labels=labels)
                page = await everything(client, resource, METADATA, scope=scope)
            except (ApiError, BadReply, TimedOut) as error:
                where = f"{resource.qualified} in {namespace}" if namespace else resource.qualified
                gaps.append((where, error.status.message if isinstance(error, ApiError) else error.message))
                return []
            # What has an owner goes with it; a Tenant that does hangs on our finalizer all the same.
            return [
                _found(resource, item.metadata)
                for item in page.items
                if not item.metadata.owner_references or resource.qualified == TENANTS.qualified
            ]

    jobs = [
        read(resource, namespace)
        for resource in kinds
        for namespace in (namespaces if namespaces and resource.namespaced else ("",))
    ]
    jobs += [read(kind, "", _ADDED) for kind in kinds if kind.qualified == CLUSTER_ROLES]
    # People make these too, and none of them goes by itself once no controller is left to let it go.
    of_people = {BRAKES.qualified, *_NEVER_BY_THE_WAY}
    jobs += [read(kind, "", "") for kind in kinds if kind.qualified in of_people]
    found = _without_strangers([one for many in await asyncio.gather(*jobs) for one in many])
    found += await _leases(client, found, home=home, gaps=gaps)
    once = {(one.resource, one.namespace, one.name): one for one in found}
    return Presence(found=tuple(removal_order(once.values())), gaps=tuple(gaps))


def _without_strangers(found: Sequence[Found]) -> list[Found]:
    """Tenants that have nothing of Skoupa are somebody else's, unless Skoupa brought the definition."""
    brought = any(one.name == TENANTS.qualified and _is_or_defines(one, TENANTS.qualified) for one in found)
    return [one for one in found if one.resource != TENANTS.qualified or one.ours or brought]


async def _leases(
    client: Client, found: Iterable[Found], *, home: str, gaps: list[tuple[str, str]]
) -> list[Found]:
    leases = []
    for namespace in sorted({home, *_homes(found)}):
        try:
            name = await _lease_name(client, namespace)
            lease = await client.find(LEASES, name, namespace=namespace, view=METADATA)
        except NotFound:
            continue
        except SkoupaError as error:
            gaps.append((f"{LEASES.qualified} in {namespace}", error.message))
        else:
            leases.append(_found(LEASES, lease.metadata))
    return leases


def _homes(found: Iterable[Found]) -> set[str]:
    """Namespaces in which Skoupa lives or lived."""
    marks = {names.SETTINGS_CONFIG_MAP, names.STATE_CONFIG_MAP}
    homes = {one.namespace for one in found if one.resource == CONFIG_MAPS.qualified and one.name in marks}
    return homes | {one.name for one in found if one.resource == NAMESPACES.qualified}


async def _lease_name(client: Client, namespace: str) -> str:
    """As the settings in the cluster name it; as shipped where they don't, or can't be read."""
    try:
        config = await client.get(CONFIG_MAPS, names.SETTINGS_CONFIG_MAP, namespace=namespace, view=WHOLE)
        tree = yaml.safe_load(config["data"][names.SETTINGS_KEY])
        return str(tree["lease"]["name"])
    except (SkoupaError, KeyError, TypeError, yaml.YAMLError):
        return LeaseSettings().name


def _found(resource: Resource, metadata: Metadata) -> Found:
    where = f" -n {metadata.namespace}" if metadata.namespace else ""
    is_state = resource.qualified == CONFIG_MAPS.qualified and metadata.name == names.STATE_CONFIG_MAP
    is_lease = resource.qualified == LEASES.qualified
    meaning = _MEANING.get(resource.qualified, _OTHER_MEANING)
    if is_state:
        meaning = _STATE_MEANING
    elif resource.qualified == TENANTS.qualified:
        meaning = _TENANT_MEANING if own_finalizers(metadata) else _STRANGER_MEANING
    elif metadata.name == TENANTS.qualified:
        meaning = _TENANTS_MEANING
    elif ALIVES.qualified in {resource.qualified, metadata.name}:
        meaning = _ALIVE_MEANING
    elif resource.qualified == CUSTOM_RESOURCE_DEFINITIONS.qualified and metadata.name == BRAKES.qualified:
        meaning = _BRAKES_MEANING
    elif names.BRAKE_FINALIZER in (metadata.finalizers or ()):
        meaning = _BRAKE_MEANING
    elif (
        (metadata.labels or {}).get(names.PART_OF_LABEL) != names.COMPONENT
        and not is_lease
        and resource.qualified != BRAKES.qualified
    ):
        meaning = _ADDED_MEANING
    found = Found(
        api_version=resource.api_version,
        kind=resource.kind,
        resource=resource.qualified,
        namespace=metadata.namespace,
        name=metadata.name,
        meaning=meaning,
        instance=(metadata.labels or {}).get(INSTANCE_LABEL, ""),
        terminating=metadata.deletion_timestamp is not None,
        finalizers=tuple(metadata.finalizers or ()),
        ours=tuple(sorted(own_finalizers(metadata))) if resource.qualified == TENANTS.qualified else (),
        command=f"kubectl delete {resource.qualified}/{metadata.name}{where}",
    )
    if not any(_is_or_defines(found, kind) for kind in _NEVER_BY_THE_WAY):
        return found
    of_alive = _is_or_defines(found, ALIVES.qualified)
    shown = f"{ALIVES.qualified} {names.ALIVE_NAME} -o yaml" if of_alive else TENANTS.qualified
    safe = _freeing(found) if _own_of(found) else f"kubectl get {shown}"
    return msgspec.structs.replace(found, command=safe)


def _rank(found: Found) -> tuple[int, str, str]:
    order = list(_MEANING)
    # What is not known goes before the Namespace that may hold it.
    rank = order.index(found.resource) if found.resource in order else len(order) - 2
    return rank, found.namespace, found.name
