"""Replacing an object: conflicts, generations, and what can't be changed."""

from __future__ import annotations

import asyncio

from skoupa.errors import Conflict
from skoupa.kube.resources import CONFIG_MAPS, LEASES
from tests.contract.arena import Arena, Object
from tests.contract.expecting import causes_of, refused, status_of
from tests.contract.kinds import DEPLOYMENTS, SECRETS, deployment
from tests.contract.registry import rule
from tests.contract.rules.applying import naming_the_nameless
from tests.contract.sabotage import always, misspeak, skip, swap, wrap

FINALIZER = "contract.skoupa.dev/wait"


async def replaced(arena: Arena, body: Object) -> Object:
    return await arena.client.replace(CONFIG_MAPS, body, namespace=arena.namespace)


@rule(broken_by=skip("server.endpoints.check_version"))
async def a_stale_resource_version_is_a_conflict(arena: Arena) -> None:
    """A replacement of a state that is no longer the newest is a conflict and changes nothing."""
    old = await arena.config_map("one", data={"a": "1"})
    new = await replaced(arena, {**old, "data": {"a": "2"}})
    assert int(new["metadata"]["resourceVersion"]) > int(old["metadata"]["resourceVersion"])
    said = await refused(replaced(arena, {**old, "data": {"a": "3"}}), code=409, reason="Conflict")
    assert said.message == (
        'Operation cannot be fulfilled on configmaps "one": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert said.details == {"name": "one", "kind": "configmaps"}
    assert (await arena.get(CONFIG_MAPS, "one"))["data"] == {"a": "2"}


@rule(broken_by=skip("server.endpoints.check_version"))
async def of_many_writers_of_one_state_one_wins(arena: Arena) -> None:
    """Of replacements of the same state that are sent together exactly one succeeds."""
    made = await arena.config_map("one")
    tries = [replaced(arena, {**made, "data": {"writer": str(number)}}) for number in range(8)]
    answers = await asyncio.gather(*tries, return_exceptions=True)
    won = [answer for answer in answers if isinstance(answer, dict)]
    assert len(won) == 1
    assert all(isinstance(answer, Conflict) for answer in answers if not isinstance(answer, dict)), answers
    assert await arena.get(CONFIG_MAPS, "one") == won[0]


@rule(broken_by=swap("state.kinds.VERSION_REQUIRED", {("", "configmaps")}))
async def a_replacement_without_resource_version_is_unconditional(arena: Arena) -> None:
    """Without a resourceVersion a ConfigMap is replaced whatever its state is; fields that are left out go."""
    made = await arena.config_map("one", data={"a": "1"}, labels={"x": "y"})
    await replaced(arena, {**made, "data": {"a": "2"}})
    new = await replaced(arena, {"metadata": {"name": "one"}, "data": {"b": "3"}})
    assert new["data"] == {"b": "3"}
    assert "labels" not in new["metadata"]
    assert new["metadata"]["uid"] == made["metadata"]["uid"]
    assert new["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]


@rule(broken_by=always("writing.writes._same", False))
async def a_replacement_without_effect_keeps_the_resource_version(arena: Arena) -> None:
    """Writing what is there already changes nothing, not even the resourceVersion."""
    made = await arena.config_map("one", data={"a": "1"})
    again = await replaced(arena, made)
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


@rule(broken_by=skip("server.endpoints.check_identity"))
async def a_replacement_for_another_uid_is_a_conflict(arena: Arena) -> None:
    """A body with the uid of another object of that name is a conflict."""
    made = await arena.config_map("one")
    body = {"metadata": {"name": "one", "uid": "11111111-2222-3333-4444-555555555555"}}
    said = await refused(replaced(arena, body), code=409, reason="Conflict")
    assert "Precondition failed: UID in precondition" in said.message
    assert made["metadata"]["uid"] in said.message


@rule(broken_by=swap("server.endpoints.check_place", lambda metadata, **place: metadata.update(place)))
async def the_name_of_the_body_must_be_that_of_the_path(arena: Arena) -> None:
    """A replacement whose body names another object is a bad request."""
    await arena.config_map("one")
    answer = await arena.ask(
        "PUT", CONFIG_MAPS.path(namespace=arena.namespace, name="one"), body={"metadata": {"name": "two"}}
    )
    said = status_of(answer, code=400, reason="BadRequest")
    assert said.message == "the name of the object (two) does not match the name on the URL (one)"


@rule(broken_by=swap("state.kinds.CREATED_BY_UPDATE", {("", "configmaps")}))
async def what_is_not_there_can_not_be_replaced(arena: Arena) -> None:
    """Replacing an absent object is a 404; a Lease alone is created by it."""
    said = await refused(replaced(arena, {"metadata": {"name": "absent"}}), code=404, reason="NotFound")
    assert said.message == 'configmaps "absent" not found'
    lease = {"apiVersion": LEASES.api_version, "kind": "Lease", "metadata": {"name": "fresh"}, "spec": {}}
    made = await arena.client.replace(LEASES, lease, namespace=arena.namespace)
    assert made["metadata"]["uid"]


@rule(broken_by=always("writing.writes._counts", True))
async def the_generation_counts_changes_of_the_spec(arena: Arena) -> None:
    """The generation rises with each change of the desired state and not with labels or annotations."""
    made = await arena.create(DEPLOYMENTS, deployment("web"))

    async def patched(patch: Object) -> int:
        found = await arena.client.merge_patch(DEPLOYMENTS, "web", patch, namespace=arena.namespace)
        generation: int = found["metadata"]["generation"]
        return generation

    assert made["metadata"]["generation"] == 1
    assert await patched({"spec": {"minReadySeconds": 5}}) == 2
    assert await patched({"spec": {"minReadySeconds": 5}}) == 2
    assert await patched({"metadata": {"labels": {"a": "b"}}}) == 2
    assert await patched({"spec": {"minReadySeconds": 6}, "metadata": {"generation": 77}}) == 3


@rule(
    broken_by=swap(
        "writing.deletion._mark",
        lambda plane, metadata: metadata.update(deletionTimestamp=plane.now(), deletionGracePeriodSeconds=0),
    )
)
async def a_held_deletion_counts_as_a_generation(arena: Arena) -> None:
    """The mark of a deletion raises the generation of an object that has one."""
    body = deployment("web")
    made = await arena.create(DEPLOYMENTS, {**body, "metadata": {"name": "web", "finalizers": [FINALIZER]}})
    await arena.client.delete(
        DEPLOYMENTS, "web", namespace=arena.namespace, uid=made["metadata"]["uid"], propagation="Background"
    )
    assert (await arena.get(DEPLOYMENTS, "web"))["metadata"]["generation"] == 2
    await arena.client.merge_patch(
        DEPLOYMENTS, "web", {"metadata": {"finalizers": None}}, namespace=arena.namespace
    )


@rule(broken_by=skip("writing.writes.check_kept"))
async def a_deletion_can_not_be_written_into_an_object(arena: Arena) -> None:
    """A replacement can neither set a deletion, which is refused, nor move the creation, which is ignored."""
    made = await arena.config_map("one")
    body: Object = {"metadata": {**made["metadata"], "deletionTimestamp": "2001-01-01T00:00:00Z"}}
    said = await refused(replaced(arena, body), code=422, reason="Invalid")
    assert {cause["field"] for cause in causes_of(said)} == {"metadata.deletionTimestamp"}
    assert "field is immutable" in said.message
    body = {"metadata": {**made["metadata"], "creationTimestamp": "2001-01-01T00:00:00Z"}, "data": {"a": "1"}}
    new = await replaced(arena, body)
    assert new["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]


@rule(broken_by=swap("server.calls.Call.dry_run", False))
async def a_dry_run_replaces_nothing(arena: Arena) -> None:
    """A dry run of a replacement shows what would be and leaves what is."""
    made = await arena.config_map("one", data={"a": "1"})
    body = {**made, "data": {"a": "2"}}
    shown = await arena.client.replace(CONFIG_MAPS, body, namespace=arena.namespace, dry_run=True)
    assert shown["data"] == {"a": "2"}
    assert await arena.get(CONFIG_MAPS, "one") == made


@rule(broken_by=skip("writing.writes.check_immutable"))
async def immutable_data_stays(arena: Arena) -> None:
    """The data of an immutable Secret can't be changed, its labels can."""
    body = {"metadata": {"name": "fixed"}, "immutable": True, "stringData": {"a": "1"}}
    await arena.create(SECRETS, body)
    change = arena.client.merge_patch(SECRETS, "fixed", {"stringData": {"a": "2"}}, namespace=arena.namespace)
    said = await refused(change, code=422, reason="Invalid")
    assert causes_of(said)[0]["field"] == "data"
    await arena.client.merge_patch(
        SECRETS, "fixed", {"metadata": {"labels": {"x": "y"}}}, namespace=arena.namespace
    )


@rule(broken_by=misspeak("server.endpoints.invalid"))
async def a_custom_object_is_replaced_conditionally_only(arena: Arena) -> None:
    """A replacement of a custom object without resourceVersion is invalid."""
    custom = await arena.custom_kind()
    made = await arena.create(custom, {"metadata": {"name": "one"}, "spec": {"size": 1}})
    body = {**made, "metadata": {"name": "one"}}
    said = await refused(
        arena.client.replace(custom, body, namespace=arena.namespace), code=422, reason="Invalid"
    )
    assert causes_of(said)[0]["field"] == "metadata.resourceVersion"
    assert "must be specified for an update" in said.message


@rule(broken_by=wrap("server.endpoints.check_place", naming_the_nameless))
async def a_replacement_must_say_its_name(arena: Arena) -> None:
    """A body without a name is a bad request, in a replacement as in a patch that takes the name away."""
    await arena.config_map("one", data={"a": "1"})
    path = CONFIG_MAPS.path(namespace=arena.namespace, name="one")
    answer = await arena.ask("PUT", path, body={"metadata": {}})
    said = status_of(answer, code=400, reason="BadRequest")
    assert said.message == (
        "the name of the object (one based on URL) was undeterminable: name must be provided"
    )
    patch = arena.client.merge_patch(CONFIG_MAPS, "one", {"metadata": None}, namespace=arena.namespace)
    await refused(patch, code=400, reason="BadRequest")
    assert (await arena.get(CONFIG_MAPS, "one"))["data"] == {"a": "1"}


@rule(broken_by=skip("writing.writes.default_again"))
async def defaults_hold_for_replacements(arena: Arena) -> None:
    """What a replacement leaves out gets its default again."""
    await arena.create(SECRETS, {"metadata": {"name": "one"}, "type": "Opaque"})
    body = {"metadata": {"name": "one", "labels": {"a": "b"}}}
    new = await arena.client.replace(SECRETS, body, namespace=arena.namespace)
    assert new.get("type") == "Opaque"
