"""Installing over an installation: nothing changes that is not asked for, kubectl is no rival, and what is off goes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import Access, ControlPlane, ensure
from tests.cluster.admission_probe import Writer
from tests.cluster.installing import asked, eventually, outcomes, skoupa

pytestmark = pytest.mark.cluster

TTL = "cleanup.kyverno.io/ttl"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = (
    f"{ADMISSION}/validatingadmissionpolicies",
    f"{ADMISSION}/validatingadmissionpolicybindings",
)
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
LIMITS = "/api/v1/namespaces/skoupa/configmaps/skoupa-ttl-limits"
# Everything that `install` makes, wherever it is.
COLLECTIONS = (
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/api/v1/namespaces",
    *(
        f"/api/v1/namespaces/skoupa/{plural}"
        for plural in ("serviceaccounts", "configmaps", "services", "persistentvolumeclaims")
    ),
    *(f"{RBAC}/{plural}" for plural in ("clusterroles", "clusterrolebindings")),
    *(f"{RBAC}/namespaces/skoupa/{plural}" for plural in ("roles", "rolebindings")),
    "/apis/policy/v1/namespaces/skoupa/poddisruptionbudgets",
    "/apis/apps/v1/namespaces/skoupa/deployments",
    POLICIES,
    BINDINGS,
)
_WRITTEN_TO = ("/deployments", "/poddisruptionbudgets", "/persistentvolumeclaims")
# Their controllers write on them all the time, which changes the version and nothing that was asked for.
BUSY = tuple(path for path in COLLECTIONS if path.endswith(_WRITTEN_TO))
WRITERS = {"skoupa", "kubectl-client-side-apply"}
STRANGER = "strange"
EVERYTHING = "ttl: {minimum: 1h, maximum: 90d, requireDeleteRight: true}\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Access]:
    """Admission policies speak to all who use a server, so these tests have one of their own."""
    with ControlPlane() as plane:
        yield plane.access


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / "settings.yaml"
    path.write_text(EVERYTHING)
    return path


def install(access: Access | Path, settings: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return skoupa(access, "install", "--config", str(settings), *args)


def kubectl_apply(access: Access, manifests: str) -> str:
    command = [str(ensure("kubectl")), f"--kubeconfig={access.kubeconfig}", "apply", "-f", "-"]
    said = subprocess.run(command, input=manifests, capture_output=True, text=True, check=False, timeout=60)
    assert said.returncode == 0, said.stderr
    return said.stdout


def versions(access: Access) -> dict[str, tuple[object, ...]]:
    """What a write would change on every installed object, once controllers are done with their part of it."""
    eventually(lambda: all(settled(item) for item in installed(access).values()), "controllers have seen it")
    return {
        path: (
            "" if path.startswith(BUSY) else item["metadata"]["resourceVersion"],
            item["metadata"].get("generation"),
            [entry for entry in item["metadata"]["managedFields"] if entry["manager"] in WRITERS],
        )
        for path, item in installed(access).items()
    }


def installed(access: Access) -> dict[str, Any]:
    selected = "labelSelector=app.kubernetes.io/part-of=skoupa"
    return {
        f"{path}/{item['metadata']['name']}": item
        for path in COLLECTIONS
        for item in asked(access.probe(), "GET", f"{path}?{selected}")["items"]
    }


def settled(item: dict[str, Any]) -> bool:
    """The server checks the types of a policy, and gathers the rules of an aggregated role."""
    if "matchConstraints" in item.get("spec", {}):
        return bool(item.get("status", {}).get("observedGeneration") == item["metadata"]["generation"])
    if "versions" in item.get("spec", {}):
        conditions = {one["type"]: one["status"] for one in item.get("status", {}).get("conditions", ())}
        return conditions.get("Established") == "True"
    return bool(item["rules"]) if "aggregationRule" in item else True


def test_applying_twice_changes_nothing_at_all(server: Access, settings: Path) -> None:
    first = outcomes(install(server, settings, "--apply"))
    before = versions(server)
    assert len(before) == len(first)
    again = outcomes(install(server, settings, "--apply"))
    assert set(again.values()) == {"unchanged"}
    assert versions(server) == before


def test_kubectl_after_apply_and_apply_after_kubectl_do_not_quarrel(server: Access, settings: Path) -> None:
    outcomes(install(server, settings, "--apply"))
    specs = written(server)
    printed = install(server, settings).stdout
    kubectl_apply(server, printed)
    assert written(server) == specs, "kubectl notes what it applied, and changes nothing else"
    before = versions(server)
    kubectl_apply(server, printed)
    assert versions(server) == before
    assert set(outcomes(install(server, settings, "--apply")).values()) == {"unchanged"}
    assert versions(server) == before


def written(access: Access) -> dict[str, Any]:
    """What the policies and bindings say."""
    return {
        f"{path}/{item['metadata']['name']}": item["spec"]
        for path in (POLICIES, BINDINGS)
        for item in asked(access.probe(), "GET", path)["items"]
    }


def test_apply_takes_over_from_kubectl_without_force(settings: Path) -> None:
    with ControlPlane() as plane:
        access = plane.access
        printed = install(access, settings, "--policy-kinds").stdout
        kubectl_apply(access, printed)
        assert set(outcomes(install(access, settings, "--apply")).values()) == {"unchanged"}
        before = versions(access)
        assert set(outcomes(install(access, settings, "--apply")).values()) == {"unchanged"}
        assert versions(access) == before
        kubectl_apply(access, printed)
        assert versions(access) == before


def test_settings_that_are_taken_back_take_their_objects_along(server: Access, settings: Path) -> None:
    """Each begins where the one before it ended, so that one worker has to do them all."""
    the_right_to_delete_is_asked_for_no_more_and_the_limits_are_lifted(server, settings)
    limits_can_be_set_a_second_time(server, settings)
    who_may_not_delete_policies_is_told_what_to_delete(server, settings)
    without_the_mechanism_nothing_speaks_and_nothing_refuses(server, settings)
    # Other tests count what carries that label.
    for path in (BINDINGS, POLICIES):
        asked(server.probe(), "DELETE", f"{path}/{STRANGER}")


def the_right_to_delete_is_asked_for_no_more_and_the_limits_are_lifted(
    server: Access, settings: Path
) -> None:
    outcomes(install(server, settings, "--apply"))
    stranger(server)
    writer, bob = Writer(server), writing_user(server, "bob")
    eventually(lambda: "is shorter than 1h" in writer.probe("30m").message, "the minimum holds")
    eventually(lambda: "may not delete configmaps" in bob.probe("2h").message, "the right is asked for")
    binding = asked(server.probe(), "GET", f"{BINDINGS}/skoupa-ttl-limits")["metadata"]["uid"]

    settings.write_text("ttl: {}\n")
    tried = install(server, settings, "--apply", "--dry-run")
    assert f"{qualified(BINDINGS)}/skoupa-ttl-delete-right deleted (dry run)" in tried.stdout
    assert exists(server, f"{BINDINGS}/skoupa-ttl-delete-right")
    said = install(server, settings, "--apply")
    done = outcomes(said)
    assert [name for name, outcome in done.items() if outcome == "deleted"] == [
        f"{qualified(kind)}/skoupa-ttl-{what}delete-right"
        for kind in (BINDINGS, POLICIES)
        for what in ("after-", "")
    ]
    assert "any more" not in said.stderr
    for path in (POLICIES, BINDINGS):
        assert not exists(server, f"{path}/skoupa-ttl-delete-right")
        assert exists(server, f"{path}/{STRANGER}"), "what is not of this installation stays"
    metadata = asked(server.probe(), "GET", f"{BINDINGS}/skoupa-ttl-limits")["metadata"]
    assert metadata["uid"] == binding, "the last binding with a ConfigMap must not go"
    assert set(asked(server.probe(), "GET", LIMITS)["data"].values()) == {""}
    eventually(lambda: writer.probe("30m").status == 201, "there is no minimum")
    eventually(lambda: bob.probe("2h").status == 201, "who may not delete may label")
    assert set(outcomes(install(server, settings, "--apply")).values()) == {"unchanged"}


def limits_can_be_set_a_second_time(server: Access, settings: Path) -> None:
    """kubernetes/kubernetes#130887: they could not, had the binding gone."""
    settings.write_text("ttl: {minimum: 3h}\n")
    outcomes(install(server, settings, "--apply"))
    eventually(lambda: "is shorter than 3h" in Writer(server).probe("2h").message, "the new minimum holds")


