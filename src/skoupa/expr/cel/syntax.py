"""The tree of a checked expression, read from the engine's own serialized form, looked through and rewritten.

The form is cel.expr.CheckedExpr in protocol buffers. Only the parts that hold expressions are taken apart; everything
else is passed through as the bytes it was. Writing back what was read gives an equal tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from skoupa.expr.cel import wire
from skoupa.expr.cel.wire import BYTES, VARINT, Field

# Field numbers of google.protobuf.Any, cel.expr.CheckedExpr and cel.expr.Expr.
_ANY_VALUE: Final = 2
_TYPE_MAP: Final = 3
_CHECKED_EXPR: Final = 4
_SOURCE_INFO: Final = 5
_POSITIONS: Final = 4
_ID: Final = 2
_CONSTANT: Final = 3
_IDENT: Final = 4
_SELECT: Final = 5
_CALL: Final = 6
_LIST: Final = 7
_STRUCT: Final = 8
_COMPREHENSION: Final = 9
_BOOL_CONSTANT: Final = 2
_TEST_ONLY: Final = 3
_INT_CONSTANT: Final = 3
_STRING_CONSTANT: Final = 6
_ENTRIES: Final = 2
# Which fields of each kind of expression are expressions themselves.
_CHILDREN: Final[dict[int, tuple[int, ...]]] = {
    _SELECT: (1,),
    _CALL: (1, 3),
    _LIST: (1,),
    _COMPREHENSION: (2, 4, 5, 6, 7),
}
_ENTRY_CHILDREN: Final = (3, 4)
# Fields and values of cel.expr.Type.
_DYN: Final = 1
_PRIMITIVE: Final = 3
_PRIMITIVES: Final = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}
_WELL_KNOWN: Final = 5
_LIST_TYPE: Final = 6
_ABSTRACT: Final = 14
_TIMES: Final = {2: "timestamp", 3: "duration"}


class Node(msgspec.Struct):
    """One expression: its kind (a field number of Expr), its own fields, and the expressions within, in order."""

    id: int
    kind: int
    fields: list[Field]

    @property
    def is_call(self) -> bool:
        return self.kind == _CALL

    @property
    def name(self) -> str:
        """The name of an identifier, the function of a call, the field of a selection."""
        number = {_IDENT: 1, _CALL: 2, _SELECT: 2}.get(self.kind, 0)
        return next((_text(value) for found, _, value in self.fields if found == number), "")

    @property
    def is_ident(self) -> bool:
        return self.kind == _IDENT

    @property
    def is_select(self) -> bool:
        return self.kind == _SELECT

    @property
    def asks_presence(self) -> bool:
        """Whether it is a has(): a selection that only asks whether the field is there."""
        return self.is_select and any(found == _TEST_ONLY and value for found, _, value in self.fields)

    @property
    def text(self) -> str | None:
        """The value of a string constant."""
        if self.kind != _CONSTANT:
            return None
        return next((_text(value) for found, _, value in self.fields if found == _STRING_CONSTANT), None)

    @property
    def children(self) -> Iterator[Node]:
        for _, _, value in self.fields:
            if isinstance(value, Node):
                yield value
            elif isinstance(value, list):
                yield from (inner for _, _, inner in value if isinstance(inner, Node))

    def within(self) -> Iterator[Node]:
        """Itself and all below it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.children)

    @property
    def arguments(self) -> list[Node]:
        """Of a call: what it is called on first, where it is called on something."""
        return list(self.children)


def ident(name: str) -> Node:
    return Node(0, _IDENT, [(1, BYTES, name.encode())])


def string(text: str) -> Node:
    return Node(0, _CONSTANT, [(_STRING_CONSTANT, BYTES, text.encode())])


def integer(value: int) -> Node:
    return Node(0, _CONSTANT, [(_INT_CONSTANT, VARINT, value)])


def call(function: str, *arguments: Node, on: Node | None = None) -> Node:
    fields: list[Field] = [(1, BYTES, on)] if on is not None else []
    fields.append((2, BYTES, function.encode()))
    return Node(0, _CALL, [*fields, *((3, BYTES, argument) for argument in arguments)])


def bind(name: str, value: Node, body: Node) -> Node:
    """`cel.bind`, as its macro writes it: the engine works the value out when it is first reached, and only once."""
    fields: list[Field] = [
        (1, BYTES, b"#unused"),
        (2, BYTES, Node(0, _LIST, [])),
        (3, BYTES, name.encode()),
        (4, BYTES, value),
        (5, BYTES, Node(0, _CONSTANT, [(_BOOL_CONSTANT, VARINT, 0)])),
        (6, BYTES, ident(name)),
        (7, BYTES, body),
    ]
    return Node(0, _COMPREHENSION, fields)


class Checked(msgspec.Struct):
    """A checked expression: the tree, and the fields around it, which stay as they are."""

    wrapper: list[Field]
    around: list[Field]
    root: Node
    types: dict[int, str]
    # Where expressions begin, by their ids: characters from the start of the text.
    positions: dict[int, int] = {}

    def type_of(self, node: Node) -> str:
        """The checker's type where it is treated specially: dyn, times, uint, those that the engine lacks, lists."""
        return self.types.get(node.id, "")

    def place_of(self, node: Node, text: str) -> tuple[int, int]:
        """Line and column in the text that this was made from, counted from 1."""
        before = text[: self.positions.get(node.id, 0)]
        return before.count("\n") + 1, len(before) - before.rfind("\n")

    def walk(self) -> Iterator[Node]:
        return self.root.within()


