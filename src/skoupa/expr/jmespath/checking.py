"""What can be said of a syntax tree before it meets a value: types, unknown functions, wrong arguments.

Nothing here refuses what could work for some value: an argument is wrong only if none of the types that it can have
would do. Kyverno finds these mistakes when the policy runs, and then the policy stops without a word (policies#1490).
"""

from __future__ import annotations

import difflib
from typing import Any

from skoupa.errors import BadExpression
from skoupa.expr.jmespath.functions import FUNCTIONS
from skoupa.expr.jmespath.functions.signature import Function
from skoupa.expr.jmespath.jsontypes import Type, type_of
from skoupa.expr.jmespath.reading import Node

_RESULTS = {
    "not_expression": Type.BOOLEAN,
    "multi_select_list": Type.ARRAY | Type.NULL,
    "multi_select_dict": Type.OBJECT | Type.NULL,
    "projection": Type.ARRAY | Type.NULL,
    "value_projection": Type.ARRAY | Type.NULL,
    "filter_projection": Type.ARRAY | Type.NULL,
    "flatten": Type.ARRAY | Type.NULL,
    "slice": Type.ARRAY | Type.NULL,
    "expref": Type.EXPRESSION,
}


def check(tree: Node, text: str) -> None:
    """Raises BadExpression for what no value can make right."""
    if tree["type"] == "expref":
        raise BadExpression(
            "& hands an expression to a function and has no value of its own",
            expression=text,
            advice="leave out the &",
        )
    if tree["type"] == "slice":
        _check_slice(tree, text)
        return
    is_call = tree["type"] == "function_expression"
    for child in tree["children"]:
        check(child["children"][0] if is_call and child["type"] == "expref" else child, text)
    if is_call:
        _check_call(tree, text)


def _check_slice(node: Node, text: str) -> None:
    if node["children"][2] == 0:
        raise BadExpression(
            "a slice can't go on in steps of 0", expression=text, advice="write [start:stop:1]"
        )


def result_of(node: Node) -> Type:
    """The types that the value of a node can have; NULL stands for absence too."""
    kind = node["type"]
    if kind in _RESULTS:
        return _RESULTS[kind]
    if kind == "slot":
        return Type.ANY if isinstance(node["value"], int) else Type.STRING
    if kind == "literal":
        return type_of(node["value"])
    if kind == "comparator":
        return Type.BOOLEAN if node["value"] in {"eq", "ne"} else Type.BOOLEAN | Type.NULL
    if kind == "function_expression":
        return FUNCTIONS[node["value"]].gives if node["value"] in FUNCTIONS else Type.ANY
    if kind in {"or_expression", "and_expression"}:
        left, right = node["children"]
        return result_of(left) | result_of(right)
    if kind in {"subexpression", "index_expression", "pipe"}:
        return result_of(node["children"][-1]) | Type.NULL
    return Type.ANY


def _check_call(node: Node, text: str) -> None:
    function = FUNCTIONS.get(node["value"])
    if function is None:
        raise BadExpression(
            f"there is no function {node['value']}", expression=text, advice=_nearest(node["value"])
        )
    problem = function.arity_problem(len(node["children"]))
    if problem:
        raise BadExpression(problem, expression=text, advice=f"write {function.usage}")
    for position, argument in enumerate(node["children"]):
        _check_argument(function, position, argument, text)


def _check_argument(function: Function, position: int, node: Node, text: str) -> None:
    parameter = function.parameter(position)
    if node["type"] == "literal":
        fits = parameter.takes.takes(node["value"])
    else:
        fits = result_of(node).may_be(parameter.takes)
    if not fits:
        raise BadExpression(
            wrong_type(function, position, given=_described(node)),
            expression=text,
            advice=_type_advice(parameter.takes, node) or f"write {function.usage}",
        )
    if node["type"] == "literal" and parameter.check is not None:
        try:
            parameter.check(node["value"])
        except ValueError as error:
            raise BadExpression(f"{function.name}: {error}", expression=text) from error


def wrong_type(function: Function, position: int, *, given: str) -> str:
    parameter = function.parameter(position)
    return f"argument {position + 1} of {function.usage} is {parameter.takes.words}, not {given}"


def _described(node: Node) -> str:
    return result_of(node).words


def _type_advice(takes: Type, node: Node) -> str:
    """The two mix-ups that happen: 'text' for a number, and a backtick text that is one."""
    if node["type"] != "literal":
        return ""
    value: Any = node["value"]
    if Type.NUMBER in takes and isinstance(value, str):
        return f"write a number in backticks: `{value or 0}`"
    if Type.STRING in takes and type_of(value) is Type.NUMBER:
        return f"write a text in quotes: '{value}'"
    return ""


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, FUNCTIONS, n=2)
    if not near:
        return "no function has a name like it"
    return "did you mean " + " or ".join(FUNCTIONS[found].usage for found in near) + "?"
