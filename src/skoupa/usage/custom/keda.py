"""KEDA: what is scaled, to zero as well, and by which credentials the need is measured."""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin.shapes import POD_SPEC
from skoupa.usage.custom.words import accounts, config_maps, inside, of, said, secrets
from skoupa.usage.rules import Means, Part

_GROUP: Final = "keda.sh"
_AUTHENTICATION: Final = f"{_GROUP}/TriggerAuthentication"
_TRIGGERED: Final = said("spec.triggers[].authenticationRef", otherwise=_AUTHENTICATION)
# The Secrets of a ClusterTriggerAuthentication are in the namespace that KEDA runs in, which it does not say.
_CREDENTIALS: Final[tuple[tuple[Part, ...], ...]] = (
    secrets("spec.secretTargetRef[].name"),
    config_maps("spec.configMapTargetRef[].name"),
    accounts(
        "spec.boundServiceAccountToken[].serviceAccountName",
        "spec.hashiCorpVault.credential.(serviceAccount|serviceAccountName)",
    ),
    secrets(
        "spec.awsSecretManager.credentials.(accessKey|accessSecretKey|accessToken).valueFrom.secretKeyRef.name",
        "spec.(azureKeyVault|gcpSecretManager).credentials.clientSecret.valueFrom.secretKeyRef.name",
    ),
)

RULES: Final = (
    of(
        f"{_GROUP}/ScaledObject",
        said(
            "spec.scaleTargetRef", otherwise="apps/Deployment", version_at="apiVersion", means=Means.MANAGES
        ),
        _TRIGGERED,
    ),
    of(f"{_GROUP}/ScaledJob", inside(POD_SPEC, "spec.jobTargetRef.template.spec"), _TRIGGERED),
    of(_AUTHENTICATION, *_CREDENTIALS),
    of(f"{_GROUP}/ClusterTriggerAuthentication", *_CREDENTIALS, cluster=True),
    of(f"{_GROUP}/CloudEventSource", said("spec.authenticationRef", otherwise=_AUTHENTICATION)),
)
