"""What the schema of a definition adds to the walk, and what it says about a kind without any object."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.usage.found import Target
from skoupa.usage.schemas import may_name
from skoupa.usage.walking import walk

pytestmark = pytest.mark.unit


def schema(**spec: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string", "description": "names the version of a Secret, not one"},
            "metadata": {"type": "object"},
            "spec": {"type": "object", "properties": spec},
        },
    }


def found(spec: dict[str, Any], **described: Any) -> set[Target]:
    manifest = {"metadata": {"name": "x", "namespace": "shop"}, "spec": spec}
    return {use.target for use in walk(manifest, schema=schema(**described)).uses}


STRING = {"type": "string"}
NAME_AND_KEY = {
    "type": "object",
    "properties": {"name": STRING, "key": STRING, "optional": {"type": "boolean"}},
}


def test_a_field_whose_description_speaks_of_a_secret_by_name_means_one() -> None:
    told = {"type": "string", "description": "The name of the secret that has the password."}
    assert found({"password": "db"}, password=told) == {Target("Secret", "shop", "db")}
    assert found({"password": "db"}, password=STRING) == set()
    untold = {"type": "string", "description": "Keep this secret."}
    assert found({"password": "db"}, password=untold) == set()


def test_an_object_that_could_have_a_key_is_read_as_one_also_where_it_is_left_out() -> None:
    assert found({"password": {"name": "db", "extra": 1}}, password=NAME_AND_KEY) == {
        Target("Secret", "shop", "db"),
        Target("ConfigMap", "shop", "db"),
    }


def test_in_lists_and_maps_the_schema_goes_along() -> None:
    told = {"type": "string", "description": "Name of a ConfigMap."}
    listed = {"type": "array", "items": told}
    mapped = {"type": "object", "additionalProperties": told}
    assert found({"files": ["a"], "parts": {"x": "b"}}, files=listed, parts=mapped) == {
        Target("ConfigMap", "shop", "a"),
        Target("ConfigMap", "shop", "b"),
    }


def test_where_a_schema_knows_nothing_values_are_read_all_the_same() -> None:
    opened = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert found({"config": {"secretName": "a"}, "new": {"secretName": "b"}}, config=opened) == {
        Target("Secret", "shop", "a"),
        Target("Secret", "shop", "b"),
    }


@pytest.mark.parametrize("broken", [{}, {"properties": None}, {"properties": {"spec": "?"}}, {"items": 3}])
def test_a_schema_that_is_none_takes_nothing_away(broken: dict[str, Any]) -> None:
    manifest = {"metadata": {"namespace": "shop"}, "spec": {"list": [{"secretName": "a"}]}}
    assert {use.target for use in walk(manifest, schema=broken).uses} == {Target("Secret", "shop", "a")}


def test_which_kinds_objects_could_name_is_told_by_the_schema_alone() -> None:
    assert may_name(schema(size={"type": "integer"}, note=STRING)) == set()
    assert may_name(schema(secretName=STRING)) == {"Secret"}
    assert may_name(schema(auth={"type": "array", "items": NAME_AND_KEY})) == {"Secret", "ConfigMap"}
    assert may_name(schema(targetRef={"type": "object", "properties": {"name": STRING}})) == {"*"}


@pytest.mark.parametrize(
    "opened",
    [
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "additionalProperties": True},
        {"anyOf": [{"type": "string"}]},
        {},
        {"type": "object", "properties": {"matchLabels": {"type": "object"}}},
    ],
    ids=str,
)
def test_a_definition_that_takes_anything_could_name_anything(opened: dict[str, Any]) -> None:
    assert may_name(schema(config=opened)) == {"*"}
