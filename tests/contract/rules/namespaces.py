"""Namespaces: their lives, and what may happen in them near the end."""

from __future__ import annotations

from typing import Any

from skoupa.kube.deleted import Deleted
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, PODS
from tests.contract.arena import Arena, Object
from tests.contract.expecting import causes_of, document, refused, status_of
from tests.contract.kinds import SECRETS, pod, secret
from tests.contract.registry import rule
from tests.contract.rules.deleting import FINALIZER, release
from tests.contract.sabotage import always, misspeak, skip, swap, wrap


async def terminate(arena: Arena) -> Deleted:
    found = await arena.get(NAMESPACES, arena.namespace)
    return await arena.client.delete(
        NAMESPACES, arena.namespace, uid=found["metadata"]["uid"], propagation="Background"
    )


async def conditions(arena: Arena) -> dict[str, tuple[str, str]]:
    found = await arena.get(NAMESPACES, arena.namespace)
    return {each["type"]: (each["status"], each["message"]) for each in found["status"].get("conditions", [])}


async def until_held(arena: Arena) -> None:
    async def held() -> bool:
        return (await conditions(arena)).get("NamespaceFinalizersRemaining", ("", ""))[0] == "True"

    await arena.eventually(held, what="the namespace waits for finalizers")


@rule(broken_by=swap("writing.defaults._FIRST_STATUS", {}))
async def a_new_namespace_is_active(arena: Arena) -> None:
    """A namespace is born active, with its name as a label and a finalizer in its spec."""
    found = await arena.get(NAMESPACES, arena.namespace)
    assert found["status"].get("phase") == "Active"
    assert found["spec"]["finalizers"] == ["kubernetes"]
    assert found["metadata"]["labels"]["kubernetes.io/metadata.name"] == arena.namespace
    assert "finalizers" not in found["metadata"]


@rule(broken_by=swap("controllers.namespaces.GRACE", 3600.0))
async def a_deleted_namespace_takes_its_content_along(arena: Arena) -> None:
    """A deleted namespace is terminating until everything in it is gone, and then it is gone."""
    await arena.config_map("one")
    await arena.create(SECRETS, secret("two"))
    left = await terminate(arena)
    assert not left.gone
    assert left.remaining is not None
    assert left.remaining.metadata.deletion_timestamp is not None
    await arena.gone(NAMESPACES, arena.namespace)
    assert not await arena.exists(CONFIG_MAPS, "one")
    assert not await arena.exists(SECRETS, "two")


@rule(broken_by=swap("writing.deletion._EMPTIED_FIRST", {}))
async def a_deleted_namespace_is_answered_as_it_is(arena: Arena) -> None:
    """The answer to a delete of a namespace is the namespace, terminating."""
    found = document(await arena.ask("DELETE", NAMESPACES.path(name=arena.namespace)))
    assert found["kind"] == "Namespace"
    assert found["metadata"].get("deletionTimestamp")
    assert found["status"]["phase"] == "Terminating"
    assert found["spec"]["finalizers"] == ["kubernetes"]


@rule(broken_by=always("controllers.namespaces._count", 0))
async def a_finalizer_holds_its_namespace(arena: Arena) -> None:
    """A finalizer inside a terminating namespace keeps it, and its conditions say so."""
    await arena.config_map("held", finalizers=[FINALIZER])
    await arena.create(SECRETS, secret("free"))
    await terminate(arena)
    await until_held(arena)
    told = await conditions(arena)
    assert told["NamespaceContentRemaining"][0] == "True"
    assert "configmaps. has 1 resource instances" in told["NamespaceContentRemaining"][1]
    assert f"{FINALIZER} in 1 resource instances" in told["NamespaceFinalizersRemaining"][1]
    assert (await arena.get(CONFIG_MAPS, "held"))["metadata"]["deletionTimestamp"]
    await arena.gone(SECRETS, "free")
    await release(arena, "held")
    await arena.gone(NAMESPACES, arena.namespace)


@rule(broken_by=skip("writing.writes.namespace_is_open"))
async def nothing_is_created_in_a_terminating_namespace(arena: Arena) -> None:
    """Creating in a terminating namespace is forbidden, with the cause NamespaceTerminating."""
    await arena.config_map("held", finalizers=[FINALIZER])
    await terminate(arena)
    said = await refused(arena.config_map("late"), code=403, reason="Forbidden")
    assert said.message == (
        f'configmaps "late" is forbidden: unable to create new content in namespace {arena.namespace} '
        "because it is being terminated"
    )
    (cause,) = causes_of(said)
    assert cause["reason"] == "NamespaceTerminating"
    assert cause["field"] == "metadata.namespace"
    await arena.client.merge_patch(CONFIG_MAPS, "held", {"data": {"a": "1"}}, namespace=arena.namespace)
    await release(arena, "held")


