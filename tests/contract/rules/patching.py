"""JSON merge patches and JSON patches."""

from __future__ import annotations

from typing import Any

from skoupa.kube.resources import CONFIG_MAPS
from skoupa.sim.applying.patches import PatchRefused
from tests.contract.arena import Arena, Object
from tests.contract.expecting import causes_of, refused, status_of
from tests.contract.registry import rule
from tests.contract.sabotage import always, misspeak, skip, swap, wrap

MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


async def merged(arena: Arena, name: str, patch: Object, **more: Any) -> Object:
    return await arena.client.merge_patch(CONFIG_MAPS, name, patch, namespace=arena.namespace, **more)


async def patched(arena: Arena, name: str, *operations: Object) -> Object:
    return await arena.client.json_patch(CONFIG_MAPS, name, operations, namespace=arena.namespace)


def keeping_data(merge: Any) -> Any:
    """Nothing in `data` is ever removed."""

    def merged(before: Object, patch: Object) -> Object:
        after: Object = merge(before, patch)
        return {**after, "data": {**before.get("data", {}), **after.get("data", {})}}

    return merged


def joining_lists(merge: Any) -> Any:
    def merged(before: Object, patch: Object) -> Object:
        after: Object = merge(before, patch)
        held = before["metadata"].get("finalizers", []) + (after["metadata"].get("finalizers") or [])
        return after | {"metadata": after["metadata"] | {"finalizers": held}}

    return merged


def forgiving(patch: Any) -> Any:
    def patched(before: Object, steps: Any) -> Any:
        try:
            return patch(before, steps)
        except PatchRefused:
            return before

    return patched


@rule(broken_by=wrap("server.endpoints.merge_patch", keeping_data))
async def a_merge_patch_sets_and_null_removes(arena: Arena) -> None:
    """A merge patch changes the fields in it, removes those that are null and leaves the others."""
    await arena.config_map("one", data={"a": "1", "b": "2"}, labels={"x": "y"})
    new = await merged(arena, "one", {"data": {"a": "3", "b": None, "c": "4"}, "metadata": {"labels": None}})
    assert new["data"] == {"a": "3", "c": "4"}
    assert "labels" not in new["metadata"]
    assert await arena.get(CONFIG_MAPS, "one") == new


@rule(broken_by=wrap("server.endpoints.merge_patch", joining_lists))
async def a_merge_patch_replaces_lists_as_a_whole(arena: Arena) -> None:
    """A list in a merge patch takes the place of the list that was there."""
    await arena.config_map("one", finalizers=["example.org/a", "example.org/b"])
    new = await merged(arena, "one", {"metadata": {"finalizers": ["example.org/c"]}})
    assert new["metadata"]["finalizers"] == ["example.org/c"]
    await merged(arena, "one", {"metadata": {"finalizers": None}})


@rule(broken_by=skip("server.endpoints.check_version"))
async def a_resource_version_in_a_merge_patch_is_a_precondition(arena: Arena) -> None:
    """A merge patch for a state that is no longer the newest is a conflict."""
    made = await arena.config_map("one")
    old = made["metadata"]["resourceVersion"]
    await merged(arena, "one", {"data": {"a": "1"}})
    patch = {"metadata": {"resourceVersion": old}, "data": {"a": "2"}}
    said = await refused(merged(arena, "one", patch), code=409, reason="Conflict")
    assert "the object has been modified" in said.message
    new = await arena.get(CONFIG_MAPS, "one")
    patch = {"metadata": {"resourceVersion": new["metadata"]["resourceVersion"]}, "data": {"a": "2"}}
    assert (await merged(arena, "one", patch))["data"] == {"a": "2"}


@rule(broken_by=misspeak("server.endpoints.invalid"))
async def a_uid_in_a_merge_patch_is_a_precondition(arena: Arena) -> None:
    """A merge patch with the uid of another object of that name is invalid: a uid can't be changed."""
    await arena.config_map("one")
    patch = {"metadata": {"uid": "11111111-2222-3333-4444-555555555555"}, "data": {"a": "2"}}
    said = await refused(merged(arena, "one", patch), code=422, reason="Invalid")
    assert causes_of(said)[0]["field"] == "metadata.uid"
    assert "data" not in await arena.get(CONFIG_MAPS, "one")


