"""Server-side apply: fields have owners."""

from __future__ import annotations

from typing import Any

from skoupa.kube.resources import CONFIG_MAPS
from tests.contract.arena import Arena, Object
from tests.contract.expecting import causes_of, refused, status_of
from tests.contract.kinds import CONTAINER, DEPLOYMENTS, deployment
from tests.contract.registry import rule
from tests.contract.sabotage import always, edit, misspeak, skip, swap, wrap

APPLY = "application/apply-patch+yaml"


def config(name: str, data: dict[str, str], **metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": data,
    }


async def applied(arena: Arena, body: Object, manager: str, *, force: bool = False) -> Object:
    return await arena.client.apply(
        CONFIG_MAPS, body, manager=manager, force=force, namespace=arena.namespace
    )


def naming_the_nameless(check: Any) -> Any:
    def lenient(metadata: Object, **place: str) -> None:
        metadata.setdefault("name", place["name"])
        check(metadata, **place)

    return lenient


def without_stated_owners(apply: Any) -> Any:
    def lenient(live: Object, stated: Object, **how: Any) -> Any:
        metadata = {key: value for key, value in stated["metadata"].items() if key != "managedFields"}
        return apply(live, stated | {"metadata": metadata}, **how)

    return lenient


@rule(broken_by=edit("server.endpoints.apply_patch", lambda after: after | {"metadata": {"name": "one"}}))
async def applying_creates_what_is_not_there(arena: Arena) -> None:
    """Applying an absent object creates it and writes down who owns which fields."""
    made = await applied(arena, config("one", {"a": "1"}), "ann")
    assert made["data"] == {"a": "1"}
    entries = made["metadata"].get("managedFields", [])
    assert len(entries) == 1
    entry = entries[0]
    assert (entry["manager"], entry["operation"], entry["apiVersion"]) == ("ann", "Apply", "v1")
    assert entry["fieldsType"] == "FieldsV1"
    assert entry["fieldsV1"] == {"f:data": {"f:a": {}}}


@rule(broken_by=always("writing.writes._same", False))
async def applying_the_same_again_changes_nothing(arena: Arena) -> None:
    """Applying what was applied keeps the resourceVersion."""
    made = await applied(arena, config("one", {"a": "1"}), "ann")
    again = await applied(arena, config("one", {"a": "1"}), "ann")
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


@rule(broken_by=swap("applying.apply._pruned", lambda after, *_: after))
async def applying_removes_what_is_no_longer_applied(arena: Arena) -> None:
    """A field that its only owner applies no longer is removed; those of others stay."""
    await applied(arena, config("one", {"a": "1", "b": "2"}, labels={"x": "y"}), "ann")
    await applied(arena, config("one", {"c": "3", "b": "2"}), "ben")
    new = await applied(arena, config("one", {"a": "1"}), "ann")
    assert new["data"] == {"a": "1", "b": "2", "c": "3"}
    assert "labels" not in new["metadata"]
    new = await applied(arena, config("one", {"c": "3"}), "ben")
    assert new["data"] == {"a": "1", "c": "3"}


@rule(
    broken_by=wrap(
        "server.endpoints.apply_patch",
        lambda apply: lambda *objects, **how: apply(*objects, **how | {"force": True}),
    )
)
async def applying_another_value_is_a_conflict(arena: Arena) -> None:
    """Applying another value to a field of another owner is a conflict that names owner and field."""
    await applied(arena, config("one", {"a": "1"}), "ann")
    said = await refused(applied(arena, config("one", {"a": "2"}), "ben"), code=409, reason="Conflict")
    assert said.message == 'Apply failed with 1 conflict: conflict with "ann": .data.a'
    assert causes_of(said) == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "ann"', "field": ".data.a"}
    ]
    assert (await arena.get(CONFIG_MAPS, "one"))["data"] == {"a": "1"}


@rule(
    broken_by=wrap(
        "server.endpoints.apply_patch",
        lambda apply: lambda *objects, **how: apply(*objects, **how | {"force": False}),
    )
)
async def force_takes_the_field(arena: Arena) -> None:
    """Applied with force another's field gets the new value and the new owner."""
    await applied(arena, config("one", {"a": "1", "b": "1"}), "ann")
    new = await applied(arena, config("one", {"a": "2"}), "ben", force=True)
    assert new["data"] == {"a": "2", "b": "1"}
    owners = {entry["manager"]: entry["fieldsV1"] for entry in new["metadata"]["managedFields"]}
    assert owners == {"ann": {"f:data": {"f:b": {}}}, "ben": {"f:data": {"f:a": {}}}}


