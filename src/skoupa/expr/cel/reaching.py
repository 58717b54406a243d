"""Calls of resource.Get, List and Post that belong into the other kind of policy, told from what was written.

In a policy of a namespace they have no argument for the namespace, in one of the whole cluster they have: who copies an
expression from the one to the other is told what to leave out or to add. Everything else that is wrong is not seen here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_CALL: Final = re.compile(r"\bresource\s*\.\s*(Get|List|Post|get|list|post)\s*\(")
_GVR_CALL: Final = re.compile(r"\s*resource\s*\.\s*[Tt]oGVR\s*\(")
_GVR_TYPE: Final = "schema.GroupVersionResource"
_LITERAL: Final = re.compile(r"""'[^'\\]*'|"[^"\\]*\"""")
_OPENING: Final = "([{"
_CLOSING: Final = ")]}"
# How many arguments there are where a namespace is named, an apiVersion and a resource counted for a GVR.
_WITH_NAMESPACE: Final = {"get": (4,), "list": (3, 4), "post": (4,)}
_WITHOUT: Final = {"get": (3,), "list": (2, 3), "post": ()}
_REST: Final = {"get": ("'NAME'",), "list": (), "post": ("{…}",)}


def misplaced(
    expression: str, position: int, *, types: Sequence[str] | None, namespaced: bool
) -> tuple[str, str] | None:
    """What is wrong with the call at (or around) a position, and what to write; `types` where they are known."""
    calls = [match for match in _CALL.finditer(expression) if match.start() <= position < match.end()]
    if not calls:
        return None
    written, called = calls[0][1], calls[0][1].lower()
    arguments = _arguments(expression, calls[0].end())
    if types is not None:
        of_gvr = bool(types) and types[0] == _GVR_TYPE
    else:
        of_gvr = bool(arguments) and bool(_GVR_CALL.match(arguments[0]))
    count = len(arguments) + of_gvr
    labels_last = types is not None and types[-1:] != ["string"]
    first = [arguments[0]] if of_gvr else _literals(arguments)
    if namespaced:
        if count not in _WITH_NAMESPACE[called] or (called == "list" and count == 3 and labels_last):
            return None
        shown = ", ".join((*first, *_REST[called]))
        advice = f"in a policy of a namespace leave the namespace out: resource.{written}({shown})"
        return f"resource.{written} names a namespace", advice
    if count not in _WITHOUT[called] or (called == "list" and count == 3 and not labels_last):
        return None
    shown = ", ".join((*first, "'NAMESPACE'", *_REST[called]))
    everywhere = ", or '' for all of them" if called == "list" else ""
    advice = f"in a policy of the whole cluster name it: resource.{written}({shown}){everywhere}"
    return f"resource.{written} does not say in which namespace", advice


def _literals(arguments: list[str]) -> list[str]:
    """An apiVersion and a resource as they are written, or an example where they are worked out."""
    found = [argument for argument in arguments[:2] if _LITERAL.fullmatch(argument)]
    return found if len(found) == 2 else ["'v1'", "'configmaps'"]


def _arguments(expression: str, start: int) -> list[str]:
    """The texts between the commas of a call whose bracket is open; up to the end where it is never closed."""
    found, depth, begun, position = [], 0, start, start
    while position < len(expression):
        character = expression[position]
        if literal := _LITERAL.match(expression, position):
            position = literal.end()
            continue
        if character in _CLOSING and not depth:
            break
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and not depth:
            found.append(expression[begun:position].strip())
            begun = position + 1
        position += 1
    last = expression[begun:position].strip()
    return [*found, last] if last else found
