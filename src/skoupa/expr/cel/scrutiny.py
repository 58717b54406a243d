"""What the checker lets pass and should not: looked for in the tree, before anything is asked about an object.

Literals that can only fail (a pattern, a timestamp or a duration that is none) are found as Kubernetes finds them; the
engine itself is asked, so what it takes is taken. And functions of the engine that would look into the maps which
stand for quantities, addresses and the like are refused such values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
from cel_expr_python import cel  # type: ignore[import-untyped]  # its stubs are not marked as complete

from skoupa.expr.cel import syntax, wording
from skoupa.expr.cel.library.declaring import TYPES
from skoupa.expr.cel.lowering import converting
from skoupa.expr.cel.messages import Named, Problem

_SEEING: Final = frozenset({"format", "dyn", "type"})
_TAGGED: Final = frozenset(TYPES.values())
_CONVERSIONS: Final = frozenset({"timestamp", "duration"})
_SEARCHES: Final = frozenset({"matches", "find", "findAll"})


def objections(
    checked: syntax.Checked, source: Named, *, where: str, evaluator: cel.Env
) -> tuple[Problem, ...]:
    found = []
    for node in checked.walk():
        if not node.is_call:
            continue
        for reason, advice in (*_blind(checked, node), *_failing(checked, node, evaluator)):
            line, column = checked.place_of(node, source.expression)
            found.append(
                Problem(
                    where=where,
                    expression=source.expression,
                    reason=reason,
                    advice=advice,
                    line=line,
                    column=column,
                )
            )
    return tuple(found)


def _blind(checked: syntax.Checked, node: syntax.Node) -> Iterator[tuple[str, str]]:
    if node.name not in _SEEING:
        return
    arguments = node.arguments
    seen = [*arguments, *(inner for argument in arguments[1:] for inner in argument.children)]
    for kind in (checked.type_of(argument) for argument in seen):
        if kind.removeprefix("list<").removesuffix(">") in _TAGGED:
            yield (
                f"{node.name} can't be used on ({kind})",
                "give it the text or number that this was made from",
            )
            return


def _failing(checked: syntax.Checked, node: syntax.Node, evaluator: cel.Env) -> Iterator[tuple[str, str]]:
    literals = [argument.text for argument in node.arguments]
    if node.name in _CONVERSIONS and len(literals) == 1 and literals[0] is not None:
        tried = converting(node.name, syntax.string(literals[0]))
    elif node.name in _SEARCHES and len(literals) > 1 and literals[1] is not None:
        tried = syntax.call(node.name, syntax.string(literals[1]), on=syntax.string(""))
    else:
        return
    alone = msgspec.structs.replace(checked, root=tried)
    answer = evaluator.deserialize(syntax.write(alone)).eval(data={})
    if answer.type() == cel.Type.ERROR:
        reason, _, advice = wording.run_time(str(answer.value())).removeprefix("fails: ").partition(": ")
        yield reason, advice
