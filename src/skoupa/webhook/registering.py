"""The ValidatingWebhookConfiguration: which writes the API server asks about, where, and whom it believes.

It never stands in the way: when nobody answers, the write is taken. Only what is ours in it is compared and mended, and
an object of that name which is not Skoupa's is left alone.
"""

from __future__ import annotations

import base64
from typing import Any, Final
from urllib.parse import urlsplit

from skoupa import names
from skoupa.admission.own_marks import SAYS_SOMETHING
from skoupa.errors import AlreadyExists, NotFound, UsageError
from skoupa.install.policies import CONFIGURATION, CONFIGURATIONS
from skoupa.kinds.retention import DEFINITIONS
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE

WEBHOOK: Final = "policies.skoupa.dev"
PATH: Final = "/policies"
# How long the API server waits.
ANSWER_SECONDS: Final = 5
_RESOURCES: Final = (
    (names.KYVERNO_GROUP, ("cleanuppolicies", "clustercleanuppolicies")),
    (names.KYVERNO_POLICIES_GROUP, ("deletingpolicies", "namespaceddeletingpolicies")),
    (names.SKOUPA_GROUP, tuple(sorted(one.plural for one in DEFINITIONS))),
)


def client_config(*, url: str, namespace: str, port: int, authorities: bytes) -> dict[str, Any]:
    """`url` is where the server reaches a controller outside the cluster; without one, its Service."""
    bundle = base64.b64encode(authorities).decode("ascii")
    if url:
        return {"url": url, "caBundle": bundle}
    service = {"namespace": namespace, "name": names.COMPONENT, "port": port, "path": PATH}
    return {"service": service, "caBundle": bundle}


def hosts_of(*, url: str, namespace: str) -> tuple[str, ...]:
    """By which names the API server will call."""
    if not url:
        return (f"{names.COMPONENT}.{namespace}.svc", f"{names.COMPONENT}.{namespace}.svc.cluster.local")
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise UsageError(
            f"webhook.url {url!r} is no address that an API server asks",
            advice=f"write it as https://HOST:PORT{PATH}",
        )
    return (parts.hostname,)


def configuration(config: dict[str, Any]) -> dict[str, Any]:
    rules = [
        {
            "apiGroups": [group],
            "apiVersions": ["*"],
            "resources": list(resources),
            "operations": ["CREATE", "UPDATE"],
            "scope": "*",
        }
        for group, resources in _RESOURCES
    ]
    webhook = {
        "name": WEBHOOK,
        "clientConfig": config,
        "rules": rules,
        "matchConditions": [{"name": "says-something", "expression": SAYS_SOMETHING}],
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": ANSWER_SECONDS,
        "admissionReviewVersions": ["v1"],
    }
    return {
        "apiVersion": CONFIGURATIONS.api_version,
        "kind": CONFIGURATIONS.kind,
        "metadata": {"name": CONFIGURATION, "labels": {names.PART_OF_LABEL: names.COMPONENT}},
        "webhooks": [webhook],
    }


async def register(client: Client, config: dict[str, Any]) -> bool:
    """Puts it in place; whether anything had to be changed."""
    wanted = configuration(config)
    try:
        found = await client.get(CONFIGURATIONS, CONFIGURATION, view=WHOLE)
    except NotFound:
        try:
            await client.create(CONFIGURATIONS, wanted)
        except AlreadyExists:
            return await register(client, config)
        return True
    metadata = found.get("metadata") or {}
    if (metadata.get("labels") or {}).get(names.PART_OF_LABEL) != names.COMPONENT:
        raise UsageError(
            f"there is a {CONFIGURATIONS.kind} {CONFIGURATION} that is not Skoupa's",
            advice=f"rename it, or give it the label {names.PART_OF_LABEL}={names.COMPONENT} if it may be replaced",
        )
    if _covers(found.get("webhooks"), wanted["webhooks"]):
        return False
    patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "webhooks": wanted["webhooks"]}
    await client.merge_patch(CONFIGURATIONS, CONFIGURATION, patch)
    return True


def _covers(found: Any, wanted: Any) -> bool:
    """Whether everything wanted is so; what the server filled in besides does not matter."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            _covers(found.get(key), value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(_covers, found, wanted))
    return bool(found == wanted)
