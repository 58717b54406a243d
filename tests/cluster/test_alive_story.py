"""An installed Skoupa, participants as processes of their own, and installers who wait: what happens and with which code."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from harness.controlplane import Access, ControlPlane
from tests.cluster.admission_probe import Writer
from tests.cluster.installing import asked, controller, eventually, outcomes, requests_of, skoupa

pytestmark = pytest.mark.cluster

EXAMPLES = Path(__file__).parents[2] / "examples"
ALIVES = "/apis/skoupa.dev/v1alpha1/alives"
CLUSTER = f"{ALIVES}/cluster"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
MERGE = "application/merge-patch+json"
SLOW, DEAD, FAILING = "slow.example.com/cleanup", "dead.example.com/cleanup", "failing.example.com/cleanup"


class Begun(msgspec.Struct, frozen=True):
    """What an installation made of a cluster, before anybody did anything."""

    access: Access
    alive: dict[str, Any]
    told: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Begun]:
    """With the settings as an operator writes them, and the rights that come of them."""
    directory = tmp_path_factory.mktemp("installed")
    config = directory / "config.yaml"
    config.write_text("mode: enforce\nfeatures: {alive: true}\nlease: {retrySeconds: 0.5, seconds: 5}\n")
    with ControlPlane() as plane:
        access = plane.access
        outcomes(skoupa(access, "install", "--apply", "--config", str(config)))
        with controller(access, directory, home="skoupa"):
            eventually(lambda: protected(access) == "True", "Alive is there and guarded", seconds=120)
            first = Begun(access, found(access) or {}, skoupa(access, "alive", "status"))
            for name in ("slow", "dead", "failing"):
                grant(access, name)
            yield first


@pytest.fixture
def installed(begun: Begun) -> Access:
    """Whatever happened there before, in whichever order: a test begins with an Alive of its own by `anew`."""
    return begun.access


def grant(access: Access, name: str, *, more: tuple[str, ...] = ()) -> None:
    """A namespace and an account as an operator has them, with the rights that the documentation names, and more on Alive."""
    probe = access.probe()
    asked(probe, "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    asked(probe, "POST", f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "operator"}})
    rules = [
        {"apiGroups": ["skoupa.dev"], "resources": ["alives"], "verbs": ["get", "patch", *more]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "patch"]},
    ]
    asked(probe, "POST", f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "operator", "namespace": name}
    role = {"kind": "ClusterRole", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": name}, "subjects": [subject], "roleRef": role}
    asked(probe, "POST", f"{RBAC}/clusterrolebindings", binding)


def found(access: Access) -> dict[str, Any] | None:
    answer = access.probe().ask("GET", CLUSTER)
    return answer.json() if answer.status == 200 else None


def protected(access: Access) -> str:
    status = (found(access) or {}).get("status", {})
    return next((one["status"] for one in status.get("conditions", ()) if one["type"] == "Protected"), "")


def anew(access: Access) -> None:
    """An Alive to begin with: by hand where the last one has ended."""
    if found(access) is None:
        body = {"apiVersion": "skoupa.dev/v1alpha1", "kind": "Alive", "metadata": {"name": "cluster"}}
        asked(access.probe(), "POST", ALIVES, body)
    eventually(
        lambda: "skoupa.dev/alive" in (found(access) or {"metadata": {}})["metadata"].get("finalizers", ()),
        "Skoupa looks after it",
    )


def token(access: Access, name: str) -> str:
    path = f"/api/v1/namespaces/{name}/serviceaccounts/operator/token"
    return str(asked(access.probe(), "POST", path, {"spec": {}})["status"]["token"])


@contextmanager
def process(
    name: str, directory: Path, command: list[str], env: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """It has joined when this begins, and is gone when it ends."""
    log = directory / f"{name}.log"
    with log.open("w") as stream, subprocess.Popen(command, stdout=stream, stderr=stream, env=env) as running:
        try:
            eventually(lambda: "joined" in log.read_text() or running.poll() is not None, f"{name} joins")
            assert running.poll() is None, log.read_text()
            yield running
        finally:
            running.kill()


@contextmanager
def operator(
    access: Access, directory: Path, name: str, *, things: int, pause: float = 0.2
) -> Iterator[subprocess.Popen[bytes]]:
    """The example, with the account of its namespace."""
    folder = directory / name
    folder.mkdir()
    for number in range(things):
        (folder / f"record-{number}").touch()
    (folder / "keep-me").touch()
    config = yaml.safe_load(access.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token(access, name)}
    written = directory / f"{name}.kubeconfig"
    written.write_text(yaml.safe_dump(config))
    command = [sys.executable, str(EXAMPLES / "alive" / "records.py"), "--kubeconfig", str(written)]
    command += ["--things", str(folder), "--finalizer", f"{name}.example.com/cleanup"]
    command += ["--lease", f"{name}/alive", "--pause", str(pause)]
    with process(name, directory, command, os.environ) as running:
        yield running


@contextmanager
def by_curl(
    access: Access, directory: Path, name: str, *, cleanup: str, day: str = ""
) -> Iterator[subprocess.Popen[bytes]]:
    """`day` is what its clock says, instead of today."""
    path = os.environ["PATH"]
    shown = directory / f"{name}.token"
    shown.write_text(token(access, name))
    if day:
        wrong = directory / "date"
        # A clock that goes on, and is years ahead.
        wrong.write_text(f'#!/bin/sh\necho "{day}T$({shutil.which("date")} -u +%H:%M:%S).000000Z"\n')
        wrong.chmod(0o755)
        path = f"{directory}:{path}"
    env = {
        "PATH": path,
        "SERVER": access.url,
        "CA": str(access.ca_file),
        "TOKEN_FILE": str(shown),
        "FINALIZER": f"{name}.example.com/cleanup",
        "IDENTITY": f"system:serviceaccount:{name}:operator",
        "NAMESPACE": name,
        "LEASE": "alive",
        "CLEANUP": cleanup,
        "PAUSE": "1",
        "TMPDIR": str(directory),
    }
    with process(name, directory, [str(EXAMPLES / "alive" / "participant.sh")], env) as running:
        yield running


def deleted(access: Access, *args: str) -> tuple[int, dict[str, Any]]:
    said = skoupa(access, "alive", "delete", "--yes", "--wait", "-o", "json", *args)
    assert "Traceback" not in said.stderr, said.stderr
    return said.returncode, json.loads(said.stdout)


def states(told: dict[str, Any]) -> dict[str, str]:
    return {one["finalizer"]: one["state"] for one in told["participants"]}


def force(access: Access) -> None:
    """For the end of a test: what is left is taken off by those who may."""
    for entry in (found(access) or {"spec": {}})["spec"].get("participants", ()):
        there = found(access)
        if there is None or entry["finalizer"] not in there["metadata"].get("finalizers", ()):
            continue
        left = [one for one in there["metadata"]["finalizers"] if one != entry["finalizer"]]
        patch = {"metadata": {"finalizers": left}}
        said = Writer(access).as_user(entry["identity"]).ask("PATCH", CLUSTER, patch, media_type=MERGE)
        assert said.status in {200, 404}, said


def test_an_upgraded_cluster_has_one_that_lives(begun: Begun) -> None:
    assert "deletionTimestamp" not in begun.alive["metadata"]
    assert begun.alive["status"]["phase"] == "Active"
    assert begun.told.returncode == 0, begun.told.stderr
    assert "nobody asked for the deletion" in begun.told.stdout


def test_what_will_outlive_the_cluster_is_shown_before_anything_happens(installed: Access) -> None:
    anew(installed)
    services = "/api/v1/namespaces/default/services"
    for name, metadata in {
        "kept": {"annotations": {"skoupa.dev/preserve": "true"}},
        "doubtful": {"annotations": {"skoupa.dev/preserve-until": "soon"}},
        "chosen": {"labels": {"tier": "gold"}},
        "free": {},
    }.items():
        body = {"metadata": {"name": name, **metadata}, "spec": {"ports": [{"port": 80}]}}
        asked(installed.probe(), "POST", services, body)
    wanted = {"spec": {"preserve": [{"kind": "Service", "matchLabels": {"tier": "gold"}, "reason": "sold"}]}}
    assert Writer(installed).ask("PATCH", CLUSTER, wanted, media_type=MERGE).status == 200
    said = skoupa(installed, "alive", "status", "-o", "json")
    told = {one["object"]: one for one in json.loads(said.stdout)["preserved"]}
    assert told.keys() == {"Service default/kept", "Service default/doubtful", "Service default/chosen"}
    plan = json.loads(skoupa(installed, "plan", "-A", "-o", "json").stdout)["alive"]
    assert plan["state"] == "lives"
    assert {one["object"] for one in plan["preserved"]} == told.keys()
    assert told["Service default/chosen"]["why"] == "sold"
    assert "write 2026-09-30" in told["Service default/doubtful"]["doubt"]


def test_everybody_cleans_up_and_it_ends_with_0(installed: Access, tmp_path: Path) -> None:
    anew(installed)
    marker = tmp_path / "cleaned"
    with (
        operator(installed, tmp_path, "slow", things=3),
        by_curl(installed, tmp_path, "failing", cleanup=f'cp "$ALIVE" {marker}', day="2031-01-01"),
    ):
        said = json.loads(skoupa(installed, "alive", "status", "-o", "json").stdout)
        assert states(said) == {SLOW: "Ready", FAILING: "Ready"}, "it is the server's clock that counts"
        meddle(installed)
        seen: set[str] = set()
        eventually(lambda: beaten(installed, "failing", seen) > 2, "it has looked twice since then")
        assert not marker.exists(), "nobody has asked for the deletion"
        code, told = deleted(installed, "--timeout", "2m", "--report", str(tmp_path / "report.json"))
    assert (code, told["outcome"]) == (0, "drained"), told
    assert json.loads((tmp_path / "report.json").read_text()) == told
    spec = json.loads(marker.read_text())["spec"]
    assert {"matchLabels": {"deletionTimestamp": "x"}} in spec["preserve"], (
        "who cleans up hears what is to stay"
    )
    assert spec["deletionPolicy"] == "Signal"
    assert [one.name for one in (tmp_path / "slow").iterdir()] == ["keep-me"]
    assert found(installed) is None
    code, told = deleted(installed)
    assert (code, told["outcome"]) == (0, "absent"), "a second installer finds nothing to wait for"


def meddle(access: Access) -> None:
    """Names that mean something elsewhere, and fields of everybody that somebody else applies too."""
    writer = Writer(access)
    named = {
        "labels": {"deletionTimestamp": "x"},
        "annotations": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
    }
    wanted = {"metadata": named, "spec": {"preserve": [{"matchLabels": {"deletionTimestamp": "x"}}]}}
    assert writer.ask("PATCH", CLUSTER, wanted, media_type=MERGE).status == 200
    alive = found(access)
    assert alive is not None
    same = {
        "apiVersion": alive["apiVersion"],
        "kind": alive["kind"],
        "metadata": {"name": "cluster", "finalizers": alive["metadata"]["finalizers"]},
        "spec": {"participants": alive["spec"]["participants"]},
    }
    applied = f"{CLUSTER}?fieldManager=gitops&force=true"
    assert writer.ask("PATCH", applied, same, media_type="application/apply-patch+yaml").status == 200


def beaten(access: Access, name: str, seen: set[str]) -> int:
    """How many signs of life were seen."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{name}/leases/alive"
    seen.add(asked(access.probe(), "GET", path)["spec"]["renewTime"])
    return len(seen)


