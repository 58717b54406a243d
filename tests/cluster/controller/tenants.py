"""Tenants on a real server: the kind, which comes and goes, and an object of every kind in no namespace that discovery tells of."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from skoupa.errors import NotFound, SkoupaError
from skoupa.kinds.definition import document
from skoupa.kinds.tenant import TENANT, TENANTS
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from tests.cluster.reaching import eventually
from tests.unit.controller.stage import definition

Found = dict[str, Any]
_RULES = [
    {"apiGroups": ["none.example"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["x"]}
]
_RBAC = "rbac.authorization.k8s.io"
# What cannot have just any name, or is no object at all.
NAMELESS = {"ipaddresses.networking.k8s.io", "componentstatuses"}


def _request() -> str:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "somebody")])
    made = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()


BODIES: dict[str, Callable[[str], Found]] = {
    "namespaces": lambda _: {},
    "nodes": lambda _: {},
    "persistentvolumes": lambda _: {
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": "/nowhere"},
        }
    },
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": lambda _: {"webhooks": []},
    "validatingwebhookconfigurations.admissionregistration.k8s.io": lambda _: {"webhooks": []},
    "validatingadmissionpolicies.admissionregistration.k8s.io": lambda _: {
        "spec": {"matchConstraints": {"resourceRules": _RULES}, "validations": [{"expression": "true"}]}
    },
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": lambda name: {
        "spec": {"policyName": name, "validationActions": ["Deny"]}
    },
    "mutatingadmissionpolicies.admissionregistration.k8s.io": lambda _: {
        "spec": {
            "matchConstraints": {"resourceRules": _RULES},
            "reinvocationPolicy": "Never",
            "mutations": [
                {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
            ],
        }
    },
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": lambda name: {
        "spec": {"policyName": name}
    },
    "apiservices.apiregistration.k8s.io": lambda name: {
        "spec": {
            "group": name.partition(".")[2],
            "version": "v1",
            "groupPriorityMinimum": 1,
            "versionPriority": 1,
        }
    },
    "certificatesigningrequests.certificates.k8s.io": lambda _: {
        "spec": {
            "request": _request(),
            "signerName": "none.example/none",
            "usages": ["client auth"],
        }
    },
    "flowschemas.flowcontrol.apiserver.k8s.io": lambda _: {
        "spec": {"priorityLevelConfiguration": {"name": "global-default"}, "matchingPrecedence": 9999}
    },
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": lambda _: {
        "spec": {
            "type": "Limited",
            "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}},
        }
    },
    "ingressclasses.networking.k8s.io": lambda _: {"spec": {"controller": "example.org/x"}},
    "servicecidrs.networking.k8s.io": lambda _: {
        "spec": {"cidrs": [f"10.{secrets.randbelow(90) + 100}.{secrets.randbelow(250)}.0/24"]}
    },
    "runtimeclasses.node.k8s.io": lambda _: {"handler": "x"},
    "clusterroles.rbac.authorization.k8s.io": lambda _: {"rules": []},
    "clusterrolebindings.rbac.authorization.k8s.io": lambda name: {
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
    },
    "deviceclasses.resource.k8s.io": lambda _: {"spec": {}},
    "resourceslices.resource.k8s.io": lambda name: {
        "spec": {
            "driver": "x.example",
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "allNodes": True,
            "devices": [],
        }
    },
    "priorityclasses.scheduling.k8s.io": lambda _: {"value": 1},
    "csidrivers.storage.k8s.io": lambda _: {"spec": {}},
    "csinodes.storage.k8s.io": lambda _: {"spec": {"drivers": []}},
    "storageclasses.storage.k8s.io": lambda _: {"provisioner": "x.example/x"},
    "volumeattachments.storage.k8s.io": lambda _: {
        "spec": {
            "attacher": "x.example",
            "nodeName": "nowhere",
            "source": {"persistentVolumeName": "nothing"},
        }
    },
    "volumeattributesclasses.storage.k8s.io": lambda _: {
        "driverName": "x.example",
        "parameters": {"a": "b"},
    },
}


def foos(group: str) -> Resource:
    return Resource(group=group, version="v1", plural="foos", kind="Foo", namespaced=False)


def called(resource: Resource, prefix: str, rest: str) -> str:
    """A name that begins so; of a definition or an APIService the group does."""
    if resource.qualified == CUSTOM_RESOURCE_DEFINITIONS.qualified:
        return f"foos.{prefix}{rest}.example"
    return f"v1.{prefix}{rest}.example" if resource.plural == "apiservices" else f"{prefix}{rest}"


async def every_kind(client: Client) -> list[Resource]:
    """Those in no namespace whose objects anybody could make and delete."""
    discovery = await discover(client)
    assert not discovery.gaps
    return [
        one
        for one in discovery.preferred()
        if not one.namespaced
        and one.may("list", "delete", "create")
        and one.qualified not in NAMELESS
        and one.group not in {TENANTS.group, "skoupa.dev"}
    ]


async def make_each(client: Client, kinds: list[Resource], prefix: str, rest: str) -> dict[str, Found]:
    """One object of each kind, by KIND/NAME, as the server has it."""
    made = {}
    for kind in kinds:
        name = called(kind, prefix, rest)
        if kind.qualified == CUSTOM_RESOURCE_DEFINITIONS.qualified:
            body = structural(foos(name.partition(".")[2]))
        elif kind.qualified in BODIES:
            body = BODIES[kind.qualified](name)
        else:
            # A custom kind; one of the server itself that is not known here is said below.
            body = {}
        metadata = {"name": name, **body.pop("metadata", {})}
        whole = {"apiVersion": kind.api_version, "kind": kind.kind, **body, "metadata": metadata}
        try:
            made[f"{kind.kind}/{name}"] = await client.create(kind, whole)
        except SkoupaError as error:
            raise AssertionError(f"say in BODIES how {kind.qualified} is made: {error}") from error
    return made


def structural(resource: Resource) -> Found:
    return definition(resource)


async def as_they_are(client: Client, kinds: list[Resource], made: dict[str, Found]) -> dict[str, Found]:
    """The same objects now, without what their controllers write; those that are gone are missing."""
    uids = {one["metadata"]["uid"]: key for key, one in made.items()}
    found = {}
    for kind in kinds:
        for one in (await everything(client, kind, WHOLE)).items:
            if one["metadata"]["uid"] in uids:
                found[uids[one["metadata"]["uid"]]] = stable(one)
    return found


def stable(found: Found) -> Found:
    """All of it but what the server and its own controllers write."""
    whole: Found = msgspec.json.decode(msgspec.json.encode(found))
    metadata = whole["metadata"]
    # An owner that goes is taken off those that it leaves behind.
    for key in ("resourceVersion", "generation", "managedFields", "ownerReferences"):
        metadata.pop(key, None)
    metadata["finalizers"] = [one for one in metadata.get("finalizers") or () if not _of_the_server(one)]
    metadata["annotations"] = {
        key: value for key, value in (metadata.get("annotations") or {}).items() if not _of_the_server(key)
    }
    whole.pop("status", None)
    # The server gives a Node what it misses.
    (whole.get("spec") or {}).pop("taints", None)
    return whole


def _of_the_server(key: str) -> bool:
    return key.partition("/")[0].endswith(("kubernetes.io", "k8s.io"))


async def all_else(client: Client, kinds: list[Resource], *, but: Iterable[Found]) -> dict[str, Found]:
    """By uid, whatever is there of these kinds and not on its way out; without what the server makes of definitions."""
    uids = {one["metadata"]["uid"] for one in but}
    found = {}
    for kind in kinds:
        for one in (await everything(client, kind, WHOLE)).items:
            metadata = one["metadata"]
            made = "kube-aggregator.kubernetes.io/automanaged" in (metadata.get("labels") or {})
            if metadata["uid"] not in uids and "deletionTimestamp" not in metadata and not made:
                found[metadata["uid"]] = stable(one)
    return found


async def bring_tenants(client: Client) -> None:
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, document(TENANT))
    await until_served(client, TENANTS)


async def until_served(client: Client, kind: Resource) -> None:
    async def served() -> bool:
        try:
            await everything(client, kind, METADATA)
        except SkoupaError:
            return False
        return True

    await eventually(served, what=f"the kind {kind.kind} to be served")


async def take_tenants_away(client: Client) -> None:
    """Whoever still has a finalizer."""
    try:
        listed = await everything(client, TENANTS, METADATA)
        found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, TENANT.name, view=METADATA)
    except NotFound:
        return
    for one in listed.items:
        await client.merge_patch(TENANTS, one.metadata.name, {"metadata": {"finalizers": None}})
    await client.delete(
        CUSTOM_RESOURCE_DEFINITIONS, TENANT.name, uid=found.metadata.uid, propagation="Background"
    )

    async def gone() -> bool:
        try:
            await client.get(CUSTOM_RESOURCE_DEFINITIONS, TENANT.name, view=METADATA)
        except NotFound:
            return True
        return False

    await eventually(gone, what="the kind Tenant to be gone", seconds=60)


async def remove_all(client: Client, kinds: list[Resource], made: dict[str, Found]) -> None:
    """What tests of other things would meet."""
    uids = {one["metadata"]["uid"] for one in made.values()}
    for kind in kinds:
        for one in (await everything(client, kind, METADATA)).items:
            if one.metadata.uid in uids:
                await client.delete(kind, one.metadata.name, uid=one.metadata.uid, propagation="Background")


def new_id() -> str:
    return f"{secrets.randbelow(900_000) + 100_000}"


async def make_tenant(client: Client, name: str) -> Found:
    body = {
        "apiVersion": TENANTS.api_version,
        "kind": TENANTS.kind,
        "metadata": {"name": name},
        "spec": {"id": int(name)},
    }
    return await client.create(TENANTS, body)


async def until_held(client: Client, name: str) -> None:
    """Whoever looks after it has put its finalizers on."""

    async def held() -> bool:
        found = await client.get(TENANTS, name, view=METADATA)
        return len(found.metadata.finalizers or ()) == 2

    await eventually(held, what=f"the Tenant {name} to get its finalizers", patiently=True)


async def until_left(client: Client, name: str, *, seconds: float = 120) -> None:
    said: Found = {}

    async def left() -> bool:
        try:
            found: Found = await client.get(TENANTS, name, view=WHOLE)
        except NotFound:
            return True
        said.clear()
        said.update(found.get("status") or {})
        return False

    try:
        await eventually(left, what=f"the Tenant {name} to go", seconds=seconds, patiently=True)
    except AssertionError as error:
        raise AssertionError(f"{error}: {said}") from error


async def leave(client: Client, name: str) -> None:
    found = await client.get(TENANTS, name, view=METADATA)
    await client.delete(TENANTS, name, uid=found.metadata.uid, propagation="Background")
