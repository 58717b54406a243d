"""The Prometheus operator: what is scraped and with whose credentials, and the servers that are Pods in pieces.

The receivers of an AlertmanagerConfig and the discoveries of a ScrapeConfig name Secrets in hundreds of fields, all of them
`{name, key}`: these are walked, and no table tries to be complete about them.
"""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin.shapes import CLAIM_TEMPLATE, CONTAINER, VOLUME
from skoupa.usage.custom.words import accounts, config_maps, inside, of, secrets, shape, to
from skoupa.usage.rules import Implied, KindRules, Means, Part, Selection

_GROUP: Final = "monitoring.coreos.com"

_TLS: Final = shape(
    "TLS",
    secrets("(ca|cert).secret.name", "keySecret.name"),
    config_maps("(ca|cert).configMap.name"),
)
_ACCESS: Final = shape(
    "credentials",
    secrets(
        "bearerTokenSecret.name",
        "basicAuth.(username|password).name",
        "authorization.credentials.name",
        "oauth2.clientId.secret.name",
        "oauth2.clientSecret.name",
        "sigv4.(accessKey|secretKey).name",
    ),
    config_maps("oauth2.clientId.configMap.name"),
    inside(_TLS, "tlsConfig", "oauth2.tlsConfig"),
)
_SERVER: Final[tuple[tuple[Part, ...], ...]] = (
    inside(CONTAINER, "spec.containers[]", "spec.initContainers[]"),
    inside(VOLUME, "spec.volumes[]"),
    inside(CLAIM_TEMPLATE, "spec.storage.volumeClaimTemplate", "spec.storage.ephemeral.volumeClaimTemplate"),
    secrets("spec.secrets[]", "spec.imagePullSecrets[].name"),
    config_maps("spec.configMaps[]"),
    accounts("spec.serviceAccountName"),
    to("scheduling.k8s.io/PriorityClass", "spec.priorityClassName"),
    to("Service", "spec.serviceName"),
    inside(_TLS, "spec.web.tlsConfig"),
)


def _chosen(kind: str, field: str, *, namespaces: str = "") -> tuple[Part, ...]:
    within = namespaces or f"{field.removesuffix('Selector')}NamespaceSelector"
    return (Selection(at=f"spec.{field}", to=f"{_GROUP}/{kind}", namespaces_at=within, means=Means.MANAGES),)


def _prometheus(kind: str) -> KindRules:
    return of(
        f"{_GROUP}/{kind}",
        *_SERVER,
        _chosen("ServiceMonitor", "serviceMonitorSelector"),
        _chosen("PodMonitor", "podMonitorSelector"),
        _chosen("Probe", "probeSelector"),
        _chosen("ScrapeConfig", "scrapeConfigSelector"),
        _chosen("PrometheusRule", "ruleSelector"),
        secrets(
            "spec.(additionalScrapeConfigs|additionalAlertRelabelConfigs|additionalAlertManagerConfigs).name",
            "spec.thanos.(objectStorageConfig|tracingConfig).name",
        ),
        inside(
            _ACCESS,
            "spec.(remoteWrite|remoteRead)[]",
            "spec.alerting.alertmanagers[]",
            "spec.apiserverConfig",
        ),
        inside(_TLS, "spec.thanos.grpcServerTlsConfig"),
    )


_IN_NAMESPACES: Final = to("Namespace", "spec.namespaceSelector.matchNames[]", means=Means.MENTIONS)

RULES: Final = (
    of(
        f"{_GROUP}/ServiceMonitor",
        inside(_ACCESS, "spec.endpoints[]"),
        _IN_NAMESPACES,
        # Where `namespaceSelector` is a list of names or `any`, and no selector of labels.
        (Selection(at="spec.selector", to="Service", namespace="*", means=Means.MENTIONS),),
    ),
    of(
        f"{_GROUP}/PodMonitor",
        inside(_ACCESS, "spec.podMetricsEndpoints[]"),
        _IN_NAMESPACES,
        (Selection(at="spec.selector", to="Pod", namespace="*", means=Means.MENTIONS),),
    ),
    of(
        f"{_GROUP}/Probe",
        inside(_ACCESS, "spec"),
        (
            Selection(
                at="spec.targets.ingress.selector",
                to="networking.k8s.io/Ingress",
                namespace="*",
                means=Means.MENTIONS,
            ),
        ),
    ),
    of(f"{_GROUP}/ScrapeConfig", inside(_ACCESS, "spec")),
    _prometheus("Prometheus"),
    _prometheus("PrometheusAgent"),
    of(
        f"{_GROUP}/ThanosRuler",
        *_SERVER,
        _chosen("PrometheusRule", "ruleSelector"),
        secrets(
            "spec.(objectStorageConfig|alertmanagersConfig|queryConfig|tracingConfig|alertRelabelConfigs).name"
        ),
        inside(_TLS, "spec.grpcServerTlsConfig"),
    ),
    of(
        f"{_GROUP}/Alertmanager",
        *_SERVER,
        secrets("spec.configSecret"),
        # What it reads where that says nothing.
        (Implied(to="Secret", name="alertmanager-{metadata.name}"),),
        to(f"{_GROUP}/AlertmanagerConfig", "spec.alertmanagerConfiguration.name"),
        _chosen("AlertmanagerConfig", "alertmanagerConfigSelector"),
    ),
    of(f"{_GROUP}/AlertmanagerConfig"),
)
