"""Where an installed controller is asked for its history: a port of its Service, and the Role for those who may ask.

The Role lets people reach that one port through the API server and nothing else; what they see there is decided by
their rights on each kind. Nobody is bound to it by the installation: an operator does that.
"""

from __future__ import annotations

from typing import Final

import msgspec

from skoupa import names
from skoupa.install.labelling import Manifest, manifest
from skoupa.settings import Settings

PEOPLE_ROLE: Final = "skoupa-history"
PORT_NAME: Final = "api"
NOWHERE: Final = ("", "none")
_ADDRESS: Final = "0.0.0.0:8443"
_VERSION: Final = "rbac.authorization.k8s.io/v1"


def placed(settings: Settings) -> Settings:
    """The settings with an address to ask at, where they say nothing else."""
    if settings.api.address:
        return settings
    return msgspec.structs.replace(settings, api=msgspec.structs.replace(settings.api, address=_ADDRESS))


def is_served(settings: Settings) -> bool:
    return settings.api.address not in NOWHERE


def people_role(namespace: str) -> Manifest:
    """A name in a path is what RBAC compares: scheme and port belong to it."""
    reached = [f"{scheme}:{names.COMPONENT}:{PORT_NAME}" for scheme in ("https", "http")]
    rule = {
        "apiGroups": [""],
        "resources": ["services/proxy"],
        "verbs": ["get", "create", "delete"],
        "resourceNames": reached,
    }
    return manifest(_VERSION, "Role", PEOPLE_ROLE, namespace=namespace, rules=[rule])
