"""An installation on the real API server: it applies, twice; its rights suffice and are no more; it can be removed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import Access, ControlPlane, ensure
from tests.cluster.installing import asked, controller, eventually, may, outcomes, requests_of, skoupa

pytestmark = pytest.mark.cluster

CORE = "/api/v1/namespaces"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
USER = "system:serviceaccount:skoupa:skoupa"
TTL = "cleanup.kyverno.io/ttl"
NEXT = "skoupa.dev/next-execution-time"
KYVERNO = {"apiVersion": "kyverno.io/v2", "kind": "ClusterCleanupPolicy"}


@pytest.fixture(scope="module")
def server() -> Iterator[Access]:
    """Admission policies and a sweeping controller speak to all who use a server, so these tests have one of their own."""
    with ControlPlane() as plane:
        yield plane.access


@pytest.fixture(scope="module")
def installed(server: Access) -> Access:
    tried = outcomes(skoupa(server, "install", "--mode", "enforce", "--apply", "--dry-run"))
    assert set(tried.values()) == {"run)"}
    assert server.probe().ask("GET", f"{CORE}/skoupa").status == 404, "a dry run keeps nothing"
    done = outcomes(skoupa(server, "install", "--mode", "enforce", "--apply"))
    assert set(done.values()) == {"created"}
    return server


def labelled(access: Access, name: str, *, namespace: str = "default", plural: str = "configmaps") -> str:
    """A new object whose time is over at once; gives its path."""
    path = f"{CORE}/{namespace}/{plural}"
    asked(access.probe(), "POST", path, {"metadata": {"name": name, "labels": {TTL: "0"}}})
    return f"{path}/{name}"


def exists(access: Access, path: str) -> bool:
    status = access.probe().ask("GET", path).status
    assert status in {200, 404}
    return status == 200


def test_applying_again_changes_nothing(installed: Access) -> None:
    again = outcomes(skoupa(installed, "install", "--mode", "enforce", "--apply"))
    assert set(again.values()) == {"unchanged"}


def test_kubectl_takes_what_is_printed(installed: Access) -> None:
    printed = skoupa(installed, "install", "--mode", "enforce")
    command = [str(ensure("kubectl")), f"--kubeconfig={installed.kubeconfig}", "apply", "-f", "-"]
    ways = (["--dry-run=server"], ["--dry-run=server", "--server-side", "--field-manager=skoupa"])
    for way in ways:
        said = subprocess.run(
            [*command, *way], input=printed.stdout, capture_output=True, text=True, check=False, timeout=60
        )
        assert said.returncode == 0, said.stderr
        assert "deployment.apps/skoupa" in said.stdout


def test_a_field_that_somebody_else_manages_is_a_conflict_until_forced(installed: Access) -> None:
    path = "/apis/apps/v1/namespaces/skoupa/deployments/skoupa"
    deployment = asked(installed.probe(), "GET", path)
    deployment["spec"]["replicas"] = 4
    asked(installed.probe(), "PUT", f"{path}?fieldManager=somebody", deployment)
    said = skoupa(installed, "install", "--mode", "enforce", "--apply")
    assert said.returncode == 1
    assert "somebody" in said.stderr
    assert "--force-conflicts" in said.stderr
    assert "nothing was applied" in said.stderr
    assert said.stdout == "", "it was found out before the first object"
    forced = outcomes(skoupa(installed, "install", "--mode", "enforce", "--apply", "--force-conflicts"))
    assert forced["deployments.apps/skoupa in skoupa"] == "changed"
    assert asked(installed.probe(), "GET", path)["spec"]["replicas"] == 1


def test_the_installed_rights_suffice_for_a_controller_and_nothing_was_denied(
    installed: Access, tmp_path: Path
) -> None:
    before = len(requests_of(installed, USER))
    with controller(installed, tmp_path, home="skoupa") as running:
        running.says("leading")
        path = labelled(installed, "goes")
        eventually(lambda: not exists(installed, path), "the labelled ConfigMap is gone")
        kept = labelled(installed, "held", plural="secrets")
        running.says("no permission: delete secrets in default")
        assert exists(installed, kept)
        asked(installed.probe(), "DELETE", kept)
    told = requests_of(installed, USER)
    denied = {
        (one["verb"], one["objectRef"]["resource"])
        for one in told[before:]
        if one["responseStatus"]["code"] == 403
    }
    assert denied <= {("delete", "secrets")}, (
        "what was not granted may be tried once, nothing else is missing"
    )
    done = {(one["verb"], one["objectRef"]["resource"]) for one in told if "objectRef" in one}
    assert {
        ("create", "leases"),
        ("update", "leases"),
        ("create", "events"),
        ("delete", "configmaps"),
    } <= done
    assert ("get", "configmaps") in done, "it asked for its state"
    assert exists(installed, f"{CORE}/skoupa/configmaps/skoupa-state")


def test_with_retention_the_installed_rights_suffice_to_mark_and_let_go(
    installed: Access, tmp_path: Path
) -> None:
    config = tmp_path / "retention.yaml"
    config.write_text("features:\n  retention: true\n")
    outcomes(skoupa(installed, "install", "--mode", "enforce", "--apply", "--config", str(config)))
    path = f"{CORE}/default/configmaps"
    labels = {"skoupa.dev/ttl-after": "unused-1s"}
    before = len(requests_of(installed, USER))
    try:
        assert may(installed, user=USER, verb="patch", resource="configmaps", namespace="default")
        assert not may(installed, user=USER, verb="patch", resource="secrets", namespace="default")
        with controller(installed, tmp_path, home="skoupa") as running:
            running.says("leading")
            asked(installed.probe(), "POST", path, {"metadata": {"name": "unused", "labels": labels}})
            eventually(lambda: not exists(installed, f"{path}/unused"), "the unused ConfigMap is gone")
            # What may not be deleted may not be marked either, and stays.
            secret = f"{CORE}/default/secrets"
            asked(installed.probe(), "POST", secret, {"metadata": {"name": "kept", "labels": labels}})
            eventually(
                lambda: any(
                    one["verb"] == "patch" and one["responseStatus"]["code"] == 403
                    for one in requests_of(installed, USER)[before:]
                ),
                "the Secret can't be marked",
            )
            assert exists(installed, f"{secret}/kept")
            asked(installed.probe(), "DELETE", f"{secret}/kept")
    finally:
        outcomes(skoupa(installed, "install", "--mode", "enforce", "--apply"))
    assert not may(installed, user=USER, verb="patch", resource="configmaps", namespace="default")


def test_where_a_definition_has_no_room_for_it_a_policy_is_noted_when_it_runs_next(
    installed: Access, tmp_path: Path
) -> None:
    kind = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clustercleanuppolicies.kyverno.io"
    policy = "/apis/kyverno.io/v2/clustercleanuppolicies"
    spec = {
        "schedule": "0 0 1 1 *",
        "match": {"any": [{"resources": {"kinds": ["Node"], "names": ["none"]}}]},
    }
    before = asked(installed.probe(), "GET", kind)
    asked(installed.probe(), "PUT", kind, without_next_run(before))
    asked(installed.probe(), "POST", policy, {"metadata": {"name": "yearly"}, "spec": spec, **KYVERNO})

    def noted() -> Any:
        return asked(installed.probe(), "GET", f"{policy}/yearly")

    try:
        with controller(installed, tmp_path, home="skoupa") as running:
            running.says("leading")
            eventually(lambda: NEXT in (noted()["metadata"].get("annotations") or {}), "the note")
        assert noted()["metadata"]["annotations"][NEXT].endswith("-01-01T00:00:00Z")
        assert noted()["metadata"]["generation"] == 1
        assert "nextExecutionTime" not in noted()["status"]
    finally:
        asked(installed.probe(), "DELETE", f"{policy}/yearly")
        now = asked(installed.probe(), "GET", kind)
        asked(installed.probe(), "PUT", kind, {**now, "spec": before["spec"]})


def without_next_run(definition: dict[str, Any]) -> dict[str, Any]:
    """As Kyverno's."""
    changed: dict[str, Any] = json.loads(json.dumps(definition))
    for version in changed["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"].pop("nextExecutionTime")
    return changed


