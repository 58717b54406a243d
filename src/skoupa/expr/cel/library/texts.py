"""Strings: Kubernetes' find and findAll, CEL's regex extension, and the signatures of CEL's strings extension.

The engine has the strings extension itself; its signatures are stated here because lists add to some of its names,
and the checker takes a name from one place only. The same holds for `string`, which addresses add to. The part of a text
between two places is ours: the engine's knows none that ends with the text.
"""

from __future__ import annotations

from typing import Final

from skoupa.expr import patterns
from skoupa.expr.cel.library.declaring import Function, function, method

# Not for expressions.
BETWEEN: Final = "skoupa_substring"
_CONVERTED: Final = ("int", "uint", "double", "bool", "bytes", "string", "timestamp", "duration")


def find(text: str, pattern: str) -> str:
    return patterns.compile(pattern).find(text) or ""


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return patterns.compile(pattern).find_all(text, limit=limit if limit >= 0 else None)


def between(text: str, start: int, end: int) -> str:
    if not 0 <= start <= end <= len(text):
        raise ValueError(f"substring from {start} to {end} is not within a text of {len(text)} characters")
    return text[start:end]


FUNCTIONS: Final = (
    method("find", find, "string, string -> string"),
    method("findAll", find_all, "string, string -> list<string>", "string, string, int -> list<string>"),
    function("string", None, *(f"{name} -> string" for name in _CONVERTED)),
    function("strings.quote", None, "string -> string"),
    method("charAt", None, "string, int -> string"),
    method("indexOf", None, "string, string -> int", "string, string, int -> int"),
    method("lastIndexOf", None, "string, string -> int", "string, string, int -> int"),
    method("join", None, "list<string> -> string", "list<string>, string -> string"),
    method("lowerAscii", None, "string -> string"),
    method("upperAscii", None, "string -> string"),
    method("trim", None, "string -> string"),
    method("reverse", None, "string -> string"),
    method("replace", None, "string, string, string -> string", "string, string, string, int -> string"),
    method("split", None, "string, string -> list<string>", "string, string, int -> list<string>"),
    method("substring", None, "string, int -> string", "string, int, int -> string"),
    method("format", None, "string, list<dyn> -> string"),
)
HIDDEN: Final[tuple[Function, ...]] = (function(BETWEEN, between, "string, int, int -> string"),)
