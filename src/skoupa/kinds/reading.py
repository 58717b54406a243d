"""From a part of an API object to its Struct, with errors that say what to write.

The server checks the same shape when an object is written, but not everything: objects written before a rule, in another
version, or to a file never met it. Here an unknown field is an error that names the nearest known one, and a wrong
value one that shows the right form. What to do about an object that can't be read is for its reader to decide.
"""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import takewhile
from typing import Any, Final, TypeVar, get_type_hints

import msgspec
from msgspec import inspect as types

from skoupa.errors import UsageError
from skoupa.expr.instants import parse_rfc3339
from skoupa.expr.readings import Problem, quoted
from skoupa.kinds.schema import FORM

T = TypeVar("T")
# A name, the index in a list, or a key that is not told.
_Step = tuple[str, str, str]

_STEP: Final = re.compile(r"\.([^.\[\]`]+)|\[(\d+)\]|(\[\.\.\.\])")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`")
_MISSING: Final = re.compile(r"Object missing required field `(.*)`")
_WRONG_TYPE: Final = re.compile(r"Expected `([^`]*)`, got `([^`]*)`")
_NO_TEXT: Final = "Expected `str"
# In the place of something else, so that what stands beside it is read too.
_SOME_TEXT: Final = "x"
_FIELD: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_NOT_FORMED: Final = re.compile("matching regex|of length")
# Of one part: each costs another reading, and nobody mends more at a time.
_MOST_ERRORS: Final = 20
_WORDS: Final = {
    "str": "a text",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "array": "a list",
    "object": "an object with fields",
    "datetime": "a time such as 2026-08-04T00:30:00Z",
    "null": "nothing",
}


def read(value: Any, shape: type[T], *, where: str) -> T:
    """`value` as `shape`; `where` is its place in the object (`spec.scope`)."""
    try:
        return msgspec.convert(value, shape, strict=True)
    except msgspec.ValidationError as error:
        raise _readable(str(error), value, shape, where=where) from error


def read_field(value: Any, shape: type[msgspec.Struct], field: str, *, where: str) -> Any:
    """`value` as one field of a Struct, for who reads its fields one by one; `where` is the place of the field."""
    return read(value, _hints(shape)[field], where=where)


