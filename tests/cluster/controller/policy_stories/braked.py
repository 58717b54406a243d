"""Policies that a limit stops: a release is for what was held, whatever becomes of the process or the policy."""

from __future__ import annotations

import asyncio
from typing import Any

from skoupa import names
from skoupa.kinds.brake import BRAKES
from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kube.lists import everything
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import NAMESPACES
from tests.cluster.controller.braking import left, release
from tests.cluster.controller.objects import People
from tests.cluster.controller.shop import TICK_SECONDS, Shop
from tests.cluster.reaching import eventually, exists, remove_namespace

# So slow that much is left of a release while something else happens.
TIGHT = {"brakes__maxPerRun": "5", "rate__deletionsPerSecond": "1"}


async def braked(people: People, rule: str, *, by: str, number: int) -> str:
    """The name of the Brake that holds so many of what the policy claims."""

    async def found() -> str:
        for one in (await everything(people.client, BRAKES, WHOLE)).items:
            held = (one.get("status") or {}).get("held")
            mine = one["spec"]["scope"] == {"policy": rule}
            if mine and by in one["spec"]["reason"] and held == number:
                return str(one["metadata"]["name"])
        return ""

    return await eventually(found, what=f"a Brake that holds {number} of {rule}", seconds=TICK_SECONDS)


async def claim(shop: Shop, name: str, number: int) -> str:
    """The rule, which claims so many objects at the tick."""
    await asyncio.gather(*(shop.people.make(f"web-{one}") for one in range(number)))
    shop.choose_tick()
    await shop.write(
        CLUSTER_CLEANUP_POLICIES, name, shop.cleaning("web-*", where={"namespaces": [shop.namespace]})
    )
    return f"ClusterCleanupPolicy/{name}"


async def fewer(people: People, number: int) -> None:
    async def are_left() -> bool:
        return await left(people) <= number

    await eventually(are_left, what=f"no more than {number} to be left")


async def a_release_is_not_for_another_spec_of_the_policy(shop: Shop) -> None:
    people, name = shop.people, "edited"
    others = [f"{name}-{shop.namespace}-{number}" for number in range(4)]
    for other in others:
        await people.client.create(NAMESPACES, {"metadata": {"name": other}})
    rule = await claim(shop, name, 20)
    await shop.ticked()
    await release(people, await braked(people, rule, by="brakes.maxPerRun", number=20))
    await fewer(people, 18)
    match: dict[str, Any] = {
        "any": [{"resources": {"kinds": ["Namespace"], "names": [f"{name}-{shop.namespace}-*"]}}]
    }
    shop.choose_tick()
    patch = {"spec": {"schedule": shop.schedule, "match": match}}
    await people.client.merge_patch(CLUSTER_CLEANUP_POLICIES, name, patch)
    await shop.ticked()
    await braked(people, rule, by="brakes.parentsMost", number=4)
    for other in others:
        assert await exists(people.client, NAMESPACES, other)
        found = await people.client.get(NAMESPACES, other, view=WHOLE)
        assert "deletionTimestamp" not in found["metadata"]
        await remove_namespace(people.client, other, uid=found["metadata"]["uid"])
    assert await left(people) > 5


async def what_a_brake_holds_is_held_though_another_policy_observes_it(shop: Shop) -> None:
    people, number = shop.people, 8
    rule = await claim(shop, "held", number)
    match = shop.cleaning("web-*", where={"namespaces": [shop.namespace]})
    await shop.write(CLUSTER_CLEANUP_POLICIES, "watching", match, **{names.OBSERVE_ANNOTATION: "24h"})
    await shop.ticked()
    name = await braked(people, rule, by="brakes.maxPerRun", number=number)
    await shop.ran(CLUSTER_CLEANUP_POLICIES, "watching", matched=number)
    await shop.ran(CLUSTER_CLEANUP_POLICIES, "held", matched=number, held=number)
    assert await left(people) == number
    await release(people, name)
    await shop.left()
    await shop.ran(CLUSTER_CLEANUP_POLICIES, "held", matched=number, deleted=number)
