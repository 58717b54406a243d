"""`skoupa install` and `skoupa uninstall`, as far as they need no server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.cli.installing.uninstall import text
from skoupa.cli.terminal.tables import Screen
from skoupa.install.presence import Found, Presence
from tests.unit.cli.saying import Shell

pytestmark = pytest.mark.unit


def documents(out: str) -> dict[str, Any]:
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in yaml.safe_load_all(out)}


def test_install_prints_manifests_and_keeps_advice_off_standard_output(skoupa: Shell) -> None:
    said = skoupa("install")
    assert said.code == 0
    found = documents(said.out)
    # The ledger is a file on a volume: it has one writer at a time.
    deployment = found["Deployment/skoupa"]["spec"]
    assert (deployment["replicas"], deployment["strategy"]) == (1, {"type": "Recreate"})
    assert found["PersistentVolumeClaim/skoupa-ledger"]["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert "--mode enforce lets it act" in said.err
    assert "configmaps, pods" in said.err


def test_install_takes_its_options(skoupa: Shell, tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text("clusterName: prod\nledger: {dsn: postgresql://skoupa@db/skoupa}\n")
    said = skoupa(
        *("install", "-n", "ops", "--image", "example.org/skoupa:9", "--replicas", "3", "--mode", "enforce"),
        *("--config", str(config)),
        *("--kinds", "default,namespaces", "-o", "json"),
    )
    assert said.code == 0
    found = {f"{one['kind']}/{one['metadata']['name']}": one for one in json.loads(said.out)["items"]}
    deployment = found["Deployment/skoupa"]
    assert deployment["metadata"]["namespace"] == "ops"
    assert deployment["spec"]["replicas"] == 3
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "example.org/skoupa:9"
    settings = yaml.safe_load(found["ConfigMap/skoupa-config"]["data"]["settings.yaml"])
    assert settings == {
        "mode": "enforce",
        "clusterName": "prod",
        "api": {"address": "0.0.0.0:8443"},
        "webhook": {"address": "0.0.0.0:9443"},
        "ledger": {"dsn": "postgresql://skoupa@db/skoupa"},
        "lease": {"namespace": "ops"},
    }
    assert "PersistentVolumeClaim/skoupa-ledger" not in found
    variables = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    assert "SKOUPA_LEDGER_DSN" in {variable["name"] for variable in variables}
    shipped = found["ClusterRole/skoupa-delete-shipped"]["rules"]
    assert "namespaces" in next(rule for rule in shipped if rule["apiGroups"] == [""])["resources"]


def test_flags_win_over_the_file_and_the_callers_variables_do_not_count(
    skoupa: Shell, tmp_path: Path
) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text("mode: enforce\nlease: {namespace: ops}\nstuckAfter: 30m\n")
    said = skoupa(
        *("install", "--config", str(config), "--mode", "observe"), env={"SKOUPA_CLUSTER_NAME": "laptop"}
    )
    found = documents(said.out)
    settings = yaml.safe_load(found["ConfigMap/skoupa-config"]["data"]["settings.yaml"])
    assert settings == {
        "mode": "observe",
        "stuckAfter": "30m",
        "api": {"address": "0.0.0.0:8443"},
        "webhook": {"address": "0.0.0.0:9443"},
        "ledger": {"dsn": "/var/lib/skoupa/ledger.db"},
        "lease": {"namespace": "ops"},
    }
    assert "Namespace/ops" in found


@pytest.mark.parametrize(
    ("options", "replicas", "warned"),
    [
        (("--mode", "enforce"), 2, False),
        (("--mode", "observe"), 1, False),
        (("--mode", "observe", "--replicas", "2"), 2, True),
    ],
)
def test_who_observes_is_one_replica_since_several_would_each_tell_everything(
    skoupa: Shell, tmp_path: Path, *, options: tuple[str, ...], replicas: int, warned: bool
) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text("clusterName: prod\nledger: {dsn: postgresql://skoupa@db/skoupa}\n")
    said = skoupa("install", "--config", str(config), *options)
    assert documents(said.out)["Deployment/skoupa"]["spec"]["replicas"] == replicas
    assert ("tells everything for itself: leave --replicas out" in said.err) is warned


def test_several_replicas_on_one_file_are_refused(skoupa: Shell) -> None:
    said = skoupa("install", "--replicas", "2")
    assert said.code == 2
    assert "2 replicas can't share a ledger in SQLite" in said.err
    assert "postgresql://" in said.err


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://skoupa:hunter2@db/skoupa",
        "postgresql://db/skoupa?user=skoupa&password=hunter2",
        "postgresql://db/skoupa?pass%77ord=hunter2",
        "postgresql://skoupa@db/skoupa?sslmode=require&sslpassword=hunter2",
        "postgresql://skoupa:?hunter2@db/skoupa",
    ],
)
def test_a_password_does_not_become_a_config_map(skoupa: Shell, tmp_path: Path, dsn: str) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(f"clusterName: prod\nledger: {{dsn: '{dsn}'}}\n")
    said = skoupa("install", "--config", str(config))
    assert said.code == 2
    assert "kubectl create secret generic skoupa-ledger -n skoupa" in said.err
    assert "hunter2" not in said.err + said.out


def test_only_some_namespaces_says_what_is_left_out(skoupa: Shell) -> None:
    said = skoupa("install", "--namespaces", "shop, lab", "--kinds", "pods,namespaces")
    assert said.code == 0
    assert "the namespace skoupa has to exist" in said.err
    assert "left out, since no Role can grant it: delete namespaces" in said.err
    found = documents(said.out)
    settings = yaml.safe_load(found["ConfigMap/skoupa-config"]["data"]["settings.yaml"])
    assert settings["namespaces"] == ["shop", "lab"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--dry-run",), "add --apply"),
        (("--force-conflicts",), "add --apply"),
        (("--kinds", "podz"), "did you mean pod"),
        (("--config", "/nowhere/settings.yaml"), "check --config"),
    ],
    ids=["dry-run", "force", "kind", "config"],
)
def test_what_can_not_be_meant_is_refused_and_nothing_is_printed(
    skoupa: Shell, args: tuple[str, ...], told: str
) -> None:
    said = skoupa("install", *args)
    assert said.code == 2
    assert told in said.sentence


def test_a_port_that_probes_can_not_reach_is_refused(skoupa: Shell, tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text('address: "127.0.0.1:8080"\n')
    said = skoupa("install", "--config", str(config))
    assert said.code == 2
    assert "can't be reached by probes" in said.sentence


def test_uninstall_deletes_nothing_and_says_so(skoupa: Shell) -> None:
    said = skoupa("uninstall")
    assert said.code == 2
    assert "--check" in said.sentence


def found(resource: str, name: str, namespace: str = "", **more: Any) -> Found:
    return Found(
        api_version="v1",
        kind=resource,
        resource=resource,
        namespace=namespace,
        name=name,
        meaning="something ends",
        command=f"kubectl delete {resource}/{name}",
        **more,
    )


def test_what_lies_in_a_namespace_of_ours_goes_with_it_but_what_acts_is_stopped_first() -> None:
    shown = text(
        Presence(
            found=(
                found("deployments.apps", "skoupa", "skoupa"),
                found("clusterroles.rbac.authorization.k8s.io", "skoupa-delete"),
                found("clusterroles.rbac.authorization.k8s.io", "skoupa-read"),
                found("roles.rbac.authorization.k8s.io", "skoupa", "skoupa"),
                found("roles.rbac.authorization.k8s.io", "skoupa", "shop"),
                found("namespaces", "skoupa"),
            )
        ),
        screen=Screen(),
    )
    commands = [line.strip() for line in shown.splitlines() if line.startswith("    kubectl")]
    assert commands == [
        "kubectl delete deployments.apps skoupa -n skoupa",
        "kubectl delete clusterroles.rbac.authorization.k8s.io skoupa-delete skoupa-read",
        "kubectl delete roles.rbac.authorization.k8s.io skoupa -n shop",
        "kubectl delete namespaces skoupa",
    ]


def test_what_is_going_already_is_told_with_what_it_waits_for() -> None:
    going = found("namespaces", "skoupa", terminating=True, finalizers=("example.org/hold",))
    shown = text(Presence(found=(going,)), screen=Screen())
    assert "waits for example.org/hold" in shown
    assert "kubectl delete" not in shown


def test_a_clean_cluster_is_one_sentence() -> None:
    assert text(Presence(found=()), screen=Screen()) == "Nothing of Skoupa was found.\n"