def who_may_not_delete_policies_is_told_what_to_delete(server: Access, settings: Path) -> None:
    settings.write_text(EVERYTHING)
    outcomes(install(server, settings, "--apply"))
    verbs = ["get", "list", "create", "patch", "escalate", "bind"]
    grant(server, "installer", verbs=[*verbs, "update"])
    settings.write_text("ttl: {}\n")
    said = install(server.kubeconfig_for(user="installer"), settings, "--apply")
    assert "deleted" not in outcomes(said).values()
    for path in (POLICIES, BINDINGS):
        assert f"To remove it: kubectl delete {qualified(path)}/skoupa-ttl-delete-right" in said.stderr
        assert exists(server, f"{path}/skoupa-ttl-delete-right")
    assert "skoupa-ttl-limits" not in said.stderr


def without_the_mechanism_nothing_speaks_and_nothing_refuses(server: Access, settings: Path) -> None:
    settings.write_text("features: {ttl: false}\n")
    done = outcomes(install(server, settings, "--apply"))
    gone = {name.rpartition("/")[2] for name, outcome in done.items() if outcome == "deleted"}
    assert gone == {
        "skoupa-ttl-label",
        "skoupa-label-as-annotation",
        "skoupa-keep-label",
        "skoupa-refreshed-at",
        "skoupa-ttl-delete-right",
        "skoupa-ttl-after-delete-right",
    }
    assert set(asked(server.probe(), "GET", LIMITS)["data"].values()) == {""}

    def silent() -> bool:
        said = Writer(server).probe("2days")
        return (said.status, said.warnings) == (201, ())

    eventually(silent, "nothing is said of a label")


