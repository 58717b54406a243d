"""Syntax tree to something that runs: each node becomes a function from a value to an answer.

A field that is not there answers Missing, and where that goes is the heart of Kyverno's dialect: paths and the right side
of `&&` hand it on, so that in the end it is an error; everything that expects absence (`||`, `!`, comparisons, pipes,
projections, multi-selects, arguments of functions) takes it for null. A field of something that is no object is null.
A step never receives Missing. What repeats is paid for by the number of nodes that are repeated.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from skoupa.errors import ExpressionError
from skoupa.expr.jmespath import leaves
from skoupa.expr.jmespath.checking import wrong_type
from skoupa.expr.jmespath.functions import FUNCTIONS
from skoupa.expr.jmespath.jsontypes import type_of
from skoupa.expr.jmespath.reading import Node
from skoupa.expr.jmespath.running import Lambda, Missing, Run, Step
from skoupa.expr.jmespath.values import equal, truthy

_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}
_LONG: Final = frozenset({str, list})
_MAY_MISS: Final = frozenset({"field", "slot_field", "subexpression", "index_expression", "and_expression"})


def build(node: Node) -> Step:
    return _BUILDERS[node["type"]](node)


def cost_of(node: Node) -> int:
    """How many nodes there are to ask."""
    return 1 + sum(cost_of(child) for child in node["children"] if isinstance(child, dict))


def _taking(node: Node) -> Step:
    """A step for which absence is null."""
    step = build(node)
    if node["type"] not in _MAY_MISS:
        return step

    def taken(value: Any, run: Run) -> Any:
        found = step(value, run)
        return None if found.__class__ is Missing else found

    return taken


def _chain(node: Node) -> Step:
    """`a.b[0].c`: names that follow each other are walked in one go, and each knows how it was reached."""
    steps: list[Step] = []
    names: list[str] = []
    reached = ""
    for link in [*_links(node), None]:
        if link is not None and link["type"] == "field":
            names.append(link["value"])
            continue
        if names:
            steps.append(leaves.path(names, after=reached))
            reached, names = ".".join([reached, *names] if reached else names), []
        if link is not None:
            steps.append(build(link))
            reached = f"{reached}[{link['value']}]" if link["type"] == "index" else ""
    first, *rest = steps
    if not rest:
        return first

    def step(value: Any, run: Run) -> Any:
        value = first(value, run)
        for following in rest:
            if value.__class__ is Missing:
                return value
            value = following(value, run)
        return value

    return step


def _links(node: Node) -> list[Node]:
    """What a chain asks one after the other; a chain within a chain is the same chain."""
    if node["type"] not in {"subexpression", "index_expression"}:
        return [node]
    return [link for child in node["children"] for link in _links(child)]


def _projection(node: Node) -> Step:
    left, each, cost = (
        _taking(node["children"][0]),
        _taking(node["children"][1]),
        cost_of(node["children"][1]),
    )

    def step(value: Any, run: Run) -> Any:
        elements = left(value, run)
        if elements.__class__ is not list:
            return None
        run.spend(len(elements) * cost)
        run.make_elements(len(elements))
        return [found for element in elements if (found := each(element, run)) is not None]

    return step


def _value_projection(node: Node) -> Step:
    left, each, cost = (
        _taking(node["children"][0]),
        _taking(node["children"][1]),
        cost_of(node["children"][1]),
    )

    def step(value: Any, run: Run) -> Any:
        members = left(value, run)
        if members.__class__ is not dict:
            return None
        run.spend(len(members) * cost)
        run.make_elements(len(members))
        return [found for member in members.values() if (found := each(member, run)) is not None]

    return step


def _filter_projection(node: Node) -> Step:
    left, each, test = (_taking(child) for child in node["children"])
    cost = cost_of(node["children"][1]) + cost_of(node["children"][2])

    def step(value: Any, run: Run) -> Any:
        elements = left(value, run)
        if elements.__class__ is not list:
            return None
        run.spend(len(elements) * cost)
        run.make_elements(len(elements))
        passing = (element for element in elements if truthy(test(element, run)))
        return [found for element in passing if (found := each(element, run)) is not None]

    return step


def _flatten(node: Node) -> Step:
    left = _taking(node["children"][0])

    def step(value: Any, run: Run) -> Any:
        elements = left(value, run)
        if elements.__class__ is not list:
            return None
        flat: list[Any] = []
        for element in elements:
            inner = element if element.__class__ is list else (element,)
            run.spend(1 + len(inner))
            run.make_elements(len(inner))
            flat.extend(inner)
        return flat

    return step


def _comparator(node: Node) -> Step:
    left, right = (_taking(child) for child in node["children"])
    if node["value"] in {"eq", "ne"}:
        wanted = node["value"] == "eq"
        return lambda value, run: equal(left(value, run), right(value, run), run) is wanted
    compare = _ORDER[node["value"]]

    def step(value: Any, run: Run) -> Any:
        one, other = left(value, run), right(value, run)
        if one.__class__ not in {int, float} or other.__class__ not in {int, float}:
            return None
        return compare(one, other)

    return step


def _or(node: Node) -> Step:
    left, right = (_taking(child) for child in node["children"])

    def step(value: Any, run: Run) -> Any:
        found = left(value, run)
        return found if truthy(found) else right(value, run)

    return step


def _and(node: Node) -> Step:
    left, right = _taking(node["children"][0]), build(node["children"][1])

    def step(value: Any, run: Run) -> Any:
        found = left(value, run)
        return right(value, run) if truthy(found) else found

    return step


def _not(node: Node) -> Step:
    inner = _taking(node["children"][0])
    return lambda value, run: not truthy(inner(value, run))


def _pipe(node: Node) -> Step:
    left, right = (_taking(child) for child in node["children"])
    return lambda value, run: right(left(value, run), run)


def _multi_select_list(node: Node) -> Step:
    steps = [_taking(child) for child in node["children"]]

    def select(value: Any, run: Run) -> Any:
        if value is None:
            return None
        run.make_elements(len(steps))
        return [step(value, run) for step in steps]

    return select


def _multi_select_dict(node: Node) -> Step:
    steps = [(pair["value"], _taking(pair["children"][0])) for pair in node["children"]]

    def select(value: Any, run: Run) -> Any:
        if value is None:
            return None
        run.make_members(len(steps))
        return {key: step(value, run) for key, step in steps}

    return select


def _expref(node: Node) -> Step:
    inner = node["children"][0]
    handed = Lambda(_taking(inner), cost_of(inner))
    return lambda _value, _run: handed


def _function(node: Node) -> Step:
    function = FUNCTIONS[node["value"]]
    arguments = [_taking(child) for child in node["children"]]
    takes = [function.parameter(position).takes for position in range(len(arguments))]
    call, name, cost = function.call, function.name, function.cost

    def step(value: Any, run: Run) -> Any:
        given = [argument(value, run) for argument in arguments]
        run.spend(cost)
        for position, argument in enumerate(given):
            if argument.__class__ in _LONG:
                run.spend(len(argument) // 8 if argument.__class__ is str else len(argument))
            if not takes[position].takes(argument):
                raise _wrong_argument(node, position, argument, run)
        try:
            found = call(run, *given)
        except (ValueError, ArithmeticError) as error:
            raise ExpressionError(f"{name}: {error}", expression=run.expression) from error
        if found.__class__ is str:
            run.make(len(found))
        return found

    return step


def _wrong_argument(node: Node, position: int, argument: Any, run: Run) -> ExpressionError:
    given = type_of(argument)
    reason = wrong_type(FUNCTIONS[node["value"]], position, given=given.words)
    written = node["children"][position]
    advice = ""
    if argument is None and written["type"] in {"field", "subexpression"}:
        advice = "what it looks at is not there or is null; write a default after it: … || ''"
    return ExpressionError(reason, expression=run.expression, advice=advice)


_BUILDERS: Final[dict[str, Callable[[Node], Step]]] = {
    "identity": leaves.identity,
    "current": leaves.identity,
    "literal": leaves.literal,
    "field": leaves.field,
    "slot": leaves.slot,
    "slot_field": leaves.slot_field,
    "subexpression": _chain,
    "index_expression": _chain,
    "index": leaves.index,
    "slice": leaves.part,
    "projection": _projection,
    "value_projection": _value_projection,
    "filter_projection": _filter_projection,
    "flatten": _flatten,
    "comparator": _comparator,
    "or_expression": _or,
    "and_expression": _and,
    "not_expression": _not,
    "pipe": _pipe,
    "multi_select_list": _multi_select_list,
    "multi_select_dict": _multi_select_dict,
    "expref": _expref,
    "function_expression": _function,
}
