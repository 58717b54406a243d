from __future__ import annotations

import pytest

from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.state.admission import Refuse, Ruling
from tests.unit.sim.asking import CONFIG_MAPS, NAMESPACES, ask, exists, made, on_cluster, owner

pytestmark = pytest.mark.unit

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


async def settled(cluster: EmbeddedCluster) -> None:
    await cluster.clock.idle()


def test_an_owner_in_another_namespace_counts_as_absent() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        there = await made(cluster, "/api/v1/namespaces/kube-public/configmaps", "boss")
        await made(cluster, CONFIG_MAPS, "child", ownerReferences=[owner(there)])
        await settled(cluster)
        assert not await exists(cluster, f"{CONFIG_MAPS}/child")

    on_cluster(work)


def test_a_cluster_scoped_object_with_a_namespaced_owner_stays() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        boss = await made(cluster, CONFIG_MAPS, "boss")
        await made(cluster, ROLES, "child", ownerReferences=[owner(boss)])
        await ask(cluster, "DELETE", f"{CONFIG_MAPS}/boss")
        await cluster.clock.sleep(3600)
        assert await exists(cluster, f"{ROLES}/child")

    on_cluster(work)


def test_a_cluster_scoped_owner_takes_namespaced_objects_along() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        boss = await made(cluster, ROLES, "boss")
        await made(cluster, CONFIG_MAPS, "child", ownerReferences=[owner(boss)])
        await ask(cluster, "DELETE", f"{ROLES}/boss")
        await settled(cluster)
        assert not await exists(cluster, f"{CONFIG_MAPS}/child")

    on_cluster(work)


def test_another_object_of_the_owners_name_is_no_owner() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        first = await made(cluster, CONFIG_MAPS, "boss", finalizers=["a.example/b"])
        await made(cluster, CONFIG_MAPS, "child", ownerReferences=[owner(first)])
        await ask(cluster, "DELETE", f"{CONFIG_MAPS}/boss")
        await settled(cluster)
        # An owner that is being deleted in the background is an owner until it is gone.
        assert await exists(cluster, f"{CONFIG_MAPS}/child")
        await ask(cluster, "PATCH", f"{CONFIG_MAPS}/boss", body={"metadata": {"finalizers": None}})
        await made(cluster, CONFIG_MAPS, "boss")
        await settled(cluster)
        assert not await exists(cluster, f"{CONFIG_MAPS}/child")

    on_cluster(work)


def test_one_living_owner_keeps_and_sheds_the_dead_ones() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        dead, alive = await made(cluster, CONFIG_MAPS, "dead"), await made(cluster, CONFIG_MAPS, "alive")
        await made(cluster, CONFIG_MAPS, "child", ownerReferences=[owner(dead), owner(alive)])
        await ask(cluster, "DELETE", f"{CONFIG_MAPS}/dead")
        await settled(cluster)
        child = (await ask(cluster, "GET", f"{CONFIG_MAPS}/child"))[1]
        assert child["metadata"]["ownerReferences"] == [owner(alive)]

    on_cluster(work)


def test_an_owner_of_a_kind_that_comes_later_is_looked_for_then() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        absent = {"apiVersion": "shop.example/v1", "kind": "Till", "name": "x", "uid": "0"}
        await made(cluster, CONFIG_MAPS, "child", ownerReferences=[absent])
        await cluster.clock.sleep(3600)
        assert await exists(cluster, f"{CONFIG_MAPS}/child")
        names = {"plural": "tills", "kind": "Till"}
        version = {"name": "v1", "served": True, "storage": True}
        spec = {"group": "shop.example", "scope": "Namespaced", "names": names, "versions": [version]}
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        await made(cluster, definitions, "tills.shop.example", spec=spec)
        await settled(cluster)
        assert not await exists(cluster, f"{CONFIG_MAPS}/child")

    on_cluster(work)


def test_a_circle_of_owners_does_not_hold_a_foreground_deletion() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        first = await made(cluster, CONFIG_MAPS, "first")
        second = await made(
            cluster, CONFIG_MAPS, "second", ownerReferences=[owner(first, blockOwnerDeletion=True)]
        )
        patch = {"metadata": {"ownerReferences": [owner(second, blockOwnerDeletion=True)]}}
        await ask(cluster, "PATCH", f"{CONFIG_MAPS}/first", body=patch)
        await settled(cluster)
        await ask(cluster, "DELETE", f"{CONFIG_MAPS}/first", body={"propagationPolicy": "Foreground"})
        await cluster.clock.sleep(60)
        assert not await exists(cluster, f"{CONFIG_MAPS}/first")
        assert not await exists(cluster, f"{CONFIG_MAPS}/second")

    on_cluster(work)


def test_a_foreground_deletion_goes_down_several_levels() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        above = await made(cluster, CONFIG_MAPS, "level-0")
        for level in range(1, 4):
            reference = owner(above, blockOwnerDeletion=True)
            held = ["a.example/b"] if level == 3 else []
            above = await made(
                cluster, CONFIG_MAPS, f"level-{level}", ownerReferences=[reference], finalizers=held
            )
        await ask(cluster, "DELETE", f"{CONFIG_MAPS}/level-0", body={"propagationPolicy": "Foreground"})
        await cluster.clock.sleep(60)
        assert all([await exists(cluster, f"{CONFIG_MAPS}/level-{level}") for level in range(4)])
        await ask(cluster, "PATCH", f"{CONFIG_MAPS}/level-3", body={"metadata": {"finalizers": None}})
        await settled(cluster)
        assert not any([await exists(cluster, f"{CONFIG_MAPS}/level-{level}") for level in range(4)])

    on_cluster(work)


def test_a_refused_collection_is_tried_again() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        refusing = True

        def guard(operation: str, *rest: object) -> Ruling:
            return Refuse("not now") if operation == "DELETE" and refusing and rest else None

        boss = await made(cluster, CONFIG_MAPS, "boss")
        await made(cluster, CONFIG_MAPS, "child", ownerReferences=[owner(boss)])
        await ask(cluster, "DELETE", f"{CONFIG_MAPS}/boss")
        cluster.admit(guard, name="guard.example")
        await cluster.clock.sleep(60)
        assert await exists(cluster, f"{CONFIG_MAPS}/child")
        refusing = False
        await cluster.clock.sleep(60)
        assert not await exists(cluster, f"{CONFIG_MAPS}/child")

    on_cluster(work)


def test_a_refusal_inside_holds_a_namespace_and_is_told() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        def guard(operation: str, *rest: object) -> Ruling:
            return Refuse("never") if operation == "DELETE" and "Secret" in str(rest) else None

        await made(cluster, NAMESPACES, "shop")
        await made(cluster, f"{NAMESPACES}/shop/secrets", "till")
        cluster.admit(guard, name="guard.example")
        await ask(cluster, "DELETE", f"{NAMESPACES}/shop")
        await cluster.clock.sleep(60)
        found = (await ask(cluster, "GET", f"{NAMESPACES}/shop"))[1]
        told = {condition["type"]: condition for condition in found["status"]["conditions"]}
        assert told["NamespaceDeletionContentFailure"]["status"] == "True"
        assert "never" in told["NamespaceDeletionContentFailure"]["message"]
        cluster.plane.admission.remove("guard.example")
        await cluster.clock.sleep(60)
        assert not await exists(cluster, f"{NAMESPACES}/shop")

    on_cluster(work)
