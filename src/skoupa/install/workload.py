"""The controller as a workload: its configuration, its identity, the Deployment, and what watches over it.

Of several replicas one acts, and the others know as much and take over; how many there can be depends on where the
ledger is, and on whether they act at all. The pod fits the strictest pod security standard. It is renewed when its settings change, because it reads
them once, at start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import yaml

from skoupa import __version__, names
from skoupa.errors import UsageError
from skoupa.install import history, ledger, policies
from skoupa.install.labelling import PART_OF, SELECTOR, SERVICE_ACCOUNT, Manifest, manifest
from skoupa.settings import Settings

_SETTINGS_DIGEST: Final = f"{names.SKOUPA_GROUP}/settings-digest"
_PORT_NAME: Final = "http"
# Anybody but root; 65532 is what images without a shell call nonroot.
_USER: Final = 65532
# Idle it takes 71 MB, with 100,000 labelled objects 119 MB (docs/benchmarks.md). The limit has room for two processes that evaluate
# CEL up to their own limits: over it the kernel would end all of them. No limit on CPU: it would make deletions late.
_RESOURCES: Final = {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"memory": "2Gi"}}
# What is under way, ten seconds for the last Events, five for handing over the Lease, and a few to spare.
_GRACE_SECONDS: Final = 30


def settings_text(settings: Settings) -> str:
    """The settings as a file: the mode, and whatever is not as shipped."""
    tree = {"mode": settings.mode, **_differing(_plain(settings), _plain(Settings()))}
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)


def namespace_of_its_own(name: str) -> Manifest:
    return manifest("v1", "Namespace", name, labels={"pod-security.kubernetes.io/enforce": "restricted"})


def service_account(namespace: str) -> Manifest:
    return manifest("v1", "ServiceAccount", SERVICE_ACCOUNT, namespace=namespace)


def workload(settings: Settings, *, namespace: str, image: str, replicas: int) -> list[Manifest]:
    text = settings_text(settings)
    data = {names.SETTINGS_KEY: text}
    manifests = [manifest("v1", "ConfigMap", names.SETTINGS_CONFIG_MAP, namespace=namespace, data=data)]
    manifests += ledger.claims(settings, namespace=namespace)
    ports = _ports(settings)
    if ports:
        spec: dict[str, Any] = {
            "selector": dict(SELECTOR),
            "ports": [{"name": name, "port": port, "targetPort": name} for name, port in ports.items()],
        }
        manifests.append(
            manifest("v1", "Service", names.COMPONENT, namespace=namespace, labels=SELECTOR, spec=spec)
        )
    # Also with a single replica a node can be drained: nothing is lost while nobody sweeps.
    budget = {"maxUnavailable": 1, "selector": {"matchLabels": dict(SELECTOR)}}
    manifests.append(
        manifest("policy/v1", "PodDisruptionBudget", names.COMPONENT, namespace=namespace, spec=budget)
    )
    pod = _pod(image=image, ports=ports)
    ledger.equip(settings, pod)
    spec = {
        "replicas": replicas,
        "strategy": ledger.strategy(settings),
        "selector": {"matchLabels": dict(SELECTOR)},
        "template": {
            "metadata": {
                "labels": {**PART_OF, **SELECTOR},
                "annotations": {_SETTINGS_DIGEST: hashlib.sha256(text.encode()).hexdigest()[:16]},
            },
            "spec": pod,
        },
    }
    labels = {**SELECTOR, "app.kubernetes.io/version": __version__}
    manifests.append(
        manifest("apps/v1", "Deployment", names.COMPONENT, namespace=namespace, labels=labels, spec=spec)
    )
    return manifests


def _pod(*, image: str, ports: Mapping[str, int]) -> dict[str, Any]:
    apart = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": dict(SELECTOR)},
    }
    return {
        "serviceAccountName": SERVICE_ACCOUNT,
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [apart],
        "containers": [_container(image=image, ports=ports)],
        "volumes": [{"name": "config", "configMap": {"name": names.SETTINGS_CONFIG_MAP}}],
    }


def _container(*, image: str, ports: Mapping[str, int]) -> dict[str, Any]:
    # The version is the server's default; written out, it is no conflict when somebody else applies this too.
    field = {"apiVersion": "v1", "fieldPath": "metadata.name"}
    container: dict[str, Any] = {
        "name": names.COMPONENT,
        "image": image,
        "command": ["skoupa"],
        "args": ["run", "--config", f"{ledger.CONFIG_DIRECTORY}/{names.SETTINGS_KEY}"],
        "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": field}}],
        "resources": _RESOURCES,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "config", "mountPath": ledger.CONFIG_DIRECTORY, "readOnly": True}],
    }
    if ports:
        container["ports"] = [{"name": name, "containerPort": port} for name, port in ports.items()]
    if _PORT_NAME in ports:
        container["livenessProbe"] = {
            "httpGet": {"path": "/healthz", "port": _PORT_NAME},
            "periodSeconds": 20,
            "timeoutSeconds": 5,
        }
        container["readinessProbe"] = {
            "httpGet": {"path": "/readyz", "port": _PORT_NAME},
            "periodSeconds": 5,
            "timeoutSeconds": 5,
        }
    return container


def _ports(settings: Settings) -> dict[str, int]:
    """By name; where it serves nothing there is none."""
    ports = {}
    if settings.address:
        ports[_PORT_NAME] = _port(settings.address, setting="address", asked="probes", otherwise="empty")
    if history.is_served(settings):
        ports[history.PORT_NAME] = _port(
            settings.api.address, setting="api.address", asked="the API server", otherwise="none"
        )
    if policies.is_reviewed(settings):
        ports[policies.PORT_NAME] = _port(
            settings.webhook.address, setting="webhook.address", asked="the API server", otherwise="none"
        )
    if len(set(ports.values())) < len(ports):
        written = ", ".join(f"{name} {port}" for name, port in ports.items())
        raise UsageError(
            f"address, api.address and webhook.address share a port ({written})", advice="give each its own"
        )
    return ports


def _port(address: str, *, setting: str, asked: str, otherwise: str) -> int:
    host, _, port = address.rpartition(":")
    if ":" not in address or not port.isdecimal() or not 0 < int(port) < 65536:
        raise UsageError(f"{setting} {address!r} has no port", advice="write it as 0.0.0.0:8080")
    if host.strip("[]") in {"127.0.0.1", "::1", "localhost"}:
        raise UsageError(
            f"{setting} {address!r} can't be reached by {asked} from outside the pod",
            advice=f"write 0.0.0.0:{port}, or make {setting} {otherwise} to serve nothing",
        )
    return int(port)


def _plain(settings: Settings) -> dict[str, Any]:
    tree: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(settings))
    return tree


def _differing(tree: dict[str, Any], shipped: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            below = _differing(value, shipped[key])
            if below:
                found[key] = below
        elif value != shipped[key]:
            found[key] = value
    return found
