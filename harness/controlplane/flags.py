"""The command lines of etcd, kube-apiserver and kube-controller-manager.

Pure: options and paths in, flags out. Every port can be joined again (SO_REUSEPORT), see ports.py.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from harness.controlplane.certificates import Pair
from harness.controlplane.options import Options
from harness.controlplane.ports import HOST, Port

SERVICE_RANGE = "10.0.0.0/24"
SERVICE_ADDRESS = "10.0.0.1"

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "nonResourceURLs": ["/readyz*", "/livez*", "/healthz*"]},
        # With the body: tests read preconditions and propagationPolicy from it.
        {"level": "Request", "verbs": ["delete", "deletecollection"]},
        {"level": "Metadata"},
    ],
}


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """Every file that a flag names."""

    authority: Pair
    apiserver: Pair
    controller_manager: Pair
    service_account: Pair
    etcd_authority: Pair
    etcd_server: Pair
    etcd_client: Pair
    etcd_data: Path
    audit_policy: Path
    audit_log: Path
    controller_manager_kubeconfig: Path


def etcd(options: Options, files: Files, *, client: Port, peer: Port) -> list[str]:
    return [
        f"--data-dir={files.etcd_data}",
        f"--listen-client-urls={client.url}",
        f"--advertise-client-urls={client.url}",
        f"--listen-peer-urls={peer.url}",
        f"--initial-advertise-peer-urls={peer.url}",
        f"--initial-cluster=default={peer.url}",
        *(
            f"--{prefix}{flag}"
            for prefix in ("", "peer-")
            for flag in (
                "client-cert-auth",
                f"trusted-ca-file={files.etcd_authority.certificate}",
                f"cert-file={files.etcd_server.certificate}",
                f"key-file={files.etcd_server.key}",
            )
        ),
        "--socket-reuse-port",
        # Test data need not survive a power cut; the disk would otherwise set the pace of every write.
        "--unsafe-no-fsync",
        f"--quota-backend-bytes={options.etcd_quota_bytes}",
        "--log-level=warn",
        *options.etcd_flags,
    ]


def apiserver(options: Options, files: Files, *, port: Port, etcd: Port) -> list[str]:
    return [
        f"--bind-address={HOST}",
        f"--secure-port={port.number}",
        "--permit-port-sharing",
        # The address of the default route would do, but not every machine has one; loopback can't be an
        # Endpoint, so that nothing may try to write one.
        f"--advertise-address={HOST}",
        "--endpoint-reconciler-type=none",
        f"--etcd-servers={etcd.url}",
        f"--etcd-cafile={files.etcd_authority.certificate}",
        f"--etcd-certfile={files.etcd_client.certificate}",
        f"--etcd-keyfile={files.etcd_client.key}",
        f"--client-ca-file={files.authority.certificate}",
        f"--tls-cert-file={files.apiserver.certificate}",
        f"--tls-private-key-file={files.apiserver.key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={files.service_account.certificate}",
        f"--service-account-signing-key-file={files.service_account.key}",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--authorization-mode=RBAC",
        # Without it the controllers' watches keep a server that was asked to end for a minute.
        "--shutdown-watch-termination-grace-period=1s",
        "--allow-privileged",
        *([] if options.service_account_admission else ["--disable-admission-plugins=ServiceAccount"]),
        *(_audit(files) if options.audit else []),
        *_feature_gates(options),
        *_mapping("runtime-config", {**options.runtime_config}),
        *options.apiserver_flags,
    ]


def controller_manager(options: Options, files: Files, *, port: Port) -> list[str]:
    kubeconfig = files.controller_manager_kubeconfig
    return [
        f"--bind-address={HOST}",
        f"--secure-port={port.number}",
        "--permit-port-sharing",
        f"--tls-cert-file={files.apiserver.certificate}",
        f"--tls-private-key-file={files.apiserver.key}",
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={files.service_account.key}",
        f"--root-ca-file={files.authority.certificate}",
        f"--cluster-signing-cert-file={files.authority.certificate}",
        f"--cluster-signing-key-file={files.authority.key}",
        f"--kube-api-qps={options.controller_qps}",
        f"--kube-api-burst={2 * options.controller_qps}",
        # A claim that is not bound at once would else wait for 15 s.
        "--pvclaimbinder-sync-period=1s",
        *_feature_gates(options),
        *options.controller_manager_flags,
    ]


def _audit(files: Files) -> list[str]:
    return [
        f"--audit-policy-file={files.audit_policy}",
        f"--audit-log-path={files.audit_log}",
        # In megabytes: a log that is rotated away under a reading test would lose lines.
        "--audit-log-maxsize=4096",
    ]


def _feature_gates(options: Options) -> list[str]:
    return _mapping("feature-gates", {name: str(on).lower() for name, on in options.feature_gates.items()})


def _mapping(flag: str, values: dict[str, str]) -> list[str]:
    return [f"--{flag}={','.join(f'{name}={value}' for name, value in values.items())}"] if values else []
