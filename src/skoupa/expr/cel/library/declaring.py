"""How a function is declared: its name, the signatures that expressions are checked against, and the Python that answers.

A signature reads `string, int -> list<string>`; a capital letter alone stands for any one type, names from TYPES for
the types that the engine does not have. For a method the first type is what it is called on. One implementation
answers all signatures of a declaration. A ValueError is an error of the expression, in words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

TYPES: Final = {
    "Quantity": "kubernetes.Quantity",
    "Semver": "kubernetes.Semver",
    "URL": "kubernetes.URL",
    "IP": "net.IP",
    "CIDR": "net.CIDR",
    "Format": "kubernetes.NamedFormat",
    "Image": "kyverno.image",
    "HttpClient": "http.Context",
    "GVR": "schema.GroupVersionResource",
}
_PLAIN: Final = frozenset(
    {
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "timestamp",
        "duration",
        "null",
        "dyn",
    }
)


class TypeName(msgspec.Struct, frozen=True):
    """A type as written in a signature: `list<string>` is TypeName("list", (TypeName("string"),))."""

    name: str
    parameters: tuple[TypeName, ...] = ()

    @property
    def is_parameter(self) -> bool:
        return len(self.name) == 1 and self.name.isupper()

    @property
    def kind(self) -> str:
        """What the engine tells overloads apart by at run time."""
        if self.name == "dyn" or self.is_parameter:
            return "any"
        return self.name if self.name in _PLAIN else "map"


class Signature(msgspec.Struct, frozen=True):
    parameters: tuple[TypeName, ...]
    result: TypeName


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """`optional`: the answer is a list of none or one, which becomes an optional. `worldly`: the World comes first.

    Without an `answer` the engine has it already, and only the checker is told.
    """

    name: str
    signatures: tuple[Signature, ...]
    answer: Callable[..., Any] | None
    method: bool = False
    optional: bool = False
    worldly: bool = False
    looks_outside: bool = False


def function(
    name: str,
    answer: Callable[..., Any] | None,
    *signatures: str,
    optional: bool = False,
    worldly: bool = False,
    looks_outside: bool = False,
) -> Function:
    return Function(
        name=name,
        signatures=tuple(read_signature(text) for text in signatures),
        answer=answer,
        optional=optional,
        worldly=worldly or looks_outside,
        looks_outside=looks_outside,
    )


def method(
    name: str,
    answer: Callable[..., Any] | None,
    *signatures: str,
    optional: bool = False,
    looks_outside: bool = False,
) -> Function:
    declared = function(name, answer, *signatures, optional=optional, looks_outside=looks_outside)
    return msgspec.structs.replace(declared, method=True)


def read_signature(text: str) -> Signature:
    parameters, _, result = text.partition("->")
    return Signature(tuple(read_type(part) for part in _parts(parameters)), read_type(result))


def read_type(text: str) -> TypeName:
    name, _, inner = text.strip().partition("<")
    parameters = tuple(read_type(part) for part in _parts(inner.removesuffix(">")))
    return TypeName(TYPES.get(name, name), parameters)


def _parts(text: str) -> list[str]:
    """Split at the commas that are not within `<>`."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return [part for part in parts if part.strip()]