@pytest.mark.parametrize(
    ("verb", "resource", "namespace"),
    [
        ("get", "secrets", "default"),
        ("get", "configmaps", "default"),
        ("update", "configmaps", "default"),
        ("patch", "deployments.apps", "default"),
        ("create", "pods", "default"),
        ("delete", "secrets", "default"),
        ("delete", "namespaces", ""),
        ("delete", "persistentvolumeclaims", "default"),
        ("deletecollection", "configmaps", "default"),
        ("get", "secrets", "skoupa"),
        ("update", "leases.coordination.k8s.io", "kube-system"),
        ("patch", "configmaps", "skoupa"),
        ("update", "validatingadmissionpolicies.admissionregistration.k8s.io", ""),
        ("escalate", "clusterroles.rbac.authorization.k8s.io", ""),
        ("impersonate", "users", ""),
        ("create", "clustercleanuppolicies.kyverno.io", ""),
        ("update", "cleanuppolicies.kyverno.io", "default"),
        ("patch", "policyexceptions.policies.kyverno.io", "default"),
        ("patch", "globalcontextentries.kyverno.io", ""),
    ],
)
def test_the_controller_may_not(installed: Access, verb: str, resource: str, namespace: str) -> None:
    assert not may(installed, user=USER, verb=verb, resource=resource, namespace=namespace)


