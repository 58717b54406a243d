"""A control plane of one's own: etcd, kube-apiserver and kube-controller-manager as processes on loopback.

`ControlPlane` is started in a directory of its own and is gone without a trace when it is stopped, or when the
process that made it ends, however it ends. Several can run at once. Nothing is scheduled: Pods stay Pending.
"""

from __future__ import annotations

import json
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from harness.controlplane import binaries, flags
from harness.controlplane.access import Access
from harness.controlplane.certificates import Authority, service_account_keys
from harness.controlplane.errors import ControlPlaneError, NotReadyError
from harness.controlplane.options import Options
from harness.controlplane.ports import HOST, Port
from harness.controlplane.probe import Probe
from harness.controlplane.processes import Processes
from harness.controlplane.programs import KUBERNETES

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager")
_ETCD, _APISERVER, _CONTROLLER_MANAGER = PROGRAMS


class ControlPlane:
    """Use it as a context manager, or call start() and stop()."""

    def __init__(self, options: Options | None = None, *, directory: Path | None = None) -> None:
        """`directory` is made, or is empty, and is removed at the end. Without it: a temporary one."""
        self.options = options or Options()
        self._wanted_directory = directory
        self._access: Access | None = None
        self._processes: Processes | None = None
        self._ports: list[Port] = []

    def start(self) -> Self:
        programs = binaries.provide(PROGRAMS)
        directory = self._make_directory()
        try:
            self._processes = Processes(logs=directory, remove=directory)
            self._launch(directory, programs)
        except BaseException:
            self.stop()
            shutil.rmtree(directory, ignore_errors=True)
            raise
        return self

    def stop(self) -> None:
        """Ends all processes and removes the directory. May be called twice."""
        if self._processes is not None:
            self._processes.close()
            self._processes = None
        for port in self._ports:
            port.release()
        self._ports.clear()

    def stop_apiserver(self, *, gracefully: bool = False) -> None:
        """Kills the API server, or lets it finish its requests. Its port stays ours and refuses connections."""
        self._running().stop(
            _APISERVER,
            number=signal.SIGTERM if gracefully else signal.SIGKILL,
            grace=self.options.start_seconds,
        )

    def start_apiserver(self) -> None:
        """Starts it again after stop_apiserver(), on the same port, and waits until it is ready."""
        self._running().start(_APISERVER, self._apiserver_command)
        self._wait_for(_APISERVER, self.access.probe(), "/readyz")

    def restart_apiserver(self, *, downtime: float = 0.0, gracefully: bool = False) -> None:
        """Away for `downtime` seconds and the two that a start takes; the data stays."""
        self.stop_apiserver(gracefully=gracefully)
        time.sleep(downtime)
        self.start_apiserver()

    def compact_etcd(self) -> None:
        """Continue tokens answer 410 within 15 s; etcd.py tells why not at once."""
        self.access.compact_etcd()

    def forget_history(self) -> None:
        """Compacts etcd and restarts the API server: every continue token and every watch from before is 410."""
        self.compact_etcd()
        self.restart_apiserver()

    @property
    def access(self) -> Access:
        assert self._access is not None, "the control plane was not started"
        return self._access

    @property
    def url(self) -> str:
        return self.access.url

    @property
    def kubeconfig(self) -> Path:
        return self.access.kubeconfig

    @property
    def directory(self) -> Path:
        return self.access.directory

    @property
    def version(self) -> str:
        return self.access.version

    @property
    def ca_file(self) -> Path:
        return self.access.ca_file

    @property
    def admin_certificate(self) -> Path:
        return self.access.admin_certificate

    @property
    def admin_key(self) -> Path:
        return self.access.admin_key

    @property
    def audit_log(self) -> Path:
        return self.access.audit_log

    def kubeconfig_for(self, *, user: str, groups: Sequence[str] = ()) -> Path:
        return self.access.kubeconfig_for(user=user, groups=groups)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _make_directory(self) -> Path:
        if self._wanted_directory is None:
            return Path(tempfile.mkdtemp(prefix="skoupa-cluster-"))
        directory = self._wanted_directory.resolve()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (directory / "certificates" / "etcd-ca.crt").exists():
            # One that was cut off with its machine: nothing else leaves these files.
            shutil.rmtree(directory)
            directory.mkdir(mode=0o700)
        elif any(directory.iterdir()):
            raise ControlPlaneError(
                f"{directory} is not empty; name a new one, because it is removed with the control plane"
            )
        return directory

    def _launch(self, directory: Path, programs: Mapping[str, Path]) -> None:
        client, peer, api, controllers = (self._port() for _ in range(4))
        access = Access(url=api.url, etcd_url=client.url, version=KUBERNETES, directory=directory)
        files = _write_files(access)
        self._access = access
        self._start(_ETCD, programs, flags.etcd(self.options, files, client=client, peer=peer))
        self._wait_for(_ETCD, access.etcd_probe(), "/health")
        self._apiserver_command = self._start(
            _APISERVER, programs, flags.apiserver(self.options, files, port=api, etcd=client)
        )
        self._wait_for(_APISERVER, access.probe(), "/readyz")
        version = access.probe().ask("GET", "/version").json()["gitVersion"]
        self._access = msgspec.structs.replace(access, version=version.removeprefix("v"))
        if self.options.controller_manager:
            self._start(
                _CONTROLLER_MANAGER,
                programs,
                flags.controller_manager(self.options, files, port=controllers),
            )
            probe = Probe(controllers.url, authority=files.authority, client=None)
            self._wait_for(_CONTROLLER_MANAGER, probe, "/healthz")
            if self.options.service_account_admission:
                # Without it a Pod in the namespace would be refused.
                path = "/api/v1/namespaces/default/serviceaccounts/default"
                self._wait_for(_CONTROLLER_MANAGER, access.probe(), path)

    def _start(self, name: str, programs: Mapping[str, Path], arguments: list[str]) -> list[str | Path]:
        command: list[str | Path] = [programs[name], *arguments]
        self._running().start(name, command)
        return command

    def _wait_for(self, name: str, probe: Probe, path: str) -> None:
        processes, seconds = self._running(), self.options.start_seconds
        probe.wait(
            path,
            seconds=seconds,
            alive=lambda: processes.check(name),
            missed=lambda last: NotReadyError(name, seconds=seconds, last=last, log=processes.log(name)),
        )

    def _running(self) -> Processes:
        assert self._processes is not None, "the control plane was not started"
        return self._processes

    def _port(self) -> Port:
        port = Port()
        self._ports.append(port)
        return port


