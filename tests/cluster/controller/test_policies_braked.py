"""Policies that a limit stops, on a real server: a release is for what was held, whatever becomes of the process or the policy."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import pytest

from skoupa.kinds.brake import BRAKES
from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kube.lists import everything
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import NAMESPACES
from tests.cluster.controller.braking import all_gone, left, release
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Yard
from tests.cluster.controller.shop import TICK_SECONDS, Shop, soon
from tests.cluster.reaching import eventually, exists, remove_namespace

pytestmark = pytest.mark.cluster

TIGHT = {"brakes__maxPerRun": "5", "rate__deletionsPerSecond": "1"}


@pytest.fixture
def running(policies: None, kind: None, yard: Yard) -> Yard:
    """Processes that end before the kinds are taken away."""
    return yard


async def braked(people: People, name: str, *, by: str, number: int) -> str:
    """The name of the Brake that holds so many of what the policy claims."""

    async def found() -> str:
        for one in (await everything(people.client, BRAKES, WHOLE)).items:
            held = (one.get("status") or {}).get("held")
            mine = one["spec"]["scope"] == {"policy": f"ClusterCleanupPolicy/{name}"}
            if mine and by in one["spec"]["reason"] and held == number:
                return str(one["metadata"]["name"])
        return ""

    return await eventually(found, what=f"a Brake that holds {number}", seconds=TICK_SECONDS)


async def claim(people: People, name: str, number: int) -> None:
    await asyncio.gather(*(people.make(f"web-{one}") for one in range(number)))
    shop = Shop(people)
    await shop.write(
        CLUSTER_CLEANUP_POLICIES, name, shop.cleaning("web-*", where={"namespaces": [shop.namespace]})
    )


async def fewer(people: People, number: int) -> None:
    async def are_left() -> bool:
        return await left(people) <= number

    await eventually(are_left, what=f"no more than {number} to be left")


async def test_what_a_brake_holds_is_known_after_a_crash_and_what_is_released_goes_through_another_one(
    running: Yard, people: People
) -> None:
    name = f"crash-{secrets.token_hex(3)}"
    process = await running.started(**TIGHT)
    await claim(people, name, 20)
    brake = await braked(people, name, by="brakes.maxPerRun", number=20)
    process.kill()
    process = await running.started(**TIGHT)
    assert await braked(people, name, by="brakes.maxPerRun", number=20) == brake
    await release(people, brake)
    await fewer(people, 16)
    process.kill()
    assert await left(people) > 5
    await running.started(**TIGHT)
    await all_gone(people, seconds=60)


async def test_a_release_is_not_for_another_spec_of_the_policy(running: Yard, people: People) -> None:
    name = f"edit-{secrets.token_hex(3)}"
    await running.started(**TIGHT)
    others = [f"{name}-{number}" for number in range(4)]
    for other in others:
        await people.client.create(NAMESPACES, {"metadata": {"name": other}})
    await claim(people, name, 20)
    await release(people, await braked(people, name, by="brakes.maxPerRun", number=20))
    await fewer(people, 18)
    match: dict[str, Any] = {"any": [{"resources": {"kinds": ["Namespace"], "names": [f"{name}-*"]}}]}
    patch = {"spec": {"schedule": soon(), "match": match}}
    await people.client.merge_patch(CLUSTER_CLEANUP_POLICIES, name, patch)
    await braked(people, name, by="brakes.parentsMost", number=4)
    for other in others:
        assert await exists(people.client, NAMESPACES, other)
        found = await people.client.get(NAMESPACES, other, view=WHOLE)
        assert "deletionTimestamp" not in found["metadata"]
        await remove_namespace(people.client, other, uid=found["metadata"]["uid"])
    assert await left(people) > 5
