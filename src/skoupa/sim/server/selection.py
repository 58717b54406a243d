"""Field selectors as the API server reads them, compiled to predicates.

What the server accepts is accepted and what it refuses is refused with its words: a `ValueError` here is the message of
a 400. Which fields of a kind can be selected is in `selectable`; label selectors are in `skoupa.kube.selectors`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from skoupa.kube.resources import Resource
from skoupa.sim.server.selectable import Reader, readers, refusal


class FieldTerm(msgspec.Struct, frozen=True):
    field: str
    equal: bool
    value: str
    read: Reader


class FieldSelector(msgspec.Struct, frozen=True):
    """`name` and `namespace` are set when the selector asks for exactly one of them."""

    terms: tuple[FieldTerm, ...] = ()
    name: str | None = None
    namespace: str | None = None

    def matches(self, obj: Mapping[str, Any]) -> bool:
        return all((term.read(obj) == term.value) is term.equal for term in self.terms)


def parse_fields(text: str, *, resource: Resource, selectable: Sequence[str] = ()) -> FieldSelector:
    """`selectable` are the JSON paths that a custom kind's definition names, such as `.spec.color`."""
    terms = []
    for part in sorted(re.findall(r"(?:\\.|[^,\\]|\\\Z)+", text, re.DOTALL)):
        operator = re.search("!=|==|=", part)
        if operator is None:
            raise ValueError(f"invalid selector: '{text}'; can't understand '{part}'")
        field, value = part[: operator.start()], _unescaped(part[operator.end() :])
        if field or value:
            terms.append((field, operator[0] != "!=", value))
    fields = readers(resource, selectable)
    compiled = []
    for field, equal, value in terms:
        read = fields.get(field)
        if read is None:
            raise ValueError(refusal(field, resource))
        compiled.append(FieldTerm(field, equal, value, read))
    exact = {term.field: term.value for term in reversed(compiled) if term.equal}
    return FieldSelector(
        tuple(compiled), name=exact.get("metadata.name"), namespace=exact.get("metadata.namespace")
    )


def _unescaped(value: str) -> str:
    """A field's value without its backslashes, which may stand before a backslash, a comma and an equals sign only."""
    parts = []
    at = 0
    while at < len(value):
        char = value[at]
        if char in ",=":
            # The server prints the number of the character here, not the character.
            raise ValueError(f"invalid field selector: unescaped character in value: {ord(char)}")
        if char == "\\":
            at += 1
            char = value[at : at + 1]
            if char not in ("\\", ",", "="):
                raise ValueError(f"invalid field selector: invalid escape sequence: \\{char}")
        parts.append(char)
        at += 1
    return "".join(parts)