def qualified(path: str) -> str:
    return f"{path.rpartition('/')[2]}.admissionregistration.k8s.io"


def exists(access: Access, path: str) -> bool:
    status = access.probe().ask("GET", path).status
    assert status in {200, 404}
    return status == 200


def stranger(access: Access) -> None:
    """A policy and a binding that carry the label of Skoupa, but belong to another installation."""
    labels = {"app.kubernetes.io/part-of": "skoupa", "app.kubernetes.io/instance": "elsewhere"}
    metadata = {"name": STRANGER, "labels": labels}
    rule = {
        "apiGroups": ["example.org"],
        "apiVersions": ["v1"],
        "resources": ["none"],
        "operations": ["CREATE"],
    }
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}]}
    asked(access.probe(), "POST", POLICIES, {"metadata": metadata, "spec": spec})
    binding = {"policyName": STRANGER, "validationActions": ["Warn"]}
    asked(access.probe(), "POST", BINDINGS, {"metadata": metadata, "spec": binding})


def writing_user(access: Access, user: str) -> Writer:
    grant(access, user, verbs=["create", "get"])
    writer = Writer(access).as_user(user)
    eventually(lambda: writer.create(CONFIG_MAPS, "x", dry_run=True).status == 201, f"{user} may write")
    return writer


def grant(access: Access, user: str, *, verbs: list[str]) -> None:
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": verbs}]
    asked(access.probe(), "POST", f"{RBAC}/clusterroles", {"metadata": {"name": user}, "rules": rules})
    binding = {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
    asked(access.probe(), "POST", f"{RBAC}/clusterrolebindings", binding)


def test_limits_that_were_changed_by_hand_are_a_conflict_that_leaves_everything_as_it_was(
    server: Access, tmp_path: Path
) -> None:
    settings, other = tmp_path / "settings.yaml", tmp_path / "other.yaml"
    settings.write_text("ttl: {minimum: 1h, maximum: 90d}\n")
    other.write_text("ttl: {minimum: 2h, maximum: 60d}\nstuckAfter: 30m\n")
    outcomes(skoupa(server, "install", "--apply", "--force-conflicts", "--config", str(settings)))
    command = [str(ensure("kubectl")), f"--kubeconfig={server.kubeconfig}", "patch", "configmap"]
    patch = ["skoupa-ttl-limits", "-n", "skoupa", "-p", '{"data":{"maximum":"30d"}}']
    subprocess.run([*command, *patch], check=True, capture_output=True, timeout=60)
    config = asked(server.probe(), "GET", "/api/v1/namespaces/skoupa/configmaps/skoupa-config")
    said = skoupa(server, "install", "--apply", "--config", str(other))
    assert (said.returncode, said.stdout) == (1, "")
    assert "nothing was applied" in said.stderr
    assert "skoupa-ttl-limits" in said.stderr
    assert ".data.maximum" in said.stderr
    assert "--force-conflicts" in said.stderr
    after = asked(server.probe(), "GET", "/api/v1/namespaces/skoupa/configmaps/skoupa-config")
    assert after["metadata"]["resourceVersion"] == config["metadata"]["resourceVersion"]
    forced = outcomes(skoupa(server, "install", "--apply", "--force-conflicts", "--config", str(other)))
    assert forced["configmaps/skoupa-ttl-limits in skoupa"] == "changed"
    assert asked(server.probe(), "GET", LIMITS)["data"]["maximum"] == "60d"
