"""Values of types that the engine does not have, as maps that carry the name of their type.

Equal values make equal maps, because the engine compares the maps: so what is kept is the canonical form, never the
text that was written. The checker has seen the real types; a map of another tag gets here only through `dyn`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# Names that no field of an object has. Not with a NUL: the engine cuts texts there.
TAG: Final = "\x1ftype"
VALUE: Final = "\x1fvalue"


def tagged(name: str, value: Any) -> dict[str, Any]:
    return {TAG: name, VALUE: value}


def untagged(name: str, found: object) -> Any:
    """What is in it; a ValueError where it is of another type."""
    if not isinstance(found, Mapping) or found.get(TAG) != name:
        raise ValueError(f"expected a {name}, found {described(found)}")
    return found[VALUE]


def tag_of(found: object) -> str:
    return str(found.get(TAG, "")) if isinstance(found, Mapping) else ""


def holds_tagged(found: object) -> bool:
    """Whether there is such a value anywhere within."""
    if isinstance(found, Mapping):
        return TAG in found or any(holds_tagged(value) for value in found.values())
    return isinstance(found, list) and any(holds_tagged(value) for value in found)


def described(found: object) -> str:
    if tag_of(found):
        return f"a {tag_of(found)}"
    return {
        "NoneType": "null",
        "str": "a string",
        "bool": "a bool",
        "int": "an int",
        "float": "a double",
        "list": "a list",
        "dict": "a map",
        "bytearray": "bytes",
        "datetime": "a timestamp",
        "timedelta": "a duration",
    }.get(type(found).__name__, type(found).__name__)
