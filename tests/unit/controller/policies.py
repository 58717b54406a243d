"""Policies on the stage: their kinds brought to the cluster, policies written, and what is told of them."""

from __future__ import annotations

from typing import Any

import msgspec

from skoupa import names
from skoupa.kinds.policies import policy_definitions
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import DELETING_POLICIES, NAMESPACED_DELETING_POLICIES
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, Resource
from tests.unit.controller.braking import bring_kind
from tests.unit.controller.stage import HOME, SHOP, Stage

EVERY_MINUTE = "* * * * *"
EVERY_FIVE = "*/5 * * * *"
HOURLY = "0 * * * *"
KINDS = {
    kind.kind: kind
    for kind in (CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES, DELETING_POLICIES, NAMESPACED_DELETING_POLICIES)
}


async def bring_policies(stage: Stage) -> None:
    """The definitions of policies and of Brakes."""
    await bring_kind(stage)
    for definition in policy_definitions():
        await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    await stage.later(10)


def matching(**resources: Any) -> dict[str, Any]:
    return {"any": [{"resources": {"kinds": ["ConfigMap"], **resources}}]}


async def cleanup(
    stage: Stage,
    name: str = "tidy",
    *,
    schedule: str = EVERY_MINUTE,
    match: dict[str, Any] | None = None,
    namespace: str = "",
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A ClusterCleanupPolicy that takes web-* of the shop; a CleanupPolicy where a namespace is named."""
    kind = CLEANUP_POLICIES if namespace else CLUSTER_CLEANUP_POLICIES
    places = {} if namespace else {"namespaces": [SHOP]}
    body = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "name": name,
            "annotations": {f"{names.SKOUPA_GROUP}/{key}": text for key, text in (annotations or {}).items()},
        },
        "spec": {"schedule": schedule, "match": match or matching(names=["web-*"], **places), **spec},
    }
    made = await stage.people.create(kind, body, namespace=namespace)
    await stage.settle()
    return made


async def deleting(
    stage: Stage,
    expression: str,
    *,
    name: str = "cel",
    namespace: str = "",
    schedule: str = HOURLY,
    group: str = "",
    resource: str = "configmaps",
    annotations: dict[str, str] | None = None,
) -> dict[str, Any]:
    """A DeletingPolicy with one condition about what is in the shop."""
    kind = NAMESPACED_DELETING_POLICIES if namespace else DELETING_POLICIES
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "resources": [resource], "operations": ["*"]}
    here = {"matchLabels": {"kubernetes.io/metadata.name": SHOP}}
    body = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "name": name,
            "annotations": {f"{names.SKOUPA_GROUP}/{key}": text for key, text in (annotations or {}).items()},
        },
        "spec": {
            "schedule": schedule,
            "matchConstraints": {"resourceRules": [rule], "namespaceSelector": here},
            "conditions": [{"name": "old", "expression": expression}],
        },
    }
    made = await stage.people.create(kind, body, namespace=namespace)
    await stage.settle()
    return made


async def read(
    stage: Stage, name: str = "tidy", kind: Resource = CLUSTER_CLEANUP_POLICIES, namespace: str = ""
) -> dict[str, Any]:
    return await stage.people.get(kind, name, view=WHOLE, namespace=namespace)


async def conditions(
    stage: Stage, name: str = "tidy", kind: Resource = CLUSTER_CLEANUP_POLICIES
) -> dict[str, dict[str, Any]]:
    status = (await read(stage, name, kind)).get("status") or {}
    found = status.get("conditions") or (status.get("conditionStatus") or {}).get("conditions") or ()
    return {one["type"]: one for one in found}


async def remembered(stage: Stage) -> dict[str, Any]:
    found = await stage.people.get(CONFIG_MAPS, names.STATE_CONFIG_MAP, namespace=HOME, view=WHOLE)
    known: dict[str, Any] = msgspec.json.decode(found["data"].get("policies", "{}"))
    return known
