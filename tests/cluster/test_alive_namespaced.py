"""The form of the seed, as its manifest brings it: guarded, taken part in, and waited for, with no controller at all."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.controlplane import Access, ControlPlane, Options
from tests.cluster.admission_probe import DEFINITIONS, Writer, collection_of, wait_until
from tests.cluster.installing import eventually, skoupa

pytestmark = pytest.mark.cluster

EXAMPLES = Path(__file__).parents[2] / "examples" / "alive"
PLACE = "openshift-config"
ALIVES = f"/apis/namespaced.skoupa.dev/v1alpha1/namespaces/{PLACE}/alives"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
MERGE = "application/merge-patch+json"
ROBOT = "gitops-robot"
MUTE, FILES = "mute.example.com/cleanup", "files.example.com/cleanup"


@pytest.fixture(scope="module")
def access() -> Iterator[Access]:
    """With the manifest that is shipped, and nothing else of Skoupa."""
    options = Options(controller_manager=False, service_account_admission=False, audit=False)
    with ControlPlane(options) as plane:
        writer = Writer(plane.access)
        wait_until(lambda: writer.create("/api/v1/namespaces", PLACE).status in {201, 409}, "the Namespace")
        shipped = yaml.safe_load_all((EXAMPLES / "openshift-config.yaml").read_text())
        for one in shipped:
            path = DEFINITIONS if one["kind"] == "CustomResourceDefinition" else collection_of(one)
            assert writer.ask("POST", path, one).status == 201, one["metadata"]
        wait_until(lambda: writer.ask("GET", ALIVES).status == 200, "the kind is served")
        body = {
            "apiVersion": "namespaced.skoupa.dev/v1alpha1",
            "kind": "Alive",
            "metadata": {"name": "cluster"},
        }
        wait_until(lambda: writer.ask("POST", ALIVES, body).status in {201, 409}, "Alive is there")
        for path in (f"{ALIVES}/cluster", f"/api/v1/namespaces/{PLACE}"):
            wait_until(lambda: writer.ask("DELETE", f"{path}?dryRun=All").status == 403, f"{path} is guarded")  # noqa: B023
        verbs = ["get", "list", "create", "update", "patch", "delete", "deletecollection"]
        rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": verbs}]
        role = {"kind": "ClusterRole", "name": ROBOT, "apiGroup": "rbac.authorization.k8s.io"}
        subject = {"kind": "User", "name": ROBOT, "apiGroup": "rbac.authorization.k8s.io"}
        assert writer.create(f"{RBAC}/clusterroles", ROBOT, rules=rules).status == 201
        assert (
            writer.create(f"{RBAC}/clusterrolebindings", ROBOT, subjects=[subject], roleRef=role).status
            == 201
        )
        wait_until(lambda: writer.as_user(ROBOT).ask("GET", ALIVES).status == 200, "the robot has its rights")
        yield plane.access


def told(access: Access, *args: str) -> tuple[int, dict[str, Any]]:
    said = skoupa(access, "alive", *args, "-n", PLACE, "-o", "json")
    assert "Traceback" not in said.stderr, said.stderr
    return said.returncode, json.loads(said.stdout)


@contextmanager
def operator(access: Access, directory: Path) -> Iterator[Path]:
    """The example in Python, which has joined when this begins."""
    things = directory / "things"
    things.mkdir()
    for name in ("one", "two", "keep-me"):
        (things / name).touch()
    log = directory / "operator.log"
    command = [sys.executable, str(EXAMPLES / "records.py"), "--kubeconfig", str(access.kubeconfig)]
    command += ["--things", str(things), "--finalizer", FILES, "--lease", f"{PLACE}/files", "--pause", "0.1"]
    with (
        log.open("w") as stream,
        subprocess.Popen([*command, "--namespace", PLACE], stdout=stream, stderr=stream) as running,
    ):
        try:
            eventually(lambda: "joined" in log.read_text() or running.poll() is not None, "it joins")
            assert running.poll() is None, log.read_text()
            yield things
        finally:
            running.kill()


def test_it_is_told_taken_part_in_and_waited_for_in_its_namespace(access: Access, tmp_path: Path) -> None:
    writer = Writer(access)
    alive = f"{ALIVES}/cluster"
    with operator(access, tmp_path) as things:
        found = writer.ask("GET", alive).body
        entries = [*found["spec"]["participants"], {"finalizer": MUTE, "identity": ROBOT}]
        joining = {"metadata": {"finalizers": [FILES, MUTE]}, "spec": {"participants": entries}}
        assert writer.ask("PATCH", alive, joining, media_type=MERGE).status == 200
        code, status = told(access, "status")
        assert (code, status["outcome"]) == (0, "alive")
        states = {one["finalizer"]: one["state"] for one in status["participants"]}
        assert states == {FILES: "Ready", MUTE: "Unknown"}

        code, refused = told(access, "delete", "--yes", "--as", ROBOT)
        assert code == 5
        assert "ask for the verb signal on alives.namespaced.skoupa.dev" in refused["why"]
        said = skoupa(access, "alive", "delete", "--yes", "-n", PLACE, "--on-timeout", "ForceFinalizers")
        assert said.returncode == 2
        assert "nobody would force finalizers" in said.stderr
        assert "deletionTimestamp" not in writer.ask("GET", alive).body["metadata"]

        code, ended = told(access, "delete", "--yes", "--wait", "--timeout", "15s")
        assert (code, ended["outcome"]) == (3, "timed-out")
        assert {one["finalizer"]: one["state"] for one in ended["participants"]} == {
            FILES: "Done",
            MUTE: "Unknown",
        }
        assert [one.name for one in things.iterdir()] == ["keep-me"]
    assert writer.ask("PATCH", alive, {"metadata": {"finalizers": None}}, media_type=MERGE).status == 403
    robot = writer.as_user(ROBOT)
    assert robot.ask("PATCH", alive, {"metadata": {"finalizers": None}}, media_type=MERGE).status == 200
    code, ended = told(access, "wait")
    assert (code, ended["outcome"]) == (0, "absent")
    assert told(access, "delete", "--yes", "--wait")[1]["outcome"] == "absent"
    assert skoupa(access, "alive", "status").returncode == 0, "nor is there one of the whole cluster"


def test_what_would_take_it_along_is_guarded_too(access: Access) -> None:
    writer = Writer(access)
    definition = f"{DEFINITIONS}/alives.namespaced.skoupa.dev"
    for path in (definition, f"/api/v1/namespaces/{PLACE}"):
        said = writer.ask("DELETE", f"{path}?dryRun=All")
        assert said.status == 403
        assert "has to be confirmed before" in said.message
        said = writer.as_user(ROBOT).ask("DELETE", f"{path}?dryRun=All")
        assert said.status == 403
        assert "ask for the verb signal" in said.message
