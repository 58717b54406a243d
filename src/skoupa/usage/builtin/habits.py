"""Annotations by which widely used controllers are told names, on objects of Kubernetes itself.

None of them is part of any schema; each is written down in the documentation of the controller that reads it.
"""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin.shapes import CONFIG_MAP, SECRET
from skoupa.usage.rules import Annotated, Form, Means

_INGRESS: Final = ("networking.k8s.io/Ingress",)
_WORKLOADS: Final = (
    "ReplicationController",
    "apps/DaemonSet",
    "apps/Deployment",
    "apps/ReplicaSet",
    "apps/StatefulSet",
    "batch/CronJob",
    "batch/Job",
)
_NGINX: Final = ("nginx.ingress.kubernetes.io", "ingress.kubernetes.io", "haproxy-ingress.github.io")


def _ingress(key: str, to: str, form: Form = Form.SLASHED) -> Annotated:
    return Annotated(key=key, to=to, of=_INGRESS, form=form)


ANNOTATED: Final = (
    *(
        _ingress(f"{prefix}/{name}", to)
        for prefix in _NGINX
        for name, to in (
            ("auth-secret", SECRET),
            ("auth-tls-secret", SECRET),
            ("secure-verify-ca-secret", SECRET),
            ("proxy-ssl-secret", SECRET),
            ("fastcgi-params-configmap", CONFIG_MAP),
            ("auth-proxy-set-headers", CONFIG_MAP),
            ("custom-headers", CONFIG_MAP),
            ("default-backend", "Service"),
        )
    ),
    _ingress("nginx.ingress.kubernetes.io/auth-url", "Service", Form.HOST),
    _ingress("nginx.ingress.kubernetes.io/mirror-target", "Service", Form.HOST),
    _ingress("alb.ingress.kubernetes.io/auth-idp-oidc", SECRET, Form.JSON),
    _ingress("appgw.ingress.kubernetes.io/appgw-ssl-certificate", SECRET),
    _ingress("networking.gke.io/managed-certificates", "networking.gke.io/ManagedCertificate", Form.LISTED),
    _ingress("networking.gke.io/v1beta1.FrontendConfig", "networking.gke.io/FrontendConfig", Form.NAME),
    _ingress("traefik.ingress.kubernetes.io/router.middlewares", "traefik.io/Middleware", Form.TRAEFIK),
    _ingress("traefik.ingress.kubernetes.io/router.tls.options", "traefik.io/TLSOption", Form.TRAEFIK),
    Annotated(
        key="traefik.ingress.kubernetes.io/service.serverstransport",
        to="traefik.io/ServersTransport",
        of=("Service",),
        form=Form.TRAEFIK,
    ),
    *(
        Annotated(
            key=key, to="configuration.konghq.com/KongPlugin", of=(*_INGRESS, "Service"), form=Form.LISTED
        )
        for key in ("konghq.com/plugins", "plugins.konghq.com")
    ),
    Annotated(key="secret.reloader.stakater.com/reload", to=SECRET, of=_WORKLOADS, form=Form.LISTED),
    Annotated(key="configmap.reloader.stakater.com/reload", to=CONFIG_MAP, of=_WORKLOADS, form=Form.LISTED),
    # Copies of another, which they follow.
    *(
        Annotated(key=key, to=kind, of=(kind,))
        for kind in (SECRET, CONFIG_MAP)
        for key in (
            "reflector.v1.k8s.emberstack.com/reflects",
            "replicator.v1.mittwald.de/replicate-from",
        )
    ),
    # OpenShift makes it.
    *(
        Annotated(key=key, to=SECRET, of=("Service",), form=Form.NAME, means=Means.PRODUCES)
        for key in (
            "service.beta.openshift.io/serving-cert-secret-name",
            "service.alpha.openshift.io/serving-cert-secret-name",
        )
    ),
)
