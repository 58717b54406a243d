"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902) on plain data, as the API server applies them.

Where the server's library departs from the RFC, so does this: `replace` of an absent key adds it, `copy` of an absent key
writes null, an index may count from the end, and nulls inside the objects of a new list are dropped. The caller's data is
never changed, and the result shares nothing with it.
What may be changed on an object (identity, resourceVersion) is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from skoupa.kube.selectors import quoted

MAX_OPERATIONS: Final = 10_000
_INDEX = re.compile(r"[+-]?[0-9]+")


class PatchRefused(Exception):
    """The server's answer to a patch it can't apply; `detail` is what it keeps to itself."""

    def __init__(self, code: int, reason: str, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.detail = detail


def merge_patch(target: Mapping[str, Any], patch: Any) -> dict[str, Any]:
    if not isinstance(patch, Mapping):
        if patch is None:
            raise PatchRefused(400, "BadRequest", "Invalid JSON Patch")
        raise _undecodable(f"{_go_kind(patch)} into Go value of type map[string]interface {{}}")
    merged: dict[str, Any] = copied(target)
    _merge(merged, patch)
    return merged


def json_patch(target: Mapping[str, Any], operations: Any) -> dict[str, Any]:
    checked = _operations(operations)
    root: dict[str, Any] = {"": copied(target)}
    for operation in checked:
        try:
            _apply(root, operation)
        except LookupError as fault:
            message = "the server rejected our request due to an error in our request"
            raise PatchRefused(422, "Invalid", message, detail=str(fault.args[0])) from fault
    patched = root[""]
    if not isinstance(patched, dict):
        raise PatchRefused(422, "Invalid", _not_an_object(patched))
    return patched


def copied(value: Any) -> Any:
    """A copy of JSON data that shares nothing with it."""
    if isinstance(value, Mapping):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def _merge(target: dict[str, Any], patch: Mapping[str, Any]) -> None:
    for key, change in patch.items():
        if change is None:
            target.pop(key, None)
            continue
        here = target.get(key)
        if not isinstance(here, dict):
            target[key] = _without_nulls(change)
        elif isinstance(change, Mapping):
            _merge(here, change)
        else:
            target[key] = copied(change)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _operations(operations: Any) -> Sequence[Mapping[str, Any]]:
    if operations is None:
        return ()
    if not isinstance(operations, list):
        raise _undecodable(f"{_go_kind(operations)} into Go value of type []handlers.jsonPatchOp")
    for operation in operations:
        if operation is None:
            continue
        if not isinstance(operation, Mapping):
            raise _undecodable(f"{_go_kind(operation)} into Go value of type handlers.jsonPatchOp")
        for field in ("op", "path", "from"):
            value = operation.get(field)
            if value is not None and not isinstance(value, str):
                raise _undecodable(
                    f"{_go_kind(value)} into Go struct field jsonPatchOp.{field} of type string"
                )
    if len(operations) > MAX_OPERATIONS:
        raise PatchRefused(
            413,
            "RequestEntityTooLarge",
            f"Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}",
        )
    return [operation or {} for operation in operations]


def _apply(root: dict[str, Any], operation: Mapping[str, Any]) -> None:
    """One operation on the document at `root[""]`; a LookupError says why it does not apply."""
    kind, path, value = operation.get("op"), operation.get("path"), operation.get("value")
    if path is None and kind in ("add", "remove", "replace", "move", "test", "copy"):
        raise LookupError(f"{kind} operation has no path")
    match kind:
        case "add":
            _add(*_place(root, path), copied(value))
        case "remove":
            _remove(*_place(root, path))
        case "replace" if path == "" and isinstance(value, dict | list):
            root[""] = copied(value)
        case "replace":
            _replace(*_place(root, path), copied(value))
        case "move":
            container, key = _place(root, operation.get("from"))
            moved = _read(container, key)
            _remove(container, key)
            _add(*_place(root, path), moved)
        case "copy":
            moved = copied(_read(*_place(root, operation.get("from"))))
            _add(*_place(root, path), moved)
        case "test":
            here = root[""] if path == "" else _read(*_place(root, path))
            if not _same(here, value):
                raise LookupError(f"testing value {path} failed")
        case _:
            raise LookupError(f"Unexpected kind: {kind or 'unknown'}")


def _place(root: dict[str, Any], path: Any) -> tuple[Any, str]:
    """The object or list that holds what the pointer names, and its key there."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in (path or "").split("/")[1:]]
    if not steps:
        raise LookupError(f"doc is missing path: {path!r}")
    container = root[""]
    for step in steps[:-1]:
        container = _read(container, step)
    return container, steps[-1]


def _read(container: Any, key: str) -> Any:
    match container:
        case dict():
            return container.get(key)
        case list():
            return container[_index(key, len(container))]
        case _:
            raise LookupError(f"doc is missing what holds {key!r}")


def _replace(container: Any, key: str, value: Any) -> None:
    _read(container, key)
    container[key if isinstance(container, dict) else _index(key, len(container))] = value


def _add(container: Any, key: str, value: Any) -> None:
    match container:
        case dict():
            container[key] = value
        case list():
            container.insert(len(container) if key == "-" else _index(key, len(container) + 1), value)
        case _:
            raise LookupError(f"doc is missing what holds {key!r}")


def _remove(container: Any, key: str) -> None:
    match container:
        case dict() if key in container:
            del container[key]
        case list():
            del container[_index(key, len(container))]
        case _:
            raise LookupError(f"Unable to remove nonexistent key: {key}")


def _index(key: str, size: int) -> int:
    if not _INDEX.fullmatch(key):
        raise LookupError(f"{key!r} is not an index")
    index = int(key)
    if not -size <= index < size:
        raise LookupError(f"Unable to access invalid index: {key}")
    return index + size if index < 0 else index


def _same(one: Any, other: Any) -> bool:
    """Equality of JSON: a number is not a boolean, and 1 is not 1.0 for the server either."""
    if isinstance(one, dict) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and bool(one == other)


def _undecodable(what: str) -> PatchRefused:
    return PatchRefused(400, "BadRequest", f"error decoding patch: json: cannot unmarshal {what}")


def _not_an_object(patched: Any) -> str:
    fields = ("APIVersion", "apiVersion"), ("Kind", "kind")
    tags = "; ".join(f'{field} string "json:\\"{name},omitempty\\""' for field, name in fields)
    return (
        f' "" is invalid: patch: Invalid value: {quoted(msgspec.json.encode(patched).decode())}: couldn\'t get '
        f"version/kind; json parse error: json: cannot unmarshal array into Go value of type struct {{ {tags} }}"
    )


def _go_kind(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
