"""What a Brake held of a policy's run: it goes only if the policy, asked again on the real server, chooses it still."""

from __future__ import annotations

from typing import Any

from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import DELETING_POLICIES
from skoupa.kube.resources import NAMESPACES, Resource
from tests.cluster.controller.braking import pull, release
from tests.cluster.controller.shop import Shop

SERVICES = Resource(version="v1", plural="services", kind="Service", namespaced=True)


def none_served(shop: Shop) -> dict[str, Any]:
    """Met while there is no Service in the shop."""
    call = {"urlPath": f"/api/v1/namespaces/{shop.namespace}/services", "jmesPath": "items"}
    return {
        "context": [{"name": "services", "apiCall": call}],
        "conditions": {"all": [{"key": "{{ length(services) }}", "operator": "Equals", "value": 0}]},
    }


async def label(shop: Shop, **labels: str) -> None:
    await shop.client.merge_patch(NAMESPACES, shop.namespace, {"metadata": {"labels": labels}})


async def what_a_brake_held_goes_only_if_its_policy_chooses_it_still(shop: Shop) -> None:
    await label(shop, env="dev")
    here = {"namespaces": [shop.namespace]}
    for name in ("called", "selected", "chosen", "met"):
        await shop.people.make(name)
    await pull(shop.people, f"stop-{shop.namespace}", namespace=shop.namespace)
    shop.choose_tick()
    dev = {"namespaceSelector": {"matchLabels": {"env": "dev"}}}
    await shop.write(
        CLUSTER_CLEANUP_POLICIES, "called", shop.cleaning("called", where=here, **none_served(shop))
    )
    await shop.write(CLUSTER_CLEANUP_POLICIES, "selected", shop.cleaning("selected", where=dev))
    services = f"resource.List('v1', 'services', '{shop.namespace}').items.size() == 0"
    await shop.write(
        DELETING_POLICIES, "chosen", shop.deleting(f"object.metadata.name == 'chosen' && {services}")
    )
    await shop.write(CLUSTER_CLEANUP_POLICIES, "met", shop.cleaning("met", where=here))
    await shop.ticked()
    for name in ("called", "selected", "met"):
        await shop.ran(CLUSTER_CLEANUP_POLICIES, name, matched=1, held=1)
    await shop.ran(DELETING_POLICIES, "chosen", matched=1, held=1)

    body = {"metadata": {"name": "new"}, "spec": {"ports": [{"port": 80}]}}
    await shop.client.create(SERVICES, body, namespace=shop.namespace)
    await label(shop, env="prod")
    await release(shop.people, f"stop-{shop.namespace}")
    await shop.ran(CLUSTER_CLEANUP_POLICIES, "met", matched=1, deleted=1)
    for name in ("called", "selected"):
        await shop.ran(CLUSTER_CLEANUP_POLICIES, name, matched=1)
    await shop.ran(DELETING_POLICIES, "chosen", matched=1)
    assert await shop.names() == {"called", "selected", "chosen"}
