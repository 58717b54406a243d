"""With which names variables may begin: what a run brings, and the entries of the context that stand before.

What is never there is told with what to write, before any object is looked at.
"""

from __future__ import annotations

import difflib
from typing import Final

from skoupa.errors import BadExpression

ROOTS: Final = ("target", "request", "images")
REQUEST: Final = ("namespace", "name")

_INSTEAD: Final = {
    "true": "write `true` in backticks",
    "false": "write `false` in backticks",
    "element": "cleanup policies have no foreach; write target and a filter like target.spec.containers[?…]",
    "elementIndex": "cleanup policies have no foreach",
    "object": "write target",
    "resource": "write target",
    "serviceAccountName": "nobody asks for anything when a schedule runs; match on the object instead",
    "serviceAccountNamespace": "nobody asks for anything when a schedule runs; match on the object instead",
}


def check_name(path: tuple[str, ...], known: set[str], text: str, *, later: frozenset[str]) -> None:
    """`path` is what the expression `text` looks at; raises BadExpression."""
    if not path:
        raise BadExpression(
            "it looks at all variables at once",
            expression=text,
            advice="begin with one, like target.metadata.name",
        )
    root, rest = path[0], path[1:]
    # A field called null is what people write for `null`, and since it is not there it works.
    if root == "null" and not rest:
        return
    if root not in known and root in later:
        raise BadExpression(
            f"{root} is not known here: an entry of the context sees those before it",
            expression=text,
            advice="write this entry behind the one that it looks at",
        )
    if root not in known:
        near = difflib.get_close_matches(root, known, n=1)
        guess = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
        raise BadExpression(f"there is no variable {root}", expression=text, advice=_INSTEAD.get(root, guess))
    if root == "request" and rest and rest[0] not in REQUEST:
        instead = (
            "write target" if rest[0] in {"object", "oldObject"} else "a run has no request but these names"
        )
        raise BadExpression(
            f"there is no request.{rest[0]}, only request.namespace and request.name",
            expression=text,
            advice=instead,
        )