@rule(
    broken_by=wrap(
        "writing.writes.track_update",
        lambda track: lambda *objects, **how: track(*objects, **how | {"manager": "eve"}),
    )
)
async def an_ordinary_write_owns_fields_too(arena: Arena) -> None:
    """What a patch changes belongs to the patcher, and applying over it is a conflict."""
    await applied(arena, config("one", {"a": "1"}), "ann")
    new = await arena.client.merge_patch(
        CONFIG_MAPS, "one", {"data": {"a": "2"}}, namespace=arena.namespace, manager="ben"
    )
    entries = {(entry["manager"], entry["operation"]) for entry in new["metadata"]["managedFields"]}
    assert ("ben", "Update") in entries
    said = await refused(applied(arena, config("one", {"a": "1"}), "ann"), code=409, reason="Conflict")
    assert causes_of(said)[0]["message"].startswith('conflict with "ben" using v1')


@rule(
    broken_by=wrap(
        "applying.apply._pruned",
        lambda pruned: lambda after, last, _, structure: pruned(after, last, (), structure),
    )
)
async def equal_values_are_shared(arena: Arena) -> None:
    """Applying the value that is there shares the field; it stays until its last owner lets go."""
    await applied(arena, config("one", {"a": "1"}), "ann")
    await applied(arena, config("one", {"a": "1"}), "ben")
    assert (await applied(arena, config("one", {}), "ann")).get("data") == {"a": "1"}
    assert "data" not in await applied(arena, config("one", {}), "ben")


@rule(broken_by=misspeak("server.endpoints.options_invalid"))
async def applying_needs_a_manager(arena: Arena) -> None:
    """Apply without a field manager is refused."""
    path = CONFIG_MAPS.path(namespace=arena.namespace, name="one")
    answer = await arena.ask("PATCH", path, body=config("one", {}), content_type=APPLY)
    said = status_of(answer, code=422, reason="Invalid")
    assert causes_of(said)[0]["field"] == "fieldManager"


@rule(broken_by=wrap("server.endpoints.apply_patch", without_stated_owners))
async def applied_bodies_have_no_managed_fields(arena: Arena) -> None:
    """A body with managedFields can't be applied."""
    body = config(
        "one", {"a": "1"}, managedFields=[{"manager": "x", "operation": "Apply", "apiVersion": "v1"}]
    )
    said = await refused(applied(arena, body, "ann"), code=400, reason="BadRequest")
    assert "metadata.managedFields must be nil" in said.message


@rule(broken_by=always("applying.structure._BuiltIn.keys", None))
async def lists_of_named_things_are_merged_by_name(arena: Arena) -> None:
    """Containers of a Deployment are merged by their name: each applier has its own."""
    body = deployment("web")
    await arena.client.apply(DEPLOYMENTS, body, manager="ann", namespace=arena.namespace)
    other = {**CONTAINER, "name": "side"}
    part = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": [other]}}},
    }
    both = await arena.client.apply(DEPLOYMENTS, part, manager="ben", namespace=arena.namespace)
    names = [container["name"] for container in both["spec"]["template"]["spec"]["containers"]]
    assert sorted(names) == ["main", "side"]
    none = {**part, "spec": {"template": {"spec": {"containers": []}}}}
    less = await arena.client.apply(DEPLOYMENTS, none, manager="ben", namespace=arena.namespace)
    assert [container["name"] for container in less["spec"]["template"]["spec"]["containers"]] == ["main"]


@rule(broken_by=skip("server.endpoints.check_uid_of_absent"))
async def applying_for_a_uid_never_creates(arena: Arena) -> None:
    """Applying with the uid of an object that is gone is a conflict and creates nothing."""
    body = config("one", {"a": "1"}, uid="11111111-2222-3333-4444-555555555555")
    said = await refused(applied(arena, body, "ann"), code=409, reason="Conflict")
    assert said.message == (
        'Operation cannot be fulfilled on configmaps "one": uid mismatch: the provided object specified uid '
        "11111111-2222-3333-4444-555555555555, and no existing object was found"
    )
    assert not await arena.exists(CONFIG_MAPS, "one")


@rule(broken_by=wrap("server.endpoints.check_place", naming_the_nameless))
async def an_applied_body_must_say_its_name(arena: Arena) -> None:
    """Applying a body without a name is a bad request."""
    path = CONFIG_MAPS.path(namespace=arena.namespace, name="one")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}}
    answer = await arena.ask("PATCH", path, query={"fieldManager": "ann"}, body=body, content_type=APPLY)
    said = status_of(answer, code=400, reason="BadRequest")
    assert "name must be provided" in said.message
    assert not await arena.exists(CONFIG_MAPS, "one")
