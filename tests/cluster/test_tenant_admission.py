"""While what a deleted Tenant had is going nothing new comes under its names, by the API server alone: no Skoupa runs here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from harness.controlplane import ControlPlane, Options
from skoupa.admission.tenants import tenant_admission
from skoupa.kinds.tenant import LEAVING_MARK, tenant_definitions
from skoupa.names import LEAVING_LABEL
from skoupa.settings import decode
from tests.cluster.admission_probe import DEFINITIONS, Said, Writer, collection_of, wait_until

pytestmark = pytest.mark.cluster

TENANTS = "/apis/tenant.kubezoo.io/v1alpha1/tenants"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
NAMESPACES = "/api/v1/namespaces"
MERGE = "application/merge-patch+json"
SETTINGS = decode({"mode": "enforce", "features": {"tenants": True}}, source="the test")


@pytest.fixture(scope="module")
def server() -> Iterator[Writer]:
    options = Options(controller_manager=False, service_account_admission=False, audit=False)
    with ControlPlane(options) as plane:
        writer = Writer(plane.access)
        wait_until(lambda: writer.ask("GET", f"{NAMESPACES}/default").status == 200, "the Namespace default")
        assert writer.ask("POST", NAMESPACES, body("v1", "Namespace", "111111-before")).status == 201
        bring_tenants(writer)
        for manifest in tenant_admission(SETTINGS):
            assert writer.ask("POST", collection_of(manifest), manifest).status == 201
        wait_until(lambda: made_role(writer, "111111-x").status == 403, "the policy to count")
        yield writer


def bring_tenants(writer: Writer) -> None:
    """The kind, and one Tenant of each phase."""
    for definition in tenant_definitions():
        assert writer.ask("POST", DEFINITIONS, definition).status == 201
    wait_until(lambda: writer.ask("GET", TENANTS).status == 200, "the kind Tenant")
    for name, phase in (("111111", "Deleting"), ("222222", "Active"), ("333333", "Refused")):
        labels = {LEAVING_LABEL: LEAVING_MARK} if name != "222222" else {}
        made = body("tenant.kubezoo.io/v1alpha1", "Tenant", name, finalizers=["example.com/x"], labels=labels)
        assert writer.ask("POST", TENANTS, made).status == 201
        told = {"status": {"phase": phase}}
        assert writer.ask("PATCH", f"{TENANTS}/{name}/status", told, media_type=MERGE).status == 200


def body(api_version: str, kind: str, name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}}


def made_role(server: Writer, name: str, **metadata: Any) -> Said:
    role = {**body("rbac.authorization.k8s.io/v1", "ClusterRole", name, **metadata), "rules": []}
    return server.ask("POST", f"{ROLES}?dryRun=All", role)


def test_nothing_new_comes_in_no_namespace_and_the_writer_hears_why(server: Writer) -> None:
    said = made_role(server, "111111-new")
    assert said.status == 403
    assert "the Tenant 111111 is being deleted" in said.message
    assert "kubectl get tenant 111111" in said.message


@pytest.mark.parametrize("name", ["1111112-x", "111111", "x-111111-y", "222222-x", "333333-x", "11111-x"])
def test_whatever_only_looks_alike_may_come(server: Writer, name: str) -> None:
    assert made_role(server, name).status == 201


def test_nothing_new_comes_in_its_namespaces_and_no_new_one(server: Writer) -> None:
    config = body("v1", "ConfigMap", "new")
    assert server.ask("POST", f"{NAMESPACES}/111111-before/configmaps", config).status == 403
    assert server.ask("POST", f"{NAMESPACES}/default/configmaps?dryRun=All", config).status == 201
    assert server.ask("POST", NAMESPACES, body("v1", "Namespace", "111111-new")).status == 403


def test_no_definition_of_its_group_comes(server: Writer) -> None:
    def definition(group: str) -> dict[str, Any]:
        schema = {"openAPIV3Schema": {"type": "object"}}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        spec = {
            "group": group,
            "names": {"plural": "foos", "kind": "Foo"},
            "scope": "Cluster",
            "versions": [version],
        }
        return {**body("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"foos.{group}"), "spec": spec}

    assert server.ask("POST", f"{DEFINITIONS}?dryRun=All", definition("111111-x.example")).status == 403
    assert server.ask("POST", f"{DEFINITIONS}?dryRun=All", definition("x.111111-x.example")).status == 201


def test_what_is_there_may_be_written_and_deleted(server: Writer) -> None:
    label = {"metadata": {"labels": {"a": "b"}}}
    path = f"{NAMESPACES}/111111-before"
    assert server.ask("PATCH", path, label, media_type=MERGE).status == 200


def test_without_the_kind_nobody_is_refused_anything(server: Writer) -> None:
    for name in ("111111", "222222", "333333"):
        free = {"metadata": {"finalizers": None}}
        assert server.ask("PATCH", f"{TENANTS}/{name}", free, media_type=MERGE).status == 200
    definition = f"{DEFINITIONS}/tenants.tenant.kubezoo.io"
    assert server.ask("DELETE", definition).status == 200
    wait_until(lambda: server.ask("GET", TENANTS).status == 404, "the kind to be gone")
    wait_until(lambda: made_role(server, "111111-x").status == 201, "nobody to be refused")
    assert made_role(server, "222222-x").status == 201
    # Others may come after it.
    bring_tenants(server)
    wait_until(lambda: made_role(server, "111111-x").status == 403, "the policy to count again")
