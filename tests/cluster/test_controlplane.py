"""The real control plane: it answers, it is alone in its directory, and nothing of it stays."""

import base64
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.controlplane import Access, ControlPlane, ControlPlaneError, Options, shared_control_plane
from harness.controlplane.certificates import Pair
from harness.controlplane.probe import Probe

pytestmark = pytest.mark.cluster

REPOSITORY = Path(__file__).parents[2]
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """Tests that stop it or its API server leave it running again."""
    with ControlPlane() as plane:
        yield plane


def eventually(condition: Callable[[], Any], what: str, seconds: float = 60.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(0.05)
    return value


def create(access: Access, name: str) -> dict[str, Any]:
    answer = access.probe().ask("POST", CONFIGMAPS, {"metadata": {"name": name}})
    assert answer.status == 201, answer.body
    created: dict[str, Any] = answer.json()
    return created


def status(access: Access, path: str) -> int:
    return access.probe().ask("GET", path).status


def as_user(access: Access, kubeconfig: Path, directory: Path) -> Probe:
    """A probe with the credentials of a kubeconfig."""
    user = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]
    pair = Pair(certificate=directory / "user.crt", key=directory / "user.key")
    pair.certificate.write_bytes(base64.b64decode(user["client-certificate-data"]))
    pair.key.write_bytes(base64.b64decode(user["client-key-data"]))
    ca = Pair(certificate=access.ca_file, key=access.ca_file)
    return Probe(access.url, authority=ca, client=pair)


