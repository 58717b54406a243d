"""Text to documents: YAML and JSON as kubectl reads them, as plain data that JSON has a form for.

A time stays text, `12:30` is no number, `0644` is octal, keys are text, and a key that is there twice is a mistake.
Every fault is a `ManifestError` with file, document and line; what a document means is not looked at.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import yaml
from yaml.constructor import ConstructorError

from skoupa.errors import ManifestError

if TYPE_CHECKING:
    from yaml import SafeLoader
else:
    SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

DEEPEST: Final = 200
_TAG: Final = "tag:yaml.org,2002:"
_TRUE: Final = ("y", "yes", "true", "on")
_LONGEST_WHOLE: Final = len(str(-(2**63)))
_LONGEST_SHOWN: Final = 40
_HALVES: Final = re.compile(r"\\u[dD][89a-fA-F]")


class Malformed(Exception):
    """What is wrong with a document, before it is known which document it is."""


def documents(text: str, *, file: str) -> Iterator[tuple[int, Any]]:
    """The documents with their numbers, from 1; an empty one is None."""
    if text.lstrip().startswith("{"):
        # JSON first: it is read many times faster than the YAML that it also is.
        try:
            found = list(_json_documents(text))
        except json.JSONDecodeError as fault:
            if file.endswith(".json"):
                raise ManifestError(f"is not JSON: {fault}", file=file) from fault
        except (Malformed, RecursionError) as fault:
            raise ManifestError(_reason(fault), file=file) from fault
        else:
            yield from enumerate(found, 1)
            return
    yield from _yaml_documents(text, file=file)


def _yaml_documents(text: str, *, file: str) -> Iterator[tuple[int, Any]]:
    number = 0
    try:
        for document in yaml.load_all(text, Loader=_Loader):
            number += 1
            if "&" in text:
                _check_aliases(document, limit=20 * len(text) + 10_000)
            yield number, document
    except (yaml.YAMLError, RecursionError) as fault:
        raise ManifestError(_reason(fault), file=file, document=number + 1) from fault
    except Malformed as fault:
        raise ManifestError(_reason(fault), file=file, document=number) from fault


def _reason(fault: Exception) -> str:
    if isinstance(fault, RecursionError):
        return "is nested too deeply"
    if isinstance(fault, yaml.MarkedYAMLError):
        line = f"line {fault.problem_mark.line + 1}: " if fault.problem_mark else ""
        return f"{line}{fault.problem or fault.context}"
    return str(fault).splitlines()[0]


def _json_documents(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(
        object_pairs_hook=_unique,
        parse_constant=_no_number,
        parse_float=_finite_number,
        parse_int=_whole_number,
    )
    space, halves = re.compile(r"\s*"), _HALVES.search(text) is not None
    at = 0
    while (at := _end(space, text, at)) < len(text):
        document, at = decoder.raw_decode(text, at)
        if halves:
            _check_characters(document)
        yield document


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        raise Malformed(f'the key "{next(key for key in keys if keys.count(key) > 1)}" is there twice')
    return mapping


def _no_number(name: str) -> Any:
    raise Malformed(f"{name} is not a number that JSON has")


def _finite_number(text: str) -> float:
    found = float(text)
    if not math.isfinite(found):
        _no_number(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}...")
    return found


def _whole_number(text: str) -> float:
    """As in YAML: beyond 64 bits it is a number like those with a fraction."""
    whole = int(text) if len(text) <= _LONGEST_WHOLE else None
    return whole if whole is not None and -(2**63) <= whole < 2**64 else _finite_number(text)


def _check_characters(document: Any) -> None:
    """An escape for one half of a character, without the other, is text that nobody can send."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError as fault:
        raise Malformed("has half a character in it (\\ud...): write the character itself") from fault


def _check_aliases(document: Any, *, limit: int) -> None:
    """Refuses aliases that blow up: a text of a few lines can stand for more than any memory holds."""
    waiting, seen = [document], 0
    while waiting:
        value = waiting.pop()
        seen += 1
        if seen > limit:
            raise Malformed("its aliases stand for too much")
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


class _Loader(SafeLoader):
    """Knows no tags but those of JSON; its tables of scalars and constructors are filled below.

    PyYAML asks the resolver at every step down and up. That is the one place to stop endless nesting: the C loader
    follows it until the stack overflows and the process dies.
    """

    depth = 0

    def descend_resolver(self, current_node: yaml.Node | None, current_index: Any) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise RecursionError
        super().descend_resolver(current_node, current_index)

    def ascend_resolver(self) -> None:
        self.depth -= 1
        super().ascend_resolver()


_Loader.yaml_implicit_resolvers = {}
_Loader.yaml_constructors = {}


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    seen: set[str] = set()
    for key, _ in node.value:
        if key.tag != f"{_TAG}merge":
            name = _key(loader, key)
            if name in seen:
                raise ConstructorError(None, None, f'the key "{name}" is there twice', key.start_mark)
            seen.add(name)
    loader.flatten_mapping(node)
    return {_key(loader, key): loader.construct_object(value, deep=True) for key, value in node.value}


def _key(loader: _Loader, node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode) or node.tag == f"{_TAG}null":
        raise ConstructorError(None, None, "a key has to be text", node.start_mark)
    if node.tag in (f"{_TAG}str", f"{_TAG}merge"):
        return str(node.value)
    return json.dumps(loader.construct_object(node)).strip('"').removesuffix(".0")


def _sequence(loader: _Loader, node: yaml.SequenceNode) -> list[Any]:
    return [loader.construct_object(item, deep=True) for item in node.value]


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int | float | str:
    text = node.value.replace("_", "")
    octal = re.fullmatch(r"([+-]?)0([0-7]+)", text)
    try:
        whole = int(f"{octal[1]}0o{octal[2]}" if octal else text, 0)
    except ValueError:
        return _real(loader, node)
    return whole if -(2**63) <= whole < 2**64 else _real(loader, node)


def _real(_: _Loader, node: yaml.ScalarNode) -> float | str:
    try:
        real = float(node.value.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError as fault:
        raise ConstructorError(None, None, f"{node.value} is not a number", node.start_mark) from fault
    if math.isinf(real) and "inf" not in node.value.lower():
        return str(node.value)
    if not math.isfinite(real):
        raise ConstructorError(None, None, f"{node.value} is not a number that JSON has", node.start_mark)
    return real


def _unknown(_: _Loader, node: yaml.Node) -> Any:
    raise ConstructorError(
        None, None, f"the tag {node.tag.replace(_TAG, '!!')} has no form in JSON", node.start_mark
    )


_CONSTRUCTORS: Final[dict[str, Callable[..., Any]]] = {
    "map": _mapping,
    "seq": _sequence,
    "str": lambda _, node: node.value,
    "merge": lambda _, node: node.value,
    "null": lambda _, __: None,
    "bool": lambda _, node: node.value.lower() in _TRUE,
    "int": _integer,
    "float": _real,
}
for _tag, _construct in _CONSTRUCTORS.items():
    _Loader.add_constructor(f"{_TAG}{_tag}", _construct)
_Loader.add_constructor(None, _unknown)

for _tag, _pattern, _first in (
    ("bool", "y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON", "yYtToO"),
    ("bool", "n|N|no|No|NO|false|False|FALSE|off|Off|OFF", "nNfFoO"),
    ("null", "~|null|Null|NULL|", ("~", "n", "N", "")),
    ("int", r"[-+]?(0|[1-9][0-9_]*|0[bB][01_]+|0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+)", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?", "-+0123456789."),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+."),
    ("merge", "<<", "<"),
):
    _Loader.add_implicit_resolver(f"{_TAG}{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))
