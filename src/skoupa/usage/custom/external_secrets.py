"""External Secrets: what is fetched from where, and the Secret that it becomes.

The stores have a shape for each provider, and new ones with every release: what they name is walked.
"""

from __future__ import annotations

from typing import Final

from skoupa.usage.custom.words import inside, of, said, secrets, shape, to
from skoupa.usage.rules import Implied, Means, Selection

_GROUP: Final = "external-secrets.io"
_STORE: Final = f"{_GROUP}/SecretStore"

_EXTERNAL: Final = shape(
    "external secret",
    said("secretStoreRef", "(data|dataFrom)[].sourceRef.storeRef", otherwise=_STORE),
    said("(data|dataFrom)[].sourceRef.generatorRef", version_at="apiVersion"),
    secrets("target.template.templateFrom[].secret.name"),
    to("ConfigMap", "target.template.templateFrom[].configMap.name"),
)
_PUSHED: Final = shape(
    "push",
    secrets("selector.secret.name"),
    (Selection(at="selector.secret.selector", to="Secret"),),
    said("selector.generatorRef", version_at="apiVersion"),
    said("secretStoreRefs[]", otherwise=_STORE),
)

RULES: Final = (
    of(
        f"{_GROUP}/ExternalSecret",
        inside(_EXTERNAL, "spec"),
        secrets("spec.target.name", means=Means.PRODUCES),
        # Where the target has no name it is called as this.
        (Implied(to="Secret", name="{metadata.name}", means=Means.PRODUCES),),
    ),
    of(
        f"{_GROUP}/ClusterExternalSecret",
        inside(_EXTERNAL, "spec.externalSecretSpec"),
        secrets("spec.externalSecretSpec.target.name", means=Means.PRODUCES, namespace="*"),
        to(f"{_GROUP}/ExternalSecret", "spec.externalSecretName", namespace="*", means=Means.PRODUCES),
        (
            Implied(to="Secret", name="{metadata.name}", means=Means.PRODUCES, namespace="*"),
            Implied(to="Secret", name="{spec.externalSecretName}", means=Means.PRODUCES, namespace="*"),
        ),
        cluster=True,
    ),
    of(_STORE),
    of(f"{_GROUP}/ClusterSecretStore", cluster=True),
    of(f"{_GROUP}/PushSecret", inside(_PUSHED, "spec")),
    of(f"{_GROUP}/ClusterPushSecret", inside(_PUSHED, "spec.pushSecretSpec"), cluster=True),
)