def read(serialized: bytes) -> Checked:
    wrapper = wire.fields(serialized)
    inner = next(value for number, _, value in wrapper if number == _ANY_VALUE)
    assert isinstance(inner, bytes)
    around = wire.fields(inner)
    body = next(value for number, _, value in around if number == _CHECKED_EXPR)
    assert isinstance(body, bytes)
    return Checked(wrapper, around, _node(body), _types(around), _positions(around))


def write(checked: Checked) -> bytes:
    """Expressions that are new get ids of their own, also apart from those that were replaced: notes on these remain."""
    newest = max([*checked.types, *(node.id for node in checked.walk())])
    for node in checked.walk():
        if not node.id:
            newest += 1
            node.id = newest
    around = [
        (number, kind, _written(checked.root) if number == _CHECKED_EXPR else value)
        for number, kind, value in checked.around
    ]
    inner = wire.encoded(around)
    return wire.encoded(
        [(number, kind, inner if number == _ANY_VALUE else value) for number, kind, value in checked.wrapper]
    )


def rewritten(checked: Checked, change: Callable[[Node, Node], Node]) -> Checked:
    """Every expression replaced by what `change` makes of it, from the leaves up; new ones have no id yet.

    `change` gets it with all below it replaced, and as it was, which the types are known of.
    """

    def deep(node: Node) -> Node:
        fields: list[Field] = []
        for number, kind, value in node.fields:
            if isinstance(value, Node):
                fields.append((number, kind, deep(value)))
            elif isinstance(value, list):
                entry = [(n, k, deep(v) if isinstance(v, Node) else v) for n, k, v in value]
                fields.append((number, kind, entry))
            else:
                fields.append((number, kind, value))
        return change(Node(node.id, node.kind, fields), node)

    return msgspec.structs.replace(checked, root=deep(checked.root))


def _types(around: list[Field]) -> dict[int, str]:
    found: dict[int, str] = {}
    for number, _, value in around:
        if number == _TYPE_MAP and isinstance(value, bytes):
            identity, kind = 0, b""
            for _, _, inner in wire.fields(value):
                if isinstance(inner, int):
                    identity = inner
                elif isinstance(inner, bytes):
                    kind = inner
            found[identity] = _type_name(kind)
    return found


def _positions(around: list[Field]) -> dict[int, int]:
    source = next((value for number, _, value in around if number == _SOURCE_INFO), b"")
    found: dict[int, int] = {}
    for number, _, value in wire.fields(source) if isinstance(source, bytes) else ():
        if number == _POSITIONS and isinstance(value, bytes):
            pair = {field: inner for field, _, inner in wire.fields(value) if isinstance(inner, int)}
            found[pair.get(1, 0)] = pair.get(2, 0)
    return found


def _type_name(data: bytes) -> str:
    for number, _, value in wire.fields(data):
        if number == _DYN:
            return "dyn"
        if number == _WELL_KNOWN and isinstance(value, int):
            return _TIMES.get(value, "")
        if number == _PRIMITIVE and isinstance(value, int):
            return _PRIMITIVES.get(value, "")
        if number == _ABSTRACT and isinstance(value, bytes):
            return next((_text(inner) for field, _, inner in wire.fields(value) if field == 1), "")
        if number == _LIST_TYPE and isinstance(value, bytes):
            element = next((inner for _, _, inner in wire.fields(value) if isinstance(inner, bytes)), b"")
            return f"list<{_type_name(element)}>"
    return ""


def _node(data: bytes) -> Node:
    identity, kind, body = 0, 0, b""
    for number, _, value in wire.fields(data):
        if number == _ID and isinstance(value, int):
            identity = value
        elif isinstance(value, bytes):
            kind, body = number, value
    fields: list[Field] = []
    for number, form, value in wire.fields(body):
        if isinstance(value, bytes) and number in _CHILDREN.get(kind, ()):
            fields.append((number, form, _node(value)))
        elif isinstance(value, bytes) and kind == _STRUCT and number == _ENTRIES:
            fields.append((number, form, _entry(value)))
        else:
            fields.append((number, form, value))
    return Node(identity, kind, fields)


def _entry(data: bytes) -> list[Field]:
    return [
        (number, form, _node(value) if isinstance(value, bytes) and number in _ENTRY_CHILDREN else value)
        for number, form, value in wire.fields(data)
    ]


def _written(node: Node) -> bytes:
    fields = [
        (number, form, _written(value) if isinstance(value, Node) else _written_entry(value))
        for number, form, value in node.fields
    ]
    return wire.encoded([(_ID, VARINT, node.id), (node.kind, BYTES, wire.encoded(fields))])


def _written_entry(value: object) -> object:
    if not isinstance(value, list):
        return value
    return wire.encoded([(n, w, _written(v) if isinstance(v, Node) else v) for n, w, v in value])


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else ""
