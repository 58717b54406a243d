"""The tables of references held against the schemas of a real server: nothing is missing, and nothing is made up."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from harness.controlplane import Access
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.lists import Scope, everything
from skoupa.kube.resources import Resource
from skoupa.usage import builtin
from skoupa.usage.applying.layout import unfolded
from skoupa.usage.found import Found
from skoupa.usage.paths import Path, parsed, written
from skoupa.usage.reading import shipped
from skoupa.usage.rules import Implied, KindRules, Reference, Selection
from skoupa.usage.scopes import IN_A_NAMESPACE, WITHOUT_NAMESPACE
from skoupa.usage.silent import SILENT
from tests.cluster.openapi import Field, Schemas, served
from tests.cluster.reaching import connected

pytestmark = pytest.mark.cluster

# Types that look like references and are none, each with why.
NO_REFERENCES = {
    "ObjectFieldSelector": "a field of the Pod itself",
    "ResourceFieldSelector": "a resource of a container of the same Pod",
    "FileKeySelector": "a file in a volume of the same Pod",
    "NodeSelector": "labels of Nodes, which need not exist",
    "NodeSelectorTerm": "labels of Nodes, which need not exist",
    "TopologySelectorTerm": "labels of Nodes, which need not exist",
    "DeviceSelector": "an expression about devices, which are no objects",
    "CELDeviceSelector": "an expression about devices, which are no objects",
    "GroupSubject": "a group of users, which is no object",
    "OwnerReference": "owners are read for every kind alike, and a template's are never used",
}
# The same for fields: a pattern over `kind path`.
NO_NAMES = {
    r"^(events\.k8s\.io/)?Event ": "an Event tells what happened to an object and needs it no more",
    r"fileKeyRef\.volumeName$": "a volume of the same Pod",
    r"(scaleIO|storageos)\.volumeName$": "a name in the storage system",
    r"vsphereVolume\.storagePolicyName$": "a name in the storage system",
    r"webhooks\[\]\.(namespace|object)Selector$": "which requests are looked at; none of the objects is needed",
    r"match(Constraints|Resources)\.(namespace|object)Selector$": "which requests are looked at",
    r"match(Constraints|Resources)\.\w*[rR]esourceRules\[\]\.resourceNames\[\]$": "which requests are looked at",
    r"metric\.selector$": "labels of a metric, which is no object",
    r"HorizontalPodAutoscaler status\.": "repeats the spec",
    r"^batch/CronJob status\.active\[\]$": "the Jobs that it owns",
    r"jobTemplate\.spec\.selector$": "a selector for Jobs that the server makes up for each of them",
    r"volumeClaimTemplates\[\]\.status\.": "a template has no status",
    r"^storage\.k8s\.io/CSIStorageCapacity nodeTopology$": "labels of Nodes, which need not exist",
    r"^resource\.k8s\.io/\w+ .*\bdriver$": "a driver of devices, which is no object",
    r"^node\.k8s\.io/RuntimeClass scheduling\.nodeSelector$": "labels of Nodes, which need not exist",
    r"flexVolume\.driver$": "a program on the Nodes",
}
# Kinds of the tables that this server does not offer unless it is told to, and fields of versions that it has no more.
NOT_OFFERED = {
    "certificates.k8s.io/PodCertificateRequest",
    "coordination.k8s.io/LeaseCandidate",
    "scheduling.k8s.io/Workload",
    "resource.k8s.io/DeviceTaintRule",
    "admissionregistration.k8s.io/MutatingAdmissionPolicy",
    "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding",
}
OF_OTHER_VERSIONS = re.compile(
    r"devices\.requests\[\]\.deviceClassName$|spec\.devices\[\]\.basic\.nodeName$|deviceSelector\.deviceClassName$"
    r"|[bB]ackend\.serviceName$"
)
# What no schema describes: templates as they were, and maps of whatever a driver asks for.
OPEN = re.compile(r"^(data\.spec\.|parameters\.)|\.annotations\.|nodeSelector\.|volumeAttributes\.")


@pytest.fixture(scope="module")
def schemas(control_plane: Access) -> Schemas:
    async def read() -> Schemas:
        async with connected(control_plane.kubeconfig) as client:
            return await served(client)

    return asyncio.run(read())


def read_by(table: KindRules) -> Iterator[str]:
    """Every path that some rule of this table looks at."""
    for base, part in unfolded(table.parts):
        match part:
            case Reference():
                yield from _read_by_reference(base, part)
            case Selection():
                whole = (*base, *parsed(part.at))
                yield written(whole)
                beside = (path for path in (part.namespaces_at, part.listed_at) if path)
                yield from (written((*whole[:-1], *parsed(path))) for path in beside)
            case Implied():
                holes = (*re.findall(r"\{((?:[^{}]|\{\})+)\}", part.name), part.only_at)
                own = {"", "metadata.name"}
                yield from (written((*base, *parsed(hole))) for hole in holes if hole not in own)
    if table.spent_at:
        yield table.spent_at


def _read_by_reference(base: Path, rule: Reference) -> Iterator[str]:
    whole = (*base, *parsed(rule.at))
    yield written((*whole, *parsed(rule.name)))
    paths = (rule.namespace_at, rule.kind_at, rule.group_at, rule.version_at, rule.when_at)
    beside = whole if rule.name else whole[:-1]
    yield from (written((*beside, *parsed(path))) for path in paths if path)


def known(field: Field, read: set[str]) -> bool:
    """A reference is known where its name is read: the field itself, or one in it."""
    return field.path in read or any(path.startswith((f"{field.path}.", f"{field.path}[]")) for path in read)


def excepted(kind: str, field: Field) -> bool:
    return field.schema in NO_REFERENCES or any(
        re.search(pattern, f"{kind} {field.path}") for pattern in NO_NAMES
    )


def test_every_field_that_looks_like_a_reference_is_in_the_table_or_excepted_with_a_reason(
    schemas: Schemas,
) -> None:
    tables = {table.kind: set(read_by(table)) for table in builtin.RULES}
    unknown = [
        f"{kind} {field.path} ({field.schema or field.type})"
        for kind, field in schemas.references()
        if not known(field, tables.get(kind, set())) and not excepted(kind, field)
    ]
    assert not unknown, "a server has references that the tables of usage/builtin do not know"


def test_every_path_of_the_tables_leads_somewhere(schemas: Schemas) -> None:
    assert {table.kind for table in builtin.RULES} - schemas.kinds.keys() <= NOT_OFFERED
    nowhere = []
    for table in builtin.RULES:
        fields = schemas.kinds.get(table.kind)
        if fields is None:
            continue
        for path in read_by(table):
            if path.startswith("metadata.") or OPEN.search(path) or OF_OTHER_VERSIONS.search(path):
                continue
            if path.replace("{@}", "{}") not in fields:
                nowhere.append(f"{table.kind} {path}")
    assert not nowhere


def test_every_exception_still_excepts_something(schemas: Schemas) -> None:
    tables = {table.kind: set(read_by(table)) for table in builtin.RULES}
    seen = {
        f"{kind} {field.path}": field.schema
        for kind, field in schemas.references()
        if not known(field, tables.get(kind, set()))
    }
    assert [pattern for pattern in NO_NAMES if not any(re.search(pattern, one) for one in seen)] == []
    assert NO_REFERENCES.keys() - set(seen.values()) == set()


def test_every_kind_of_a_server_has_a_table_or_is_known_to_name_nothing(schemas: Schemas) -> None:
    """Others are searched like custom kinds, and nothing is proved while there is one."""
    tables = shipped().kinds()
    assert schemas.kinds.keys() - tables - SILENT == set()
    assert SILENT & tables == set()


async def test_which_kinds_live_in_a_namespace_is_as_the_server_says(admin: Client, schemas: Schemas) -> None:
    listed = {kind_of(one): one.namespaced for one in (await discover(admin)).resources}
    assert {kind for kind in schemas.kinds if listed[kind]} <= IN_A_NAMESPACE
    assert {kind for kind in schemas.kinds if not listed[kind]} <= WITHOUT_NAMESPACE


def kind_of(resource: Resource) -> str:
    return f"{resource.group}/{resource.kind}" if resource.group else resource.kind


async def test_whatever_a_server_has_is_read_without_a_doubt(admin: Client, schemas: Schemas) -> None:
    readings = shipped()
    used = set()
    for resource in (await discover(admin)).preferred():
        kind = kind_of(resource)
        if kind in schemas.kinds and "list" in resource.verbs:
            page = await everything(admin, resource, readings.view(kind))
            assert not page.undecodable
            for item in page.items:
                used |= targets(readings.found(kind, item))
    # What it brings along for itself.
    group = "flowcontrol.apiserver.k8s.io"
    assert (f"{group}/PriorityLevelConfiguration", "", "workload-low") in used
    assert ("rbac.authorization.k8s.io/ClusterRole", "", "cluster-admin") in used


async def test_what_a_server_stored_is_read_by_the_tables(admin: Client, namespace: str) -> None:
    """Defaults filled in, fields sorted and all else that a server does to an object."""
    discovery = await discover(admin)

    async def put(group: str, kind: str, name: str, body: dict[str, Any]) -> None:
        resource = discovery.find(group, kind)
        assert resource is not None
        metadata = {"name": name, "namespace": namespace} if resource.namespaced else {"name": name}
        whole = {"apiVersion": resource.api_version, "kind": kind, "metadata": metadata, **body}
        await admin.create(resource, whole, namespace=namespace if resource.namespaced else "")

    container = {
        "name": "c",
        "image": "example.com/c",
        "env": [
            {"name": "A", "valueFrom": {"secretKeyRef": {"name": "password", "key": "k", "optional": True}}}
        ],
        "envFrom": [{"configMapRef": {"name": "flags"}}],
    }
    spec = {
        "containers": [container],
        "serviceAccountName": "builder",
        "priorityClassName": "system-node-critical",
        "imagePullSecrets": [{"name": "registry"}],
        "volumes": [
            {"name": "a", "configMap": {"name": "settings"}},
            {"name": "b", "projected": {"sources": [{"secret": {"name": "token"}}]}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "d", "ephemeral": {"volumeClaimTemplate": {"spec": claim_spec()}}},
        ],
    }
    await put("", "ServiceAccount", "builder", {})
    await put("", "Pod", "web", {"spec": spec})
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    await put(
        "apps",
        "StatefulSet",
        "db",
        {
            "spec": {
                "replicas": 0,
                "serviceName": "db",
                "selector": {"matchLabels": labels},
                "template": template,
                "volumeClaimTemplates": [{"metadata": {"name": "disk"}, "spec": claim_spec()}],
            }
        },
    )
    await put("networking.k8s.io", "Ingress", "site", {"spec": ingress_spec()})

    async def read(group: str, kind: str, name: str) -> Found:
        resource = discovery.find(group, kind)
        assert resource is not None
        readings = shipped()
        page = await everything(
            admin, resource, readings.view(kind_of(resource)), scope=Scope(namespace=namespace)
        )
        (one,) = [item for item in page.items if item.metadata.name == name]
        return readings.found(kind_of(resource), one)

    in_pod = {
        ("Secret", namespace, "password"),
        ("ConfigMap", namespace, "flags"),
        ("ServiceAccount", namespace, "builder"),
        ("scheduling.k8s.io/PriorityClass", "", "system-node-critical"),
        ("Secret", namespace, "registry"),
        ("ConfigMap", namespace, "settings"),
        ("Secret", namespace, "token"),
        ("PersistentVolumeClaim", namespace, "data"),
        ("storage.k8s.io/StorageClass", "", "fast"),
    }
    # What every Pod gets for its token.
    for_token = {("ConfigMap", namespace, "kube-root-ca.crt")}
    claim = ("PersistentVolumeClaim", namespace, "web-d")
    assert targets(await read("", "Pod", "web")) - for_token == {*in_pod, claim}
    of_set = {("Service", namespace, "db"), ("PersistentVolumeClaim", namespace, "disk-db-#")}
    assert targets(await read("apps", "StatefulSet", "db")) == in_pod | of_set
    assert targets(await read("networking.k8s.io", "Ingress", "site")) == {
        ("Secret", namespace, "certificate"),
        ("Service", namespace, "shop"),
        ("networking.k8s.io/IngressClass", "", "inside"),
    }


def targets(found: Found) -> set[tuple[str, str, str]]:
    assert not found.doubts
    return {(use.target.kind, use.target.namespace, use.target.name) for use in found.uses}


def claim_spec() -> dict[str, Any]:
    return {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "1Gi"}},
    }


def ingress_spec() -> dict[str, Any]:
    backend = {"service": {"name": "shop", "port": {"number": 80}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    return {
        "ingressClassName": "inside",
        "tls": [{"hosts": ["a.example.com"], "secretName": "certificate"}],
        "rules": [{"host": "a.example.com", "http": {"paths": [path]}}],
    }
