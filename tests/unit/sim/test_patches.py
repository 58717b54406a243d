from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.sim.applying.patches import MAX_OPERATIONS, PatchRefused, json_patch, merge_patch

pytestmark = pytest.mark.unit

SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
KEYS = st.sampled_from(["a", "b", "c", "a/b", "m~n", "0"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=4)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": {"b": 1}}, {"a": [{"x": None}]}, {"a": [{"x": None}]}),
        ({"a": 1}, {"a": [{"x": None, "y": 1}]}, {"a": [{"y": 1}]}),
    ],
)
def test_a_merge_patch_does_what_the_table_of_rfc_7386_says(
    target: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]
) -> None:
    assert merge_patch(target, patch) == result


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (
            ["c"],
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            "bar",
            "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}",
        ),
        (
            1,
            "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}",
        ),
        (
            True,
            "error decoding patch: json: cannot unmarshal bool into Go value of type map[string]interface {}",
        ),
        (None, "Invalid JSON Patch"),
    ],
)
def test_a_merge_patch_that_is_no_object_is_a_bad_request(patch: Any, message: str) -> None:
    with pytest.raises(PatchRefused) as refused:
        merge_patch({"a": "foo"}, patch)
    assert (refused.value.code, refused.value.reason, refused.value.message) == (400, "BadRequest", message)


