"""Custom kinds: from their definition to their end."""

from __future__ import annotations

from typing import Any

from skoupa.kube.deleted import Deleted
from skoupa.kube.discovery import discover
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from tests.contract.arena import Arena, Object
from tests.contract.expecting import causes_of, document, refused, status_of
from tests.contract.registry import rule
from tests.contract.rules.creation import of_any_kind
from tests.contract.rules.deleting import FINALIZER
from tests.contract.rules.listing import names_of
from tests.contract.sabotage import always, edit, misspeak, skip, wrap
from tests.contract.schemas import definition_of


async def undefine(arena: Arena, custom: Resource) -> Deleted:
    name = f"{custom.plural}.{custom.group}"
    found = await arena.get(CUSTOM_RESOURCE_DEFINITIONS, name)
    return await arena.client.delete(
        CUSTOM_RESOURCE_DEFINITIONS, name, uid=found["metadata"]["uid"], propagation="Background"
    )


def in_one_version(announce: Any) -> Any:
    def announced(plane: Any, body: Object) -> Any:
        spec = body["spec"]
        return announce(plane, {**body, "spec": {**spec, "versions": spec["versions"][:1]}})

    return announced


@rule(broken_by=skip("controllers.definitions.Definitions._forget"))
async def a_kind_lives_as_long_as_its_definition(arena: Arena) -> None:
    """A defined kind is served and discovered; when the definition goes, its objects and its path go too."""
    custom = await arena.own_custom_kind()
    await arena.create(custom, {"metadata": {"name": "one"}, "spec": {"size": 1}})
    assert names_of(await arena.listed(custom)) == ["one"]

    async def known() -> bool:
        return (await discover(arena.client)).find(custom.group, custom.kind) is not None

    await arena.eventually(known, what="the kind is discovered")
    await undefine(arena, custom)
    await arena.gone(CUSTOM_RESOURCE_DEFINITIONS, f"{custom.plural}.{custom.group}")

    async def unserved() -> bool:
        return (await arena.ask("GET", custom.path(namespace=arena.namespace))).status == 404

    await arena.eventually(unserved, what="the path is gone")

    async def unknown() -> bool:
        return (await discover(arena.client)).find(custom.group, custom.kind) is None

    await arena.eventually(unknown, what="the kind is forgotten")


@rule(broken_by=always("controllers.definitions.Definitions._instances", None))
async def a_definition_waits_for_the_objects_of_its_kind(arena: Arena) -> None:
    """A definition is terminating while an object of its kind is held, and no new one can be made."""
    custom = await arena.own_custom_kind()
    await arena.create(custom, {"metadata": {"name": "held", "finalizers": [FINALIZER]}})
    name = f"{custom.plural}.{custom.group}"
    left = await undefine(arena, custom)
    assert left.remaining is not None
    assert left.remaining.metadata.finalizers == ["customresourcecleanup.apiextensions.k8s.io"]

    async def held() -> bool:
        return "deletionTimestamp" in (await arena.get(custom, "held"))["metadata"]

    await arena.eventually(held, what="the object is deleted with its definition")

    async def closed() -> bool:
        body = {"apiVersion": custom.api_version, "kind": custom.kind, "metadata": {"name": "late"}}
        answer = await arena.ask(
            "POST", custom.path(namespace=arena.namespace), body=body, query={"dryRun": "All"}
        )
        return answer.status == 403 and b"definition is terminating" in answer.body

    await arena.eventually(closed, what="no object can be made")
    await arena.client.merge_patch(
        custom, "held", {"metadata": {"finalizers": None}}, namespace=arena.namespace
    )
    await arena.gone(CUSTOM_RESOURCE_DEFINITIONS, name)


@rule(broken_by=always("writing.validation.definition_faults", []))
async def a_definition_is_named_for_its_kind(arena: Arena) -> None:
    """A definition whose name is not plural and group is invalid."""
    body = definition_of(arena.unique("w").replace("-", ""))
    said = await refused(
        arena.create(CUSTOM_RESOURCE_DEFINITIONS, {**body, "metadata": {"name": "other"}}),
        code=422,
        reason="Invalid",
    )
    assert causes_of(said)[0]["field"] == "metadata.name"


