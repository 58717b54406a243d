"""Kinds that stand for a Secret: a SecretProviderClass, a SealedSecret."""

from __future__ import annotations

from typing import Final

from skoupa.usage.custom.words import of, secrets
from skoupa.usage.rules import Implied, Means

RULES: Final = (
    of(
        "secrets-store.csi.x-k8s.io/SecretProviderClass",
        secrets("spec.secretObjects[].secretName", means=Means.PRODUCES),
    ),
    of(
        "bitnami.com/SealedSecret",
        secrets("spec.template.metadata.name", means=Means.PRODUCES),
        (Implied(to="Secret", name="{metadata.name}", means=Means.PRODUCES),),
        walked=(),
    ),
)