@rule(broken_by=swap("controllers.namespaces._PODS", ("", "nothing")))
async def pods_leave_a_namespace_first(arena: Arena) -> None:
    """While a Pod of a terminating namespace remains, nothing else in it is deleted."""
    body = pod("worker")
    await arena.create_pod({**body, "metadata": {**body["metadata"], "finalizers": [FINALIZER]}})
    await arena.config_map("one")
    await terminate(arena)

    async def pod_terminates() -> bool:
        return "deletionTimestamp" in (await arena.get(PODS, "worker"))["metadata"]

    async def seen() -> bool:
        return bool(await conditions(arena))

    await arena.eventually(pod_terminates)
    await arena.eventually(seen)
    assert "deletionTimestamp" not in (await arena.get(CONFIG_MAPS, "one"))["metadata"]
    await arena.client.merge_patch(
        PODS, "worker", {"metadata": {"finalizers": None}}, namespace=arena.namespace
    )


@rule(
    broken_by=wrap(
        "writing.writes._through",
        lambda through: lambda served, **how: through(served, **how | {"subresource": ""}),
    )
)
async def a_namespace_is_finished_through_its_finalize_subresource(arena: Arena) -> None:
    """The finalizers in a namespace's spec change through `finalize` only; without any, a deleted one goes."""
    await arena.config_map("held", finalizers=[FINALIZER])
    await terminate(arena)
    await until_held(arena)
    found = await arena.get(NAMESPACES, arena.namespace)
    ignored = await arena.client.replace(NAMESPACES, {**found, "spec": {}})
    assert ignored["spec"]["finalizers"] == ["kubernetes"]

    async def finished() -> bool:
        body: Object = {**await arena.get(NAMESPACES, arena.namespace), "spec": {"finalizers": []}}
        path = NAMESPACES.path(name=arena.namespace, subresource="finalize")
        return (await arena.ask("PUT", path, body=body)).status == 200

    await arena.eventually(finished)
    await arena.gone(NAMESPACES, arena.namespace)
    # What was in it is still there and out of reach, until a namespace of that name comes again.
    assert await arena.exists(CONFIG_MAPS, "held")
    await refused(release(arena, "held"), code=404, reason="NotFound")
    await arena.create(NAMESPACES, {"metadata": {"name": arena.namespace}})
    await release(arena, "held")
    assert not await arena.exists(CONFIG_MAPS, "held")


@rule(broken_by=misspeak("server.calls.method_not_allowed"))
async def namespaces_are_not_deleted_by_the_dozen(arena: Arena) -> None:
    """Namespaces have no delete of a collection."""
    query = {"labelSelector": f"kubernetes.io/metadata.name={arena.namespace}"}
    status_of(
        await arena.ask("DELETE", "/api/v1/namespaces", query=query), code=405, reason="MethodNotAllowed"
    )
    assert (await arena.get(NAMESPACES, arena.namespace))["status"]["phase"] == "Active"


@rule(broken_by=swap("writing.deletion._NEVER_DELETED", ()))
async def the_namespaces_of_the_cluster_itself_stay(arena: Arena) -> None:
    """The namespaces default, kube-system and kube-public can't be deleted."""
    for name in ("default", "kube-system", "kube-public"):
        said = status_of(await arena.ask("DELETE", NAMESPACES.path(name=name)), code=403, reason="Forbidden")
        assert said.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


@rule(broken_by=skip("writing.deletion._check_preconditions"))
async def a_delete_of_a_namespace_with_the_old_uid_is_refused(arena: Arena) -> None:
    """The preconditions of a delete hold for namespaces too."""
    wrong: Any = {"uid": "11111111-2222-3333-4444-555555555555", "propagation": "Background"}
    await refused(arena.client.delete(NAMESPACES, arena.namespace, **wrong), code=409, reason="Conflict")
    found = await arena.get(NAMESPACES, arena.namespace)
    stale = {**wrong, "uid": found["metadata"]["uid"], "resource_version": "1"}
    await refused(arena.client.delete(NAMESPACES, arena.namespace, **stale), code=409, reason="Conflict")
    assert (await arena.get(NAMESPACES, arena.namespace))["status"]["phase"] == "Active"


@rule(broken_by=swap("writing.defaults._KEPT_LABELS", {}))
async def a_namespace_keeps_its_label(arena: Arena) -> None:
    """The label with its name can be neither changed nor taken from a namespace."""
    for labels in ({"kubernetes.io/metadata.name": "other"}, None):
        new = await arena.client.merge_patch(NAMESPACES, arena.namespace, {"metadata": {"labels": labels}})
        assert new["metadata"].get("labels") == {"kubernetes.io/metadata.name": arena.namespace}
