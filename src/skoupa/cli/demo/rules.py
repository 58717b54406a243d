"""The policies of the demo's cluster: one that tidies up what CI forgot, and one that somebody writes in a hurry.

The second says nothing of whose ConfigMaps it means: a Brake stops it before its first delete, and its writer takes it back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from skoupa.clock import Clock
from skoupa.kinds.policies import policy_definitions
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES
from skoupa.kube.client import Client
from skoupa.kube.resources import Resource

HOUR: Final = 3600.0
# Late in the morning, shortly before a tick.
_HURRY_SECONDS: Final = 10.8 * HOUR
_TAKEN_BACK_SECONDS: Final = 1.5 * HOUR
_WRONG: Final = "old-configmaps"


def rules() -> list[dict[str, Any]]:
    """The kinds, and the policy that is there from the start."""
    forgotten = {
        "schedule": "0 */3 * * *",
        "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["build-*-artifacts"]}}]},
        "conditions": {
            "all": [
                {
                    "key": "{{ time_since('', '{{ target.metadata.creationTimestamp }}', '') }}",
                    "operator": "GreaterThan",
                    "value": "6h",
                }
            ]
        },
    }
    policy = _policy(CLEANUP_POLICIES, "forgotten-artifacts", forgotten)
    policy["metadata"]["namespace"] = "ci"
    return [*policy_definitions(), policy]


async def hurry(client: Client, clock: Clock, tell: Callable[[str], None]) -> None:
    """Somebody means well; once."""
    await clock.sleep(_HURRY_SECONDS)
    spec = {
        "schedule": "0 * * * *",
        "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
    }
    made = await client.create(CLUSTER_CLEANUP_POLICIES, _policy(CLUSTER_CLEANUP_POLICIES, _WRONG, spec))
    tell(f"somebody wrote the policy {_WRONG} in a hurry: every ConfigMap, every hour")
    await clock.sleep(_TAKEN_BACK_SECONDS)
    await client.delete(
        CLUSTER_CLEANUP_POLICIES, _WRONG, uid=made["metadata"]["uid"], propagation="Background"
    )
    tell(f"its writer read what the Brake says, and took {_WRONG} back")


def _policy(resource: Resource, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name},
        "spec": spec,
    }
