"""Paths of the API server that a namespaced policy may ask for: its own Namespace and what is in it, and nothing else.

A path is looked at as the server will read it: decoded, and with no dots or empty steps by which it could lead elsewhere. Where a
variable stands in it, only what goes before is known here; who makes the call asks again with the whole path.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

_VARIABLE: Final = "{{"
# Subresources through which the server reaches out to something else.
_ELSEWHERE: Final = (["proxy"], ["exec"], ["attach"], ["portforward"])


def confined(path: str, namespace: str) -> bool:
    """Whether a path without variables stays in that namespace."""
    steps = unquote(path.partition("?")[0].partition("#")[0]).split("/")
    if unquote("/".join(steps)) != "/".join(steps):
        return False
    if steps[0] or any(step in {"", ".", ".."} or "\\" in step for step in steps[1:]):
        return False
    match steps[1:]:
        case ["api", "v1", "namespaces", place]:
            # Its own Namespace: CEL hands that over as namespaceObject anyway.
            return place == namespace
        case ["api", _, "namespaces", place, *rest] | ["apis", _, _, "namespaces", place, *rest]:
            return place == namespace and bool(rest) and rest[2:3] not in _ELSEWHERE
        case _:
            return False


def may_be_confined(path: str, namespace: str) -> bool:
    """The same of a path in which variables may stand: False only where no value could make it right."""
    before, variable, _ = path.partition(_VARIABLE)
    if not variable:
        return confined(path, namespace)
    *whole, _ = before.split("/")
    wanted = (["", "api", None, "namespaces", namespace], ["", "apis", None, None, "namespaces", namespace])
    return any(
        all(want is None or want == step for want, step in zip(form, whole, strict=False)) for form in wanted
    )