@pytest.mark.parametrize(
    "resource",
    [
        "cleanuppolicies.kyverno.io",
        "clustercleanuppolicies.kyverno.io",
        "deletingpolicies.policies.kyverno.io",
        "namespaceddeletingpolicies.policies.kyverno.io",
    ],
)
def test_the_controller_may_note_on_policies_when_they_run_next(installed: Access, resource: str) -> None:
    assert may(installed, user=USER, verb="patch", resource=resource, namespace="default")


def test_a_labelled_cluster_role_adds_a_kind(installed: Access) -> None:
    def allowed() -> bool:
        return may(installed, user=USER, verb="delete", resource="widgets.shop.example", namespace="default")

    assert not allowed()
    role = {
        "metadata": {"name": "skoupa-widgets", "labels": {"skoupa.dev/aggregate-to-delete": "true"}},
        "rules": [{"apiGroups": ["shop.example"], "resources": ["widgets"], "verbs": ["delete"]}],
    }
    asked(installed.probe(), "POST", f"{RBAC}/clusterroles", role)
    eventually(allowed, "the aggregated role has the kind")
    again = outcomes(skoupa(installed, "install", "--mode", "enforce", "--apply"))
    assert set(again.values()) == {"unchanged"}, "the rules belong to the server's controller"
    assert allowed()
    asked(installed.probe(), "DELETE", f"{RBAC}/clusterroles/skoupa-widgets")
    eventually(lambda: not allowed(), "the kind is not granted any more")


def test_a_namespaced_installation_needs_no_cluster_rights_to_apply_and_none_to_run(
    installed: Access, tmp_path: Path
) -> None:
    team = installed.kubeconfig_for(user="team")
    for namespace in ("team-ops", "team-shop"):
        asked(installed.probe(), "POST", CORE, {"metadata": {"name": namespace}})
        grant_everything(installed, namespace, user="team")
    done = outcomes(
        skoupa(
            *(team, "install", "--apply", "--mode", "enforce", "-n", "team-ops", "--namespaces", "team-shop")
        )
    )
    assert set(done.values()) == {"created"}
    assert all(" in team-" in name for name in done)
    user = "system:serviceaccount:team-ops:skoupa"
    assert not may(installed, user=user, verb="list", resource="configmaps", namespace="default")
    seen = [
        name
        for name in ("team-ops", "team-shop", "default")
        if may(installed, user=user, verb="get", resource="namespaces", namespace=name, name=name)
    ]
    assert seen == ["team-ops", "team-shop"]
    with controller(installed, tmp_path, home="team-ops") as running:
        running.says("leading")
        elsewhere = labelled(installed, "elsewhere")
        path = labelled(installed, "goes", namespace="team-shop")
        eventually(lambda: not exists(installed, path), "the labelled ConfigMap is gone")
        assert exists(installed, elsewhere)
    asked(installed.probe(), "DELETE", elsewhere)
    denied = {
        one["objectRef"]["resource"]
        for one in requests_of(installed, user)
        if one["responseStatus"]["code"] == 403
    }
    assert denied <= {"customresourcedefinitions", "apiservices"}, "new kinds are polled for instead"