@contextmanager
def one_slow_one_dead_one_failing(access: Access, directory: Path) -> Iterator[None]:
    anew(access)
    try:
        with (
            operator(access, directory, "slow", things=2),
            operator(access, directory, "dead", things=2) as dead,
            by_curl(access, directory, "failing", cleanup="false"),
        ):
            dead.kill()
            dead.wait()
            # As long as the slow one gets on there is time, however busy this machine is.
            patience = {"spec": {"progressTimeout": "15s"}}
            assert Writer(access).ask("PATCH", CLUSTER, patience, media_type=MERGE).status == 200
            yield
    finally:
        force(access)
        eventually(lambda: found(access) is None, "it is gone")


def test_when_time_is_over_it_is_said_how_that_ends_and_everything_is_left_as_it_is(
    installed: Access, tmp_path: Path
) -> None:
    with one_slow_one_dead_one_failing(installed, tmp_path):
        code, told = deleted(installed, "--timeout", "30m", "--on-timeout", "Proceed")
        assert (code, told["outcome"]) == (4, "proceeded"), told
        assert "no progress for 15s" in told["why"]
        assert states(told)[SLOW] == "Done"
        assert states(told)[FAILING] == "Failed"
        assert [one.name for one in (tmp_path / "slow").iterdir()] == ["keep-me"], "the slow one was in time"
        assert late(installed) == "the deletion of this cluster has begun"
        # Who thinks better of it may become more careful, and everybody who waits hears that.
        careful = {"spec": {"onTimeout": "Fail"}}
        assert Writer(installed).ask("PATCH", CLUSTER, careful, media_type=MERGE).status == 200
        for options, ends in (([], (3, "timed-out")), (["--on-timeout", "Proceed"], (4, "proceeded"))):
            said = skoupa(installed, "alive", "wait", "-o", "json", *options)
            assert (said.returncode, json.loads(said.stdout)["outcome"]) == ends, options
        alive = found(installed)
        assert alive is not None
        assert {DEAD, FAILING} <= set(alive["metadata"]["finalizers"])
        assert len(list((tmp_path / "dead").iterdir())) == 3