def processes_in(directory: Path) -> list[int]:
    """Every living process that has the directory on its command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(directory) in (entry / "cmdline").read_text(errors="replace"):
                found.append(int(entry.name))
    return [pid for pid in found if pid != os.getpid()]


def is_gone(directory: Path) -> bool:
    return not directory.exists() and not processes_in(directory)


def test_it_answers_as_the_version_it_says(plane: ControlPlane) -> None:
    answer = plane.access.probe().ask("GET", "/version").json()
    assert answer["gitVersion"] == f"v{plane.version}"
    assert plane.version.startswith("1.35.")


def test_the_default_namespace_takes_pods_at_once(plane: ControlPlane) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "example.org/none"}]}}
    answer = plane.access.probe().ask("POST", "/api/v1/namespaces/default/pods", pod)
    assert answer.status == 201, answer.body
    assert answer.json()["spec"]["serviceAccountName"] == "default"


def test_controllers_work(plane: ControlPlane) -> None:
    """The native garbage collector removes what has no living owner."""
    owner = create(plane.access, "owner")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    body = {"metadata": {"name": "owned", "ownerReferences": [reference]}}
    assert plane.access.probe().ask("POST", CONFIGMAPS, body).status == 201
    assert plane.access.probe().ask("DELETE", f"{CONFIGMAPS}/owner").status == 200
    eventually(lambda: status(plane.access, f"{CONFIGMAPS}/owned") == 404, "the collection of owned")


def test_a_user_may_do_only_what_rbac_grants(plane: ControlPlane, tmp_path: Path) -> None:
    alice = as_user(plane.access, plane.kubeconfig_for(user="alice", groups=("dev",)), tmp_path)
    denied = alice.ask("GET", CONFIGMAPS)
    assert denied.status == 403
    assert 'User \\"alice\\" cannot list resource' in denied.body.decode()
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
    binding = {
        "metadata": {"name": "dev-view"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "dev"}],
    }
    assert plane.access.probe().ask("POST", rbac, binding).status == 201
    eventually(lambda: alice.ask("GET", CONFIGMAPS).status == 200, "the grant to the group")
    assert alice.ask("DELETE", f"{CONFIGMAPS}/any").status == 403


def test_the_audit_log_tells_user_agent_and_delete_options(plane: ControlPlane) -> None:
    uid = create(plane.access, "audited")["metadata"]["uid"]
    options = {"preconditions": {"uid": uid}, "propagationPolicy": "Background"}
    plane.access.probe().ask("DELETE", f"{CONFIGMAPS}/audited", options)

    def deletion() -> dict[str, Any] | None:
        for line in plane.audit_log.read_text().splitlines(keepends=True):
            if '"verb":"delete"' in line and '"name":"audited"' in line and line.endswith("\n"):
                event: dict[str, Any] = json.loads(line)
                return event
        return None

    event = eventually(deletion, "the audit event")
    assert event["userAgent"] == "skoupa-harness"
    assert event["user"]["username"] == "admin"
    assert event["requestObject"]["preconditions"] == {"uid": uid}
    assert event["requestObject"]["propagationPolicy"] == "Background"


@pytest.mark.parametrize("gracefully", [False, True])
def test_a_restart_of_the_api_server_keeps_the_data_and_the_address(
    plane: ControlPlane, *, gracefully: bool
) -> None:
    name = f"kept-{gracefully}".lower()
    create(plane.access, name)
    url = plane.url
    plane.restart_apiserver(gracefully=gracefully)
    assert plane.url == url
    assert status(plane.access, f"{CONFIGMAPS}/{name}") == 200


def test_a_stopped_api_server_refuses_connections_until_it_is_started(plane: ControlPlane) -> None:
    plane.stop_apiserver()
    try:
        with pytest.raises(ConnectionRefusedError):
            status(plane.access, "/readyz")
    finally:
        plane.start_apiserver()
    assert status(plane.access, "/readyz") == 200


def test_forgotten_history_gives_410_to_continue_tokens_and_watches(plane: ControlPlane) -> None:
    for number in range(4):
        create(plane.access, f"history-{number}")
    page = plane.access.probe().ask("GET", f"{CONFIGMAPS}?limit=2").json()["metadata"]
    create(plane.access, "history-later")
    plane.forget_history()
    answer = plane.access.probe().ask("GET", f"{CONFIGMAPS}?limit=2&continue={page['continue']}")
    assert (answer.status, answer.json()["reason"]) == (410, "Expired")
    watch = f"{CONFIGMAPS}?watch=1&timeoutSeconds=5&resourceVersion={page['resourceVersion']}"
    event = json.loads(plane.access.probe().ask("GET", watch).body.splitlines()[0])
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_compaction_gives_410_to_continue_tokens_at_once_when_the_cache_keeps_no_snapshots() -> None:
    options = Options(feature_gates={"ListFromCacheSnapshot": False}, controller_manager=False)
    with ControlPlane(options) as plane:
        for number in range(4):
            create(plane.access, f"history-{number}")
        token = plane.access.probe().ask("GET", f"{CONFIGMAPS}?limit=2").json()["metadata"]["continue"]
        create(plane.access, "history-later")
        plane.compact_etcd()
        assert status(plane.access, f"{CONFIGMAPS}?limit=2&continue={token}") == 410


def test_two_control_planes_at_once_do_not_collide(plane: ControlPlane) -> None:
    options = Options(
        feature_gates={"MutatingAdmissionPolicy": True},
        runtime_config={"admissionregistration.k8s.io/v1beta1": "true"},
        service_account_admission=False,
    )
    policies = "/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies"
    with ControlPlane(options) as other:
        create(other.access, "only-in-the-other")
        assert status(plane.access, f"{CONFIGMAPS}/only-in-the-other") == 404
        # Options are each control plane's own, too.
        assert (status(plane.access, policies), status(other.access, policies)) == (404, 200)
        directory = other.directory
    assert is_gone(directory)
    assert status(plane.access, "/readyz") == 200


def test_a_flag_that_the_server_does_not_know_is_an_error_that_shows_it(tmp_path: Path) -> None:
    directory = tmp_path / "plane"
    plane = ControlPlane(Options(apiserver_flags=("--no-such-flag",)), directory=directory)
    with pytest.raises(ControlPlaneError, match=r"kube-apiserver ended(.|\n)*unknown flag: --no-such-flag"):
        plane.start()
    assert is_gone(directory)


def test_a_directory_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(ControlPlaneError, match="is not empty"):
        ControlPlane(directory=tmp_path).start()
    assert (tmp_path / "mine").read_text() == "precious"


OWNER = """
import sys, time
from harness.controlplane import ControlPlane
plane = ControlPlane().start()
print(plane.directory, flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_death_of_its_owner_leaves_no_process_and_no_file(number: signal.Signals) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    directory = Path(owner.stdout.readline().strip())
    # Three programs and the supervisor.
    assert len(processes_in(directory)) == 4
    owner.send_signal(number)
    owner.communicate()
    eventually(functools.partial(is_gone, directory), "the end of all its processes")


USER = """
import sys
from harness.controlplane import shared_control_plane
with shared_control_plane(run=sys.argv[1]) as access:
    print(access.url, access.directory, flush=True)
    sys.stdin.readline()
"""


class User:
    """A process that uses the shared control plane of a run."""

    def __init__(self, run: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, run],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def told(self) -> tuple[str, Path]:
        assert self.process.stdout is not None
        url, directory = self.process.stdout.readline().split()
        return url, Path(directory)


def test_workers_share_one_control_plane_and_the_last_one_out_stops_it(tmp_path: Path) -> None:
    run = f"test-{tmp_path.name}-{os.getpid()}"
    users = [User(run) for _ in range(3)]
    [(_, directory)] = {user.told() for user in users}
    users[0].process.communicate("\n")
    assert len(processes_in(directory)) == 4
    with shared_control_plane(run=run) as access:
        for user in users[1:]:
            user.process.communicate("\n")
        assert access.directory == directory
        assert status(access, "/readyz") == 200
    assert is_gone(directory)
    assert not directory.parent.exists()


def test_a_shared_control_plane_ends_when_all_its_users_are_killed(tmp_path: Path) -> None:
    run = f"test-{tmp_path.name}-{os.getpid()}"
    users = [User(run) for _ in range(2)]
    [(_, directory)] = {user.told() for user in users}
    for user in users:
        user.process.kill()
        user.process.communicate()
    eventually(functools.partial(is_gone, directory), "the end of the shared control plane")
    eventually(lambda: not directory.parent.exists(), "the removal of its directory")


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness.controlplane", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_command_starts_one_in_the_background_once_and_stops_it(tmp_path: Path) -> None:
    home = tmp_path / "cluster"
    where = ("--directory", str(home))
    export = f"export KUBECONFIG={home}/plane/kubeconfig\n"
    first = command("up", *where)
    try:
        assert first.returncode == 0, first.stderr
        assert first.stdout.startswith("Started etcd, kube-apiserver and kube-controller-manager")
        assert first.stdout.endswith(export)
        second = command("up", *where)
        assert second.stdout.startswith("A control plane is already running")
        assert second.stdout.endswith(export)
        assert command("env", *where).stdout == export
        assert "is ready" in command("status", *where).stdout
    finally:
        down = command("down", *where)
    assert down.stdout.startswith("Stopped the control plane")
    assert is_gone(home / "plane")
    again = command("down", *where)
    assert (again.returncode, again.stdout) == (0, f"No control plane is running in {home}.\n")
    assert command("status", *where).returncode == 1
    assert command("env", *where).stdout == ""


def test_a_keeper_that_was_killed_is_not_running_and_leaves_nothing(tmp_path: Path) -> None:
    home = tmp_path / "cluster"
    where = ("--directory", str(home))
    assert command("up", *where).returncode == 0
    os.kill(int((home / "running").read_text()), signal.SIGKILL)
    eventually(lambda: is_gone(home / "plane"), "the end of its processes")
    assert command("status", *where).stdout == f"No control plane is running in {home}.\n"
    assert command("down", *where).stdout == f"No control plane is running in {home}.\n"
