"""Tenants with an installation and no other rights than it brings: the kind, the roles, the command line, and the way out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import Access, ControlPlane
from tests.cluster.installing import asked, controller, eventually, outcomes, skoupa

pytestmark = pytest.mark.cluster

TENANTS = "/apis/tenant.kubezoo.io/v1alpha1/tenants"
NAMESPACES = "/api/v1/namespaces"
RBAC = "rbac.authorization.k8s.io"
ROLES = f"/apis/{RBAC}/v1/clusterroles"
BINDINGS = f"/apis/{RBAC}/v1/clusterrolebindings"
LABEL = "skoupa.dev/tenant"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@pytest.fixture
def server() -> Iterator[Access]:
    with ControlPlane() as plane:
        yield plane.access


def install(access: Access, directory: Path, *, tenants: bool) -> dict[str, str]:
    file = directory / "settings.yaml"
    file.write_text(
        f"mode: enforce\nfeatures: {{tenants: {str(tenants).lower()}}}\nledger: {{dsn: none}}\ntenants: {{label: {LABEL}}}\n"
    )
    return outcomes(skoupa(access, "install", "--config", str(file), "--apply"))


def make(access: Access, path: str, name: str, **body: Any) -> None:
    metadata = {"name": name, **body.pop("metadata", {})}
    asked(access.probe(), "POST", path, {"metadata": metadata, **body})


def make_tenant(access: Access, name: str) -> None:
    make(
        access, TENANTS, name, apiVersion="tenant.kubezoo.io/v1alpha1", kind="Tenant", spec={"id": int(name)}
    )
    make(access, NAMESPACES, f"{name}-default")
    make(access, f"{NAMESPACES}/{name}-default/configmaps", "inside")
    make(access, PRIORITIES, f"{name}-high", value=1)
    make(access, ROLES, f"{name}-admin", rules=[{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": f"{name}-admin"}
    make(access, BINDINGS, f"{name}-admin", roleRef=reference)


def is_there(access: Access, path: str, name: str) -> bool:
    return access.probe().ask("GET", f"{path}/{name}").status == 200


def label(access: Access, path: str, name: str) -> str | None:
    found = asked(access.probe(), "GET", f"{path}/{name}")
    said: str | None = found["metadata"].get("labels", {}).get(LABEL)
    return said


def finalizers(access: Access, name: str) -> list[str]:
    found = asked(access.probe(), "GET", f"{TENANTS}/{name}")
    return list(found["metadata"].get("finalizers", ()))


def test_a_tenant_goes_with_the_rights_of_the_installation_and_the_other_is_free_after_it(
    server: Access, tmp_path: Path
) -> None:
    done = install(server, tmp_path, tenants=True)
    assert done["customresourcedefinitions.apiextensions.k8s.io/tenants.tenant.kubezoo.io"] == "created"
    eventually(lambda: server.probe().ask("GET", TENANTS).status == 200, "the kind Tenant is served")
    for name in ("111111", "222222"):
        make_tenant(server, name)
    with controller(server, tmp_path, home="skoupa"):
        eventually(lambda: len(finalizers(server, "111111")) == 2, "the Tenant gets its finalizers")
        eventually(lambda: len(finalizers(server, "222222")) == 2, "the other too")
        # With the right to that and to nothing else: a role could not be written by whom it gives no rights.
        eventually(lambda: label(server, NAMESPACES, "111111-default") == "111111", "the Namespace's label")
        eventually(lambda: label(server, PRIORITIES, "111111-high") == "111111", "the class's label")
        assert label(server, ROLES, "111111-admin") is None
        planned = skoupa(server, "tenant", "plan", "111111", "-o", "name")
        assert planned.returncode == 0, planned.stderr
        assert planned.stdout.split() == [
            "namespaces/111111-default",
            "priorityclasses.scheduling.k8s.io/111111-high",
            f"clusterrolebindings.{RBAC}/111111-admin",
            f"clusterroles.{RBAC}/111111-admin",
        ]
        said = skoupa(server, "tenant", "delete", "111111", "--yes", "--wait", "--timeout", "150s")
        assert said.returncode == 0, said.stdout + said.stderr
        assert "nothing of the Tenant 111111 is left" in said.stdout
        for path, name in (
            (NAMESPACES, "default"),
            (PRIORITIES, "high"),
            (ROLES, "admin"),
            (BINDINGS, "admin"),
        ):
            assert not is_there(server, path, f"111111-{name}")
            assert is_there(server, path, f"222222-{name}")
        assert skoupa(server, "tenant", "leaks").returncode == 0
    # The way out: what is switched off holds no Tenant.
    install(server, tmp_path, tenants=False)
    with controller(server, tmp_path, home="skoupa"):
        eventually(lambda: finalizers(server, "222222") == [], "the Tenant is free")
    assert is_there(server, NAMESPACES, "222222-default")


def test_a_kind_that_somebody_else_brought_is_used_as_it_is(server: Access, tmp_path: Path) -> None:
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "spec": {"type": "object", "properties": {"id": {"type": "integer", "format": "int32"}}}
                },
            }
        },
    }
    spec = {
        "group": "tenant.kubezoo.io",
        "names": {"plural": "tenants", "kind": "Tenant"},
        "scope": "Cluster",
        "versions": [version],
    }
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    make(server, definitions, "tenants.tenant.kubezoo.io", spec=spec)
    done = install(server, tmp_path, tenants=True)
    assert "customresourcedefinitions.apiextensions.k8s.io/tenants.tenant.kubezoo.io" not in done
    eventually(lambda: server.probe().ask("GET", TENANTS).status == 200, "the kind Tenant is served")
    make_tenant(server, "111111")
    with controller(server, tmp_path, home="skoupa"):
        eventually(lambda: len(finalizers(server, "111111")) == 2, "the Tenant gets its finalizers")
        said = skoupa(server, "tenant", "delete", "111111", "--yes", "--wait", "--timeout", "150s")
        assert said.returncode == 0, said.stdout + said.stderr
    assert not is_there(server, ROLES, "111111-admin")