def late(access: Access) -> str:
    """What the example says that comes when it is too late, up to the first comma."""
    command = [sys.executable, str(EXAMPLES / "alive" / "records.py"), "--kubeconfig", str(access.kubeconfig)]
    with tempfile.TemporaryDirectory() as nothing:
        command += ["--things", nothing, "--finalizer", "late.example.com/cleanup", "--lease", "slow/late"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return said.stdout.partition(",")[0]


def test_where_that_is_wished_the_finalizers_of_the_dead_and_the_failing_are_forced(
    installed: Access, tmp_path: Path
) -> None:
    with one_slow_one_dead_one_failing(installed, tmp_path):
        code, told = deleted(installed, "--timeout", "30m", "--on-timeout", "ForceFinalizers")
        assert (code, told["outcome"]) == (4, "forced"), told
        assert {one["finalizer"]: one["state"] for one in told["forced"]}[FAILING] == "Failed"
        assert {one["finalizer"] for one in told["forced"]} == {DEAD, FAILING}
        assert found(installed) is None
        assert [one.name for one in (tmp_path / "slow").iterdir()] == ["keep-me"], "the slow one was in time"
        assert len(list((tmp_path / "dead").iterdir())) == 3
        events = asked(installed.probe(), "GET", "/apis/events.k8s.io/v1/events")["items"]
        notes = [one["note"] for one in events if one["reason"] == "SkoupaForced"]
        assert sorted(each for each in (DEAD, FAILING) for note in notes if each in note) == [DEAD, FAILING]


@pytest.mark.parametrize("propagation", ["Foreground", "Orphan"])
def test_finalizers_of_kubernetes_itself_are_taken_off_by_its_collector(
    installed: Access, propagation: str
) -> None:
    anew(installed)
    assert skoupa(installed, "alive", "confirm", "--yes").returncode == 0
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
    asked(installed.probe(), "DELETE", CLUSTER, options)
    eventually(lambda: found(installed) is None, "it is gone", seconds=60)


def test_an_installer_with_the_rights_of_the_example_tells_everybody_and_what_is_preserved_meanwhile_stays(
    installed: Access, tmp_path: Path
) -> None:
    anew(installed)
    role = yaml.safe_load((EXAMPLES / "alive" / "installer.yaml").read_text())
    asked(installed.probe(), "POST", f"{RBAC}/clusterroles", role)
    subject = {"kind": "User", "name": "installer", "apiGroup": "rbac.authorization.k8s.io"}
    of_role = {
        "kind": "ClusterRole",
        "name": role["metadata"]["name"],
        "apiGroup": "rbac.authorization.k8s.io",
    }
    binding = {"metadata": {"name": "installer"}, "subjects": [subject], "roleRef": of_role}
    asked(installed.probe(), "POST", f"{RBAC}/clusterrolebindings", binding)
    with operator(installed, tmp_path, "slow", things=1, pause=15):
        assert skoupa(installed, "alive", "delete", "--yes", "--as", "installer").returncode == 0
        eventually(lambda: "removing record-0" in said_by(installed, "slow"), "it is about to be removed")
        sold = {"spec": {"preserve": [{"ids": ["record-0"], "reason": "sold"}]}}
        assert Writer(installed).ask("PATCH", CLUSTER, sold, media_type=MERGE).status == 200
        said = skoupa(installed, "alive", "wait", "--as", "installer", "-o", "json")
        told = json.loads(said.stdout)
        assert (said.returncode, told["outcome"]) == (0, "drained")
        assert (told["phase"], told["waiting"], states(told)) == ("Drained", 0, {SLOW: "Done"})
        assert [one["preserved"] for one in told["participants"]] == [
            ["keep-me: it has skoupa.dev/preserve", "record-0: sold"]
        ]
    assert {one.name for one in (tmp_path / "slow").iterdir()} == {"keep-me", "record-0"}


def said_by(access: Access, name: str) -> str:
    """On its Lease."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{name}/leases/alive"
    annotations = asked(access.probe(), "GET", path)["metadata"].get("annotations") or {}
    return str(annotations.get("skoupa.dev/message", ""))


def test_in_a_cluster_that_another_one_takes_over_nobody_is_told(installed: Access, tmp_path: Path) -> None:
    anew(installed)
    with operator(installed, tmp_path, "slow", things=1):
        wanted = {"spec": {"deletionPolicy": "Preserve"}}
        assert Writer(installed).ask("PATCH", CLUSTER, wanted, media_type=MERGE).status == 200
        env = ci(tmp_path, installed.kubeconfig)
        said = subprocess.run(CI, env=env, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert said.returncode == 0, said.stderr
        assert "nobody is told" in said.stdout
        assert (tmp_path / "destroyed").exists()
        report = json.loads((tmp_path / "alive-report.json").read_text())
        assert (report["outcome"], states(report)) == ("preserved", {SLOW: "Ready"})
        alive = found(installed)
        assert alive is not None
        assert "deletionTimestamp" not in alive["metadata"]
        assert len(list((tmp_path / "slow").iterdir())) == 2
        wanted = {"spec": {"deletionPolicy": "Signal"}}
        assert Writer(installed).ask("PATCH", CLUSTER, wanted, media_type=MERGE).status == 200
        assert deleted(installed)[1]["outcome"] == "drained"


def test_two_wait_for_the_same(installed: Access, tmp_path: Path) -> None:
    anew(installed)
    grant_all(installed, "watcher", verbs=["get", "list"])
    marker = tmp_path / "may-go"
    waiting = [sys.executable, "-m", "skoupa", "alive", "wait", "--kubeconfig", str(installed.kubeconfig)]
    with by_curl(installed, tmp_path, "failing", cleanup=f"test -f {marker}"):
        assert skoupa(installed, "alive", "delete", "--yes").returncode == 0
        with subprocess.Popen([*waiting, "--as", "watcher"]) as one, subprocess.Popen(waiting) as other:
            eventually(lambda: looks(installed, "watcher") and looks(installed, ""), "both wait", seconds=60)
            assert one.poll() is None
            assert other.poll() is None
            marker.touch()
            assert one.wait(timeout=60) == 0
            assert other.wait(timeout=60) == 0
    assert found(installed) is None


def looks(access: Access, whom: str) -> bool:
    """Whether the command line looked for signs of life as this user; empty: as an administrator, since the last deletion."""
    last: list[bool] = []
    for line in access.audit_log.read_text().splitlines():
        entry = json.loads(line)
        if entry["verb"] == "delete" and "/alives/" in entry["requestURI"]:
            last = []
        listed = entry["verb"] == "list" and "/leases" in entry["requestURI"]
        acting = (entry.get("impersonatedUser") or {}).get("username", "")
        if listed and acting == whom and not entry["user"]["username"].startswith("system:serviceaccount:"):
            last.append(True)
    return bool(last)


def test_who_may_not_signal_is_refused_with_5_and_nothing_happens(installed: Access) -> None:
    anew(installed)
    verbs = ["get", "list", "create", "update", "patch", "delete", "deletecollection"]
    grant_all(installed, "robot", verbs=verbs)
    said = skoupa(installed, "alive", "delete", "--yes", "-o", "json", "--as", "robot")
    assert said.returncode == 5, said.stderr
    assert "ask for the verb signal" in json.loads(said.stdout)["why"]
    alive = found(installed)
    assert alive is not None
    assert "deletionTimestamp" not in alive["metadata"]


def grant_all(access: Access, user: str, *, verbs: list[str]) -> None:
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": verbs}]
    asked(access.probe(), "POST", f"{RBAC}/clusterroles", {"metadata": {"name": user}, "rules": rules})
    subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "ClusterRole", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": user}, "subjects": [subject], "roleRef": role}
    asked(access.probe(), "POST", f"{RBAC}/clusterrolebindings", binding)


ADMISSION = "/apis/admissionregistration.k8s.io/v1"


def test_a_policy_that_is_gone_or_altered_is_told(installed: Access) -> None:
    anew(installed)
    eventually(lambda: protected(installed) == "True", "it is guarded", seconds=120)
    binding = f"{ADMISSION}/validatingadmissionpolicybindings/skoupa-alive-deletion"
    before = asked(installed.probe(), "GET", binding)
    asked(installed.probe(), "DELETE", binding)
    # Whoever does something with Alive makes Skoupa look, which does so once a minute otherwise.
    assert (
        Writer(installed).ask("PATCH", CLUSTER, {"spec": {"timeout": "45m"}}, media_type=MERGE).status == 200
    )
    eventually(lambda: protected(installed) == "False", "it is not guarded", seconds=120)
    del before["metadata"]["resourceVersion"], before["metadata"]["uid"]
    asked(installed.probe(), "POST", binding.rpartition("/")[0], before)
    eventually(lambda: protected(installed) == "True", "it is guarded again", seconds=120)
    policy = f"{ADMISSION}/validatingadmissionpolicies/skoupa-alive-changes"
    for policy_of_failure, ends in (("Ignore", "False"), ("Fail", "True")):
        altered = {"spec": {"failurePolicy": policy_of_failure}}
        assert Writer(installed).ask("PATCH", policy, altered, media_type=MERGE).status == 200
        touched = {"spec": {"timeout": "45m" if ends == "True" else "46m"}}
        assert Writer(installed).ask("PATCH", CLUSTER, touched, media_type=MERGE).status == 200
        eventually(lambda: protected(installed) == ends, "that is told", seconds=120)  # noqa: B023
    events = asked(installed.probe(), "GET", "/apis/events.k8s.io/v1/events")["items"]
    notes = [one["note"] for one in events if one["reason"] == "SkoupaUnprotected"]
    assert any("skoupa-alive-deletion is not there" in note for note in notes), notes
    assert any("skoupa-alive-changes is not as it was installed" in note for note in notes), notes


CI = [str(EXAMPLES / "ci-destroy.sh")]


@pytest.mark.parametrize(("joins", "code"), [(False, 0), (True, 3)])
def test_in_ci_the_infrastructure_goes_however_it_ended(
    installed: Access, tmp_path: Path, *, joins: bool, code: int
) -> None:
    anew(installed)
    env = ci(tmp_path, installed.kubeconfig)
    try:
        if joins:
            with by_curl(installed, tmp_path, "failing", cleanup="false"):
                soon = {**env, "TIMEOUT": "6s"}
                said = subprocess.run(CI, env=soon, capture_output=True, text=True, check=False, cwd=tmp_path)
        else:
            said = subprocess.run(CI, env=env, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert said.returncode == code, said.stderr
        assert (tmp_path / "destroyed").exists()
        report = json.loads((tmp_path / "alive-report.json").read_text())
        assert report["exitCode"] == code
    finally:
        force(installed)
        eventually(lambda: found(installed) is None, "it is gone")


def test_in_ci_a_cluster_that_does_not_answer_is_destroyed_too(installed: Access, tmp_path: Path) -> None:
    config = yaml.safe_load(installed.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    written = tmp_path / "nowhere"
    written.write_text(yaml.safe_dump(config))
    soon = [*CI, "--unreachable-after", "2s"]
    said = subprocess.run(
        soon, env=ci(tmp_path, written), capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert said.returncode == 6, said.stderr
    assert (tmp_path / "destroyed").exists()
    assert json.loads((tmp_path / "alive-report.json").read_text())["outcome"] == "unreachable"


def test_in_ci_a_destroyer_that_fails_is_told(installed: Access, tmp_path: Path) -> None:
    anew(installed)
    env = {**ci(tmp_path, installed.kubeconfig), "DESTROY": "exit 9"}
    said = subprocess.run(CI, env=env, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert said.returncode == 9, said.stderr


def test_in_ci_who_interrupts_it_has_nothing_destroyed(installed: Access, tmp_path: Path) -> None:
    anew(installed)
    env = ci(tmp_path, installed.kubeconfig)
    try:
        with (
            by_curl(installed, tmp_path, "failing", cleanup="false"),
            subprocess.Popen(
                CI, env=env, cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True
            ) as running,
        ):
            eventually(
                lambda: "deletionTimestamp" in (found(installed) or {"metadata": {}})["metadata"],
                "the deletion was asked for",
                seconds=60,
            )
            os.killpg(running.pid, signal.SIGINT)
            assert running.wait(timeout=60) == 7
        assert not (tmp_path / "destroyed").exists()
        report = json.loads((tmp_path / "alive-report.json").read_text())
        assert (report["outcome"], report["exitCode"]) == ("interrupted", 7)
        assert report["uid"] == (found(installed) or {"metadata": {}})["metadata"].get("uid")
    finally:
        force(installed)
        eventually(lambda: found(installed) is None, "it is gone")


def ci(directory: Path, kubeconfig: Path) -> dict[str, str]:
    """With a destroyer that leaves a mark."""
    programs = Path(sys.executable).parent
    return {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "KUBECONFIG": str(kubeconfig),
        "DESTROY": f"touch {directory}/destroyed",
        "TIMEOUT": "5m",
    }


# At the end, about all that went before.


def test_skoupa_was_never_refused_anything_that_it_asked_of_the_server(installed: Access) -> None:
    """Its rights are those of the installation, and enough for all that it did in these tests."""
    about = ("/alives", "/leases?", "/validatingadmissionpolic")
    refused = [
        (one["verb"], one["requestURI"])
        for one in requests_of(installed, "system:serviceaccount:skoupa:skoupa")
        if one.get("responseStatus", {}).get("code") == 403
        and any(part in one["requestURI"] for part in about)
    ]
    assert not refused


def test_skoupa_deleted_nothing_at_all_in_these_tests(installed: Access) -> None:
    """Alive is there to be deleted by others, and takes nothing along."""
    asked_for = requests_of(installed, "system:serviceaccount:skoupa:skoupa")
    assert asked_for
    assert not [one["requestURI"] for one in asked_for if one["verb"].startswith("delete")]
