"""An expression: compiled once, asked often. It knows its text, what it looks at, and which functions it calls.

Answers are shared with the value that was asked about and with the expression's own literals: they are for reading.
Whatever the text and the value, a search answers or raises an ExpressionError, within the limits of its Context.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from skoupa.errors import BadExpression, TooCostly, Unresolved
from skoupa.expr.jmespath.building import build, cost_of
from skoupa.expr.jmespath.checking import check, result_of
from skoupa.expr.jmespath.jsontypes import Type
from skoupa.expr.jmespath.paths import Paths, parts_of, paths_of
from skoupa.expr.jmespath.reading import Node, syntax_tree
from skoupa.expr.jmespath.running import Context, Missing, Run
from skoupa.expr.jmespath.slots import slotted
from skoupa.expr.jmespath.values import settled
from skoupa.expr.usage_functions import USAGE_FUNCTIONS

_REMEMBERED: Final = 1024
_COMPOSING: Final = frozenset({"multi_select_list", "multi_select_dict", "slot"})
_CHANGING: Final = frozenset(
    {"time_now", "time_now_utc", "time_since", "random", "is_external_url", *USAGE_FUNCTIONS}
)


class Expression:
    """`paths` are tuples of names from the root on; functions of time, of chance and of usage make it `changing`."""

    __slots__ = ("_composes", "_cost", "_step", "functions", "paths", "text")

    def __init__(self, tree: Node, text: str) -> None:
        check(tree, text)
        self.text = text
        self.paths: Paths = paths_of(tree)
        self.functions = frozenset(_called(tree))
        self._step = build(tree)
        self._cost = cost_of(tree)
        self._composes = _composes(tree)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    @property
    def changing(self) -> bool:
        """The same value may have another answer at another time."""
        return not self.functions.isdisjoint(_CHANGING)

    def parts(self, root: str) -> frozenset[str] | None:
        """Which fields of `root` it looks at; None: it may look at all of them."""
        return parts_of(self.paths, root)

    def search(
        self, value: Any, context: Context, slots: Sequence[Any] = (), *, part: Run | None = None
    ) -> Any:
        """Slots are for expressions that were compiled with some; `part` is what it is a part of, with the same limits."""
        run = Run(self.text, context, slots, part=part)
        try:
            run.spend(self._cost)
            found = self._step(value, run)
            if found.__class__ is Missing:
                raise Unresolved(
                    f"{found.path} is not there",
                    expression=self.text,
                    advice="write a default for objects without it, like: … || ''",
                )
            return settled(found, run) if self._composes else found
        except RecursionError as error:
            raise TooCostly("the values are nested too deeply", expression=self.text) from error
        finally:
            run.end()


@lru_cache(maxsize=_REMEMBERED)
def compile(text: str) -> Expression:  # noqa: A001 - as in re
    """The expression that a text stands for; a BadExpression says what to write."""
    return Expression(syntax_tree(text), text)


@lru_cache(maxsize=_REMEMBERED)
def compile_slotted(text: str, shown: str) -> Expression:
    """A text with the marks of `slots` in it; `shown` is how it was written, for messages."""
    try:
        return Expression(slotted(syntax_tree(text)), shown)
    except BadExpression as error:
        if error.expression == shown:
            raise
        raise BadExpression(error.reason, expression=shown, advice=error.advice) from error


def _called(node: Node) -> set[str]:
    found = {node["value"]} if node["type"] == "function_expression" else set()
    for child in _nodes(node):
        found |= _called(child)
    return found


def _composes(node: Node) -> bool:
    """Whether an answer can be larger than it looks, or hold texts that are not whole (see `settled`)."""
    if node["type"] in _COMPOSING:
        return True
    if node["type"] == "function_expression" and (
        result_of(node) & (Type.ARRAY | Type.OBJECT) or node["value"] == "base64_decode"
    ):
        return True
    return any(_composes(child) for child in _nodes(node))


def _nodes(node: Node) -> list[Node]:
    return [child for child in node["children"] if isinstance(child, dict)]
