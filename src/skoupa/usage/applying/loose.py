"""The same rules over plain values, which may be anything.

This is how an object is read that does not fit its types, and a manifest in a file. What is understood counts; what is not
becomes a doubt that names the place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from skoupa.usage.applying.findings import Findings
from skoupa.usage.applying.layout import Anchored, Sort, Want
from skoupa.usage.applying.tree import Node
from skoupa.usage.applying.typed import ENDS
from skoupa.usage.paths import written

_CALLED: Final = {
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


def walk(node: Node, value: Any, findings: Findings) -> None:
    """`value` is what stands at this node."""
    if value is None:
        return
    many = node.items or node.values or node.keys
    if many is not None:
        if _is(value, list if node.items is not None else dict, node.shown, findings):
            for one in value.values() if node.values is not None else value:
                walk(many, one, findings)
    elif node.sort is not None and node.sort in ENDS:
        end = _end(value, node.sort, node.shown, findings)
        if end is not None:
            for rule in node.rules:
                rule.emit(end, findings)
    elif _is(value, dict, node.shown, findings):
        _through_fields(node, value, findings)


def _through_fields(node: Node, value: Mapping[str, Any], findings: Findings) -> None:
    for rule in node.rules:
        _emit(rule, value, findings)
    for field, child in node.fields.items():
        if child.walked and field in value:
            walk(child, value[field], findings)


def _emit(rule: Anchored, value: Mapping[str, Any], findings: Findings) -> None:
    found = tuple(_wanted(rule, want, value, findings) for want in rule.wants)
    if rule.always or any(one is not None for one in found):
        rule.emit(found if len(found) > 1 else found[0], findings)


def _wanted(rule: Anchored, want: Want, value: Any, findings: Findings) -> Any:
    for index, field in enumerate(want.path):
        if value is None or not _is(value, dict, written((*rule.at, *want.path[:index])), findings):
            return None
        value = value.get(field)
    if value is None:
        return None
    return _end(value, want.sort, written((*rule.at, *want.path)), findings)


def _end(value: Any, sort: Sort, shown: str, findings: Findings) -> Any:
    match sort:
        case Sort.TEXT:
            return value if _is(value, str, shown, findings) else None
        case Sort.PRESENT:
            return value
        case _:
            try:
                return msgspec.convert(value, ENDS[sort])
            except msgspec.ValidationError:
                findings.doubt(f"{shown} is not {sort.value} that anybody could read")
                return None


def _is(value: Any, expected: type, shown: str, findings: Findings) -> bool:
    if isinstance(value, expected):
        return True
    there = _CALLED.get(type(value), "something else")
    findings.doubt(f"{shown} is {there}, where {_CALLED[expected]} is meant")
    return False
