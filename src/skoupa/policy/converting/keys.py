"""The key of a condition (`{{ target.status.phase || '' }}`) as CEL, with what is known of its value.

Paths, defaults, and the functions that cleanup policies use most: ages, lengths, beginnings of texts. Anything else is Unsaid. A path is
asked for as if it were there, so that an object without it stays, as in the original.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec

from skoupa.errors import BadExpression
from skoupa.expr.jmespath.reading import Node, syntax_tree
from skoupa.policy.converting.wording import Unsaid, literal, maybe, select

Sort = Literal["any", "text", "list", "number", "truth", "duration", "time"]

# A variable in quotes within a variable; its value is a text.
_NESTED: Final = re.compile(r"'\{\{-?\s*([^{}'\"]+?)\s*\}\}'")
_OPEN, _CLOSE = "{{", "}}"
_TEXTS: Final = frozenset(
    {
        *(("metadata", part) for part in ("name", "namespace", "uid", "resourceVersion", "generateName")),
        *(("kind",), ("apiVersion",)),
    }
)
_MAPS_OF_TEXTS: Final = frozenset({"labels", "annotations"})
# Lists whose elements are no lists: to flatten them changes nothing.
_FLAT: Final = frozenset(
    {"ownerReferences", "finalizers", "containers", "initContainers", "volumes", "conditions", "subsets"}
)
# Fields that the server checks, or that controllers write.
_TIMES: Final = ("Timestamp", "Time")
_NOW: Final = "time.now()"
_WHOLE_NOW: Final = 'time.truncate(time.now(), duration("1s"))'


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """`cel` fails where the value is not there; `optional`, where there is a default, does not.

    `tame`: no wildcard can stand in it.
    """

    cel: str
    sort: Sort = "any"
    optional: str = ""
    default: Any = msgspec.UNSET
    tame: bool = False


def read_key(written: Any) -> Key:
    if not isinstance(written, str):
        raise Unsaid("its key is no text")
    text = written.strip()
    if not text.startswith(_OPEN) or not text.endswith(_CLOSE):
        raise Unsaid("its key is no single variable")
    inner = _NESTED.sub(r"to_string(\1)", text[len(_OPEN) : -len(_CLOSE)].strip().removeprefix("-"))
    if _OPEN in inner or _CLOSE in inner:
        raise Unsaid("its key has variables within variables, or several")
    try:
        return _key(syntax_tree(inner))
    except BadExpression as error:
        raise Unsaid(f"its key can't be read: {error.reason}") from error


def _key(node: Node) -> Key:
    match node["type"]:
        case "or_expression":
            return _with_default(*node["children"])
        case "function_expression":
            return _function(node["value"], node["children"])
        case "projection":
            return _flattened(node)
        case "field" | "subexpression":
            return _path(_names(node))
        case other:
            raise Unsaid(f"its key uses {_WORDS.get(other, other)}")


def _with_default(left: Node, right: Node) -> Key:
    if right["type"] != "literal":
        raise Unsaid("the default of its key is no literal")
    key = _key(left)
    if not key.optional:
        raise Unsaid("the default of its key belongs to more than a path")
    return msgspec.structs.replace(key, default=right["value"])


def _path(names: list[str]) -> Key:
    root, *rest = names
    if root == "request" and len(rest) == 1:
        root, rest = "target", ["metadata", *rest]
    if root != "target":
        raise Unsaid(f"its key looks at {root}, which only the context or the images of the original bring")
    if not rest:
        raise Unsaid("its key looks at the object as a whole")
    strict, optional = "object", "object"
    for position, name in enumerate(rest):
        strict = select(strict, name)
        # Every object has metadata.
        optional = strict if name == "metadata" and not position else maybe(optional, name)
    if optional == strict:
        raise Unsaid("its key looks at metadata as a whole")
    sort = _sort(rest)
    return Key(cel=strict, sort=sort, optional=optional, tame=sort == "text" and "annotations" not in rest)


def _sort(names: list[str]) -> Sort:
    if tuple(names) in _TEXTS:
        return "text"
    is_label = len(names) == 3 and names[0] == "metadata" and names[1] in _MAPS_OF_TEXTS
    return "text" if is_label else "any"


def _flattened(node: Node) -> Key:
    source, rest = node["children"]
    if source["type"] != "flatten" or rest["type"] != "identity":
        raise Unsaid("its key uses a projection")
    names = _names(source["children"][0])
    if names[-1] not in _FLAT:
        raise Unsaid(f"its key flattens {names[-1]}, of which nobody knows what lists are in it")
    return msgspec.structs.replace(_path(names), sort="list")


def _names(node: Node) -> list[str]:
    if node["type"] == "field":
        return [str(node["value"])]
    if node["type"] != "subexpression":
        raise Unsaid(f"its key uses {_WORDS.get(node['type'], node['type'])}")
    return [name for child in node["children"] for name in _names(child)]


def _function(name: str, arguments: list[Node]) -> Key:
    match name, arguments:
        case "time_since", [layout, start, end] if _text(layout) == "" and _text(end) == "":
            return Key(cel=f"{_NOW} - {_time(start)}", sort="duration")
        case "time_diff", [start, end]:
            return Key(cel=f"{_time(end)} - {_time(start)}", sort="duration")
        case "length", [of]:
            return Key(cel=f"size({_bare(of)})", sort="number", tame=True)
        case "starts_with", [of, {"type": "literal", "value": str() as text}]:
            return Key(cel=f"{_bare(of)}.startsWith({literal(text)})", sort="truth")
        case "ends_with", [of, {"type": "literal", "value": str() as text}]:
            return Key(cel=f"{_bare(of)}.endsWith({literal(text)})", sort="truth")
        case _:
            raise Unsaid(f"its key calls {name}, which has no counterpart here")


def _bare(node: Node) -> str:
    key = _key(node)
    if key.default is not msgspec.UNSET:
        default = key.default
        # The function sees the default for what is empty too, and those are the same only where it is.
        if default not in ("", [], {}) or default is False:
            raise Unsaid("a function of its key has a default that is not empty")
        return f"{key.optional}.orValue({literal(default)})"
    return key.cel


def _time(node: Node) -> str:
    """What is no text must not be read as seconds since 1970, so it is made one first."""
    if node["type"] == "function_expression":
        match node["value"], node["children"]:
            case "time_now" | "time_now_utc", []:
                return _WHOLE_NOW
            case "to_string", [inner]:
                return _time(inner)
            case name, _:
                raise Unsaid(f"its key calls {name}, which has no counterpart here")
    key = _key(node)
    if key.default is not msgspec.UNSET:
        raise Unsaid("a time of its key has a default")
    if not key.cel.endswith(_TIMES):
        # The original refuses some texts that CEL would take for a time.
        raise Unsaid(f"nobody knows whether {key.cel} is a time as Kubernetes writes it")
    return f"timestamp(string({key.cel}))"


def _text(node: Node) -> str | None:
    return node["value"] if node["type"] == "literal" and isinstance(node["value"], str) else None


_WORDS: Final = {
    "index_expression": "an index",
    "index": "an index",
    "filter_projection": "a filter",
    "value_projection": "a projection",
    "pipe": "a pipe",
    "and_expression": "&&",
    "not_expression": "!",
    "comparator": "a comparison",
    "multi_select_list": "a list of its own",
    "multi_select_dict": "a map of its own",
    "slice": "a slice",
    "literal": "a literal",
    "current": "@",
}
