"""Traefik: routes with their certificates, services and middlewares. The older group has the same kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa.usage.custom.words import inside, of, said, secrets, shape, to
from skoupa.usage.rules import KindRules, Part

_GROUPS: Final = ("traefik.io", "traefik.containo.us")


def _rules(group: str) -> Iterator[KindRules]:
    def beside(kind: str, *paths: str) -> tuple[Part, ...]:
        return to(f"{group}/{kind}", *paths, namespace_at="namespace")

    # `kind` is Service or TraefikService, and never with a group.
    services = shape("services", said("services[]", otherwise="Service", namespace_at="namespace"))
    tls = shape(
        "tls",
        secrets("secretName"),
        beside("TLSOption", "options.name"),
        beside("TLSStore", "store.name"),
    )
    roots = shape(
        "authorities",
        secrets("certificatesSecrets[]", "rootCAsSecrets[]", "rootCAs[].secret"),
        to("ConfigMap", "rootCAs[].configMap"),
    )
    yield of(
        f"{group}/IngressRoute",
        inside(tls, "spec.tls"),
        inside(services, "spec.routes[]"),
        beside("Middleware", "spec.routes[].middlewares[].name"),
        beside("ServersTransport", "spec.routes[].services[].serversTransport"),
        beside("IngressRoute", "spec.parentRefs[].name"),
    )
    yield of(
        f"{group}/IngressRouteTCP",
        inside(tls, "spec.tls"),
        to("Service", "spec.routes[].services[].name", namespace_at="namespace"),
        beside("MiddlewareTCP", "spec.routes[].middlewares[].name"),
        beside("ServersTransportTCP", "spec.routes[].services[].serversTransport"),
    )
    yield of(
        f"{group}/IngressRouteUDP",
        to("Service", "spec.routes[].services[].name", namespace_at="namespace"),
    )
    yield of(
        f"{group}/Middleware",
        secrets(
            "spec.(basicAuth|digestAuth).secret",
            "spec.forwardAuth.tls.(ca|cert)Secret",
            "spec.rateLimit.redis.(secret|tls.caSecret|tls.certSecret)",
        ),
        beside("Middleware", "spec.chain.middlewares[].name"),
        said("spec.errors.service", otherwise="Service", namespace_at="namespace"),
    )
    yield of(f"{group}/ServersTransport", inside(roots, "spec"))
    yield of(f"{group}/ServersTransportTCP", inside(roots, "spec.tls"))
    yield of(f"{group}/TLSOption", secrets("spec.clientAuth.secretNames[]"))
    yield of(
        f"{group}/TLSStore", secrets("spec.certificates[].secretName", "spec.defaultCertificate.secretName")
    )
    yield of(
        f"{group}/TraefikService",
        said("spec.(mirroring|mirroring.mirrors[])", otherwise="Service", namespace_at="namespace"),
        inside(services, "spec.weighted"),
    )


RULES: Final = tuple(rules for group in _GROUPS for rules in _rules(group))