def grant_everything(access: Access, namespace: str, *, user: str) -> None:
    every = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    path = f"{RBAC}/namespaces/{namespace}"
    asked(access.probe(), "POST", f"{path}/roles", {"metadata": {"name": user}, "rules": every})
    binding = {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
    asked(access.probe(), "POST", f"{path}/rolebindings", binding)


def test_a_namespace_that_is_not_there_is_named(installed: Access) -> None:
    said = skoupa(installed, "install", "--apply", "-n", "nowhere", "--namespaces", "nowhere")
    assert said.returncode != 0
    assert "make the namespace first: nowhere" in said.stderr


def test_what_an_earlier_installation_left_is_told(installed: Access, tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text('address: ""\napi: {address: none}\nwebhook: {address: none}\n')
    said = skoupa(installed, "install", "--apply", "--mode", "enforce", "--config", str(config))
    assert said.returncode == 0
    left = [line for line in said.stderr.splitlines() if "not part of this installation any more" in line]
    commands = [line.partition("To remove it: ")[2] for line in left]
    assert commands == [
        "kubectl delete services/skoupa -n skoupa",
        "kubectl delete clusterrolebindings.rbac.authorization.k8s.io/skoupa-ask",
        "kubectl delete clusterroles.rbac.authorization.k8s.io/skoupa-ask",
        "kubectl delete roles.rbac.authorization.k8s.io/skoupa-history -n skoupa",
    ]
    for command in commands:
        run_kubectl(installed, command)
    again = skoupa(installed, "install", "--apply", "--mode", "enforce", "--config", str(config))
    assert "any more" not in again.stderr
    outcomes(skoupa(installed, "install", "--apply", "--mode", "enforce"))


def test_uninstall_check_leads_out_to_a_clean_cluster(tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text("mode: enforce\nlease: {name: broom}\n")
    with ControlPlane() as plane:
        access = plane.access
        clean = skoupa(access, "uninstall", "--check")
        assert (clean.returncode, clean.stdout) == (0, "Nothing of Skoupa was found.\n")
        done = outcomes(skoupa(access, "install", "--apply", "--config", str(config)))
        with controller(access, tmp_path, home="skoupa") as running:
            running.says("leading")
            eventually(lambda: exists(access, f"{CORE}/skoupa/configmaps/skoupa-state"), "it wrote its state")

        narrower = skoupa(access, "install", "--apply", "--config", str(config), "--namespaces", "default")
        assert "kubectl delete clusterrolebindings.rbac.authorization.k8s.io/skoupa-delete" in narrower.stderr
        done |= outcomes(narrower)

        report = skoupa(access, "uninstall", "--check", "-o", "json")
        assert report.returncode == 4
        found = json.loads(report.stdout)
        assert found["apiVersion"] == "skoupa.dev/v1alpha1"
        names = {
            f"{one['resource']}/{one['name']}" + (f" in {one['namespace']}" if one["namespace"] else "")
            for one in found["found"]
        }
        made = {
            "configmaps/skoupa-state in skoupa",
            "leases.coordination.k8s.io/broom in skoupa",
            "secrets/skoupa-webhook in skoupa",
            "validatingwebhookconfigurations.admissionregistration.k8s.io/skoupa-policies",
        }
        assert names == done.keys() | made
        assert not found["unreadable"]

        told = skoupa(access, "uninstall", "--check")
        assert told.returncode == 4
        assert "the cluster counts as never swept" in told.stdout
        commands = [line.strip() for line in told.stdout.splitlines() if line.startswith("    kubectl ")]
        for command in commands:
            run_kubectl(access, command)
        eventually(
            lambda: skoupa(access, "uninstall", "--check").returncode == 0, "nothing is left", seconds=60
        )


def run_kubectl(access: Access, command: str) -> None:
    _, *words = command.split()
    said = subprocess.run(
        [str(ensure("kubectl")), f"--kubeconfig={access.kubeconfig}", *words, "--timeout=60s"],
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert said.returncode == 0, (command, said.stderr)


def test_with_namespaced_rights_what_can_not_be_looked_for_is_told(installed: Access) -> None:
    nobody = installed.kubeconfig_for(user="nobody")
    said = skoupa(nobody, "uninstall", "--check", "--namespaces", "default")
    assert said.returncode == 4, "a list with gaps never means that nothing is left"
    assert "could not look for configmaps in default" in said.stderr


def test_the_pod_is_admitted_by_the_restricted_standard(installed: Access) -> None:
    """The Namespace enforces it, so Pods would not come into being otherwise."""
    path = f"{CORE}/skoupa/pods"
    pods = eventually(lambda: asked(installed.probe(), "GET", path)["items"], "the Pods of the Deployment")
    assert pods[0]["spec"]["securityContext"]["runAsNonRoot"] is True
