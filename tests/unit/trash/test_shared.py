"""What several own goes with the last of them, and is kept with that one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skoupa.kube.resources import CONFIG_MAPS, PODS
from skoupa.ledger.rows import Body
from skoupa.ledger.trash.keeper import Keeper
from tests.unit.cli.worlds import config_map, obj
from tests.unit.trash.keeping import Shop, claim, in_shop, opened
from tests.unit.trash.test_keeper import OTHER, OWNER, SHARED, owned_by

pytestmark = pytest.mark.unit

A, B = "00000000-0000-0000-0000-0000000000aa", "00000000-0000-0000-0000-0000000000bb"


async def parts(shop: Shop, keeper: Keeper, kind: str, name: str) -> set[str]:
    bodies = await keeper.keep(await shop.row(kind, name), claim())
    assert isinstance(bodies, tuple)
    return {body.part for body in bodies if isinstance(body, Body) and body.part}


def test_what_two_share_that_go_together_is_kept_with_the_second_at_the_latest() -> None:
    async def work(shop: Shop) -> None:
        keeper = shop.keeper()
        assert await parts(shop, keeper, "pods", "owner") == set()
        assert await parts(shop, keeper, "pods", "other") == {"configmaps/shop/shared"}

    async def side_by_side(shop: Shop) -> None:
        keeper = shop.keeper()
        first, second = await asyncio.gather(
            parts(shop, keeper, "pods", "owner"), parts(shop, keeper, "pods", "other")
        )
        assert first | second == {"configmaps/shop/shared"}

    in_shop(work, OWNER, OTHER, SHARED)
    in_shop(side_by_side, OWNER, OTHER, SHARED)


def test_what_two_share_further_down_is_kept_too() -> None:
    """Two Deployments, the ReplicaSet of each, and a ConfigMap that both of these own."""

    def apps(kind: str, name: str, uid: str, owners: list[dict[str, Any]]) -> dict[str, Any]:
        return obj(kind, name, namespace="shop", api="apps/v1", uid=uid, owners=owners, spec={})

    sets = [
        owned_by("ReplicaSet", f"set-{name}", f"{uid[:-4]}cc{name}", api="apps/v1")
        for name, uid in (("a", A), ("b", B))
    ]
    objects = [
        apps("Deployment", "a", A, []),
        apps("Deployment", "b", B, []),
        apps("ReplicaSet", "set-a", sets[0]["uid"], [owned_by("Deployment", "a", A, api="apps/v1")]),
        apps("ReplicaSet", "set-b", sets[1]["uid"], [owned_by("Deployment", "b", B, api="apps/v1")]),
        config_map("shared", owners=sets),
    ]

    async def work(shop: Shop) -> None:
        keeper = shop.keeper()
        assert "configmaps/shop/shared" not in await parts(shop, keeper, "deployments.apps", "a")
        assert "configmaps/shop/shared" in await parts(shop, keeper, "deployments.apps", "b")

    in_shop(work, *objects)


def test_an_owner_that_is_gone_or_on_its_way_keeps_nothing() -> None:
    async def gone(shop: Shop) -> None:
        assert await parts(shop, shop.keeper(), "pods", "owner") == {"configmaps/shop/shared"}

    async def going(shop: Shop) -> None:
        await shop.client.delete(
            PODS, "other", namespace="shop", uid=OTHER["metadata"]["uid"], propagation="Background"
        )
        assert await parts(shop, shop.keeper(), "pods", "owner") == {"configmaps/shop/shared"}

    in_shop(gone, OWNER, SHARED)
    lingering = {**OTHER, "metadata": {**OTHER["metadata"], "finalizers": ["example.com/slow"]}}
    in_shop(going, OWNER, lingering, SHARED)


def test_an_owner_of_the_same_name_made_since_keeps_nothing() -> None:
    async def work(shop: Shop) -> None:
        assert await parts(shop, shop.keeper(), "pods", "owner") == {"configmaps/shop/shared"}

    in_shop(work, OWNER, {**OTHER, "metadata": {**OTHER["metadata"], "uid": A}}, SHARED)


def test_an_owner_that_was_to_go_long_ago_and_lives_keeps_it() -> None:
    async def work(shop: Shop) -> None:
        keeper = shop.keeper()
        await parts(shop, keeper, "pods", "owner")
        await shop.clock.sleep(61)
        assert await parts(shop, keeper, "pods", "other") == set()

    in_shop(work, OWNER, OTHER, SHARED)


def test_where_it_can_not_be_seen_whether_another_owner_lives_that_is_said() -> None:
    async def work(shop: Shop) -> None:
        row = await shop.row("pods", "owner")
        shop.wire.refuse["list", "services"] = shop.wire.refuse["get", "services"] = 403
        [kept] = opened(await shop.keeper().keep(row, claim()), row)
        why = "its owner services/other can't be read: no permission to list them"
        assert f"configmaps/shared that may go along: {why}" in kept.unknown

    service = obj("Service", "other", namespace="shop", uid=B, spec={})
    in_shop(work, OWNER, service, config_map("shared", owners=[*_owner(), owned_by("Service", "other", B)]))


def _owner() -> list[dict[str, Any]]:
    return [owned_by("Pod", "owner", OWNER["metadata"]["uid"])]


def test_what_hangs_on_the_shared_one_alone_is_kept_with_it() -> None:
    async def work(shop: Shop) -> None:
        await shop.client.delete(
            PODS, "other", namespace="shop", uid=OTHER["metadata"]["uid"], propagation="Background"
        )
        assert await parts(shop, shop.keeper(), "pods", "owner") == {
            "configmaps/shop/shared",
            "configmaps/shop/below",
        }
        assert shop.cluster.objects(CONFIG_MAPS, namespace="shop")

    shared = {**SHARED, "metadata": {**SHARED["metadata"], "uid": A}}
    in_shop(work, OWNER, OTHER, shared, config_map("below", owners=[owned_by("ConfigMap", "shared", A)]))
