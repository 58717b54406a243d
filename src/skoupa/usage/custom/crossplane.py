"""Crossplane: compositions, packages, and what they need. Managed resources are as many kinds as clouds have: they are walked."""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin.shapes import POD_SPEC
from skoupa.usage.custom.words import inside, of, said, secrets, spread, to
from skoupa.usage.rules import ANY_NAMESPACE, KindRules, Part, Reference

_GROUP: Final = "apiextensions.crossplane.io"
_PACKAGES: Final = "pkg.crossplane.io"
_RUNTIME: Final = f"{_PACKAGES}/DeploymentRuntimeConfig"
_PIPELINE: Final[tuple[tuple[Part, ...], ...]] = (
    to(f"{_PACKAGES}/Function", "spec.pipeline[].functionRef.name"),
    to("Secret", "spec.pipeline[].credentials[].secretRef.name", namespace_at="namespace"),
)


def _package(kind: str) -> KindRules:
    return of(
        f"{_PACKAGES}/{kind}",
        said("spec.runtimeConfigRef", otherwise=_RUNTIME, version_at="apiVersion"),
        # In the namespace that Crossplane runs in, which it does not say.
        secrets(
            "spec.packagePullSecrets[].name", "spec.tls(Server|Client)SecretName", namespace=ANY_NAMESPACE
        ),
        to(f"{_PACKAGES}/ControllerConfig", "spec.controllerConfigRef.name"),
        cluster=True,
    )


def _used(*paths: str) -> tuple[Part, ...]:
    return tuple(
        Reference(
            at=at,
            name="resourceRef.name",
            kind_at="kind",
            version_at="apiVersion",
            namespace_at="resourceRef.namespace",
        )
        for path in paths
        for at in spread(path)
    )


RULES: Final = (
    of(f"{_GROUP}/Composition", *_PIPELINE, cluster=True),
    of(f"{_GROUP}/CompositionRevision", *_PIPELINE, cluster=True),
    of(
        f"{_GROUP}/CompositeResourceDefinition",
        to(f"{_GROUP}/Composition", "spec.(default|enforced)CompositionRef.name"),
        cluster=True,
    ),
    # Crossplane's own way to say that one object is in use by another.
    *(
        of(kind, _used("spec.(of|by)"), cluster=cluster)
        for kind, cluster in (
            (f"{_GROUP}/Usage", True),
            ("protection.crossplane.io/Usage", False),
            ("protection.crossplane.io/ClusterUsage", True),
        )
    ),
    *(
        _package(kind)
        for kind in (
            "Provider",
            "ProviderRevision",
            "Function",
            "FunctionRevision",
            "Configuration",
            "ConfigurationRevision",
        )
    ),
    of(_RUNTIME, inside(POD_SPEC, "spec.deploymentTemplate.spec.template.spec"), cluster=True),
    of(
        f"{_PACKAGES}/ImageConfig",
        secrets("spec.registry.authentication.pullSecretRef.name", namespace=ANY_NAMESPACE),
        secrets("spec.verification.cosign.authorities[].key.secretRef.name", namespace=ANY_NAMESPACE),
        cluster=True,
    ),
)
