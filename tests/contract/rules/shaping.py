"""The schemas of custom kinds: what an object must be, what is filled in and what is dropped."""

from __future__ import annotations

from typing import Any

from skoupa.kube.resources import Resource
from tests.contract.arena import Arena, Object
from tests.contract.expecting import causes_of, document, refused, status_of
from tests.contract.registry import rule
from tests.contract.sabotage import always, edit, swap


async def made(arena: Arena, custom: Resource, **spec: Any) -> Object:
    body = {"metadata": {"name": arena.unique()}, "spec": {"size": 1, **spec}}
    return await arena.create(custom, body)


@rule(broken_by=always("writing.validation.schema_faults", []))
async def a_custom_object_must_fit_its_schema(arena: Arena) -> None:
    """A custom object that does not fit its schema is invalid, and the cause says which field and why."""
    custom = await arena.custom_kind("shaped")
    for spec, reason, field, message in (
        ({"size": "x"}, "FieldValueTypeInvalid", "spec.size", "must be of type integer"),
        ({"size": 1.5}, "FieldValueTypeInvalid", "spec.size", "must be of type integer"),
        ({"size": 0}, "FieldValueInvalid", "spec.size", "should be greater than or equal to 1"),
        ({"size": 10}, "FieldValueInvalid", "spec.size", "should be less than or equal to 9"),
        ({"color": "green"}, "FieldValueNotSupported", "spec.color", 'supported values: "red", "blue"'),
        ({"tags": ["a", "b", "c"]}, "FieldValueTooMany", "spec.tags", "must have at most 2 items"),
        ({"tags": [1]}, "FieldValueTypeInvalid", "spec.tags[0]", "must be of type string"),
        ({"map": {"k": 1}}, "FieldValueTypeInvalid", "spec.map.k", "must be of type string"),
        ({"word": "bbb"}, "FieldValueInvalid", "spec.word", "should match '^a+$'"),
        ({"word": "aaaaa"}, "FieldValueTooLong", "spec.word", "may not be more than 4 bytes"),
        ({"either": []}, "FieldValueTypeInvalid", "spec.either", "must be of type integer,string"),
    ):
        said = await refused(made(arena, custom, **spec), code=422, reason="Invalid")
        found = [(cause["reason"], cause["field"]) for cause in causes_of(said)]
        assert found == [(reason, field)], (spec, said)
        assert message in said.message, said
    head: Object = {"metadata": {"name": "one"}}
    for body, field in ((head, "spec"), ({**head, "spec": {}}, "spec.size")):
        said = await refused(arena.create(custom, body), code=422, reason="Invalid")
        assert [(cause["reason"], cause["field"]) for cause in causes_of(said)] == [
            ("FieldValueRequired", field)
        ]


@rule(broken_by=swap("writing.writes.pruned", lambda _, obj: (dict(obj), [])))
async def unknown_fields_are_dropped(arena: Arena) -> None:
    """Fields that a schema does not know are dropped with a warning, unless strictness refuses or it keeps them."""
    custom = await arena.custom_kind("shaped")
    body = {
        "apiVersion": custom.api_version,
        "kind": custom.kind,
        "metadata": {"name": "one"},
        "spec": {"size": 1, "smell": "nice", "free": {"any": {"thing": 1}}},
    }
    path = custom.path(namespace=arena.namespace)
    answer = await arena.ask("POST", path, query={"fieldValidation": "Strict"}, body=body)
    said = status_of(answer, code=400, reason="BadRequest")
    assert 'strict decoding error: unknown field "spec.smell"' in said.message
    answer = await arena.ask("POST", path, body=body)
    assert document(answer)["spec"] == {"size": 1, "color": "red", "free": {"any": {"thing": 1}}}
    assert answer.headers.get("warning", "") == '299 - "unknown field \\"spec.smell\\""'
    patch = {"spec": {"smell": "foul"}}
    kept = await arena.client.merge_patch(custom, "one", patch, namespace=arena.namespace)
    assert kept["metadata"]["resourceVersion"] == document(answer)["metadata"]["resourceVersion"]


@rule(broken_by=edit("writing.writes.pruned", lambda result: ({**result[0], "spec": {"size": 1}}, result[1])))
async def defaults_are_filled_in(arena: Arena) -> None:
    """A field with a default has it when nothing or null was said, and loses nothing that was said."""
    custom = await arena.custom_kind("shaped")
    assert (await made(arena, custom))["spec"] == {"size": 1, "color": "red"}
    assert (await made(arena, custom, color=None))["spec"] == {"size": 1, "color": "red"}
    assert (await made(arena, custom, color="blue"))["spec"] == {"size": 1, "color": "blue"}


@rule(broken_by=swap("writing.writes.pruned", lambda _, obj: (dict(obj), [])))
async def null_is_kept_where_it_is_allowed(arena: Arena) -> None:
    """A null is kept where the schema allows it and dropped elsewhere."""
    custom = await arena.custom_kind("shaped")
    assert (await made(arena, custom, word=None, tags=None))["spec"] == {
        "size": 1,
        "color": "red",
        "word": None,
    }


@rule(broken_by=always("writing.validation.schema_faults", []))
async def a_patch_can_not_spoil_an_object(arena: Arena) -> None:
    """A patch whose result does not fit the schema is invalid and changes nothing."""
    custom = await arena.custom_kind("shaped")
    name = (await made(arena, custom))["metadata"]["name"]
    patch = {"spec": {"size": "large"}}
    change = arena.client.merge_patch(custom, name, patch, namespace=arena.namespace)
    said = await refused(change, code=422, reason="Invalid")
    assert causes_of(said)[0]["field"] == "spec.size"
    assert (await arena.get(custom, name))["spec"]["size"] == 1
