"""What an expression looks at, as far as its text tells: `target.metadata.labels`, `pods`.

Only what is certainly not looked at may be left out of a value, so every doubt goes to the larger side: an element of a
list counts as the whole list, and a value that is handed on whole counts as looked at whole. The empty path is everything.
"""

from __future__ import annotations

from skoupa.expr.jmespath.reading import Node
from skoupa.expr.usage_functions import IDENTITY, OF_OTHERS

Path = tuple[str, ...]
Paths = frozenset[Path]

_NOWHERE: Paths = frozenset()


def paths_of(tree: Node) -> Paths:
    """The shortest paths that cover all that the expression looks at."""
    looked: set[Path] = set()
    looked |= _visit(tree, frozenset({()}), looked)
    return frozenset(
        path for path in looked if not any(path[:length] in looked for length in range(len(path)))
    )


def parts_of(paths: Paths, root: str) -> frozenset[str] | None:
    """Which fields of `root` are looked at; None is all of them."""
    if () in paths or (root,) in paths:
        return None
    return frozenset(path[1] for path in paths if path[0] == root)


def _visit(node: Node, here: Paths, looked: set[Path]) -> Paths:
    """Where the value of a node may come from; what it looks at on the way is added to `looked`."""
    kind = node["type"]
    children = node["children"]
    if kind == "field":
        return frozenset((*path, node["value"]) for path in here)
    if kind in {"identity", "current"}:
        return here
    if kind in {"slice", "index", "slot_field"}:
        looked |= here
        return _NOWHERE
    if kind in {"subexpression", "index_expression", "pipe"}:
        for child in children:
            here = _visit(child, here, looked)
        return here
    if kind in {"or_expression", "and_expression"}:
        left, right = (_visit(child, here, looked) for child in children)
        # The left side decides, even where the answer is the right one.
        looked |= left
        return right
    if kind in {"projection", "value_projection", "filter_projection", "flatten"}:
        looked |= _visit(children[0], here, looked)
        # What follows sees elements of what has been looked at.
        for child in children[1:]:
            _visit(child, _NOWHERE, looked)
        return _NOWHERE
    # Who asks others about an object sees of itself which one it is.
    further = IDENTITY if kind == "function_expression" and node["value"] in OF_OTHERS else ()
    # Literals and slots, which have no children, look at nothing.
    for child in children:
        found = _visit(child, _NOWHERE if child["type"] == "expref" else here, looked)
        looked |= {(*path, *further) for path in found}
    return _NOWHERE
