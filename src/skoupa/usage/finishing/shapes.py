"""Types that hold what a rule of finishing reads of an object, and nothing else; made from its paths.

Whatever the server sends fits into them: where an object was expected and a text or a list stands, that is what is decoded, so
that one strange object never costs the page it came with. Who walks such a value finds out, and says where.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from skoupa.kube.objects import Metadata
from skoupa.usage.paths import Every, Path, parsed, written

_SCALARS: Final = str | int | float | bool | None


class OtherShape(Exception):
    """Something else stands where a rule expects a text, a list or an object. Always caught in this room."""


def other_shape(path: Path, found: Any, expected: str) -> OtherShape:
    words = {str: "a text", bool: "true or false", int: "a number", float: "a number", list: "a list"}
    if found is None:
        return OtherShape(f"{written(path)} is missing: it should be {expected}")
    return OtherShape(f"{written(path)} is {words.get(type(found), 'an object')}, not {expected}")


def shape_of(name: str, paths: Iterable[str]) -> type[msgspec.Struct]:
    """The type of an object of which only its metadata and these paths are read."""
    tree: dict[Any, Any] = {}
    for path in paths:
        node = tree
        for step in parsed(path):
            node = node.setdefault(step, {})
    tree.pop("metadata", None)
    fields = [(_attribute(field), _type(f"{name}_{field}", below), None) for field, below in tree.items()]
    return msgspec.defstruct(
        name,
        [("metadata", Metadata), *fields],
        rename={_attribute(field): field for field in tree},
        frozen=True,
        gc=False,
        kw_only=True,
    )


def values(root: Any, path: Path) -> Iterator[Any]:
    """What stands at a path; nothing where there is nothing. An item of a list without it is None."""
    return _values(root, path, 0)


def every_value(root: Any, path: str) -> list[Any]:
    return list(values(root, parsed(path)))


def every_record(root: Any, path: str, fields: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Of each object at a path these fields."""
    steps = parsed(path)
    attributes = [(field, _attribute(field)) for field in fields]
    for item in values(root, steps):
        if not isinstance(item, msgspec.Struct):
            raise other_shape(steps, item, "an object")
        yield {field: getattr(item, attribute) for field, attribute in attributes}


def first_text(root: Any, path: str) -> str | None:
    """The one text at a path."""
    steps = parsed(path)
    for value in values(root, steps):
        if value is not None and not isinstance(value, str):
            raise other_shape(steps, value, "a text")
        return value
    return None


def _values(node: Any, path: Path, at: int) -> Iterator[Any]:
    if at == len(path):
        yield node
        return
    if node is None:
        # An item that lacks something has to be seen to lack it; of what is not there at all there is nothing.
        if any(step is Every.ITEM for step in path[:at]):
            yield None
        return
    step = path[at]
    if step is Every.ITEM:
        if not isinstance(node, list):
            raise other_shape(path[:at], node, "a list")
        for item in node:
            yield from _values(item, path, at + 1)
    elif isinstance(node, msgspec.Struct):
        yield from _values(getattr(node, _attribute(str(step))), path, at + 1)
    else:
        raise other_shape(path[:at], node, "an object")


def _type(name: str, below: dict[Any, Any]) -> Any:
    if not below:
        return Any
    if Every.ITEM in below:
        if len(below) > 1:
            raise ValueError(f"{name}: some rules take this for a list and some for an object")
        item = _type(f"{name}_item", below[Every.ITEM])
        return list[item] | dict[str, Any] | _SCALARS  # type: ignore[valid-type]
    fields = [(_attribute(field), _type(f"{name}_{field}", more), None) for field, more in below.items()]
    made = msgspec.defstruct(
        name,
        fields,
        rename={_attribute(field): field for field in below},
        frozen=True,
        gc=False,
        kw_only=True,
    )
    return made | list[Any] | _SCALARS


def _attribute(field: str) -> str:
    """Never a word of Python, nor a method of a Struct."""
    return f"{field}_"
