"""From warning to denying and back, also where the one who installs is not the one who installed before.

The actions of a binding are a set to the server, in which every writer has its own: Warn beside Deny it refuses.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.chart import CHART
from harness.controlplane import Access, ControlPlane, ensure
from tests.charting import Said, helm
from tests.cluster.installing import asked, outcomes, skoupa

pytestmark = pytest.mark.cluster

BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
SETTINGS_MAP = "/api/v1/namespaces/skoupa/configmaps/skoupa-config"
CONFINED = ("skoupa-cleanuppolicy-confinement", "skoupa-deletingpolicy-confinement")
# Whose action settings decide about.
EITHER = (
    *CONFINED,
    "skoupa-cleanuppolicy-delete-right",
    "skoupa-deletingpolicy-delete-right",
    "skoupa-retentionpolicy-delete-right",
    "skoupa-ttl-label",
)
OBSERVING: dict[str, Any] = {"mode": "observe", "policies": {"requireDeleteRight": True}}
ENFORCING: dict[str, Any] = {**OBSERVING, "mode": "enforce", "ttl": {"refuse": True}}


@pytest.fixture
def server() -> Iterator[Access]:
    with ControlPlane() as plane:
        yield plane.access


def actions(access: Access) -> dict[str, list[list[str]]]:
    """What each policy does, by all bindings that it has."""
    found: dict[str, list[list[str]]] = {}
    for item in asked(access.probe(), "GET", BINDINGS)["items"]:
        found.setdefault(item["spec"]["policyName"], []).append(item["spec"]["validationActions"])
    return {name: found[name] for name in EITHER}


def is_enforcing(access: Access) -> bool:
    return "mode: enforce" in asked(access.probe(), "GET", SETTINGS_MAP)["data"]["settings.yaml"]


def assert_enforces(access: Access) -> None:
    assert is_enforcing(access)
    assert actions(access) == {name: [["Deny"]] for name in EITHER}


def assert_observes(access: Access) -> None:
    assert not is_enforcing(access)
    assert actions(access) == {name: [["Warn"]] for name in EITHER}


def install(access: Access, directory: Path, settings: dict[str, Any], *options: str) -> Said:
    file = directory / "settings.yaml"
    # JSON is YAML.
    file.write_text(str(settings).replace("True", "true").replace("'", '"'))
    return skoupa(access, "install", "--config", str(file), *options)


def by_kubectl(access: Access, directory: Path, settings: dict[str, Any]) -> None:
    printed = install(access, directory, settings).stdout
    command = [str(ensure("kubectl")), f"--kubeconfig={access.kubeconfig}", "apply", "-f", "-"]
    subprocess.run(command, input=printed, capture_output=True, text=True, check=True, timeout=60)


def by_helm(access: Access, verb: str, settings: dict[str, Any], *options: str) -> Said:
    place = ("--namespace", "skoupa", "--kubeconfig", str(access.kubeconfig))
    said = helm(verb, "skoupa", str(CHART), *place, *options, values={"settings": settings})
    assert said.returncode == 0, said.stderr
    return said


def test_from_kubectl_to_apply(server: Access, tmp_path: Path) -> None:
    by_kubectl(server, tmp_path, OBSERVING)
    assert_observes(server)
    outcomes(install(server, tmp_path, ENFORCING, "--apply", "--force-conflicts"))
    assert_enforces(server)
    outcomes(install(server, tmp_path, OBSERVING, "--apply"))
    assert_observes(server)


def test_from_apply_to_helm(server: Access, tmp_path: Path) -> None:
    outcomes(install(server, tmp_path, OBSERVING, "--apply"))
    taking = ("--take-ownership", "--force-conflicts")
    by_helm(server, "install", OBSERVING, *taking)
    by_helm(server, "upgrade", ENFORCING, "--force-conflicts")
    assert_enforces(server)
    by_helm(server, "upgrade", OBSERVING, "--force-conflicts")
    assert_observes(server)


def test_from_apply_to_helm_with_the_other_mode(server: Access, tmp_path: Path) -> None:
    """What Helm did not bring it does not remove; where that goes on refusing, it is told with the command."""
    outcomes(install(server, tmp_path, OBSERVING, "--apply"))
    taking = ("--take-ownership", "--force-conflicts")
    by_helm(server, "install", ENFORCING, *taking)
    assert is_enforcing(server)
    assert all(["Deny"] in found for found in actions(server).values())
    assert (
        helm(
            "uninstall", "skoupa", "--namespace", "skoupa", "--kubeconfig", str(server.kubeconfig)
        ).returncode
        == 0
    )
    outcomes(install(server, tmp_path, ENFORCING, "--apply", "--force-conflicts"))
    assert_enforces(server)
    said = by_helm(server, "install", OBSERVING, *taking)
    assert not is_enforcing(server)
    stayed = " ".join(sorted(f"{name}-deny" for name in EITHER))
    removing = f"kubectl delete validatingadmissionpolicybinding {stayed}"
    assert removing in said.stdout
    command = [str(ensure("kubectl")), f"--kubeconfig={server.kubeconfig}", *removing.split()[1:]]
    subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert_observes(server)
    assert removing not in by_helm(server, "upgrade", OBSERVING, "--force-conflicts").stdout
