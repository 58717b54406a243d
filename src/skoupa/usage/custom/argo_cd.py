"""Argo CD: an Application points at its project and at the cluster that it deploys to.

What it deploys is the matter of `usage/tracking/argo_cd.py`. Repositories and clusters are Secrets with a label, by which they are never
garbage (`usage/never.py`).
"""

from __future__ import annotations

from typing import Final

from skoupa.usage.custom.words import config_maps, of, to
from skoupa.usage.rules import ANY_NAMESPACE

_GROUP: Final = "argoproj.io"
_PROJECT: Final = f"{_GROUP}/AppProject"
_TEMPLATE: Final = "spec.template.spec"

RULES: Final = (
    # A chart's values are not walked: what they name is named by the objects that come of them.
    of(
        f"{_GROUP}/Application",
        to(_PROJECT, "spec.project", namespace=ANY_NAMESPACE),
        to("Namespace", "spec.destination.namespace"),
        walked=(),
    ),
    of(
        f"{_GROUP}/ApplicationSet",
        to(_PROJECT, f"{_TEMPLATE}.project"),
        to("Namespace", f"{_TEMPLATE}.destination.namespace"),
        config_maps("spec.generators[].(clusterDecisionResource.configMapRef|plugin.configMapRef.name)"),
    ),
    of(
        _PROJECT,
        to(
            "ServiceAccount",
            "spec.destinationServiceAccounts[].defaultServiceAccount",
            namespace=ANY_NAMESPACE,
        ),
        # Where it allows to deploy and what it allows are patterns, which use nothing.
        walked=(),
    ),
)
