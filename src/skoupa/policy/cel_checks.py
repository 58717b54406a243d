"""What is wrong with the CEL of a DeletingPolicy, from what its compiler said. The compiler is in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator

from skoupa.expr.cel.messages import Named, Report, Source
from skoupa.kinds.policies.deleting import NamedExpression
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem


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


def _named(expressions: tuple[NamedExpression, ...]) -> tuple[Named, ...]:
    return tuple(Named(one.name, one.expression) for one in expressions)
