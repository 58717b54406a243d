"""Types made from the tables, and how a value of them is walked.

Each node of the tree becomes a Struct with the fields that some rule names, so that all else in an object is skipped while
it is decoded. A value that is not what the rules expect fails to decode here and is read once more by `loose.py`:
nothing is guessed from half of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec.structs import astuple

from skoupa.usage.applying.findings import Findings
from skoupa.usage.applying.layout import Anchored, Sort, Want
from skoupa.usage.applying.selecting import Selector
from skoupa.usage.applying.tree import Node

Walk = Callable[[Any, Findings], None]

ENDS: Final[dict[Sort | None, Any]] = {
    Sort.TEXT: str,
    Sort.TEXTS: list[str | None],
    Sort.LABELS: dict[str, str],
    Sort.SELECTOR: Selector,
}


def attribute(field: str) -> str:
    """The name in Python of a field of the object."""
    if field.isidentifier():
        return f"at_{field}"
    return "at_" + "".join(char if char.isalnum() else f"_{ord(char):x}_" for char in field)


def type_of(node: Node) -> Any:
    """The type that a value at this node is decoded into; null is the same as nothing everywhere."""
    if node.items is not None:
        return list[type_of(node.items) | None]  # type: ignore[misc]
    if node.values is not None:
        return dict[str, type_of(node.values) | None]  # type: ignore[misc]
    if node.keys is not None:
        # Only its keys are read, whatever the values are.
        return dict[str, msgspec.Raw]
    if node.sort in ENDS:
        return ENDS[node.sort]
    return _struct(tuple((field, type_of(child)) for field, child in node.fields.items()))


@cache
def _struct(fields: tuple[tuple[str, Any], ...]) -> Any:
    """Containers and volumes are everywhere the same: a type is made once, since making them is what takes time."""
    return msgspec.defstruct(
        f"Read_{'_'.join(attribute(field) for field, _ in fields[:3])}",
        [(attribute(field), kind | None, msgspec.field(default=None, name=field)) for field, kind in fields],
        frozen=True,
        gc=False,
    )


def walk_of(node: Node) -> Walk:
    """A function that walks a value of `type_of(node)`."""
    if node.items is not None:
        return _over_items(walk_of(node.items))
    if node.values is not None:
        return _over_values(walk_of(node.values))
    if node.keys is not None:
        return _over_items(walk_of(node.keys))
    if node.sort in ENDS:
        return _at_end(node)
    return _through_fields(node)


def _over_items(each: Walk) -> Walk:
    def walk(value: Any, findings: Findings) -> None:
        for item in value:
            if item is not None:
                each(item, findings)

    return walk


def _over_values(each: Walk) -> Walk:
    def walk(value: Any, findings: Findings) -> None:
        for item in value.values():
            if item is not None:
                each(item, findings)

    return walk


def _at_end(node: Node) -> Walk:
    return _all_of([rule.emit for rule in node.rules])


def _all_of(walks: list[Walk]) -> Walk:
    if len(walks) == 1:
        return walks[0]

    def walk(value: Any, findings: Findings) -> None:
        for one in walks:
            one(value, findings)

    return walk


def _through_fields(node: Node) -> Walk:
    """A step to a field is the same as a rule about one field: what is there is handed on."""
    to_fields: dict[str, list[Walk]] = {field: [] for field in node.fields}
    for rule in node.rules:
        if _is_about_one_field(rule):
            to_fields[rule.wants[0].path[0]].append(rule.emit)
    for field, child in node.fields.items():
        if child.walked:
            to_fields[field].append(walk_of(child))
    others = [(_getter(rule), rule.emit) for rule in node.rules if not _is_about_one_field(rule)]
    walks = [_all_of(walks) for walks in to_fields.values()]
    only = [(attribute(field), _all_of(walks)) for field, walks in to_fields.items() if walks]
    to_them = _to_one(*only[0]) if len(only) == 1 else _to_some(walks)
    if not others:
        return to_them

    def walk_all(value: Any, findings: Findings) -> None:
        for getter, emit in others:
            emit(getter(value), findings)
        to_them(value, findings)

    return walk_all


def _to_one(name: str, walk_on: Walk) -> Walk:
    getter = attrgetter(name)

    def walk(value: Any, findings: Findings) -> None:
        found = getter(value)
        if found is not None:
            walk_on(found, findings)

    return walk


def _to_some(walks: list[Walk]) -> Walk:
    """In the order of the fields. Of the many that a volume may have most are not there: to look must cost next to nothing."""

    def walk(value: Any, findings: Findings) -> None:
        for found, walk_on in zip(astuple(value), walks):  # noqa: B905 - a tenth of all time to have it checked
            if found is not None:
                walk_on(found, findings)

    return walk


def _is_about_one_field(rule: Anchored) -> bool:
    """As the most frequent rules by far are."""
    return len(rule.wants) == 1 and len(rule.wants[0].path) == 1 and not rule.always


def _getter(rule: Anchored) -> Callable[[Any], Any]:
    """What a rule wants of the object that it is anchored at."""
    if all(len(want.path) == 1 for want in rule.wants):
        return attrgetter(*(attribute(want.path[0]) for want in rule.wants))
    getters = [_deep_getter(want) for want in rule.wants]
    if len(getters) == 1:
        return getters[0]
    return lambda value: tuple(getter(value) for getter in getters)


def _deep_getter(want: Want) -> Callable[[Any], Any]:
    names = [attribute(field) for field in want.path]

    def one(value: Any, name: str) -> Any:
        return None if value is None else getattr(value, name)

    return lambda value: reduce(one, names, value)
