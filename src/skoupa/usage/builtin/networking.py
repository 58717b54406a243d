"""Services and what leads to them: Ingresses, endpoints, network policies, addresses."""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin.shapes import to_secret
from skoupa.usage.rules import Annotated, Form, Implied, KindRules, Means, Part, Reference, Selection

_INGRESS: Final = "networking.k8s.io/Ingress"
_INGRESS_CLASS: Final = "networking.k8s.io/IngressClass"


def _backend(at: str) -> tuple[Part, ...]:
    return (
        Reference(at=f"{at}.service.name", to="Service"),
        Reference(at=f"{at}.resource", name="name", kind_at="kind", group_at="apiGroup"),
    )


def _address(at: str) -> tuple[Part, ...]:
    return (
        Reference(
            at=f"{at}.targetRef",
            name="name",
            namespace_at="namespace",
            kind_at="kind",
            version_at="apiVersion",
            to="Pod",
            means=Means.MENTIONS,
        ),
        Reference(at=f"{at}.nodeName", to="Node", means=Means.MENTIONS),
    )


def _peers(at: str) -> Selection:
    return Selection(
        at=f"{at}.podSelector", to="Pod", namespaces_at="namespaceSelector", means=Means.CONCERNS
    )


RULES: Final = (
    KindRules(
        kind="Service",
        parts=(
            Selection(at="spec.selector", to="Pod", plain=True, means=Means.MANAGES),
            Reference(at="spec.externalName", to="Service", form=Form.HOST),
            Reference(at="spec.clusterIPs[]", to="networking.k8s.io/IPAddress"),
            # Where it leads without a selector somebody has written here by hand.
            Implied(to="Endpoints", name="{metadata.name}"),
            Implied(
                to="discovery.k8s.io/EndpointSlice",
                label="kubernetes.io/service-name",
                name="{metadata.name}",
            ),
        ),
    ),
    KindRules(
        kind=_INGRESS,
        parts=(
            Reference(at="spec.ingressClassName", to=_INGRESS_CLASS),
            to_secret("spec.tls[].secretName"),
            *_backend("spec.defaultBackend"),
            *_backend("spec.rules[].http.paths[].backend"),
            # Up to networking.k8s.io/v1beta1, in manifests of old.
            Reference(at="spec.backend.serviceName", to="Service"),
            Reference(at="spec.rules[].http.paths[].backend.serviceName", to="Service"),
        ),
    ),
    KindRules(
        kind=_INGRESS_CLASS,
        cluster=True,
        parts=(
            Reference(
                at="spec.parameters",
                name="name",
                namespace_at="namespace",
                kind_at="kind",
                group_at="apiGroup",
            ),
        ),
    ),
    # Both are written for each Service with a selector, by the control plane: they do not keep it.
    KindRules(
        kind="Endpoints",
        parts=(
            Implied(to="Service", name="{metadata.name}", means=Means.CONCERNS),
            *_address("subsets[].addresses[]"),
            *_address("subsets[].notReadyAddresses[]"),
        ),
    ),
    KindRules(kind="discovery.k8s.io/EndpointSlice", parts=_address("endpoints[]")),
    # What may talk to whom: none of them needs the Pods.
    KindRules(
        kind="networking.k8s.io/NetworkPolicy",
        parts=(
            Selection(at="spec.podSelector", to="Pod", means=Means.CONCERNS),
            _peers("spec.ingress[].from[]"),
            _peers("spec.egress[].to[]"),
        ),
    ),
    KindRules(
        kind="networking.k8s.io/IPAddress",
        cluster=True,
        parts=(
            Reference(
                at="spec.parentRef",
                name="name",
                namespace_at="namespace",
                when_at="resource",
                when=("services",),
                to="Service",
                means=Means.CONCERNS,
            ),
        ),
    ),
)

ANNOTATED: Final = (
    Annotated(key="kubernetes.io/ingress.class", to=_INGRESS_CLASS, of=(_INGRESS,), form=Form.NAME),
    Annotated(
        key="kubernetes.io/service-name",
        to="Service",
        of=("discovery.k8s.io/EndpointSlice",),
        label=True,
        form=Form.NAME,
        means=Means.CONCERNS,
    ),
)