class Partly(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a value without what is wrong in it; None: nothing.

    `wrong` are the places of the errors, each with the fields that are written there: what is missing beside them may only be misspelt.
    """

    value: Any
    errors: tuple[UsageError, ...] = ()
    wrong: Mapping[str, frozenset[str]] = {}


def read_partly(value: Any, shape: Any, *, where: str) -> Partly:
    """As `read`, with every error and whatever can be looked at besides; lists keep their indices. Never to act by."""
    wrong: dict[str, frozenset[str]] = {}
    errors: list[UsageError] = []
    rest, gone, meant = value, set[tuple[_Step, ...]](), set[tuple[str, str]]()
    while len(errors) < _MOST_ERRORS:
        try:
            return Partly(value=msgspec.convert(rest, shape, strict=True), errors=tuple(errors), wrong=wrong)
        except msgspec.ValidationError as error:
            message = str(error)
        said, steps = _parsed(message, rest)
        place, field = _place(where, steps), _named(said)
        missing = field if _MISSING.fullmatch(said) else ""
        known = (place, missing) in meant or not gone.isdisjoint({(*steps, (missing, "", "")), tuple(steps)})
        if not known:
            errors.append(_readable(message, rest, shape, where=where))
            found = _at(value, steps)
            wrong[place] = frozenset(map(str, found)) if isinstance(found, dict) else frozenset()
        if _UNKNOWN.fullmatch(said):
            meant.add((place, _nearest(field, _fields(_shape_at(shape, steps))) or field))
            steps = [*steps, (field, "", "")]
        try:
            rest = copy.deepcopy(rest) if rest is value else rest
        except RecursionError:
            break
        before = list(takewhile(lambda step: not step[2], steps))
        if not _take_out(rest, before, gone, for_it=_SOME_TEXT if said.startswith(_NO_TEXT) else {}):
            break
    return Partly(value=None, errors=tuple(errors), wrong=wrong)


def read_field_partly(value: Any, shape: type[msgspec.Struct], field: str, *, where: str) -> Partly:
    return read_partly(value, _hints(shape)[field], where=where)


def unknown_fields(
    value: Mapping[str, Any], shape: type[msgspec.Struct], *, where: str
) -> Iterator[UsageError]:
    """An error for each field that the Struct does not know."""
    known = frozenset(_hints(shape))
    for field in value:
        if field not in known:
            yield _unknown(str(field), known, where=where)


@cache
def _hints(shape: type[msgspec.Struct]) -> dict[str, Any]:
    hints = get_type_hints(shape, include_extras=True)
    return {field.encode_name: hints[field.name] for field in msgspec.structs.fields(shape)}


def _readable(message: str, value: Any, shape: Any, *, where: str) -> UsageError:
    said, steps = _parsed(message, value)
    place = _place(where, steps)
    found, info = _at(value, steps), _shape_at(shape, steps)
    if match := _UNKNOWN.fullmatch(said):
        return _unknown(match[1], _fields(info), where=place)
    if match := _MISSING.fullmatch(said):
        return UsageError(f"{place}.{match[1]} is missing", advice=_about(_field(info, match[1]), match[1]))
    if isinstance(info, types.DateTimeType) and isinstance(found, str):
        problem = parse_rfc3339(found)
        what = problem.what if isinstance(problem, Problem) else f"{quoted(found)} is no time"
        instead = (
            problem.instead if isinstance(problem, Problem) else "write a time such as 2026-08-04T00:30:00Z"
        )
        return UsageError(f"{place}: {what}", advice=instead)
    if isinstance(info, types.LiteralType):
        choices = " or ".join(str(choice) for choice in info.values)
        return UsageError(f"{place}: {_shown(found)} is not known", advice=f"write {choices}")
    if match := _WRONG_TYPE.fullmatch(said):
        wanted = _words(match[1])
        advice = _in_quotes(found) if "str" in match[1].split(" | ") else ""
        return UsageError(f"{place}: {_shown(found)} is not {wanted}", advice=advice or f"write {wanted}")
    if _NOT_FORMED.search(said):
        field = steps[-1][0] if steps else place.rpartition(".")[2]
        wanted_type = _field(_shape_at(shape, steps[:-1]), field) if steps else types.type_info(shape)
        form, about = _form(wanted_type), _about(wanted_type, field)
        if found == "" and field:
            return UsageError(f"{place}: it is empty", advice=form or f"write it: {about}")
        if form or "matching regex" in said:
            return UsageError(f"{place}: {_shown(found)} is none", advice=form or about)
        if found in ([], {}):
            return UsageError(f"{place}: it is empty", advice=f"write at least one: {about}")
    return UsageError(f"{place}: {_shown(found)} can't be used", advice=said[:1].lower() + said[1:])


def _unknown(field: str, known: frozenset[str], *, where: str) -> UsageError:
    near = _nearest(field, known)
    advice = f"did you mean {near}?" if near else f"there are {', '.join(sorted(known))}"
    return UsageError(f"{where}: there is no field {quoted(field)}", advice=advice)


def _nearest(field: str, known: frozenset[str]) -> str:
    lower = {name.lower(): name for name in sorted(known)}
    near = difflib.get_close_matches(field.lower(), lower, n=1, cutoff=0.5)
    return lower[near[0]] if near else ""


def _parsed(message: str, value: Any) -> tuple[str, list[_Step]]:
    """`value` is what the message is about. Of a mapping of texts the key is not told, and it is the first with something else."""
    said, _, tail = message.partition(" - at `$")
    steps: list[_Step] = _STEP.findall(tail)
    if steps and steps[-1][2] and said.startswith(_NO_TEXT):
        around = _at(value, steps)
        items = around.items() if isinstance(around, dict) else ()
        key = next((key for key, item in items if isinstance(key, str) and not isinstance(item, str)), "")
        steps = [*steps[:-1], (key, "", "")] if key else steps
    return said, steps


def _named(said: str) -> str:
    match = _UNKNOWN.fullmatch(said) or _MISSING.fullmatch(said)
    return match[1] if match else ""


def _place(where: str, steps: list[_Step]) -> str:
    return where + "".join(_shown_step(name, index) for name, index, _ in steps)


def _shown_step(name: str, index: str) -> str:
    return f".{name}" if _FIELD.fullmatch(name) else f"[{name or index or '…'}]"


def _take_out(whole: Any, steps: list[_Step], gone: set[tuple[_Step, ...]], *, for_it: Any) -> bool:
    """Takes out what stands there, or as much around it as has to go with it; False: that is everything.

    In a list `for_it` stands in its place.
    """
    for end in range(len(steps), 0, -1):
        here, (name, index, _) = tuple(steps[:end]), steps[end - 1]
        around = _at(whole, steps[: end - 1])
        if name and isinstance(around, dict) and name in around:
            del around[name]
        elif index and isinstance(around, list) and here not in gone:
            around[int(index)] = for_it
        else:
            continue
        gone.add(here)
        return True
    return False


def _at(value: Any, steps: list[_Step]) -> Any:
    """What stands at the place of an error; the whole of an object whose bad key is not told."""
    for name, index, _ in steps:
        if name and isinstance(value, dict):
            value = value.get(name)
        elif index and isinstance(value, list | tuple):
            value = value[int(index)]
        else:
            break
    return value


def _shape_at(shape: Any, steps: list[_Step]) -> types.Type:
    info = _bare(types.type_info(shape))
    for name, *_ in steps:
        match info:
            case types.StructType():
                fields = {field.encode_name: field.type for field in info.fields}
                info = _bare(fields[name]) if name in fields else types.AnyType()
            case types.ListType() | types.VarTupleType() | types.SetType() | types.FrozenSetType():
                info = _bare(info.item_type)
            case types.DictType():
                info = _bare(info.value_type)
            case _:
                return types.AnyType()
    return info


def _bare(info: types.Type) -> types.Type:
    """Without descriptions and without None."""
    while True:
        if isinstance(info, types.Metadata):
            info = info.type
            continue
        if isinstance(info, types.UnionType):
            parts = [part for part in info.types if not isinstance(part, types.NoneType)]
            if len(parts) == 1:
                info = parts[0]
                continue
        return info


def _fields(info: types.Type) -> frozenset[str]:
    known = info.fields if isinstance(info, types.StructType) else ()
    return frozenset(field.encode_name for field in known)


def _field(info: types.Type, name: str) -> types.Type | None:
    fields = info.fields if isinstance(info, types.StructType) else ()
    return next((field.type for field in fields if field.encode_name == name), None)


def _form(found: types.Type | None) -> str:
    """What a value of that type looks like, where it says so; also beside None."""
    while isinstance(found, types.Metadata) and not (found.extra or {}).get(FORM):
        found = found.type
    if isinstance(found, types.UnionType):
        found = next((part for part in found.types if isinstance(part, types.Metadata)), None)
    return str((found.extra or {}).get(FORM, "")) if isinstance(found, types.Metadata) else ""


def _about(found: types.Type | None, name: str) -> str:
    extra = (found.extra_json_schema or {}) if isinstance(found, types.Metadata) else {}
    return str(extra.get("description") or f"write {name}")


def _words(wanted: str) -> str:
    parts = [part for part in wanted.split(" | ") if part != "null"]
    return " or ".join(_WORDS.get(part, part) for part in parts)


def _in_quotes(found: Any) -> str:
    """What stands there is meant as a text, and YAML reads it as something else."""
    if isinstance(found, bool):
        return "put it into quotes: without them YAML reads y, n, yes, no, on and off as true or false"
    return f'put it into quotes: "{found}"' if isinstance(found, int | float) else ""


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    return quoted(msgspec.json.encode(value, enc_hook=str).decode())[1:-1]
