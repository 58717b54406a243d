"""The expressions of a policy, compiled and ready to be asked about one object after the other.

Variables are worked out when a condition reaches them, at most once per object. Conditions are asked in order: the
first that is false ends it, whatever came before; otherwise an error of any of them keeps the object.
This is the inside of a child process: an expression may take the process with it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from cel_expr_python import cel  # type: ignore[import-untyped]  # its stubs are not marked as complete

from skoupa.expr.cel import scrutiny, syntax, wording
from skoupa.expr.cel.environment import VARIABLES, checker, evaluator
from skoupa.expr.cel.library.shelf import NAMES
from skoupa.expr.cel.library.world import World
from skoupa.expr.cel.looking import PREFIX, Looks, looks
from skoupa.expr.cel.lowering import lowered
from skoupa.expr.cel.messages import Named, Problem, Report, Result, Source, Told

_LONGEST: Final = 20_000
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNKEPT: Final = ("optional_type", "TYPE")
_TRUTHS: Final = ("BOOL", "DYN")


class Program:
    """Made by `Compiler.compile`."""

    def __init__(
        self,
        *,
        conditions: tuple[tuple[str, cel.Expression], ...],
        variables: dict[str, cel.Expression],
        looks: Looks,
        told: tuple[str, ...] = (),
    ) -> None:
        self._conditions = conditions
        self._variables = variables
        self._told = told
        self.looks = looks

    def judge(
        self, activation: cel.Activation, *, world: World, begin: Callable[[int], None] = lambda _: None
    ) -> Result:
        """`begin` is told before each condition which one it is."""
        world.variable = variables = _Variables(self._variables, activation)
        result = self._asked(activation, begin)
        if not self._told:
            return result
        told: list[Told] = []
        for number, name in enumerate(self._told, len(self._conditions)):
            begin(number)
            told.append(variables.told(name))
        return Result(result.matched, result.error, tuple(told))

    def _asked(self, activation: cel.Activation, begin: Callable[[int], None]) -> Result:
        first_error = ""
        for number, (name, expression) in enumerate(self._conditions):
            begin(number)
            try:
                answer = expression.eval(activation=activation)
                value = answer.plain_value()
            except (RuntimeError, TypeError) as error:
                said = wording.run_time(str(error))
            except MemoryError:
                said = wording.NO_MEMORY
            else:
                if value is True:
                    continue
                if value is False:
                    return Result(False)
                wrong = f"answers {answer.type().name().lower()}, not true or false"
                said = wording.run_time(str(value)) if answer.type() == cel.Type.ERROR else wrong
            first_error = first_error or f"condition {name} {said}"
        return Result(not first_error, first_error)


class _Variables:
    def __init__(self, expressions: dict[str, cel.Expression], activation: cel.Activation) -> None:
        self._expressions = expressions
        self._activation = activation
        self._known: dict[str, tuple[Any, str]] = {}

    def __call__(self, name: str) -> Any:
        if name not in self._known:
            # A variable sees only those before it, so this ends.
            self._known[name] = self._worked_out(name)
        value, error = self._known[name]
        if error:
            raise ValueError(f"variable {name} {error}")
        return value

    def told(self, name: str) -> Told:
        try:
            value = self(name)
        except ValueError as error:
            return Told(error=str(error).removeprefix(f"variable {name} "))
        except (RuntimeError, TypeError) as error:
            return Told(error=wording.run_time(str(error)))
        if isinstance(value, datetime):
            moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            return Told(moment.astimezone(UTC).isoformat())
        if isinstance(value, bool | str):
            return Told(value)
        return Told(error="gives neither true nor false, nor a text or a time")

    def _worked_out(self, name: str) -> tuple[Any, str]:
        try:
            answer = self._expressions[name].eval(activation=self._activation)
            value = answer.plain_value()
        except MemoryError:
            return None, wording.NO_MEMORY
        return (None, wording.run_time(str(value))) if answer.type() == cel.Type.ERROR else (value, "")


class Compiler:
    """Holds the evaluator, which all programs share; `world` is what its functions look at."""

    def __init__(self, world: World) -> None:
        self.evaluator = evaluator(world)

    def compile(self, source: Source) -> tuple[Program | None, Report]:
        """The program is None where there are problems."""
        found: list[Problem] = []
        types: dict[str, cel.Type] = {}
        variables: dict[str, tuple[cel.Expression, Looks]] = {}
        conditions: list[tuple[str, cel.Expression, Looks]] = []
        check = _Check(self.evaluator, namespaced=bool(source.namespace))
        for number, variable in enumerate(source.variables):
            where = f"variables[{number}]"
            if not _NAME.fullmatch(variable.name):
                found.append(
                    Problem(
                        where=where,
                        expression=variable.expression,
                        reason=f"{variable.name!r} is no name for a variable",
                        advice="write letters, digits and _, with a letter first",
                    )
                )
                continue
            compiled = check.one(variable, types, where=where)
            if isinstance(compiled, tuple):
                found += compiled
                # What follows is still checked, without complaining about this one again.
                types[PREFIX + variable.name] = cel.Type.DYN
                continue
            if compiled.type.name().startswith(_UNKEPT):
                found.append(
                    Problem(
                        where=where,
                        expression=variable.expression,
                        reason=f"a variable can't hold {compiled.type.name()}",
                        advice="end it with orValue(...), hasValue() or a comparison",
                    )
                )
            types[PREFIX + variable.name] = compiled.type
            variables[variable.name] = compiled.expression, compiled.looks
        for number, condition in enumerate(source.conditions):
            where = f"conditions[{number}]"
            compiled = check.one(condition, types, where=where)
            if isinstance(compiled, tuple):
                found += compiled
                continue
            if compiled.type.name() not in _TRUTHS:
                found.append(
                    Problem(
                        where=where,
                        expression=condition.expression,
                        reason=f"it answers {compiled.type.name().lower()}, but a condition answers true or false",
                        advice="compare it with something",
                    )
                )
            conditions.append((condition.name or where, compiled.expression, compiled.looks))
        if found:
            return None, Report(problems=tuple(found), fields=None)
        told = Looks(variables=frozenset(source.told))
        seen = _everything([told, *(look for _, _, look in conditions)], variables)
        program = Program(
            conditions=tuple((name, expression) for name, expression, _ in conditions),
            variables={name: expression for name, (expression, _) in variables.items()},
            looks=seen,
            told=source.told,
        )
        return program, Report(
            fields=None if seen.fields is None else tuple(sorted(seen.fields)),
            namespace_fields=None if seen.namespace_fields is None else tuple(sorted(seen.namespace_fields)),
            asks=tuple(sorted(seen.asks)),
        )


class _Compiled:
    def __init__(self, kind: cel.Type, expression: cel.Expression, look: Looks) -> None:
        self.type = kind
        self.expression = expression
        self.looks = look


class _Check:
    """Making an environment takes milliseconds: what names no variable shares one with all policies."""

    def __init__(self, target: cel.Env, *, namespaced: bool) -> None:
        self._target = target
        self._namespaced = namespaced
        self._made_for: dict[str, cel.Type] | None = None
        self._env: cel.Env | None = None

    def _environment(self, source: Named, types: dict[str, cel.Type]) -> cel.Env:
        if not types or "variables" not in source.expression:
            return _plain(namespaced=self._namespaced)
        if self._env is None or self._made_for != types:
            self._made_for = dict(types)
            self._env = checker(types, namespaced=self._namespaced)
        return self._env

    def one(
        self, source: Named, types: dict[str, cel.Type], *, where: str
    ) -> _Compiled | tuple[Problem, ...]:
        if len(source.expression) > _LONGEST:
            long = Problem(
                where=where,
                expression=source.expression,
                reason=f"it has {len(source.expression):,} characters, and at most {_LONGEST:,} are taken",
                advice="split it into variables",
            )
            return (long,)
        try:
            expression = self._environment(source, types).compile(source.expression)
            checked = syntax.read(expression.serialize())
            objections = scrutiny.objections(checked, source, where=where, evaluator=self._target)
            if objections:
                return objections
            ready = self._target.deserialize(syntax.write(lowered(checked)))
        except (RuntimeError, RecursionError) as error:
            return wording.problems(
                source,
                where=where,
                said=str(error),
                known=wording.Known(variables=frozenset((*VARIABLES, *types)), functions=NAMES),
                namespaced=self._namespaced,
            )
        return _Compiled(expression.return_type(), ready, looks(checked))


@functools.cache
def _plain(*, namespaced: bool) -> cel.Env:
    return checker({}, namespaced=namespaced)


def _everything(conditions: list[Looks], variables: dict[str, tuple[cel.Expression, Looks]]) -> Looks:
    """What the conditions look at, themselves and through the variables that they reach."""
    seen = Looks()
    for look in conditions:
        seen |= look
    reached: set[str] = set()
    while waiting := seen.variables - reached:
        for name in waiting:
            reached.add(name)
            seen |= variables[name][1]
    return seen
