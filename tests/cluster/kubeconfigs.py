"""Kubeconfigs for tests: one cluster, one user, one context, each with what a test puts into it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import yaml

from harness.controlplane import Access, ControlPlane
from harness.faultproxy import FaultProxy
from skoupa.kube.login import kubeconfig
from skoupa.kube.login.connection import Connection


def base64_of(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def write(path: Path, *, cluster: dict[str, Any], user: dict[str, Any], namespace: str = "") -> Path:
    context = {"cluster": "c", "user": "u", **({"namespace": namespace} if namespace else {})}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "here", "context": context}],
        "current-context": "here",
    }
    path.write_text(yaml.safe_dump(config))
    return path


def cluster_of(plane: Access | ControlPlane | FaultProxy, **more: Any) -> dict[str, Any]:
    """The address and the authority of a server; None among `more` takes a key out."""
    cluster = {"server": plane.url, "certificate-authority-data": base64_of(plane.ca_file), **more}
    return {key: value for key, value in cluster.items() if value is not None}


def admin_of(plane: Access | ControlPlane) -> dict[str, Any]:
    return {
        "client-certificate-data": base64_of(plane.admin_certificate),
        "client-key-data": base64_of(plane.admin_key),
    }


def load(path: Path, **flags: Any) -> Connection:
    return kubeconfig.load(kubeconfig=str(path), environ={}, **flags)
