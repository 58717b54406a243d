"""Structs become structural schemas; what a schema can't say is an error that names the field."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pytest

from skoupa.kinds.schema import Rule, SchemaError, about, schema_of

pytestmark = pytest.mark.unit

Word = Annotated[str, msgspec.Meta(min_length=1, max_length=9, pattern="^a")]
TOLD = about("It is told.")


class Inner(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is inside."""

    RULES: ClassVar = (Rule("self.sizeLimit > 1", "more than one"),)

    size_limit: Annotated[Annotated[int, msgspec.Meta(ge=1, lt=10)], TOLD] = 5


class Outer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The outside,
    over two lines.
    """

    inner: Inner
    described: Annotated[Inner | None, about("Rather this.", Rule("true", "never said"))] = None
    filled: Inner = Inner()
    word: Annotated[Word, TOLD]
    maybe: Annotated[Word | None, msgspec.Meta(description="It is told.", examples=["ab", "ac"])] = None
    choice: Annotated[Literal["b", "a"], TOLD] = "a"
    level: Annotated[Literal[1, 2], TOLD] = 2
    flag: Annotated[bool, TOLD] = False
    share: Annotated[Annotated[float, msgspec.Meta(gt=0, le=1)], TOLD] = 0.3
    at: Annotated[datetime | None, TOLD] = None
    port: Annotated[int | str | None, TOLD] = None
    names: Annotated[Annotated[tuple[Word, ...], msgspec.Meta(max_length=3)], TOLD] = ()
    unique: Annotated[frozenset[str], TOLD] = frozenset()
    entries: Annotated[list[Inner], about("By size.", keys=("sizeLimit",))] = []
    labels: Annotated[dict[str, str], TOLD] = {}
    free: Annotated[dict[str, Any], TOLD] = {}
    anything: Annotated[Any, TOLD] = None
    unset: Annotated[int | msgspec.UnsetType, TOLD] = msgspec.UNSET


SCHEMA = schema_of(Outer)
PROPERTIES = SCHEMA["properties"]


def told(**rest: Any) -> dict[str, Any]:
    return {"description": "It is told.", **rest}


def test_an_object_has_metadata_and_the_fields_of_its_struct_and_requires_those_without_default() -> None:
    assert list(PROPERTIES)[:3] == ["apiVersion", "kind", "metadata"]
    assert SCHEMA["required"] == ["inner", "word"]
    assert SCHEMA["description"] == "The outside, over two lines."


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("word", told(type="string", minLength=1, maxLength=9, pattern="^a")),
        ("choice", told(type="string", enum=["a", "b"], default="a")),
        ("level", told(type="integer", format="int64", enum=[1, 2], default=2)),
        ("flag", told(type="boolean", default=False)),
        ("share", told(type="number", minimum=0, exclusiveMinimum=True, maximum=1, default=0.3)),
        ("at", told(type="string", format="date-time")),
        ("port", told(**{"x-kubernetes-int-or-string": True})),
        (
            "names",
            told(
                type="array",
                maxItems=3,
                items={"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a"},
            ),
        ),
        ("unique", told(type="array", items={"type": "string"}, **{"x-kubernetes-list-type": "set"})),
        ("labels", told(type="object", additionalProperties={"type": "string"})),
        ("free", told(type="object", **{"x-kubernetes-preserve-unknown-fields": True})),
        ("anything", told(**{"x-kubernetes-preserve-unknown-fields": True})),
        ("unset", told(type="integer", format="int64")),
    ],
)
def test_a_field_becomes_a_property(field: str, expected: dict[str, Any]) -> None:
    assert PROPERTIES[field] == expected


def test_an_object_in_an_object_has_its_docstring_its_rules_and_its_defaults() -> None:
    rule = {"rule": "self.sizeLimit > 1", "message": "more than one"}
    inner = {
        "type": "object",
        "description": "What is inside.",
        "properties": {
            "sizeLimit": told(
                type="integer", format="int64", minimum=1, maximum=10, exclusiveMaximum=True, default=5
            )
        },
        "x-kubernetes-validations": [rule],
    }
    assert PROPERTIES["inner"] == inner
    assert PROPERTIES["filled"] == {**inner, "default": {"sizeLimit": 5}}
    assert PROPERTIES["described"] == {
        **inner,
        "description": "Rather this.",
        "x-kubernetes-validations": [rule, {"rule": "true", "message": "never said"}],
    }
    assert PROPERTIES["entries"]["items"] == inner
    assert PROPERTIES["entries"]["x-kubernetes-list-map-keys"] == ["sizeLimit"]


def test_examples_are_told_in_the_description_for_the_server_keeps_no_others() -> None:
    assert PROPERTIES["maybe"]["description"] == 'It is told. For example "ab", "ac".'


class Node(msgspec.Struct, frozen=True):
    """Contains itself."""

    below: Annotated[Node | None, TOLD] = None


class Tagged(msgspec.Struct, frozen=True, tag="one"):
    """Has a field that it does not name."""


def shape(hint: Any) -> type[msgspec.Struct]:
    return msgspec.defstruct("Shape", [("field", hint)])


@pytest.mark.parametrize(
    ("hint", "says"),
    [
        (str, "Shape.field: it has no description"),
        (Annotated[Node, TOLD], "Shape.field.below: Node contains itself"),
        (Annotated[Tagged, TOLD], "Shape.field: Tagged is array_like or tagged"),
        (Annotated[int | bool, TOLD], "no union but X | None and int | str"),
        (Annotated[Word | int, TOLD], "takes no limits"),
        (Annotated[tuple[int, str], TOLD], "Shape.field: a structural schema has nothing for Tuple"),
        (Annotated[date, TOLD], "Shape.field: a structural schema has nothing for Date"),
        (Annotated[list[date], TOLD], "Shape.field[]: a structural schema has nothing for Date"),
        (Annotated[dict[int, str], TOLD], "keys of an object are plain strings"),
        (Annotated[Literal["a", 1], TOLD], "all strings or all integers"),
        (Annotated[Annotated[bool, msgspec.Meta(ge=1)], TOLD], "Can only set"),
    ],
)
def test_what_no_structural_schema_can_say_is_an_error_that_names_the_field(hint: Any, says: str) -> None:
    with pytest.raises(SchemaError) as caught:
        schema_of(shape(hint))
    assert says in str(caught.value)


def test_metadata_is_not_declared_twice() -> None:
    with pytest.raises(SchemaError, match="metadata is there by itself"):
        schema_of(msgspec.defstruct("Shape", [("metadata", Annotated[str, TOLD])]))
