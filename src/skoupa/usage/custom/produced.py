"""Kinds that stand for a Secret: a SecretProviderClass, a SealedSecret, and a PostgreSQL cluster with its users."""

from __future__ import annotations

from typing import Final

from skoupa.usage.custom.words import of, secrets
from skoupa.usage.rules import Implied, Means

_POSTGRES: Final = "postgresql.cnpg.io"

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
    # What it names itself lies in many fields of `{name, key}`, which are walked.
    of(
        f"{_POSTGRES}/Cluster",
        tuple(
            Implied(to="Secret", name=f"{{metadata.name}}-{what}", means=Means.PRODUCES)
            for what in ("app", "superuser", "ca", "server", "replication", "pull")
        ),
    ),
)
