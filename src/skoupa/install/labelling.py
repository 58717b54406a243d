"""How an object of the installation is written: its kind, its name, and the labels that all of them carry.

The label `app.kubernetes.io/part-of: skoupa` is what `judge.protection` knows Skoupa's own objects by, and what
`skoupa uninstall --check` finds them by. Several installations can share a cluster: `app.kubernetes.io/instance` names
the namespace of the one that an object belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from skoupa import names

Manifest = dict[str, Any]

INSTANCE_LABEL: Final = "app.kubernetes.io/instance"
PART_OF: Final = {names.PART_OF_LABEL: names.COMPONENT}
SELECTOR: Final = {"app.kubernetes.io/name": names.COMPONENT, "app.kubernetes.io/component": "controller"}
SERVICE_ACCOUNT: Final = names.COMPONENT


def manifest(
    api_version: str,
    kind: str,
    name: str,
    *,
    namespace: str = "",
    labels: Mapping[str, str] | None = None,
    **body: Any,
) -> Manifest:
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = {**PART_OF, **(labels or {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def of_instance(body: Manifest, instance: str) -> Manifest:
    metadata = body["metadata"]
    return {**body, "metadata": {**metadata, "labels": {**metadata["labels"], INSTANCE_LABEL: instance}}}


def labelled(body: Manifest) -> Manifest:
    """As one of Skoupa's own, whichever installation brought it."""
    metadata = body["metadata"]
    return {**body, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **PART_OF}}}
