"""What a caller may choose about a control plane; the defaults are a cluster with RBAC, audit and all controllers."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Options(msgspec.Struct, frozen=True, kw_only=True):
    feature_gates: Mapping[str, bool] = {}
    """Feature gates of the API server and the controller manager, e.g. {"MutatingAdmissionPolicy": True}."""

    runtime_config: Mapping[str, str] = {}
    """Served API versions, e.g. {"admissionregistration.k8s.io/v1beta1": "true"}."""

    controller_manager: bool = True
    """Without it nothing collects garbage natively, and namespaces never finish terminating."""

    service_account_admission: bool = True
    """Off: a Pod can be created before its namespace has a default ServiceAccount, and gets no token volume."""

    audit: bool = True
    """Every request in `audit_log`: metadata only, with the body for deletes. Off for benchmarks."""

    etcd_quota_bytes: int = 8 << 30
    """Room for a few million small objects."""

    controller_qps: int = 1000
    """Requests a second of the controller manager; Kubernetes' own default is 20."""

    apiserver_flags: tuple[str, ...] = ()
    controller_manager_flags: tuple[str, ...] = ()
    etcd_flags: tuple[str, ...] = ()
    """Further flags, put last, so that they win over the ones that the harness sets."""

    start_seconds: float = 60.0
    """How long each process may take to become ready."""
