"""What a function takes and gives, read off its Python signature, so that a mistake is found before any object is.

The first parameter is the Run (fuel, time, chance); the others are annotated with the names below. A function raises
ValueError with a sentence when its arguments have the right types but make no sense; the interpreter adds which function
of which expression that was. Literal arguments are checked at compile time, with `Checked` also for what they say.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from skoupa.expr.jmespath.jsontypes import Type
from skoupa.expr.jmespath.running import Lambda

Text = Annotated[str, Type.STRING]
Number = Annotated[float, Type.NUMBER]
Truth = Annotated[bool, Type.BOOLEAN]
Items = Annotated[list[Any], Type.ARRAY]
Texts = Annotated[list[str], Type.STRINGS]
Numbers = Annotated[list[float], Type.NUMBERS]
Ordered = Annotated[list[Any], Type.NUMBERS | Type.STRINGS]
Members = Annotated[dict[str, Any], Type.OBJECT]
Collection = Annotated[Any, Type.OBJECT | Type.ARRAY]
TextOrNumber = Annotated[Any, Type.STRING | Type.NUMBER]
TextOrItems = Annotated[Any, Type.STRING | Type.ARRAY]
Measurable = Annotated[Any, Type.STRING | Type.ARRAY | Type.OBJECT]
Anything = Annotated[Any, Type.ANY]
By = Annotated[Lambda, Type.EXPRESSION]


class Checked(msgspec.Struct, frozen=True):
    """Beside a type: what a literal of it must survive; raises ValueError."""

    check: Callable[[Any], object]


class Parameter(msgspec.Struct, frozen=True):
    name: str
    takes: Type
    check: Callable[[Any], object] | None = None


class Function(msgspec.Struct, frozen=True):
    name: str
    call: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    gives: Type
    variadic: bool = False
    cost: int = 8

    @property
    def usage(self) -> str:
        """How to write a call: `time_since(layout, start, end)`."""
        names = [parameter.name for parameter in self.parameters]
        return f"{self.name}({', '.join([*names, '…'] if self.variadic else names)})"

    def parameter(self, position: int) -> Parameter:
        return self.parameters[min(position, len(self.parameters) - 1)]

    def arity_problem(self, given: int) -> str:
        """Empty when a call with so many arguments is possible."""
        wanted = len(self.parameters)
        if given == wanted or (self.variadic and given > wanted):
            return ""
        least = "at least " if self.variadic else ""
        return f"{self.name} takes {least}{_count(wanted)}, not {given or 'none'}"


def declare(call: Callable[..., Any], name: str = "", *, cost: int = 8) -> Function:
    """The name is that of the Python function, unless Python has other plans for it; `cost` is in steps for a call."""
    hints = typing.get_type_hints(call, include_extras=True)
    # The first is the Run.
    given = list(inspect.signature(call).parameters.values())[1:]
    return Function(
        name=name or call.__name__,
        call=call,
        parameters=tuple(_parameter(parameter.name, hints[parameter.name]) for parameter in given),
        gives=_parameter("", hints["return"]).takes,
        variadic=any(parameter.kind is parameter.VAR_POSITIONAL for parameter in given),
        cost=cost,
    )


def _parameter(name: str, hint: Any) -> Parameter:
    _, *notes = typing.get_args(hint)
    takes = next(note for note in notes if isinstance(note, Type))
    check = next((note.check for note in notes if isinstance(note, Checked)), None)
    return Parameter(name.rstrip("_"), takes, check)


def _count(number: int) -> str:
    return {0: "no arguments", 1: "one argument", 2: "two arguments", 3: "three arguments"}.get(
        number, f"{number} arguments"
    )
