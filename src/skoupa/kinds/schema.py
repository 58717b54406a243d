"""From a frozen msgspec Struct to the structural OpenAPI v3 schema of a custom kind.

The Struct is the one source: what a reader decodes is what the server validates, prunes, fills in and explains. Every
property has a description (its Meta's, else the docstring of its Struct), or there is no schema at all: `kubectl explain`
must teach. Rules in CEL stand beside the field (`about`) or, for a whole Struct, in its `RULES`. A type that
a structural schema can't say (a union of objects, a tuple of fixed length, a Struct inside itself) is a SchemaError
that names the field; nothing is left out silently, and there is never a `$ref`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import inspect as types

Schema = dict[str, Any]

VALIDATIONS: Final = "x-kubernetes-validations"
PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING: Final = "x-kubernetes-int-or-string"
# In the Meta of a type: what its values look like, for who wrote another one; the schema has it as a pattern.
FORM: Final = "form"
_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"

_ROOT: Final[dict[str, Schema]] = {
    "apiVersion": {"type": "string", "description": "Group and version in which this object is written."},
    "kind": {"type": "string", "description": "The kind of this object."},
    "metadata": {"type": "object"},
}


class SchemaError(TypeError):
    """A Struct that no structural schema can describe: a mistake in the code that declares it."""


class Rule(msgspec.Struct, frozen=True):
    """One CEL rule and what the server says to who breaks it.

    `self` is the value that the rule stands at. Fields named as CEL's own words are written `self.__namespace__`.
    """

    expression: str
    message: str


def about(description: str, *rules: Rule, keys: Sequence[str] = ()) -> msgspec.Meta:
    """What a field means, its rules, and for a list of objects the fields by which entries are told apart."""
    extra: Schema = {}
    if rules:
        extra[VALIDATIONS] = _validations(rules)
    if keys:
        extra |= {_LIST_TYPE: "map", _LIST_KEYS: list(keys)}
    return msgspec.Meta(description=description, extra_json_schema=extra or None)


def schema_of(kind: type[msgspec.Struct]) -> Schema:
    """The schema of a whole object; `kind` names what it has beside apiVersion, kind and metadata."""
    root = _struct(_info(kind), path=kind.__name__, inside=())
    clash = _ROOT.keys() & root["properties"].keys()
    if clash:
        raise SchemaError(f"{kind.__name__}: {', '.join(sorted(clash))} is there by itself; leave it out")
    return {**root, "properties": {**_ROOT, **root["properties"]}}


def _info(kind: type[msgspec.Struct]) -> types.StructType:
    try:
        info = types.type_info(kind)
    except TypeError as error:
        raise SchemaError(f"{kind.__name__}: {error}") from error
    while isinstance(info, types.Metadata):
        info = info.type
    assert isinstance(info, types.StructType)
    return info


def _struct(info: types.StructType, *, path: str, inside: tuple[type, ...]) -> Schema:
    if info.cls in inside:
        raise SchemaError(f"{path}: {info.cls.__name__} contains itself; name as many levels as there may be")
    if info.array_like or info.tag_field is not None:
        raise SchemaError(f"{path}: {info.cls.__name__} is array_like or tagged; use a plain Struct")
    properties: dict[str, Schema] = {}
    for field in info.fields:
        place = f"{path}.{field.encode_name}"
        found = _type(field.type, path=place, inside=(*inside, info.cls))
        if not found.get("description"):
            raise SchemaError(f'{place}: it has no description; write Annotated[…, about("…")]')
        default = _default(field)
        properties[field.encode_name] = found if default is None else {**found, "default": default}
    schema: Schema = {"type": "object"}
    # A Struct without a docstring has that of msgspec.Struct, which explains nothing here.
    docstring = info.cls.__dict__.get("__doc__")
    if docstring:
        schema["description"] = " ".join(inspect.cleandoc(docstring).split())
    required = [field.encode_name for field in info.fields if field.required]
    if required:
        schema["required"] = required
    schema["properties"] = properties
    rules = getattr(info.cls, "RULES", ())
    if rules:
        schema[VALIDATIONS] = _validations(rules)
    return schema


def _type(info: types.Type, *, path: str, inside: tuple[type, ...]) -> Schema:
    match info:
        case types.Metadata():
            return _described(info, path=path, inside=inside)
        case types.StructType():
            return _struct(info, path=path, inside=inside)
        case types.UnionType():
            return _union(info, path=path, inside=inside)
        case types.ListType() | types.VarTupleType() | types.SetType() | types.FrozenSetType():
            return _list(info, path=path, inside=inside)
        case types.DictType():
            return _mapping(info, path=path, inside=inside)
        case types.AnyType():
            return {PRESERVE: True}
        case _:
            return _scalar(info, path=path)


def _scalar(info: types.Type, *, path: str) -> Schema:
    match info:
        case types.LiteralType():
            return _choice(info, path=path)
        case types.BoolType():
            return {"type": "boolean"}
        case types.IntType():
            return {"type": "integer", "format": "int64", **_bounds(info)}
        case types.FloatType():
            return {"type": "number", **_bounds(info)}
        case types.DateTimeType():
            return {"type": "string", "format": "date-time"}
        case types.StrType():
            text = _limits(info, least="minLength", most="maxLength")
            return {"type": "string", **text, **({"pattern": info.pattern} if info.pattern else {})}
        case _:
            said = type(info).__name__.removesuffix("Type")
            raise SchemaError(f"{path}: a structural schema has nothing for {said}")


def _described(info: types.Metadata, *, path: str, inside: tuple[type, ...]) -> Schema:
    schema = _type(info.type, path=path, inside=inside)
    extra = dict(info.extra_json_schema or {})
    examples = extra.pop("examples", ())
    # Rules of a Struct and rules of the field that holds it all count.
    rules = [*schema.get(VALIDATIONS, ()), *extra.pop(VALIDATIONS, ())]
    schema |= extra | ({VALIDATIONS: rules} if rules else {})
    if examples:
        # The server keeps no examples, but descriptions.
        shown = ", ".join(msgspec.json.encode(one).decode() for one in examples)
        schema["description"] = f"{schema.get('description', '')} For example {shown}.".strip()
    return schema


def _union(info: types.UnionType, *, path: str, inside: tuple[type, ...]) -> Schema:
    """`X | None` is an X that may be absent; the server drops a null where none is allowed."""
    parts = [part for part in info.types if not isinstance(part, types.NoneType)]
    if len(parts) == 1:
        return _type(parts[0], path=path, inside=inside)
    if {type(part) for part in parts} == {types.IntType, types.StrType}:
        if any(_type(part, path=path, inside=inside).keys() - {"type", "format"} for part in parts):
            raise SchemaError(f"{path}: int | str takes no limits of its parts; write a Rule")
        return {INT_OR_STRING: True}
    raise SchemaError(f"{path}: a structural schema has no union but X | None and int | str")


def _list(
    info: types.ListType | types.VarTupleType | types.SetType | types.FrozenSetType,
    *,
    path: str,
    inside: tuple[type, ...],
) -> Schema:
    items = _type(info.item_type, path=f"{path}[]", inside=inside)
    unique = isinstance(info, types.SetType | types.FrozenSetType)
    limits = _limits(info, least="minItems", most="maxItems")
    return {"type": "array", "items": items, **limits, **({_LIST_TYPE: "set"} if unique else {})}


def _mapping(info: types.DictType, *, path: str, inside: tuple[type, ...]) -> Schema:
    if not isinstance(info.key_type, types.StrType) or _type(info.key_type, path=path, inside=()).keys() != {
        "type"
    }:
        raise SchemaError(f"{path}: keys of an object are plain strings; write limits as a Rule")
    limits = _limits(info, least="minProperties", most="maxProperties")
    if isinstance(info.value_type, types.AnyType):
        return {"type": "object", PRESERVE: True, **limits}
    values = _type(info.value_type, path=f"{path}[]", inside=inside)
    return {"type": "object", "additionalProperties": values, **limits}


def _choice(info: types.LiteralType, *, path: str) -> Schema:
    kinds = {type(value) for value in info.values}
    if kinds == {str}:
        return {"type": "string", "enum": list(info.values)}
    if kinds == {int}:
        return {"type": "integer", "format": "int64", "enum": list(info.values)}
    raise SchemaError(f"{path}: the values of an enum are all strings or all integers")


def _bounds(info: types.IntType | types.FloatType) -> Schema:
    bounds: Schema = {}
    for word, inclusive, exclusive in (("minimum", info.ge, info.gt), ("maximum", info.le, info.lt)):
        if inclusive is not None:
            bounds[word] = inclusive
        elif exclusive is not None:
            bounds |= {word: exclusive, f"exclusive{word.capitalize()}": True}
    return bounds | ({} if info.multiple_of is None else {"multipleOf": info.multiple_of})


def _limits(info: Any, *, least: str, most: str) -> Schema:
    limits = {least: info.min_length, most: info.max_length}
    return {word: limit for word, limit in limits.items() if limit is not None}


def _default(field: types.Field) -> Any:
    """What the server fills in; nothing for what is empty anyway."""
    value = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    if value is msgspec.NODEFAULT or value is None or value in ((), [], {}, set(), frozenset(), ""):
        return None
    return _without_nulls(msgspec.to_builtins(value))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(entry) for key, entry in value.items() if entry is not None}
    return value


def _validations(rules: Sequence[Rule]) -> list[Schema]:
    return [{"rule": rule.expression, "message": rule.message} for rule in rules]
