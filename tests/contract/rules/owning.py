"""Owner references: what goes with its owner, what waits for it and what stays."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_DNS, uuid5

from skoupa.errors import NotFound
from skoupa.kube.resources import CONFIG_MAPS, Resource
from tests.contract.arena import Arena, Object
from tests.contract.expecting import causes_of, refused
from tests.contract.kinds import CLUSTER_ROLES, JOBS, job, owner
from tests.contract.registry import rule
from tests.contract.rules.deleting import FINALIZER, release
from tests.contract.sabotage import always, edit, skip, swap, wrap


def nobody(arena: Arena) -> str:
    """A uid that no object has; another each time, because the collector remembers who was absent."""
    return str(uuid5(NAMESPACE_DNS, arena.unique()))


async def delete(arena: Arena, made: Object, propagation: str, resource: Resource = CONFIG_MAPS) -> None:
    metadata = made["metadata"]
    where: Any = {"namespace": arena.namespace, "propagation": propagation}
    await arena.client.delete(resource, metadata["name"], uid=metadata["uid"], **where)


async def held_in_foreground(arena: Arena, made: Object) -> bool:
    try:
        found = await arena.get(CONFIG_MAPS, made["metadata"]["name"])
    except NotFound:
        return False
    return "foregroundDeletion" in found["metadata"].get("finalizers", [])


async def collected_by_now(arena: Arena) -> None:
    """Returns when the collector has been through everything that was there before: it took an orphan made now."""
    absent = {"apiVersion": "v1", "kind": "ConfigMap", "name": "never-was", "uid": nobody(arena)}
    sentinel = await arena.config_map(ownerReferences=[absent])
    await arena.gone(CONFIG_MAPS, sentinel["metadata"]["name"])


def looking_everywhere(standing: Any) -> Any:
    """Finds owners by uid alone, in whatever namespace."""

    def found(self: Any, row: Any, reference: Any) -> Any:
        shelves = self._plane.store.shelves.values()
        uids = {each.uid for shelf in shelves for each in shelf.rows.values()}
        return "solid" if reference["uid"] in uids else standing(self, row, reference)

    return found


@rule(broken_by=skip("controllers.collector.Collector._queue_dependents"))
async def dependents_go_with_their_owner(arena: Arena) -> None:
    """A background delete removes the owner at once and its dependents after it, through all generations."""
    parent = await arena.config_map("parent")
    child = await arena.config_map("child", ownerReferences=[owner(parent)])
    await arena.config_map("grandchild", ownerReferences=[owner(child)])
    await delete(arena, parent, "Background")
    assert not await arena.exists(CONFIG_MAPS, "parent")
    await arena.gone(CONFIG_MAPS, "child")
    await arena.gone(CONFIG_MAPS, "grandchild")


@rule(broken_by=always("controllers.collector._blocks", False))
async def a_foreground_delete_waits_for_blocking_dependents(arena: Arena) -> None:
    """Deleted in the foreground an owner stays, terminating, until the dependents that block it are gone."""
    parent = await arena.config_map("parent")
    blocking = owner(parent, blockOwnerDeletion=True)
    await arena.config_map("child", ownerReferences=[blocking], finalizers=[FINALIZER])
    await delete(arena, parent, "Foreground")
    held = await arena.get(CONFIG_MAPS, "parent")
    assert held["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert held["metadata"]["deletionTimestamp"]

    async def child_terminates() -> bool:
        return "deletionTimestamp" in (await arena.get(CONFIG_MAPS, "child"))["metadata"]

    await arena.eventually(child_terminates)
    await collected_by_now(arena)
    assert await held_in_foreground(arena, parent)
    await release(arena, "child")
    await arena.gone(CONFIG_MAPS, "parent")
    assert not await arena.exists(CONFIG_MAPS, "child")


@rule(broken_by=always("controllers.collector._blocks", True))
async def a_foreground_delete_does_not_wait_for_others(arena: Arena) -> None:
    """A dependent without blockOwnerDeletion does not hold its owner in the foreground."""
    parent = await arena.config_map("parent")
    await arena.config_map("child", ownerReferences=[owner(parent)], finalizers=[FINALIZER])
    await delete(arena, parent, "Foreground")
    await arena.gone(CONFIG_MAPS, "parent")
    assert await arena.exists(CONFIG_MAPS, "child")
    await release(arena, "child")
    await arena.gone(CONFIG_MAPS, "child")


@rule(broken_by=swap("writing.deletion._finalizers", lambda _, held, __: held))
async def orphans_stay_without_the_reference(arena: Arena) -> None:
    """Deleted with Orphan the owner goes and its dependents stay, without the reference to it."""
    parent = await arena.config_map("parent")
    await arena.config_map("child", ownerReferences=[owner(parent)])
    # The collector orphans what it has heard of by then.
    await collected_by_now(arena)
    await delete(arena, parent, "Orphan")
    await arena.gone(CONFIG_MAPS, "parent")
    await collected_by_now(arena)
    child = await arena.get(CONFIG_MAPS, "child")
    assert not child["metadata"].get("ownerReferences")


@rule(broken_by=always("controllers.collector.Collector._standing", "solid"))
async def a_dependent_without_owner_is_collected(arena: Arena) -> None:
    """An object whose owner does not exist is deleted, also when another object has the owner's name."""
    impostor = await arena.config_map("impostor")
    dangling = {**owner(impostor), "uid": nobody(arena)}
    await arena.config_map("child", ownerReferences=[dangling])
    await arena.gone(CONFIG_MAPS, "child")
    assert await arena.exists(CONFIG_MAPS, "impostor")


