"""What the engine can't do by itself, rewritten in the tree of a checked expression to what it can.

Variables of the policy are bound around the expression, so that each is worked out when it is first reached and only
once, even in a loop. Functions that answer an optional answer a list of none or one, of which the first is taken.
Conversions between texts and values, which the engine does in its own way, are done in that of cel-go; so is has() on what
has no fields, which is no error there.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from skoupa.expr.cel import syntax
from skoupa.expr.cel.library import conversions, formatting, lists, texts
from skoupa.expr.cel.library.shelf import OPTIONAL, TYPED, VARIABLE, typed
from skoupa.expr.cel.looking import OBJECT, PREFIX, is_plain_path

# Names that no expression can write.
_BOUND: Final = "@variable_"
_HELD: Final = "@held_"
# What the engine writes as cel-go does.
_WRITTEN_ALIKE: Final = frozenset({"int", "uint", "bool", "string", "bytes"})
_SCALARS: Final = _WRITTEN_ALIKE | {"double", "timestamp", "duration"}
_DURATION: Final = "google.protobuf.Duration"
_FLAT: Final = (
    *("null_type", "string", "int", "double", "bool", "uint", "bytes"),
    *(_DURATION, "google.protobuf.Timestamp"),
)


def lowered(checked: syntax.Checked) -> syntax.Checked:
    variables: dict[str, str] = {}
    reads = conversions.IN_UTC if _writes_moments(checked) else {}

    def change(node: syntax.Node, original: syntax.Node) -> syntax.Node:
        if node.is_ident and node.name.startswith(PREFIX):
            name = node.name.removeprefix(PREFIX)
            kind = checked.type_of(node)
            variables[name] = typed(VARIABLE, kind) if kind in TYPED else VARIABLE
            return syntax.ident(_BOUND + name)
        if node.is_call and node.name == "orValue" and len(node.arguments) == 2:
            # On a plain field Kyverno lets it stand for the field itself.
            plain = is_plain_path(node.arguments[0]) and checked.type_of(node.arguments[0]) == "dyn"
            return node.arguments[0] if plain else node
        if node.is_call and node.name in OPTIONAL:
            return syntax.call("first", on=node)
        if node.is_call and node.name in lists.TYPED.get(checked.type_of(node), ()):
            return syntax.call(typed(node.name, checked.type_of(node)), on=node.arguments[0])
        if node.asks_presence and checked.type_of(original.arguments[0]) == "dyn":
            return _present(node)
        if node.is_call and len(node.arguments) in {1, 2, 3}:
            return _converted(node, of=checked.type_of(original.arguments[0]), reads=reads)
        return node

    found = syntax.rewritten(checked, change)
    for name, function in variables.items():
        found.root = syntax.bind(_BOUND + name, syntax.call(function, syntax.string(name)), found.root)
    return found


def converting(
    conversion: str, text: syntax.Node, reads: Mapping[str, str] = MappingProxyType({})
) -> syntax.Node:
    """A conversion of what is known to be a text; `reads` names functions that read it in another way."""
    if conversion in reads:
        return syntax.call(conversion, syntax.call(reads[conversion], text))
    if text.text is not None:
        # Once, not for every object; what can't be read is an error when it is reached, as for any other text.
        with contextlib.suppress(ValueError):
            return syntax.call(conversion, syntax.string(conversions.READS[conversion](text.text)))
    return syntax.call(conversion, syntax.call(conversions.reading(conversion), text))


def _writes_moments(checked: syntax.Checked) -> bool:
    """Whether timestamps become texts: the engine has forgotten by then which offset they were written with."""
    writing = [node for node in checked.walk() if node.is_call and node.name in {"string", "format"}]
    return any(
        checked.type_of(inner) == "timestamp"
        for node in writing
        for inner in node.within()
        if inner is not node
    )


def _converted(node: syntax.Node, *, of: str, reads: Mapping[str, str]) -> syntax.Node:
    """`of` is the type of what is converted; where it is none of those known it is seen when the time comes."""
    value, *more = node.arguments
    if node.name == "format" and len(more) == 1:
        return syntax.call(formatting.FORMATTED, value, *more)
    if node.name == "substring" and len(more) == 2:
        return syntax.call(texts.BETWEEN, value, *more)
    if more:
        return node
    if node.name == "string" and of not in _WRITTEN_ALIKE and (of in _SCALARS or not _abstract(of)):
        text = syntax.call("string", _held(node))
        return _holding(node, value, syntax.call(conversions.WRITTEN, _held(node), text))
    if node.name == "int" and of == "duration":
        return _nanoseconds(value)
    if node.name == "getMilliseconds" and of != "timestamp":
        return _all_milliseconds(node, value, certain=of == "duration")
    if node.name not in conversions.READS or (of in _SCALARS and of != "string"):
        return node
    if of == "string" or node.name == "base64.decode":
        return converting(node.name, value, reads)
    chosen = syntax.call(
        "_?_:_",
        _is(_held(node), "string"),
        converting(node.name, _held(node), reads),
        syntax.call(node.name, _held(node)),
    )
    if node.name == "int":
        # To the engine they are 0 and 1.
        chosen = syntax.call("_?_:_", _is(_held(node), "bool"), converting("int", syntax.string("")), chosen)
        chosen = syntax.call("_?_:_", _is(_held(node), _DURATION), _nanoseconds(_held(node)), chosen)
    return _holding(node, value, chosen)


def _nanoseconds(duration: syntax.Node) -> syntax.Node:
    return syntax.call("int", syntax.call(conversions.NANOSECONDS, syntax.call("string", duration)))


def _present(node: syntax.Node) -> syntax.Node:
    """False where there are no fields at all; of a list, and of what is not there itself, it is an error as ever."""
    value = node.arguments[0]
    if value.is_ident and value.name == OBJECT:
        return node
    asked = _asked_of_held(node)
    flat = functools.reduce(
        lambda one, other: syntax.call("_||_", one, other), (_is(_held(node), kind) for kind in _FLAT)
    )
    otherwise = syntax.call("_&&_", syntax.call("!_", flat), _asked_of_held(node))
    return _holding(node, value, syntax.call("_?_:_", _is(_held(node), "map"), asked, otherwise))


def _asked_of_held(node: syntax.Node) -> syntax.Node:
    fields = [
        (number, form, _held(node) if isinstance(value, syntax.Node) else value)
        for number, form, value in node.fields
    ]
    return syntax.Node(0, node.kind, fields)


def _all_milliseconds(node: syntax.Node, value: syntax.Node, *, certain: bool) -> syntax.Node:
    """Of a duration: the engine answers those that make no whole second."""
    seconds = syntax.call("_*_", syntax.call("getSeconds", on=_held(node)), syntax.integer(1000))
    found = syntax.call("_+_", seconds, syntax.call("getMilliseconds", on=_held(node)))
    if not certain:
        of_timestamp = syntax.call("getMilliseconds", on=_held(node))
        found = syntax.call("_?_:_", _is(_held(node), _DURATION), found, of_timestamp)
    return _holding(node, value, found)


def _is(value: syntax.Node, kind: str) -> syntax.Node:
    return syntax.call("_==_", syntax.call("type", value), syntax.ident(kind))


def _held(node: syntax.Node) -> syntax.Node:
    """What a call is made on, once it is held; a node of its own wherever it stands."""
    return syntax.ident(f"{_HELD}{node.id}")


def _holding(node: syntax.Node, value: syntax.Node, body: syntax.Node) -> syntax.Node:
    return syntax.bind(f"{_HELD}{node.id}", value, body)


def _abstract(kind: str) -> bool:
    """A type of ours, whose `string` is a function of ours, too."""
    return "." in kind
