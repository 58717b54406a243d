"""cert-manager: what it issues, with whose keys, and where the result is kept."""

from __future__ import annotations

from typing import Final

from skoupa.usage.custom.gateway_api import GATEWAY
from skoupa.usage.custom.words import accounts, inside, of, said, secrets, shape, to
from skoupa.usage.rules import Annotated, Form, Means, Part

_GROUP: Final = "cert-manager.io"
_ISSUER: Final = f"{_GROUP}/Issuer"
_CLUSTER_ISSUER: Final = f"{_GROUP}/ClusterIssuer"
_BY_ISSUER: Final = said("spec.issuerRef", otherwise=_ISSUER, group_at="group")
_POD: Final = "http01.(ingress|gatewayHTTPRoute).podTemplate.spec"

_SOLVER: Final = shape(
    "solver of an ACME issuer",
    secrets(
        "dns01.acmeDNS.accountSecretRef.name",
        "dns01.akamai.(accessToken|clientSecret|clientToken)SecretRef.name",
        "dns01.azureDNS.clientSecretSecretRef.name",
        "dns01.cloudDNS.serviceAccountSecretRef.name",
        "dns01.cloudflare.(apiKey|apiToken)SecretRef.name",
        "dns01.digitalocean.tokenSecretRef.name",
        "dns01.rfc2136.tsigSecretSecretRef.name",
        "dns01.route53.(accessKeyID|secretAccessKey)SecretRef.name",
        f"{_POD}.imagePullSecrets[].name",
    ),
    accounts("dns01.route53.auth.kubernetes.serviceAccountRef.name", f"{_POD}.serviceAccountName"),
    to("scheduling.k8s.io/PriorityClass", f"{_POD}.priorityClassName"),
    to("networking.k8s.io/IngressClass", "http01.ingress.(class|ingressClassName)"),
    to("networking.k8s.io/Ingress", "http01.ingress.name"),
    said(
        "http01.gatewayHTTPRoute.parentRefs[]", otherwise=GATEWAY, group_at="group", namespace_at="namespace"
    ),
)

# The Secrets of a ClusterIssuer are in the namespace that cert-manager runs in, which it does not say.
_ISSUES: Final[tuple[tuple[Part, ...], ...]] = (
    secrets(
        "spec.acme.privateKeySecretRef.name",
        "spec.acme.externalAccountBinding.keySecretRef.name",
        "spec.ca.secretName",
        "spec.vault.(caBundle|clientCert|clientKey)SecretRef.name",
        "spec.vault.auth.(appRole.secretRef|tokenSecretRef|kubernetes.secretRef).name",
        "spec.vault.auth.clientCertificate.secretName",
        "spec.venafi.cloud.apiTokenSecretRef.name",
        "spec.venafi.tpp.(credentialsRef|caBundleSecretRef).name",
    ),
    accounts("spec.vault.auth.kubernetes.serviceAccountRef.name"),
    inside(_SOLVER, "spec.acme.solvers[]"),
)

RULES: Final = (
    of(
        f"{_GROUP}/Certificate",
        secrets("spec.secretName", means=Means.PRODUCES),
        secrets("spec.keystores.(jks|pkcs12).passwordSecretRef.name"),
        _BY_ISSUER,
    ),
    of(f"{_GROUP}/CertificateRequest", _BY_ISSUER),
    of(_ISSUER, *_ISSUES),
    of(_CLUSTER_ISSUER, *_ISSUES, cluster=True),
    of("acme.cert-manager.io/Order", _BY_ISSUER),
    of("acme.cert-manager.io/Challenge", _BY_ISSUER, inside(_SOLVER, "spec.solver")),
)

_INGRESSES: Final = ("networking.k8s.io/Ingress", GATEWAY)
# All that its injector looks at.
_INJECTED: Final = (
    "admissionregistration.k8s.io/MutatingWebhookConfiguration",
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
    "apiextensions.k8s.io/CustomResourceDefinition",
    "apiregistration.k8s.io/APIService",
)

ANNOTATED: Final = (
    Annotated(key="cert-manager.io/issuer", to=_ISSUER, of=_INGRESSES, form=Form.NAME),
    Annotated(key="cert-manager.io/cluster-issuer", to=_CLUSTER_ISSUER, of=_INGRESSES, form=Form.NAME),
    Annotated(key="cert-manager.io/inject-ca-from", to=f"{_GROUP}/Certificate", of=_INJECTED),
    Annotated(key="cert-manager.io/inject-ca-from-secret", to="Secret", of=_INJECTED),
)