@rule(broken_by=wrap("controllers.collector.Collector._standing", looking_everywhere))
async def an_owner_in_another_namespace_is_no_owner(arena: Arena) -> None:
    """An object whose owner lives in another namespace is deleted like one whose owner is absent."""
    other = await arena.new_namespace()
    parent = await arena.create(CONFIG_MAPS, {"metadata": {"name": "parent"}}, namespace=other)
    await arena.config_map("child", ownerReferences=[owner(parent)])
    await arena.gone(CONFIG_MAPS, "child")
    assert await arena.exists(CONFIG_MAPS, "parent", namespace=other)


@rule(
    broken_by=edit(
        "controllers.collector.Collector._standing", lambda standing: standing.replace("unknown", "dangling")
    )
)
async def an_owner_of_an_unknown_kind_keeps_its_dependents(arena: Arena) -> None:
    """An object whose owner is of a kind that is not served stays: nobody can know whether it lives."""
    unknown = {"apiVersion": "nowhere.example.org/v1", "kind": "Thing", "name": "it", "uid": nobody(arena)}
    await arena.config_map("child", ownerReferences=[unknown])
    await collected_by_now(arena)
    assert await arena.exists(CONFIG_MAPS, "child")


@rule(broken_by=always("controllers.collector.Collector._standing", "dangling"))
async def one_living_owner_is_enough(arena: Arena) -> None:
    """An object stays as long as one of its owners lives; the reference to a dead one is taken away."""
    living = await arena.config_map("living")
    dying = await arena.config_map("dying")
    await arena.config_map("child", ownerReferences=[owner(living), owner(dying)])
    await collected_by_now(arena)
    await delete(arena, dying, "Background")

    async def one_left() -> bool:
        child = await arena.get(CONFIG_MAPS, "child")
        return [each["name"] for each in child["metadata"]["ownerReferences"]] == ["living"]

    await arena.eventually(one_left)
    await delete(arena, living, "Background")
    await arena.gone(CONFIG_MAPS, "child")


@rule(broken_by=always("controllers.collector.Collector._standing", "dangling"))
async def a_cluster_wide_owner_has_dependents_in_namespaces(arena: Arena) -> None:
    """A cluster-scoped owner takes its namespaced dependents along."""
    role = {"metadata": {"name": arena.unique("role")}, "rules": []}
    parent = await arena.create(CLUSTER_ROLES, role)
    await arena.config_map("child", ownerReferences=[owner(parent)])
    await collected_by_now(arena)
    assert await arena.exists(CONFIG_MAPS, "child")
    await delete(arena, parent, "Background", CLUSTER_ROLES)
    await arena.gone(CONFIG_MAPS, "child")


