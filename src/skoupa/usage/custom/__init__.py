"""How well-known custom kinds point at others: a module for each family, checked against their published schemas."""

from __future__ import annotations

from typing import Final

from skoupa.usage.custom import (
    argo_cd,
    argo_rollouts,
    argo_workflows,
    cert_manager,
    crossplane,
    databases,
    external_secrets,
    flux,
    gateway_api,
    istio,
    keda,
    knative,
    produced,
    prometheus,
    snapshots,
    spark,
    tekton,
    traefik,
    training,
    velero,
)
from skoupa.usage.rules import Annotated, KindRules

FAMILIES: Final = (
    argo_cd,
    argo_rollouts,
    argo_workflows,
    cert_manager,
    crossplane,
    databases,
    external_secrets,
    flux,
    gateway_api,
    istio,
    keda,
    knative,
    produced,
    prometheus,
    snapshots,
    spark,
    tekton,
    traefik,
    training,
    velero,
)

RULES: Final[tuple[KindRules, ...]] = tuple(rules for family in FAMILIES for rules in family.RULES)
ANNOTATED: Final[tuple[Annotated, ...]] = (*cert_manager.ANNOTATED, *snapshots.ANNOTATED)
