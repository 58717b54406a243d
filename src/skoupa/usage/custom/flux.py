"""Flux: sources, what is made of them, and where the news go. What it deploys is the matter of `usage/tracking/flux.py`."""

from __future__ import annotations

from typing import Final

from skoupa.usage.custom.words import accounts, config_maps, of, said, secrets, to

_SOURCE: Final = "source.toolkit.fluxcd.io"
_KUSTOMIZE: Final = "kustomize.toolkit.fluxcd.io"
_HELM: Final = "helm.toolkit.fluxcd.io"
_IMAGE: Final = "image.toolkit.fluxcd.io"
_NOTIFICATION: Final = "notification.toolkit.fluxcd.io"
_GIT: Final = f"{_SOURCE}/GitRepository"
_ELSEWHERE: Final = (
    *secrets("spec.kubeConfig.secretRef.name"),
    *config_maps("spec.kubeConfig.configMapRef.name"),
    *accounts("spec.serviceAccountName"),
)
_CREDENTIALS: Final = (
    *secrets("spec.(secretRef|certSecretRef|proxySecretRef|verify.secretRef).name"),
    *accounts("spec.serviceAccountName"),
)

RULES: Final = (
    of(
        f"{_KUSTOMIZE}/Kustomization",
        said("spec.sourceRef", otherwise=_GIT, version_at="apiVersion", namespace_at="namespace"),
        secrets("spec.decryption.secretRef.name"),
        accounts("spec.decryption.serviceAccountName"),
        said("spec.postBuild.substituteFrom[]", otherwise="ConfigMap"),
        to(f"{_KUSTOMIZE}/Kustomization", "spec.dependsOn[].name", namespace_at="namespace"),
        said("spec.healthChecks[]", version_at="apiVersion", namespace_at="namespace"),
        to("Namespace", "spec.targetNamespace"),
        _ELSEWHERE,
    ),
    of(
        f"{_HELM}/HelmRelease",
        said(
            "spec.(chart.spec.sourceRef|chartRef)",
            otherwise=f"{_SOURCE}/HelmRepository",
            version_at="apiVersion",
            namespace_at="namespace",
        ),
        secrets("spec.chart.spec.verify.secretRef.name"),
        said("spec.valuesFrom[]", otherwise="ConfigMap"),
        to(f"{_HELM}/HelmRelease", "spec.dependsOn[].name", namespace_at="namespace"),
        to("Namespace", "spec.(targetNamespace|storageNamespace)"),
        _ELSEWHERE,
    ),
    of(_GIT, _CREDENTIALS, to(_GIT, "spec.include[].repository.name")),
    of(f"{_SOURCE}/HelmRepository", _CREDENTIALS),
    of(f"{_SOURCE}/OCIRepository", _CREDENTIALS, secrets("spec.verify.trustedRootSecretRef.name")),
    of(f"{_SOURCE}/Bucket", _CREDENTIALS, secrets("spec.sts.(secretRef|certSecretRef).name")),
    of(
        f"{_SOURCE}/HelmChart",
        said("spec.sourceRef", otherwise=f"{_SOURCE}/HelmRepository", version_at="apiVersion"),
        secrets("spec.verify.secretRef.name"),
    ),
    of(
        f"{_NOTIFICATION}/Alert",
        to(f"{_NOTIFICATION}/Provider", "spec.providerRef.name"),
        said("spec.eventSources[]", version_at="apiVersion", namespace_at="namespace"),
    ),
    of(f"{_NOTIFICATION}/Provider", _CREDENTIALS),
    of(
        f"{_NOTIFICATION}/Receiver",
        secrets("spec.secretRef.name"),
        said("spec.resources[]", version_at="apiVersion", namespace_at="namespace"),
    ),
    of(f"{_IMAGE}/ImageRepository", _CREDENTIALS),
    of(
        f"{_IMAGE}/ImagePolicy",
        to(f"{_IMAGE}/ImageRepository", "spec.imageRepositoryRef.name", namespace_at="namespace"),
    ),
    of(
        f"{_IMAGE}/ImageUpdateAutomation",
        said("spec.sourceRef", otherwise=_GIT, version_at="apiVersion", namespace_at="namespace"),
        secrets("spec.git.commit.signingKey.secretRef.name"),
    ),
)