@rule(broken_by=wrap("server.endpoints.decoded", of_any_kind))
async def a_custom_object_must_say_its_kind(arena: Arena) -> None:
    """A body without kind and apiVersion is a bad request for a custom kind."""
    custom = await arena.custom_kind()
    answer = await arena.ask(
        "POST", custom.path(namespace=arena.namespace), body={"metadata": {"name": "one"}}
    )
    status_of(answer, code=400, reason="BadRequest")


@rule(broken_by=misspeak("server.calls.page_not_found"))
async def a_custom_kind_can_live_in_no_namespace(arena: Arena) -> None:
    """A cluster-scoped kind is served without a namespace and not in one."""
    custom = await arena.own_custom_kind(scope="Cluster")
    await arena.create(custom, {"metadata": {"name": "one"}})
    assert names_of(document(await arena.ask("GET", custom.path()))) == ["one"]
    inside = f"/apis/{custom.api_version}/namespaces/{arena.namespace}/{custom.plural}"
    assert (await arena.ask("GET", inside)).status == 404


@rule(broken_by=wrap("controllers.definitions.announce", in_one_version))
async def every_served_version_shows_the_same_objects(arena: Arena) -> None:
    """An object that was written in one version is read in the others, under the same uid."""
    word = arena.unique("w").replace("-", "")
    first = definition_of(word)["spec"]["versions"][0]
    versions = [first, {**first, "name": "v2beta1", "storage": False}]
    custom = await arena.own_custom_kind(versions=versions)
    made = await arena.create(custom, {"metadata": {"name": "one"}, "spec": {"color": "red"}})
    path = f"/apis/{custom.group}/v2beta1/namespaces/{arena.namespace}/{custom.plural}/one"
    other = document(await arena.ask("GET", path))
    assert other["apiVersion"] == f"{custom.group}/v2beta1"
    assert other["metadata"]["uid"] == made["metadata"]["uid"]
    assert other["spec"] == {"color": "red"}


@rule(broken_by=always("writing.writes._counts", True))
async def the_generation_of_a_custom_object_counts_its_spec(arena: Arena) -> None:
    """The generation of a custom object starts at 1 and rises with changes outside metadata and status."""
    custom = await arena.custom_kind()
    made = await arena.create(custom, {"metadata": {"name": "one"}, "spec": {"size": 1}})
    assert made["metadata"]["generation"] == 1

    async def patched(patch: dict[str, object], **more: str) -> int:
        found = await arena.client.merge_patch(custom, "one", patch, namespace=arena.namespace, **more)
        generation: int = found["metadata"]["generation"]
        return generation

    assert await patched({"metadata": {"labels": {"a": "b"}}}) == 1
    assert await patched({"spec": {"size": 2}}) == 2
    assert await patched({"status": {"phase": "Done"}}, subresource="status") == 2


@rule(broken_by=always("writing.writes._is_last_finalizer", False))
async def a_held_custom_object_goes_like_any_other(arena: Arena) -> None:
    """Custom objects have deletes with preconditions and finalizers as built-in ones have."""
    custom = await arena.custom_kind()
    made = await arena.create(custom, {"metadata": {"name": "one", "finalizers": [FINALIZER]}})
    uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]
    wrong = arena.client.delete(
        custom, "one", uid=uid, resource_version="1", propagation="Background", namespace=arena.namespace
    )
    await refused(wrong, code=409, reason="Conflict")
    left = await arena.client.delete(
        custom, "one", uid=uid, resource_version=version, propagation="Background", namespace=arena.namespace
    )
    assert not left.gone
    await arena.client.merge_patch(custom, "one", {"metadata": {"finalizers": []}}, namespace=arena.namespace)
    assert not await arena.exists(custom, "one")


@rule(broken_by=edit("writing.deletion.removal_status", lambda status: {**status, "details": {}}))
async def a_custom_object_that_goes_at_once_is_answered_with_a_status(arena: Arena) -> None:
    """The answer to a delete of a custom object that went is a Status, as for built-in kinds."""
    custom = await arena.custom_kind()
    made = await arena.create(custom, {"metadata": {"name": "one"}})
    answer = document(await arena.ask("DELETE", custom.path(namespace=arena.namespace, name="one")))
    assert answer["kind"] == "Status"
    assert answer["details"] == {
        "name": "one",
        "group": custom.group,
        "kind": custom.plural,
        "uid": made["metadata"]["uid"],
    }
