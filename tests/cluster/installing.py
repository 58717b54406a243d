"""An installation on a control plane: the command line as a process, and the controller with the rights it was given.

There is no kubelet, so the Pods of the Deployment stay pending; the controller runs here instead, with a token of the installed
ServiceAccount, the installed settings, and nothing else.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import yaml

from harness.controlplane import Access
from harness.controlplane.ports import Port
from harness.controlplane.probe import Probe

T = TypeVar("T")
Said = subprocess.CompletedProcess[str]


def skoupa(access: Access | Path, *args: str) -> Said:
    kubeconfig = access.kubeconfig if isinstance(access, Access) else access
    command = [sys.executable, "-m", "skoupa", *args, "--kubeconfig", str(kubeconfig)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=180, check=False, env=_environment()
    )


def outcomes(said: Said) -> dict[str, str]:
    """Object -> what applying did."""
    assert said.returncode == 0, said.stderr
    return dict(line.rsplit(" ", 1) for line in said.stdout.splitlines())


class Controller:
    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self._log = log

    def says(self, words: str) -> None:
        """Waits until its log has the words."""
        eventually(lambda: words in self._alive(), f"the controller says {words!r}")

    def _alive(self) -> str:
        said = self._log.read_text()
        assert self._process.poll() is None, said
        return said


@contextmanager
def controller(access: Access, directory: Path, *, home: str) -> Iterator[Controller]:
    """`skoupa run` as the installed ServiceAccount with the installed settings."""
    settings = asked(access.probe(), "GET", f"/api/v1/namespaces/{home}/configmaps/skoupa-config")
    config = directory / "installed.yaml"
    config.write_text(settings["data"]["settings.yaml"])
    log = directory / "log"
    kubeconfig = kubeconfig_of(access, directory, home=home)
    command = [sys.executable, "-m", "skoupa", "run", "--config", str(config), *_own_ports(config)]
    with (
        log.open("w") as stream,
        subprocess.Popen(
            [*command, "--kubeconfig", str(kubeconfig)], stderr=stream, stdout=stream, env=_environment()
        ) as process,
    ):
        try:
            yield Controller(process, log)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                code = process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
    assert code == 0, log.read_text()


def _own_ports(config: Path) -> Iterator[str]:
    """A Pod has an address of its own; on one machine the controllers of several tests would meet at a port."""
    tree = yaml.safe_load(config.read_text())
    yield from ("--set", "address=127.0.0.1:0")
    for section in ("api", "webhook"):
        if tree.get(section, {}).get("address", "none") != "none":
            # Not 0: the port of the webhook is told to the API server.
            free = Port()
            free.release()
            yield from ("--set", f"{section}.address=127.0.0.1:{free.number}")


def kubeconfig_of(access: Access, directory: Path, *, home: str) -> Path:
    """Of the installed ServiceAccount, with a token such as its Pods get."""
    path = f"/api/v1/namespaces/{home}/serviceaccounts/skoupa/token"
    token = asked(access.probe(), "POST", path, {"spec": {}})["status"]["token"]
    config = yaml.safe_load(access.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    written = directory / "kubeconfig"
    written.write_text(yaml.safe_dump(config))
    return written


def asked(probe: Probe, method: str, path: str, body: Any = None) -> Any:
    answer = probe.ask(method, path, body)
    assert answer.status in {200, 201}, (method, path, answer.status, answer.body)
    return answer.json()


def may(access: Access, *, user: str, verb: str, resource: str, namespace: str = "", name: str = "") -> bool:
    plural, _, group = resource.partition(".")
    attributes = {"verb": verb, "group": group, "resource": plural, "namespace": namespace, "name": name}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "groups": ["system:authenticated"], "resourceAttributes": attributes},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(asked(access.probe(), "POST", path, review)["status"]["allowed"])


def requests_of(access: Access, user: str) -> list[dict[str, Any]]:
    """What the server's audit log has of a user, without what an anonymous or other user did."""
    found = []
    with access.audit_log.open() as lines:
        for line in lines:
            if user in line:
                entry = json.loads(line)
                if entry["user"]["username"] == user:
                    found.append(entry)
    return found


def eventually(condition: Callable[[], T], what: str, *, seconds: float = 60.0) -> T:
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.05)
    return value


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SKOUPA_", "KUBECONFIG"))}
    return {**kept, "SKOUPA_LEDGER_DSN": "none"}
