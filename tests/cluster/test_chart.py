"""The chart on the real API server: what Helm brings is what `skoupa install` brings, it works, it is upgraded, and it goes.

One test follows one release through its life: every step needs those before it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.chart import CHART
from harness.controlplane import Access, ControlPlane
from tests.charting import Said, helm
from tests.cluster.installing import asked, controller, eventually, skoupa

pytestmark = pytest.mark.cluster

CORE = "/api/v1/namespaces"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
FOREIGN = "policyexceptions.policies.kyverno.io"
BROUGHT = {
    "alives.skoupa.dev",
    "brakes.skoupa.dev",
    "cleanuppolicies.kyverno.io",
    "clustercleanuppolicies.kyverno.io",
    "clusterretentionpolicies.skoupa.dev",
    "deletingpolicies.policies.kyverno.io",
    "globalcontextentries.kyverno.io",
    "kindprofiles.skoupa.dev",
    "namespaceddeletingpolicies.policies.kyverno.io",
    "retentionpolicies.skoupa.dev",
}
SETTINGS = {"mode": "enforce", "ttl": {"maximum": "90d", "requireDeleteRight": True}}
# What `skoupa install` would write otherwise, and why.
NOT_THE_SAME = {
    "namespaces/skoupa": "Helm makes it without labels",
    "configmaps/skoupa-config in skoupa": "the same settings in another order",
    "deployments.apps/skoupa in skoupa": "the digest of that text",
}


@pytest.fixture
def server() -> Iterator[Access]:
    """Admission policies speak to all who use a server."""
    with ControlPlane() as plane:
        asked(plane.access.probe(), "POST", DEFINITIONS, somebody_elses_definition())
        yield plane.access


def somebody_elses_definition() -> dict[str, Any]:
    plural, _, group = FOREIGN.partition(".")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "metadata": {"name": FOREIGN},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": "PolicyException"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def release(access: Access, verb: str, settings: dict[str, Any]) -> Said:
    options = ["--namespace", "skoupa", "--kubeconfig", str(access.kubeconfig)]
    if verb == "install":
        options.append("--create-namespace")
    said = helm(verb, "skoupa", str(CHART), *options, values={"settings": settings})
    assert said.returncode == 0, said.stderr
    return said


def test_a_release_from_its_first_day_to_its_last(server: Access, tmp_path: Path) -> None:
    said = release(server, "install", SETTINGS)
    what_is_there_is_what_install_would_apply(server, tmp_path)
    what_somebody_else_brought_is_used_as_it_is(server, said)
    helm_tells_how_to_look_how_to_stop_and_how_to_leave(said)
    the_release_leaves_room_in_the_secret_that_helm_keeps_it_in(server)
    the_controller_deletes_what_is_due(server, tmp_path)
    an_upgrade_takes_back_what_is_switched_off(server)
    what_can_not_be_is_refused_and_changes_nothing(server)
    definitions_and_history_outlive_the_release(server)
    release(server, "install", {})


def found(access: Access) -> set[str]:
    report = json.loads(skoupa(access, "uninstall", "--check", "-o", "json").stdout)
    assert not report["unreadable"]
    return {
        f"{one['resource']}/{one['name']}" + (f" in {one['namespace']}" if one["namespace"] else "")
        for one in report["found"]
    }


def what_is_there_is_what_install_would_apply(server: Access, tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(yaml.safe_dump(SETTINGS))
    tried = skoupa(*(server, "install", "--apply", "--dry-run", "--force-conflicts", "--config", str(config)))
    assert tried.returncode == 0, tried.stderr
    done = dict(line.removesuffix(" (dry run)").rsplit(" ", 1) for line in tried.stdout.splitlines())
    differing = {name: outcome for name, outcome in done.items() if outcome != "unchanged"}
    assert differing == dict.fromkeys(NOT_THE_SAME, "changed")
    assert found(server) == done.keys() - {"namespaces/skoupa"}, "and nothing else"


def what_somebody_else_brought_is_used_as_it_is(server: Access, released: Said) -> None:
    there = asked(server.probe(), "GET", f"{DEFINITIONS}/{FOREIGN}")
    assert "labels" not in there["metadata"]
    assert f"{FOREIGN} is there already and not of this release: it is used as it is" in released.stdout


def helm_tells_how_to_look_how_to_stop_and_how_to_leave(released: Said) -> None:
    for words in (
        "Skoupa deletes what is due.",
        "skoupa plan -A",
        "skoupa pause",
        "--set settings.mode=observe",
        "helm uninstall skoupa -n skoupa",
        "skoupa uninstall --check",
        "kubectl label namespace skoupa pod-security.kubernetes.io/enforce=restricted",
    ):
        assert words in released.stdout


def the_release_leaves_room_in_the_secret_that_helm_keeps_it_in(server: Access) -> None:
    kept = asked(server.probe(), "GET", f"{CORE}/skoupa/secrets/sh.helm.release.v1.skoupa.v1")
    assert len(base64.b64decode(kept["data"]["release"])) < 700_000, "an object of etcd has a megabyte"


def the_controller_deletes_what_is_due(server: Access, tmp_path: Path) -> None:
    """With the rights and the settings of the release."""
    labels = {"cleanup.kyverno.io/ttl": "0"}
    path = f"{CORE}/default/configmaps"
    asked(server.probe(), "POST", path, {"metadata": {"name": "goes", "labels": labels}})
    with controller(server, tmp_path, home="skoupa") as running:
        running.says("leading")
        eventually(
            lambda: server.probe().ask("GET", f"{path}/goes").status == 404, "the labelled ConfigMap is gone"
        )


def an_upgrade_takes_back_what_is_switched_off(server: Access) -> None:
    """But for the policy of the limits, which an API server does not take a second time."""
    said = release(server, "upgrade", {"mode": "observe"})
    assert "Skoupa observes: it judges and reports, and deletes nothing." in said.stdout
    assert server.probe().ask("GET", f"{BINDINGS}/skoupa-ttl-delete-right").status == 404
    asked(server.probe(), "GET", f"{BINDINGS}/skoupa-ttl-limits")
    limits = asked(server.probe(), "GET", f"{CORE}/skoupa/configmaps/skoupa-ttl-limits")
    assert limits["data"] == {"minimum": "", "maximum": "", "notAfter": ""}


def what_can_not_be_is_refused_and_changes_nothing(server: Access) -> None:
    said = helm(
        *("upgrade", "skoupa", str(CHART), "--namespace", "skoupa", "--kubeconfig", str(server.kubeconfig)),
        values={"replicas": 2},
    )
    assert said.returncode != 0
    assert "2 replicas can't share a ledger in SQLite" in said.stderr
    deployment = asked(server.probe(), "GET", "/apis/apps/v1/namespaces/skoupa/deployments/skoupa")
    assert deployment["spec"]["replicas"] == 1


def definitions_and_history_outlive_the_release(server: Access) -> None:
    said = helm("uninstall", "skoupa", "--namespace", "skoupa", "--kubeconfig", str(server.kubeconfig))
    assert said.returncode == 0, said.stderr
    by_the_controller = {
        "configmaps/skoupa-state in skoupa",
        "leases.coordination.k8s.io/skoupa in skoupa",
        "secrets/skoupa-webhook in skoupa",
        "validatingwebhookconfigurations.admissionregistration.k8s.io/skoupa-policies",
    }
    kept = {f"customresourcedefinitions.apiextensions.k8s.io/{name}" for name in BROUGHT}
    kept |= {"persistentvolumeclaims/skoupa-ledger in skoupa"}
    eventually(lambda: found(server) == kept | by_the_controller, "the rest is gone")