def _difference(source: dict[str, Any], target: dict[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {key: None for key in source if key not in target}
    for key, value in target.items():
        here = source.get(key)
        if isinstance(here, dict) and isinstance(value, dict):
            patch[key] = _difference(here, value)
        elif key not in source or here != value or type(here) is not type(value):
            patch[key] = value
    return patch


@settings(deadline=None)
@given(OBJECTS, OBJECTS)
def test_the_difference_of_two_objects_as_a_merge_patch_leads_from_one_to_the_other(
    source: dict[str, Any], target: dict[str, Any]
) -> None:
    source, target = _without_nulls(source), _without_nulls(target)
    before = copy.deepcopy(source)
    assert merge_patch(source, _difference(source, target)) == target
    assert source == before


@settings(deadline=None)
@given(OBJECTS, OBJECTS)
def test_a_merge_patch_applied_twice_changes_nothing_more(
    target: dict[str, Any], patch: dict[str, Any]
) -> None:
    once = merge_patch(target, patch)
    assert merge_patch(once, _without_nulls(patch)) == merge_patch(once, patch)
    assert merge_patch(target, {}) == target


def test_a_patched_object_shares_nothing_with_what_it_was_made_of() -> None:
    target: dict[str, Any] = {"spec": {"list": [{"a": 1}]}}
    patch: dict[str, Any] = {"new": {"list": [{"b": 2}]}}
    merged = merge_patch(target, patch)
    merged["spec"]["list"][0]["a"] = merged["new"]["list"][0]["b"] = 3
    patched = json_patch(target, [{"op": "add", "path": "/new", "value": patch["new"]}])
    patched["spec"]["list"].append(1)
    patched["new"]["list"].append(1)
    assert target == {"spec": {"list": [{"a": 1}]}}
    assert patch == {"new": {"list": [{"b": 2}]}}


@pytest.mark.parametrize(
    ("target", "operations", "result"),
    [
        # RFC 6902, appendix A, in its order.
        ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"baz": "qux", "foo": "bar"}),
        (
            {"foo": ["bar", "baz"]},
            [{"op": "add", "path": "/foo/1", "value": "qux"}],
            {"foo": ["bar", "qux", "baz"]},
        ),
        ({"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, [{"op": "remove", "path": "/foo/1"}], {"foo": ["bar", "baz"]}),
        (
            {"baz": "qux", "foo": "bar"},
            [{"op": "replace", "path": "/baz", "value": "boo"}],
            {"baz": "boo", "foo": "bar"},
        ),
        (
            {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
        ),
        (
            {"foo": ["all", "grass", "cows", "eat"]},
            [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
            {"foo": ["all", "cows", "eat", "grass"]},
        ),
        (
            {"baz": "qux", "foo": ["a", 2, "c"]},
            [
                {"op": "test", "path": "/baz", "value": "qux"},
                {"op": "test", "path": "/foo/1", "value": 2},
            ],
            {"baz": "qux", "foo": ["a", 2, "c"]},
        ),
        (
            {"foo": "bar"},
            [{"op": "add", "path": "/child", "value": {"grandchild": {}}}],
            {"foo": "bar", "child": {"grandchild": {}}},
        ),
        (
            {"foo": "bar"},
            [{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}],
            {"foo": "bar", "baz": "qux"},
        ),
        ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
        (
            {"foo": ["bar"]},
            [{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}],
            {"foo": ["bar", ["abc", "def"]]},
        ),
        # Where the API server departs from the RFC.
        ({}, [{"op": "replace", "path": "/new", "value": 1}], {"new": 1}),
        ({"a": [1, 2]}, [{"op": "remove", "path": "/a/-1"}], {"a": [1]}),
        ({"a": [1]}, [{"op": "add", "path": "/a/-1", "value": 2}], {"a": [1, 2]}),
        ({}, [{"op": "copy", "from": "/a", "path": "/b"}], {"b": None}),
        ({}, [{"op": "test", "path": "/absent", "value": None}], {}),
        ({"a": 1}, [{"op": "replace", "path": "", "value": {"b": 2}}], {"b": 2}),
        ({"a": 1}, None, {"a": 1}),
        ({"a": {"b": [1]}}, [{"op": "copy", "from": "/a/b", "path": "/c"}], {"a": {"b": [1]}, "c": [1]}),
    ],
)
def test_a_json_patch_does_what_the_examples_say(
    target: dict[str, Any], operations: Any, result: dict[str, Any]
) -> None:
    before = copy.deepcopy(target)
    assert json_patch(target, operations) == result
    assert target == before


@pytest.mark.parametrize(
    ("target", "operations"),
    [
        ({"baz": "qux"}, [{"op": "test", "path": "/baz", "value": "bar"}]),
        ({"foo": "bar"}, [{"op": "add", "path": "/baz/bat", "value": "qux"}]),
        ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": "10"}]),
        ({}, [{"op": "remove", "path": "/nope"}]),
        ({"a": []}, [{"op": "remove", "path": "/a/0"}]),
        ({"a": [1]}, [{"op": "add", "path": "/a/2", "value": 1}]),
        ({"a": [1]}, [{"op": "replace", "path": "/a/-", "value": 1}]),
        ({"a": 1}, [{"op": "test", "path": "/a", "value": True}]),
        ({"a": 1}, [{"op": "move", "from": "/b", "path": "/c"}]),
        ({"a": 1}, [{"op": "add", "path": "/a/b", "value": 1}]),
        ({}, [{"op": "add", "value": 1}]),
        ({}, [{"op": "add", "path": "", "value": {}}]),
        ({}, [{"op": "replace", "path": "", "value": "x"}]),
        ({}, [{"op": "unheard", "path": "/a"}]),
        ({}, [{"path": "/a"}]),
        ({}, [None]),
    ],
)
def test_a_json_patch_that_does_not_apply_is_invalid(target: dict[str, Any], operations: Any) -> None:
    with pytest.raises(PatchRefused) as refused:
        json_patch(target, operations)
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    assert refused.value.message == "the server rejected our request due to an error in our request"
    assert refused.value.detail


def test_a_failed_operation_leaves_the_object_as_it_was() -> None:
    target = {"data": {"a": "1"}}
    with pytest.raises(PatchRefused):
        json_patch(
            target, [{"op": "remove", "path": "/data/a"}, {"op": "test", "path": "/data/a", "value": "1"}]
        )
    assert target == {"data": {"a": "1"}}


@pytest.mark.parametrize(
    ("operations", "code", "message"),
    [
        (
            {},
            400,
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            ["x"],
            400,
            "error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp",
        ),
        (
            [{"op": 1}],
            400,
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
        (
            [{"op": "test", "path": "/a"}] * (MAX_OPERATIONS + 1),
            413,
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
        ),
    ],
)
def test_a_malformed_json_patch_is_refused_in_the_words_of_the_server(
    operations: Any, code: int, message: str
) -> None:
    with pytest.raises(PatchRefused) as refused:
        json_patch({}, operations)
    assert (refused.value.code, refused.value.message) == (code, message)


def test_an_object_can_not_become_a_list() -> None:
    with pytest.raises(
        PatchRefused, match=r'^ "" is invalid: patch: Invalid value: "\[\]": couldn\'t get version/kind'
    ):
        json_patch({}, [{"op": "replace", "path": "", "value": []}])


def _pointers(value: Any, path: str = "") -> list[str]:
    found = [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += _pointers(item, f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}")
    return found


@settings(deadline=None)
@given(st.data(), OBJECTS.filter(bool), JSON)
def test_what_was_put_at_a_pointer_passes_its_test_and_can_be_put_back(
    data: st.DataObject, target: dict[str, Any], value: Any
) -> None:
    pointer = data.draw(st.sampled_from(_pointers(target)[1:]))
    moved = json_patch(target, [{"op": "copy", "from": pointer, "path": "/saved"}])
    changed = [
        {"op": "replace", "path": pointer, "value": value},
        {"op": "test", "path": pointer, "value": value},
    ]
    restored = json_patch(
        {**target, "saved": moved["saved"]}, [*changed, {"op": "move", "from": "/saved", "path": "/kept"}]
    )
    back = json_patch(restored, [{"op": "replace", "path": pointer, "value": restored["kept"]}])
    assert json_patch(back, [{"op": "remove", "path": "/kept"}]) == target


@settings(deadline=None)
@given(
    OBJECTS,
    st.lists(st.dictionaries(st.sampled_from(["op", "path", "from", "value"]), JSON | st.text()), max_size=3),
)
def test_any_json_patch_applies_or_is_refused(target: dict[str, Any], operations: Any) -> None:
    before = copy.deepcopy(target)
    try:
        result: Any = json_patch(target, operations)
    except PatchRefused as refused:
        result = refused
    assert result is not None
    assert target == before
