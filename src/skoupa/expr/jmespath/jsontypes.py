"""The types of JSON as JMESPath names them, for values that are known and for expressions of which less is known.

A Type is a set: what an argument may be, or what an expression can turn out to be. NUMBERS and STRINGS are arrays with
only such elements: for arguments only, an expression is just an ARRAY.
"""

from __future__ import annotations

from enum import Flag, auto
from typing import Any


class Type(Flag):
    NULL = auto()
    BOOLEAN = auto()
    NUMBER = auto()
    STRING = auto()
    ARRAY = auto()
    OBJECT = auto()
    NUMBERS = auto()
    STRINGS = auto()
    EXPRESSION = auto()
    ANY = NULL | BOOLEAN | NUMBER | STRING | ARRAY | OBJECT

    def takes(self, value: Any) -> bool:
        """Whether a value is one of these."""
        kind = type_of(value)
        if kind in self:
            return True
        if kind is not Type.ARRAY:
            return False
        classes = {item.__class__ for item in value}
        return (Type.STRINGS in self and classes <= {str}) or (
            Type.NUMBERS in self and classes <= {int, float}
        )

    def may_be(self, other: Type) -> bool:
        """Whether something of these types can be one of the others."""
        if Type.ARRAY in self and other & (Type.NUMBERS | Type.STRINGS):
            return True
        return bool(self & other)

    @property
    def words(self) -> str:
        if Type.ANY in self:
            return "anything"
        return " or ".join(_WORDS[kind] for kind in self)


_WORDS = {
    Type.NULL: "null",
    Type.BOOLEAN: "a boolean",
    Type.NUMBER: "a number",
    Type.STRING: "a string",
    Type.ARRAY: "an array",
    Type.OBJECT: "an object",
    Type.NUMBERS: "an array of numbers",
    Type.STRINGS: "an array of strings",
    Type.EXPRESSION: "an expression like &name",
}
_BY_CLASS: dict[type, Type] = {
    type(None): Type.NULL,
    bool: Type.BOOLEAN,
    int: Type.NUMBER,
    float: Type.NUMBER,
    str: Type.STRING,
    list: Type.ARRAY,
    dict: Type.OBJECT,
}
_NAMES = {
    Type.NULL: "null",
    Type.BOOLEAN: "boolean",
    Type.NUMBER: "number",
    Type.STRING: "string",
    Type.ARRAY: "array",
    Type.OBJECT: "object",
}


def type_of(value: Any) -> Type:
    """What is not JSON (only `&name` can be) is an EXPRESSION."""
    return _BY_CLASS.get(type(value), Type.EXPRESSION)


def name_of(value: Any) -> str:
    """As JMESPath's `type` says it."""
    return _NAMES[type_of(value)]
