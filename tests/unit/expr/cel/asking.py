"""Expressions asked in this process, without a child: for functions and for compiling."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from skoupa.expr.cel.library.world import World
from skoupa.expr.cel.messages import Named, Question, Report, Result, Source
from skoupa.expr.cel.program import Compiler

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


@functools.cache
def compiler() -> tuple[Compiler, World]:
    world = World()
    world.now = NOW
    return Compiler(world), world


def source(*conditions: str, variables: Mapping[str, str] | None = None, namespace: str = "") -> Source:
    return Source(
        conditions=tuple(Named(f"c{number}", text) for number, text in enumerate(conditions)),
        variables=tuple(Named(name, text) for name, text in (variables or {}).items()),
        namespace=namespace,
    )


def compiled(*conditions: str, variables: Mapping[str, str] | None = None, namespace: str = "") -> Report:
    return compiler()[0].compile(source(*conditions, variables=variables, namespace=namespace))[1]


def ask(
    *conditions: str,
    variables: Mapping[str, str] | None = None,
    namespace: str = "",
    data: Mapping[str, Any] | None = None,
    answer: Callable[[Question], Any] | None = None,
) -> Result:
    """What the conditions come to; that they compile is taken for granted."""
    made, world = compiler()
    program, report = made.compile(source(*conditions, variables=variables, namespace=namespace))
    assert program is not None, [str(problem) for problem in report.problems]
    world.namespace = namespace
    if answer is not None:
        world.ask = answer
    activation = made.evaluator.Activation(dict(data or {"object": {}}))
    return program.judge(activation, world=world)
