"""What the engine can't do by itself, rewritten in the tree of a checked expression to what it can.

Variables of the policy are bound around the expression, so that each is worked out when it is first reached and only
once, even in a loop. Functions that answer an optional answer a list of none or one, of which the first is taken.
"""

from __future__ import annotations

from typing import Final

from skoupa.expr.cel import syntax
from skoupa.expr.cel.library import lists
from skoupa.expr.cel.library.shelf import OPTIONAL, TYPED, VARIABLE, typed
from skoupa.expr.cel.looking import PREFIX, is_plain_path

# A name that no expression can write.
_BOUND: Final = "@variable_"


def lowered(checked: syntax.Checked) -> syntax.Checked:
    variables: dict[str, str] = {}

    def change(node: syntax.Node) -> syntax.Node:
        if node.is_ident and node.name.startswith(PREFIX):
            name = node.name.removeprefix(PREFIX)
            kind = checked.type_of(node)
            variables[name] = typed(VARIABLE, kind) if kind in TYPED else VARIABLE
            return syntax.ident(_BOUND + name)
        if node.is_call and node.name == "orValue" and len(node.arguments) == 2:
            # On a plain field Kyverno lets it stand for the field itself.
            plain = is_plain_path(node.arguments[0]) and checked.type_of(node.arguments[0]) == "dyn"
            return node.arguments[0] if plain else node
        if node.is_call and node.name in OPTIONAL:
            return syntax.call("first", on=node)
        if node.is_call and node.name in lists.TYPED.get(checked.type_of(node), ()):
            return syntax.call(typed(node.name, checked.type_of(node)), on=node.arguments[0])
        return node

    found = syntax.rewritten(checked, change)
    for name, function in variables.items():
        found.root = syntax.bind(_BOUND + name, syntax.call(function, syntax.string(name)), found.root)
    return found
