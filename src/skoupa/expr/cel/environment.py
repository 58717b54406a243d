"""Two environments of the engine: one that checks expressions against the declared types, and one that evaluates them.

The engine has no types of our own at run time, so the checker is told that `quantity` makes a kubernetes.Quantity while
the evaluator hands maps around: a checked tree is carried from the one to the other. Thus an expression that mixes
types is refused as Kubernetes would refuse it, and `==` on quantities is still the engine's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from cel_expr_python import cel  # type: ignore[import-untyped]  # its stubs are not marked as complete
from cel_expr_python.ext import (  # type: ignore[import-untyped]
    ext_bindings,
    ext_encoders,
    ext_math,
    ext_optional,
    ext_strings,
)

from skoupa.expr.cel.library.declaring import Function, TypeName, read_type
from skoupa.expr.cel.library.documents import is_whole
from skoupa.expr.cel.library.numbers import COMPARISONS
from skoupa.expr.cel.library.shelf import ANSWERED, declared_for
from skoupa.expr.cel.library.world import World

VARIABLES: Final = {
    "object": "dyn",
    "namespaceObject": "dyn",
    "images": "map<string, list<string>>",
}
_KINDS: Final[Mapping[str, cel.Type]] = {
    "bool": cel.Type.BOOL,
    "int": cel.Type.INT,
    "uint": cel.Type.UINT,
    "double": cel.Type.DOUBLE,
    "string": cel.Type.STRING,
    "bytes": cel.Type.BYTES,
    "list": cel.Type.LIST,
    "map": cel.Type.MAP,
    "timestamp": cel.Type.TIMESTAMP,
    "duration": cel.Type.DURATION,
    "null": cel.Type.NULL,
    # Of all types only this one stands for any kind when the engine looks for an overload.
    "any": cel.Type("google.protobuf.Any"),
}


def checker(variables: Mapping[str, cel.Type], *, namespaced: bool) -> cel.Env:
    """`variables` are those of the policy, by their full name (`variables.name`)."""
    return cel.NewEnv(
        config=_config(namespaced=namespaced),
        variables=dict(variables),
        # The first version of math has the macros only; the rest is declared in `numbers`.
        extensions=[
            ext_bindings.ExtBindings(),
            ext_encoders.ExtEncoders(),
            ext_math.ExtMath(0),
            ext_optional.ExtOptional(),
        ],
    )


def evaluator(world: World) -> cel.Env:
    return cel.NewEnv(
        extensions=[
            ext_bindings.ExtBindings(),
            ext_encoders.ExtEncoders(),
            ext_math.ExtMath(),
            ext_optional.ExtOptional(),
            ext_strings.ExtStrings(),
        ],
        functions=[
            cel.FunctionDecl(name, overloads) for name, overloads in _overloads(ANSWERED, world).items()
        ],
    )


@functools.cache
def _config(*, namespaced: bool) -> cel.EnvConfig:
    """Reading it is most of the work of making a checker, so it is kept."""
    functions: dict[str, dict[str, dict[str, Any]]] = {}
    for declared in declared_for(namespaced=namespaced):
        for signature in declared.signatures:
            overload: dict[str, Any] = {"return": _type(signature.result)}
            arguments = [_type(parameter) for parameter in signature.parameters]
            if declared.method:
                overload["target"] = arguments.pop(0)
            if arguments:
                overload["args"] = arguments
            identity = f"{declared.name} {'method' if declared.method else 'function'} {signature.parameters}"
            functions.setdefault(declared.name, {})[identity] = {"id": identity, **overload}
    config = {
        "name": "skoupa",
        # Declared anew with what the library adds to them.
        "stdlib": {"exclude_functions": [{"name": name} for name in ("string", *COMPARISONS)]},
        "variables": [{"name": name, **_type(read_type(text))} for name, text in VARIABLES.items()],
        "functions": [
            {"name": name, "overloads": list(overloads.values())} for name, overloads in functions.items()
        ],
    }
    # The engine takes YAML, which JSON is, too.
    return cel.NewEnvConfigFromYaml(msgspec.json.encode(config).decode())


def _type(name: TypeName) -> dict[str, Any]:
    found: dict[str, Any] = {"type_name": name.name}
    if name.is_parameter:
        found["is_type_param"] = True
    if name.parameters:
        found["params"] = [_type(parameter) for parameter in name.parameters]
    return found


def _overloads(functions: Iterable[Function], world: World) -> dict[str, list[cel.Overload]]:
    """Signatures that are one to the engine (`list<int>` and `list<string>`) become one overload."""
    found: dict[str, dict[str, cel.Overload]] = {}
    for declared in functions:
        if declared.answer is None:
            continue
        answer = functools.partial(declared.answer, world) if declared.worldly else declared.answer
        for signature in declared.signatures:
            kinds = [parameter.kind for parameter in signature.parameters]
            identity = f"{declared.name} {'method' if declared.method else 'function'} {' '.join(kinds)}"
            found.setdefault(declared.name, {}).setdefault(
                identity,
                cel.Overload(
                    identity,
                    _result(signature.result),
                    [_KINDS[kind] for kind in kinds],
                    declared.method,
                    _spoken(answer),
                ),
            )
    return {name: list(overloads.values()) for name, overloads in found.items()}


def _result(name: TypeName) -> cel.Type:
    """Where it can differ from what the engine guesses from a Python value."""
    if name.name == "list" and name.parameters:
        return cel.Type.List(_result(name.parameters[0]))
    return _KINDS[name.kind] if name.kind in {"timestamp", "duration", "uint"} else cel.Type.DYN


def _spoken(answer: Callable[..., Any]) -> Callable[..., Any]:
    """Errors that are no sentence become one: the engine shows users what was raised."""

    @functools.wraps(answer)
    def guarded(*arguments: Any) -> Any:
        try:
            found = answer(*arguments)
        except (ValueError, MemoryError):
            raise
        except Exception as error:
            raise ValueError(
                f"these values can't be worked with ({type(error).__name__}: {error})"
            ) from error
        for text in found if isinstance(found, list) else (found,):
            if isinstance(text, str) and not is_whole(text):
                raise ValueError("this makes a text with a NUL or half a character in it")
        return found

    return guarded
