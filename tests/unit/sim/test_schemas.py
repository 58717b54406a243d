from __future__ import annotations

from typing import Any

import pytest

from skoupa.sim.writing.schemas import faults, pruned

pytestmark = pytest.mark.unit

SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "maxLength": 4, "minLength": 2, "pattern": "^a"},
        "size": {"type": "integer", "minimum": 1, "maximum": 5},
        "mode": {"type": "string", "enum": ["x", "y"], "default": "x"},
        "list": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": {"type": "object", "properties": {"a": {"type": "boolean"}}},
        },
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "port": {"x-kubernetes-int-or-string": True},
        "maybe": {"type": "string", "nullable": True},
        "when": {"type": "string", "format": "date-time"},
        "nested": {
            "type": "object",
            "default": {},
            "properties": {"deep": {"type": "integer", "default": 3}},
        },
    },
}
SCHEMA = {"type": "object", "properties": {"spec": SPEC}}


def fields_at_fault(**spec: object) -> list[str]:
    return [
        cause.field for cause in faults(SCHEMA, {"metadata": {"name": "x"}, "spec": {"name": "ab"} | spec})
    ]


def kept(**spec: object) -> dict[str, Any]:
    found: dict[str, Any] = pruned(SCHEMA, {"metadata": {"name": "x"}, "spec": spec})[0]["spec"]
    return found


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({}, []),
        ({"name": "a"}, ["spec.name"]),
        ({"name": "abcde"}, ["spec.name"]),
        ({"name": "ba"}, ["spec.name"]),
        ({"size": 0}, ["spec.size"]),
        ({"size": 6}, ["spec.size"]),
        ({"size": "3"}, ["spec.size"]),
        ({"size": True}, ["spec.size"]),
        ({"mode": "z"}, ["spec.mode"]),
        ({"list": []}, ["spec.list"]),
        ({"list": [{}, {}, {}]}, ["spec.list"]),
        ({"list": [{"a": 1}]}, ["spec.list[0].a"]),
        ({"map": {"k": 1}}, ["spec.map.k"]),
        ({"free": {"k": {"any": 1}}}, []),
        ({"port": 80}, []),
        ({"port": "http"}, []),
        ({"port": []}, ["spec.port"]),
        ({"maybe": None}, []),
        ({"when": "2026-01-01T00:00:00Z"}, []),
        ({"when": "tomorrow"}, ["spec.when"]),
        ({"name": 5, "size": "x"}, ["spec.name", "spec.size"]),
    ],
)
def test_what_does_not_fit_is_named_by_its_field(spec: dict[str, object], fields: list[str]) -> None:
    assert fields_at_fault(**spec) == fields


def test_a_missing_field_is_required() -> None:
    assert [cause.reason for cause in faults(SCHEMA, {"spec": {}})] == ["FieldValueRequired"]


def test_unknown_fields_go_and_are_named_known_ones_stay() -> None:
    obj = {"metadata": {"name": "x"}, "spec": {"smell": 1, "list": [{"a": True, "b": 2}], "free": {"c": {}}}}
    found, unknown = pruned(SCHEMA, obj)
    assert unknown == ["spec.smell", "spec.list[0].b"]
    assert found["metadata"] == {"name": "x"}
    assert (found["spec"]["list"], found["spec"]["free"]) == ([{"a": True}], {"c": {}})


def test_defaults_are_filled_in_at_every_depth_and_never_shared() -> None:
    first, second = kept(), kept()
    assert first == {"mode": "x", "nested": {"deep": 3}}
    first["nested"]["deep"] = 4
    assert second["nested"] == {"deep": 3}


def test_a_null_goes_where_it_is_not_allowed() -> None:
    assert kept(maybe=None, size=None) == {"maybe": None, "mode": "x", "nested": {"deep": 3}}


def test_a_whole_number_is_an_integer() -> None:
    assert kept(size=2.0)["size"] == 2
    assert isinstance(kept(size=2.0)["size"], int)


@pytest.mark.parametrize(
    ("rule", "value", "fits"),
    [
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"b": 1}, True),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, False),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1}, True),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": 1}, False),
        ({"allOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": 1}, True),
        ({"allOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1}, False),
        ({"not": {"required": ["a"]}}, {"b": 1}, True),
        ({"not": {"required": ["a"]}}, {"a": 1}, False),
    ],
)
def test_rules_can_be_combined(rule: dict[str, Any], value: dict[str, int], *, fits: bool) -> None:
    assert (not faults({"properties": {"spec": rule}}, {"spec": value})) is fits
