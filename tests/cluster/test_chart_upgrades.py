"""The way to upgrade a release that is documented: what was given once stays, also what was taken away with null."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from harness.chart import CHART
from harness.controlplane import Access, ControlPlane
from tests.charting import Said, helm
from tests.cluster.installing import asked

pytestmark = pytest.mark.cluster

GIVEN = {
    "image": {"repository": "registry.example/skoupa"},
    "resources": {"limits": None},
    "settings": {"clusterName": "prod-eu", "ledger": {"dsn": "postgresql://skoupa@db.example.org/skoupa"}},
    "replicas": 3,
}


@pytest.fixture
def server() -> Iterator[Access]:
    with ControlPlane() as plane:
        yield plane.access


def release(access: Access, verb: str, *options: str, values: dict[str, Any] | None = None) -> Said:
    place = ("--namespace", "ops", "--kubeconfig", str(access.kubeconfig))
    said = helm(verb, "skoupa", str(CHART), *place, *options, values=values)
    assert said.returncode == 0, said.stderr
    return said


def deployed(access: Access) -> dict[str, Any]:
    spec: dict[str, Any] = asked(access.probe(), "GET", "/apis/apps/v1/namespaces/ops/deployments/skoupa")[
        "spec"
    ]
    return spec


def test_what_was_given_stays_and_what_is_new_comes_from_the_chart(server: Access) -> None:
    said = release(server, "install", "--create-namespace", values=GIVEN)
    (shown,) = [line for line in said.stdout.splitlines() if "settings.mode=enforce" in line]
    before = deployed(server)
    assert "limits" not in before["template"]["spec"]["containers"][0]["resources"]

    words = shown.split()
    assert words[:5] == ["helm", "upgrade", "skoupa", "CHART", "-n"]
    release(server, "upgrade", *words[6:])
    after = deployed(server)
    assert after["replicas"] == 3
    (old,), (new,) = (one["template"]["spec"]["containers"] for one in (before, after))
    assert (new["image"], new["resources"]) == (old["image"], old["resources"])
    config = asked(server.probe(), "GET", "/api/v1/namespaces/ops/configmaps/skoupa-config")
    assert "mode: enforce" in config["data"]["settings.yaml"]
    assert "prod-eu" in config["data"]["settings.yaml"]

    release(server, "upgrade", "--reset-then-reuse-values", "--set", "replicas=null")
    assert deployed(server)["replicas"] == 2, "as shipped again"
