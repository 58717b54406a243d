"""Structural schemas of custom kinds: what an object must look like, what is filled in and what is dropped.

`pruned` drops fields that the schema does not know and nulls that it does not allow, and fills in defaults; `faults` names
what does not fit, in the server's words. Rules in CEL (x-kubernetes-validations) and formats other than date-time
are not looked at: an object that only those would refuse is accepted here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from skoupa.sim.applying.patches import copied
from skoupa.sim.state.refusals import Cause

Schema = Mapping[str, Any]

_ROOT = frozenset({"apiVersion", "kind", "metadata"})
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def pruned(schema: Schema, obj: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The object as it is kept, and the paths of unknown fields that were dropped."""
    unknown: list[str] = []
    head = {field: obj[field] for field in obj if field in _ROOT}
    body = {field: obj[field] for field in obj if field not in _ROOT}
    return {**head, **_object(schema, body, path="", unknown=unknown)}, unknown


def faults(schema: Schema, obj: Mapping[str, Any]) -> list[Cause]:
    body = {field: value for field, value in obj.items() if field not in _ROOT}
    return list(_faults(schema, body, ""))


def _pruned(schema: Schema, value: Any, *, path: str, unknown: list[str]) -> Any:
    if isinstance(value, dict):
        return _object(schema, value, path=path, unknown=unknown)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        return [
            _pruned(schema["items"], entry, path=f"{path}[{index}]", unknown=unknown)
            for index, entry in enumerate(value)
        ]
    if schema.get("type") == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _object(schema: Schema, value: Mapping[str, Any], *, path: str, unknown: list[str]) -> dict[str, Any]:
    properties: Mapping[str, Any] = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    keeps = bool(schema.get("x-kubernetes-preserve-unknown-fields")) or others is True
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    found: dict[str, Any] = {}
    for field, entry in value.items():
        place = f"{path}.{field}" if path else field
        known = properties.get(field, others if isinstance(others, Mapping) else None)
        if known is not None:
            if entry is not None or known.get("nullable"):
                found[field] = _pruned(known, entry, path=place, unknown=unknown)
        elif keeps or (embedded and field in _ROOT):
            found[field] = entry
        else:
            unknown.append(place)
    for field, known in properties.items():
        if field not in found and "default" in known:
            found[field] = _pruned(known, copied(known["default"]), path="", unknown=[])
    return found


def _faults(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    if value is None and schema.get("nullable"):
        return
    wrong = _type_fault(schema, value, path)
    if wrong is not None:
        yield wrong
        return
    if "enum" in schema and value not in schema["enum"]:
        supported = ", ".join(_shown(entry) for entry in schema["enum"])
        said = f"Unsupported value: {_shown(value)}: supported values: {supported}"
        yield Cause(reason="FieldValueNotSupported", field=path, message=said)
    if isinstance(value, str):
        yield from _text_faults(schema, value, path)
    elif isinstance(value, dict):
        yield from _object_faults(schema, value, path)
    elif isinstance(value, list):
        yield from _list_faults(schema, value, path)
    elif not isinstance(value, bool):
        yield from _number_faults(schema, value, path)
    yield from _combined_faults(schema, value, path)


def _type_fault(schema: Schema, value: Any, path: str) -> Cause | None:
    given = _type_of(value)
    if schema.get("x-kubernetes-int-or-string"):
        wanted = "integer,string"
        fits = given in {"integer", "string"}
    else:
        wanted = schema.get("type", "")
        fits = not wanted or wanted == given or (wanted == "number" and given == "integer")
    if fits:
        return None
    said = f'Invalid value: "{given}": {path} in body must be of type {wanted}: "{given}"'
    return Cause(reason="FieldValueTypeInvalid", field=path, message=said)


def _text_faults(schema: Schema, value: str, path: str) -> Iterator[Cause]:
    if len(value) > schema.get("maxLength", len(value)):
        said = f"Too long: may not be more than {schema['maxLength']} bytes"
        yield Cause(reason="FieldValueTooLong", field=path, message=said)
    if len(value) < schema.get("minLength", 0):
        yield _invalid(path, value, f"should be at least {schema['minLength']} chars long")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield _invalid(path, value, f"should match '{schema['pattern']}'")
    if schema.get("format") == "date-time" and not _DATE_TIME.fullmatch(value):
        said = f"Invalid value: {_shown(value)}: {path} in body must be of type date-time: {_shown(value)}"
        yield Cause(reason="FieldValueTypeInvalid", field=path, message=said)


def _number_faults(schema: Schema, value: float, path: str) -> Iterator[Cause]:
    if value < schema.get("minimum", value):
        yield _invalid(path, value, f"should be greater than or equal to {schema['minimum']}")
    if value > schema.get("maximum", value):
        yield _invalid(path, value, f"should be less than or equal to {schema['maximum']}")


def _object_faults(schema: Schema, value: Mapping[str, Any], path: str) -> Iterator[Cause]:
    properties: Mapping[str, Any] = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    for field, entry in value.items():
        known = properties.get(field, others)
        if isinstance(known, Mapping):
            yield from _faults(known, entry, f"{path}.{field}" if path else field)
    for field in schema.get("required") or ():
        if field not in value:
            place = f"{path}.{field}" if path else field
            yield Cause(reason="FieldValueRequired", field=place, message="Required value")


def _list_faults(schema: Schema, value: list[Any], path: str) -> Iterator[Cause]:
    if len(value) > schema.get("maxItems", len(value)):
        said = f"Too many: {len(value)}: must have at most {schema['maxItems']} items"
        yield Cause(reason="FieldValueTooMany", field=path, message=said)
    if len(value) < schema.get("minItems", 0):
        yield _invalid(path, len(value), f"should have at least {schema['minItems']} items")
    for index, entry in enumerate(value):
        yield from _faults(schema.get("items") or {}, entry, f"{path}[{index}]")


def _combined_faults(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    def fitting(choices: list[Schema]) -> int:
        return sum(1 for choice in choices if not any(_faults(choice, value, path)))

    for choice in schema.get("allOf") or ():
        yield from _faults(choice, value, path)
    if schema.get("anyOf") and not fitting(schema["anyOf"]):
        yield _nowhere(path, "must validate at least one schema (anyOf)")
    if schema.get("oneOf") and (count := fitting(schema["oneOf"])) != 1:
        found = f"Found {count} valid alternatives" if count else "Found none valid"
        yield _nowhere(path, f"must validate one and only one schema (oneOf). {found}")
    if schema.get("not") and not any(_faults(schema["not"], value, path)):
        yield _nowhere(path, "must not validate the schema (not)")


def _invalid(path: str, value: object, said: str) -> Cause:
    return Cause(field=path, message=f"Invalid value: {_shown(value)}: {path} in body {said}")


def _nowhere(path: str, said: str) -> Cause:
    # The server has no field to name here and says so.
    return Cause(field="<nil>", message=f'Invalid value: "": "{path}" {said}')


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _shown(value: object) -> str:
    return msgspec.json.encode(value).decode()
