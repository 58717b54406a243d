"""A Tenant that hangs on finalizers of others: a person takes these off, each on record, and then the Tenant goes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import Access, ControlPlane
from tests.cluster.installing import asked, controller, eventually, skoupa

pytestmark = pytest.mark.cluster

TENANTS = "/apis/tenant.kubezoo.io/v1alpha1/tenants"
NAMESPACES = "/api/v1/namespaces"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
FOREIGN = "lost.example.com/cleanup"


@pytest.fixture
def server() -> Iterator[Access]:
    with ControlPlane() as plane:
        yield plane.access


def make(access: Access, path: str, name: str, *finalizers: str, **body: Any) -> None:
    metadata = {"name": name, "finalizers": list(finalizers)}
    asked(access.probe(), "POST", path, {"metadata": metadata, **body})


def found(access: Access, path: str, name: str) -> dict[str, Any] | None:
    said = access.probe().ask("GET", f"{path}/{name}")
    return json.loads(said.body or b"{}") if said.status == 200 else None


def is_leaving(access: Access, path: str, name: str) -> bool:
    one = found(access, path, name)
    return one is not None and "deletionTimestamp" in one["metadata"]


def test_a_tenant_that_hangs_goes_once_somebody_has_taken_the_finalizers_off(
    server: Access, tmp_path: Path
) -> None:
    settings, ledger = tmp_path / "settings.yaml", tmp_path / "forced.db"
    settings.write_text("mode: enforce\nfeatures: {tenants: true}\nledger: {dsn: none}\n")
    assert skoupa(server, "install", "--config", str(settings), "--apply").returncode == 0
    eventually(lambda: server.probe().ask("GET", TENANTS).status == 200, "the kind Tenant is served")
    for name in ("111111", "222222"):
        make(server, TENANTS, name, apiVersion="tenant.kubezoo.io/v1alpha1", kind="Tenant")
        make(server, NAMESPACES, f"{name}-default", FOREIGN)
        make(server, f"{NAMESPACES}/{name}-default/configmaps", "inside", FOREIGN, "other.example.com/too")
        make(server, PRIORITIES, f"{name}-high", FOREIGN, value=1)
    force = ("tenant", "delete", "111111", "--force-finalizers", "--stuck-for", "0s", "--ledger", str(ledger))
    with controller(server, tmp_path, home="skoupa"):
        eventually(
            lambda: len((found(server, TENANTS, "111111") or {})["metadata"].get("finalizers", ())) == 2,
            "the Tenant gets its finalizers",
        )
        said = skoupa(server, *force, "--yes")
        assert said.returncode == 5, said.stdout
        assert "is not being deleted" in said.stderr
        assert skoupa(server, "tenant", "delete", "111111", "--yes").returncode == 0
        places = (
            (NAMESPACES, "111111-default"),
            (f"{NAMESPACES}/111111-default/configmaps", "inside"),
            (PRIORITIES, "111111-high"),
        )
        for path, name in places:
            eventually(lambda path=path, name=name: is_leaving(server, path, name), f"{name} is on its way")  # type: ignore[misc]
        said = skoupa(server, *force, "--dry-run")
        assert said.returncode == 0, said.stdout + said.stderr
        for called in (
            "Namespace 111111-default",
            "ConfigMap 111111-default/inside",
            "PriorityClass 111111-high",
        ):
            assert called in said.stdout
        assert is_leaving(server, PRIORITIES, "111111-high")
        said = skoupa(server, *force, "--yes")
        assert said.returncode == 0, said.stdout + said.stderr
        assert "4 taken off, 0 off or gone already, 0 left." in said.stdout
        eventually(lambda: found(server, TENANTS, "111111") is None, "the Tenant goes", seconds=120)
    assert [found(server, path, name) for path, name in places[::2]] == [None, None]
    with sqlite3.connect(ledger) as database:
        rows = sorted(database.execute("SELECT kind, name, outcome FROM skoupa_entries"))
    assert rows == [
        ("ConfigMap", "inside", "deleted"),
        ("ConfigMap", "inside", "deleted"),
        ("Namespace", "111111-default", "deleted"),
        ("PriorityClass", "111111-high", "deleted"),
    ]
    other = found(server, PRIORITIES, "222222-high")
    assert other is not None
    assert other["metadata"]["finalizers"] == [FOREIGN]
    assert not is_leaving(server, NAMESPACES, "222222-default")