@rule(broken_by=always("writing.writes._same", False))
async def a_patch_without_effect_keeps_the_resource_version(arena: Arena) -> None:
    """Patching in what is there already changes nothing, not even the resourceVersion."""
    made = await arena.config_map("one", data={"a": "1"})
    again = await merged(arena, "one", {"data": {"a": "1", "b": None}})
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


@rule(broken_by=misspeak("server.endpoints.not_found"))
async def what_is_not_there_can_not_be_patched(arena: Arena) -> None:
    """Patching an absent object is a 404."""
    said = await refused(merged(arena, "absent", {"data": {}}), code=404, reason="NotFound")
    assert said.message == 'configmaps "absent" not found'


@rule(broken_by=swap("server.calls.Call.dry_run", False))
async def a_dry_run_patches_nothing(arena: Arena) -> None:
    """A dry run of a patch shows what would be and leaves what is."""
    made = await arena.config_map("one", data={"a": "1"})
    assert (await merged(arena, "one", {"data": {"a": "2"}}, dry_run=True))["data"] == {"a": "2"}
    assert await arena.get(CONFIG_MAPS, "one") == made


@rule(
    broken_by=wrap(
        "server.endpoints.json_patch", lambda patch: lambda before, steps: patch(before, steps[:2])
    )
)
async def the_operations_of_a_json_patch_happen_in_order(arena: Arena) -> None:
    """add, replace, remove, move, copy and test of a JSON patch work, one after the other."""
    await arena.config_map("one", data={"a": "1", "b": "2", "odd": "3"}, annotations={"odd/key": "3"})
    new = await patched(
        arena,
        "one",
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "10"},
        {"op": "add", "path": "/data/c", "value": "4"},
        {"op": "remove", "path": "/data/b"},
        {"op": "copy", "from": "/data/c", "path": "/data/d"},
        {"op": "move", "from": "/metadata/annotations/odd~1key", "path": "/data/even"},
        {"op": "add", "path": "/metadata/labels", "value": {"x": "y"}},
    )
    assert new["data"] == {"a": "10", "c": "4", "d": "4", "odd": "3", "even": "3"}
    assert new["metadata"]["labels"] == {"x": "y"}


@rule(
    broken_by=wrap(
        "server.endpoints.json_patch", lambda patch: lambda before, steps: patch(before, steps[:1])
    )
)
async def a_failed_test_stops_a_json_patch(arena: Arena) -> None:
    """A JSON patch whose test fails is invalid and changes nothing."""
    await arena.config_map("one", data={"a": "1"})
    said = await refused(
        patched(
            arena,
            "one",
            {"op": "replace", "path": "/data/a", "value": "2"},
            {"op": "test", "path": "/data/a", "value": "1"},
        ),
        code=422,
        reason="Invalid",
    )
    assert said.message == "the server rejected our request due to an error in our request"
    assert (await arena.get(CONFIG_MAPS, "one"))["data"] == {"a": "1"}


@rule(broken_by=wrap("server.endpoints.json_patch", forgiving))
async def a_json_patch_of_what_is_not_there_is_invalid(arena: Arena) -> None:
    """A JSON patch that removes or moves an absent field is invalid; one that replaces it adds it."""
    await arena.config_map("one", data={"a": "1"})
    for operation in (
        {"op": "remove", "path": "/data/z"},
        {"op": "move", "from": "/data/z", "path": "/data/y"},
        {"op": "test", "path": "/data/z", "value": "2"},
        {"op": "add", "path": "/absent/z", "value": "2"},
        {"op": "add", "path": "/metadata/finalizers/-", "value": "example.org/x"},
        {"op": "wave", "path": "/data/a"},
    ):
        await refused(patched(arena, "one", operation), code=422, reason="Invalid")
    assert (await arena.get(CONFIG_MAPS, "one"))["data"] == {"a": "1"}
    new = await patched(arena, "one", {"op": "replace", "path": "/data/z", "value": "2"})
    assert new["data"] == {"a": "1", "z": "2"}


@rule(broken_by=misspeak("server.endpoints.bad_request"))
async def a_malformed_patch_is_a_bad_request(arena: Arena) -> None:
    """A patch that is no JSON, or no list of operations, is a bad request."""
    await arena.config_map("one")
    path = CONFIG_MAPS.path(namespace=arena.namespace, name="one")
    for media, body in (
        (MERGE, b"{"),
        (JSON, b"{"),
        (JSON, b'{"op":"add"}'),
        (MERGE, b"[]"),
        (MERGE, b'"x"'),
    ):
        answer = await arena.ask("PATCH", path, body=body, content_type=media)
        status_of(answer, code=400, reason="BadRequest")


