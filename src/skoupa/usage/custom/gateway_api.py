"""Gateway API: gateways, routes, and the policies that attach to them."""

from __future__ import annotations

from typing import Final

from skoupa.usage.custom.words import inside, of, said, shape, to
from skoupa.usage.rules import Means

_GROUP: Final = "gateway.networking.k8s.io"
GATEWAY: Final = f"{_GROUP}/Gateway"

_FILTER: Final = shape(
    "filter of a route",
    said(
        "(requestMirror|externalAuth).backendRef",
        otherwise="Service",
        group_at="group",
        namespace_at="namespace",
    ),
    said("extensionRef", group_at="group"),
)
_ROUTE: Final = shape(
    "route",
    said("parentRefs[]", otherwise=GATEWAY, group_at="group", namespace_at="namespace"),
    said("rules[].backendRefs[]", otherwise="Service", group_at="group", namespace_at="namespace"),
)
_CERTIFICATES: Final = (
    "listeners[].tls.certificateRefs[]",
    "tls.backend.clientCertificateRef",
)
_AUTHORITIES: Final = "spec.tls.frontend.(default|perPort[].tls).validation.caCertificateRefs[]"

RULES: Final = (
    of(
        GATEWAY,
        to(f"{_GROUP}/GatewayClass", "spec.gatewayClassName"),
        said("spec.infrastructure.parametersRef", group_at="group"),
        # Certificates of others may be borrowed, which a ReferenceGrant there allows; without it they are named all the same.
        *(
            said(f"spec.{at}", otherwise="Secret", group_at="group", namespace_at="namespace")
            for at in _CERTIFICATES
        ),
        said(_AUTHORITIES, otherwise="ConfigMap", group_at="group", namespace_at="namespace"),
    ),
    of(
        f"{_GROUP}/GatewayClass",
        said("spec.parametersRef", group_at="group", namespace_at="namespace"),
        cluster=True,
    ),
    *(
        of(
            f"{_GROUP}/{kind}",
            inside(_ROUTE, "spec"),
            inside(_FILTER, "spec.rules[].filters[]", "spec.rules[].backendRefs[].filters[]"),
        )
        for kind in ("HTTPRoute", "GRPCRoute")
    ),
    *(of(f"{_GROUP}/{kind}", inside(_ROUTE, "spec")) for kind in ("TLSRoute", "TCPRoute", "UDPRoute")),
    of(
        f"{_GROUP}/BackendTLSPolicy",
        said("spec.targetRefs[]", otherwise="Service", group_at="group", means=Means.MANAGES),
        said("spec.validation.caCertificateRefs[]", otherwise="ConfigMap", group_at="group"),
    ),
    of(
        f"{_GROUP}/ReferenceGrant",
        said("spec.to[]", group_at="group", means=Means.MENTIONS),
    ),
)