def _write_files(access: Access) -> flags.Files:
    directory = access.certificates
    directory.mkdir(mode=0o700)
    authority, etcd_authority = Authority(directory, "ca"), Authority(directory, "etcd-ca")
    local = ("localhost", HOST)
    cluster = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", flags.SERVICE_ADDRESS)
    controller_manager = authority.client("controller-manager", user="system:kube-controller-manager")
    files = flags.Files(
        authority=authority.pair,
        apiserver=authority.server("apiserver", hosts=[*local, *cluster]),
        controller_manager=controller_manager,
        service_account=service_account_keys(directory),
        etcd_authority=etcd_authority.pair,
        etcd_server=etcd_authority.server("etcd", hosts=local),
        etcd_client=etcd_authority.client("etcd-client", user="kube-apiserver"),
        etcd_data=access.directory / "etcd",
        audit_policy=access.directory / "audit-policy.json",
        audit_log=access.audit_log,
        controller_manager_kubeconfig=access.directory / "controller-manager.kubeconfig",
    )
    files.audit_policy.write_text(json.dumps(flags.AUDIT_POLICY))
    access.write_kubeconfig(files.controller_manager_kubeconfig, controller_manager)
    access.write_kubeconfig(
        access.kubeconfig, authority.client("admin", user="admin", groups=["system:masters"])
    )
    return files
