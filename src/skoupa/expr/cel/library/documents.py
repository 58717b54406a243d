"""Kyverno's json, yaml, hash, gzip and transform libraries: texts and bytes into values and back.

Numbers of a parsed document are doubles, as they are in Kyverno. What is unpacked is bounded.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zlib
from typing import Any, Final

from skoupa.expr.cel.library.declaring import function
from skoupa.expr.cel.library.tagged import holds_tagged
from skoupa.expr.jmespath.functions.yamltext import first_document

_LARGEST: Final = 32 * 2**20
_MOST_VALUES: Final = 500_000
_DEEPEST: Final = 100


def unmarshal(text: Any) -> Any:
    if not isinstance(text, str):
        raise ValueError("json.unmarshal takes a string")  # noqa: TRY004 - an error of the expression
    try:
        return whole(json.loads(text, parse_int=float, parse_constant=_no_constant))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is no JSON: {error}") from error


def parse_yaml(text: str) -> Any:
    return whole(doubled(first_document(text)))


def whole(value: Any) -> Any:
    """The value itself; a ValueError where a text in it is not whole."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str) and not is_whole(found):
            raise ValueError("there is a text with a NUL or half a character in it, which can't be looked at")
        if isinstance(found, dict):
            waiting.extend(found)
            waiting.extend(found.values())
        elif isinstance(found, list):
            waiting.extend(found)
    return value


def is_whole(text: str) -> bool:
    """Whether the engine can take it: it cuts at a NUL, and half a surrogate pair is no UTF-8."""
    if "\0" in text:
        return False
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def doubled(value: Any) -> Any:
    """Every number a double. Aliases of YAML are written out here, so what that can make is bounded."""
    left = _MOST_VALUES

    def written_out(found: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0 or depth > _DEEPEST:
            raise ValueError(
                f"a document has at most {_MOST_VALUES:,} values, nested at most {_DEEPEST} deep"
            )
        if isinstance(found, dict):
            return {name: written_out(item, depth + 1) for name, item in found.items()}
        if isinstance(found, list):
            return [written_out(item, depth + 1) for item in found]
        return float(found) if isinstance(found, int) and not isinstance(found, bool) else found

    return written_out(value, 0)


def marshal(value: Any) -> str:
    if holds_tagged(value):
        raise ValueError("a quantity, address, version or image has no JSON: write its text")
    try:
        text = json.dumps(
            _written(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"this can't be written as JSON: {error}") from error
    # Go's encoder makes its output safe to put into HTML.
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _written(value: Any) -> Any:
    """Whole doubles have no fraction in Go's JSON."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if isinstance(value, dict):
        return {name: _written(item) for name, item in value.items()}
    return [_written(item) for item in value] if isinstance(value, list) else value


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def compress(value: Any) -> bytearray:
    if not isinstance(value, str):
        raise ValueError("gzip.compress takes a string")  # noqa: TRY004 - an error of the expression
    # Not bytes: the engine cuts those at a zero.
    return bytearray(gzip.compress(value.encode(), mtime=0))


def decompress(data: bytes | bytearray) -> str:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            found = packed.read(_LARGEST + 1)
        text = found.decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"this can't be unpacked: {error}") from error
    if len(found) > _LARGEST:
        raise ValueError(f"this can't be unpacked: it has more than {_LARGEST:,} bytes")
    return str(whole(text))


def list_to_map(names: list[Any], values: list[Any], name_key: str, value_key: str) -> dict[str, Any]:
    if len(names) != len(values):
        raise ValueError(f"listObjToMap takes two lists of one length, not {len(names)} and {len(values)}")
    found: dict[str, Any] = {}
    for entry, value in zip(names, values, strict=True):
        if not isinstance(entry, dict) or not isinstance(value, dict):
            raise ValueError("listObjToMap takes lists of maps")  # noqa: TRY004 - an error of the expression
        name = entry.get(name_key)
        if not isinstance(name, str):
            raise ValueError(f"listObjToMap needs a string at {name_key!r} in every map of the first list")  # noqa: TRY004 - an error of the expression
        found[name] = value.get(value_key)
    return found


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _sha1(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_HASHES: Final = (("md5", _md5), ("sha1", _sha1), ("sha256", _sha256))

FUNCTIONS: Final = (
    *(function(name, answer, "string -> string") for name, answer in _HASHES),
    *(function(f"hash.{name}", answer, "string -> string") for name, answer in _HASHES),
    function("json.unmarshal", unmarshal, "dyn -> dyn"),
    function("json.marshal", marshal, "dyn -> string"),
    function("yaml.parse", parse_yaml, "string -> dyn"),
    function("gzip.compress", compress, "dyn -> bytes"),
    function("gzip.decompress", decompress, "bytes -> string"),
    *(
        function(name, list_to_map, "list<dyn>, list<dyn>, string, string -> map<string, dyn>")
        for name in ("listObjToMap", "transform.listObjToMap")
    ),
)