@rule(
    broken_by=edit(
        "controllers.collector.Collector._standing", lambda standing: standing.replace("unknown", "dangling")
    )
)
async def a_namespaced_owner_of_a_cluster_wide_object_is_never_missed(arena: Arena) -> None:
    """A cluster-scoped object with a namespaced owner is not collected: that owner can't be looked up."""
    absent = {"apiVersion": "v1", "kind": "ConfigMap", "name": "never-was", "uid": nobody(arena)}
    name = arena.unique("role")
    await arena.create(CLUSTER_ROLES, {"metadata": {"name": name, "ownerReferences": [absent]}, "rules": []})
    await collected_by_now(arena)
    assert await arena.exists(CLUSTER_ROLES, name)


@rule(broken_by=swap("state.kinds.ORPHANING", frozenset()))
async def a_job_orphans_unless_told_otherwise(arena: Arena) -> None:
    """A delete that says nothing orphans the dependents of a Job and warns; an explicit Background takes them."""
    first = await arena.create(JOBS, job("first"))
    await arena.config_map("kept", ownerReferences=[owner(first)])
    await collected_by_now(arena)
    answer = await arena.ask("DELETE", JOBS.path(namespace=arena.namespace, name="first"))
    assert answer.status == 200
    assert "child pods are preserved by default when jobs are deleted" in answer.headers.get("warning", "")
    await arena.gone(JOBS, "first")
    await collected_by_now(arena)
    kept = await arena.get(CONFIG_MAPS, "kept")
    assert not kept["metadata"].get("ownerReferences")
    second = await arena.create(JOBS, job("second"))
    await arena.config_map("taken", ownerReferences=[owner(second)])
    await delete(arena, second, "Background", JOBS)
    await arena.gone(CONFIG_MAPS, "taken")


@rule(broken_by=swap("state.kinds.ORPHANING", {("", "configmaps")}))
async def other_kinds_take_dependents_along_by_default(arena: Arena) -> None:
    """A delete that says nothing about propagation removes the dependents of most kinds."""
    parent = await arena.config_map("parent")
    await arena.config_map("child", ownerReferences=[owner(parent)])
    assert (
        await arena.ask("DELETE", CONFIG_MAPS.path(namespace=arena.namespace, name="parent"))
    ).status == 200
    await arena.gone(CONFIG_MAPS, "child")


@rule(broken_by=always("writing.validation._owners", []))
async def an_owner_reference_must_be_complete(arena: Arena) -> None:
    """A reference without uid, name, kind or version, and two controllers at once, are refused."""
    parent = await arena.config_map("parent")
    for field in ("apiVersion", "kind", "name", "uid"):
        said = await refused(
            arena.config_map(ownerReferences=[{**owner(parent), field: ""}]), code=422, reason="Invalid"
        )
        assert causes_of(said)[0]["field"].startswith("metadata.ownerReferences"), said
    other = await arena.config_map("other")
    two = [owner(parent, controller=True), owner(other, controller=True)]
    said = await refused(arena.config_map(ownerReferences=two), code=422, reason="Invalid")
    assert "Only one reference can have Controller set to true" in said.message


@rule(broken_by=skip("controllers.collector.Collector._queue_dependents"))
async def the_owner_of_a_held_object_does_not_come_back(arena: Arena) -> None:
    """A dependent that a finalizer holds stays terminating while its owner is gone, and goes with the finalizer."""
    parent = await arena.config_map("parent")
    await arena.config_map("child", ownerReferences=[owner(parent)], finalizers=[FINALIZER])
    await delete(arena, parent, "Background")

    async def terminates() -> bool:
        return "deletionTimestamp" in (await arena.get(CONFIG_MAPS, "child"))["metadata"]

    await arena.eventually(terminates)
    await release(arena, "child")
    assert not await arena.exists(CONFIG_MAPS, "child")


@rule(broken_by=always("writing.validation._owners", []))
async def events_own_nothing(arena: Arena) -> None:
    """An Event can't be an owner."""
    event = {"apiVersion": "v1", "kind": "Event", "name": "it", "uid": nobody(arena)}
    said = await refused(arena.config_map(ownerReferences=[event]), code=422, reason="Invalid")
    assert causes_of(said)[0]["field"] == "metadata.ownerReferences"
    assert "/v1, Kind=Event is disallowed from being an owner" in said.message
