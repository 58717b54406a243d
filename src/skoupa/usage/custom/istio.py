"""Istio: gateways with their certificates, routes to hosts, and the policies that attach to them."""

from __future__ import annotations

from typing import Final

from skoupa.usage.custom.gateway_api import GATEWAY
from skoupa.usage.custom.words import accounts, of, said, secrets, to
from skoupa.usage.rules import ANY_NAMESPACE, Form, Implied, Means, Selection

_GROUP: Final = "networking.istio.io"
_POLICY: Final = "trafficPolicy.(tls|portLevelSettings[].tls).credentialName"
_ATTACHED: Final = said(
    "spec.(targetRef|targetRefs[])",
    otherwise=GATEWAY,
    group_at="group",
    namespace_at="namespace",
    means=Means.MANAGES,
)
_WORKLOADS: Final = (Selection(at="spec.selector", to="Pod", means=Means.MENTIONS),)

RULES: Final = (
    of(
        f"{_GROUP}/Gateway",
        # In the namespace that the gateway's Pods run in, which their labels say. The authorities are in a Secret beside it.
        secrets("spec.servers[].tls.credentialName", namespace=ANY_NAMESPACE),
        (
            Implied(to="Secret", name="{spec.servers[].tls.credentialName}-cacert", namespace=ANY_NAMESPACE),
            Selection(
                at="spec.selector", to="Pod", plain=True, namespace=ANY_NAMESPACE, means=Means.MENTIONS
            ),
        ),
    ),
    of(
        f"{_GROUP}/DestinationRule",
        to("Service", "spec.host", form=Form.HOST),
        secrets(f"spec.{_POLICY}", f"spec.subsets[].{_POLICY}", namespace=ANY_NAMESPACE),
        *(
            (Implied(to="Secret", name=f"{{{at}.credentialName}}-cacert", namespace=ANY_NAMESPACE),)
            for at in (
                "spec.trafficPolicy.tls",
                "spec.trafficPolicy.portLevelSettings[].tls",
                "spec.subsets[].trafficPolicy.tls",
                "spec.subsets[].trafficPolicy.portLevelSettings[].tls",
            )
        ),
    ),
    of(
        f"{_GROUP}/VirtualService",
        to(
            f"{_GROUP}/Gateway",
            "spec.gateways[]",
            "spec.(http|tcp|tls)[].match[].gateways[]",
            form=Form.SLASHED,
        ),
        to(
            "Service",
            "spec.(http|tcp|tls)[].route[].destination.host",
            "spec.http[].(mirror.host|mirrors[].destination.host)",
            form=Form.HOST,
        ),
        to(f"{_GROUP}/VirtualService", "spec.http[].delegate.name", namespace_at="namespace"),
    ),
    of(
        f"{_GROUP}/Sidecar",
        secrets("spec.ingress[].tls.credentialName"),
        to("Service", "spec.outboundTrafficPolicy.egressProxy.host", form=Form.HOST),
    ),
    of(f"{_GROUP}/ServiceEntry", accounts("spec.endpoints[].serviceAccount")),
    of(f"{_GROUP}/WorkloadEntry", accounts("spec.serviceAccount")),
    of(f"{_GROUP}/WorkloadGroup", accounts("spec.template.serviceAccount")),
    of(f"{_GROUP}/EnvoyFilter", _ATTACHED, walked=()),
    of("extensions.istio.io/WasmPlugin", secrets("spec.imagePullSecret"), _ATTACHED, _WORKLOADS),
    of(
        "security.istio.io/AuthorizationPolicy",
        _ATTACHED,
        _WORKLOADS,
        to(
            "ServiceAccount",
            "spec.rules[].from[].source.(serviceAccounts|notServiceAccounts)[]",
            form=Form.SLASHED,
            means=Means.MENTIONS,
        ),
    ),
    of("security.istio.io/RequestAuthentication", _ATTACHED, _WORKLOADS),
    of("security.istio.io/PeerAuthentication", _WORKLOADS),
    of("telemetry.istio.io/Telemetry", _ATTACHED, _WORKLOADS),
)