@rule(broken_by=misspeak("server.endpoints.unsupported_media_type"))
async def a_patch_needs_a_known_form(arena: Arena) -> None:
    """A patch of a media type that is no patch is a 415; custom kinds have no strategic merge."""
    await arena.config_map("one")
    path = CONFIG_MAPS.path(namespace=arena.namespace, name="one")
    answer = await arena.ask("PATCH", path, body=b"{}", content_type="application/json")
    status_of(answer, code=415, reason="UnsupportedMediaType")
    custom = await arena.custom_kind()
    await arena.create(custom, {"metadata": {"name": "one"}})
    path = custom.path(namespace=arena.namespace, name="one")
    answer = await arena.ask("PATCH", path, body=b"{}", content_type=STRATEGIC)
    said = status_of(answer, code=415, reason="UnsupportedMediaType")
    assert JSON in said.message
    assert STRATEGIC not in said.message


@rule(broken_by=swap("server.endpoints.check_place", lambda metadata, **place: metadata.update(place)))
async def a_patch_can_not_rename(arena: Arena) -> None:
    """A patch that changes the name or the namespace is refused."""
    await arena.config_map("one")
    await refused(merged(arena, "one", {"metadata": {"name": "two"}}), code=400, reason="BadRequest")
    await refused(merged(arena, "one", {"metadata": {"namespace": "two"}}), code=400, reason="BadRequest")
    assert await arena.exists(CONFIG_MAPS, "one")


@rule(broken_by=skip("server.endpoints.check_kind"))
async def a_patch_can_not_change_the_kind(arena: Arena) -> None:
    """A patch that makes another kind or version of an object is invalid."""
    await arena.config_map("one")
    for patch in ({"kind": "Secret"}, {"apiVersion": "v2"}):
        await refused(merged(arena, "one", patch), code=422, reason="Invalid")


@rule(broken_by=skip("server.calls.check_write_options"))
async def write_options_must_make_sense(arena: Arena) -> None:
    """A too long field manager, an unknown strictness and force without apply are invalid."""
    await arena.config_map("one")
    path = CONFIG_MAPS.path(namespace=arena.namespace, name="one")
    for query, field in (
        ({"fieldManager": "x" * 129}, "fieldManager"),
        ({"fieldValidation": "Sometimes"}, "fieldValidation"),
        ({"force": "true"}, "force"),
        ({"dryRun": "Some"}, "dryRun"),
    ):
        answer = await arena.ask("PATCH", path, query=query, body={"data": {"a": "1"}}, content_type=MERGE)
        said = status_of(answer, code=422, reason="Invalid")
        assert said.message.startswith("PatchOptions.meta.k8s.io")
        assert [cause["field"] for cause in causes_of(said)] == [field]
    assert "data" not in await arena.get(CONFIG_MAPS, "one")


@rule(broken_by=skip("writing.writes.drop_empty"))
async def an_emptied_map_is_no_field(arena: Arena) -> None:
    """When the last key of its data goes, an object has no data any more."""
    await arena.config_map("one", data={"a": "1"})
    assert "data" not in await patched(arena, "one", {"op": "remove", "path": "/data/a"})
    assert "data" not in await merged(arena, "one", {"data": {"b": None}})
    made = await arena.config_map("two", data={}, labels={})
    assert "data" not in made
    assert "labels" not in made["metadata"]


@rule(broken_by=misspeak("server.endpoints.unreadable"))
async def a_patch_can_not_spoil_the_metadata(arena: Arena) -> None:
    """A patch that leaves metadata which no server could read is invalid."""
    await arena.config_map("one", labels={"a": "b"})
    spoiled: list[Object] = [
        {"labels": "text"},
        {"labels": {"a": 1}},
        {"finalizers": [{}]},
        {"annotations": []},
    ]
    for patch in spoiled:
        said = await refused(merged(arena, "one", {"metadata": patch}), code=422, reason="Invalid")
        assert [cause["field"] for cause in causes_of(said)] == ["patch"]
    assert (await arena.get(CONFIG_MAPS, "one"))["metadata"]["labels"] == {"a": "b"}
