"""What is wrong with the CEL of a DeletingPolicy, from what its compiler said. The compiler is in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa.expr.cel.messages import Named, Report, Source
from skoupa.kinds.policies.deleting import NamedExpression
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem

# Functions that compile and are never answered, with why and what to write.
UNANSWERED: Final = {
    "image.GetMetadata": (
        "what a registry says of an image can't be asked here, so that everything would stay",
        "look at the image's name with image(), or at status.containerStatuses of a Pod",
    ),
}


def source_of(clauses: Clauses) -> Source:
    return Source(
        conditions=_named(clauses.expressions),
        variables=_named(clauses.variables),
        namespace=clauses.namespace,
    )


def cel_problems(report: Report) -> Iterator[Problem]:
    for found in report.problems:
        place = f"line {found.line}, column {found.column}: " if found.line else ""
        yield Problem(
            path=f"spec.{found.where}.expression",
            what=f"{place}{found.reason}",
            instead=found.advice or "mend the expression",
        )
    # Every function has two spellings.
    asks = {function.lower() for function in report.asks}
    for function, (why, instead) in UNANSWERED.items():
        if function.lower() in asks:
            yield Problem(path="spec.conditions", what=f"{function}: {why}", instead=instead)


def _named(expressions: tuple[NamedExpression, ...]) -> tuple[Named, ...]:
    return tuple(Named(one.name, one.expression) for one in expressions)
