"""The engine's messages in the words of users: what is wrong, where, and what to write.

Nothing is hidden: a message that is not known here is passed on as it is.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Final

import msgspec

from skoupa.expr.cel.messages import Named, Problem
from skoupa.expr.cel.reaching import misplaced
from skoupa.expr.cel.refused import BY_NAME

_COMPLAINT: Final = re.compile(r"ERROR: <input>:(-?[0-9]+):(-?[0-9]+): (.*)$", re.MULTILINE)
_UNDECLARED: Final = re.compile(r"undeclared reference to '([^']+)'")
_NO_OVERLOAD: Final = re.compile(r"found no matching overload for '([^']+)' applied to '\((.*)\)'")
_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*")
_CALLED: Final = re.compile(r"\s*\(")
_MACROS: Final = frozenset({"all", "exists", "exists_one", "map", "filter"})
_OPERATORS: Final = re.compile(r"_?(\S+?)_?")
# What the engine brings along, besides what is declared to it: for advice only.
_BUILT_IN: Final = _MACROS | {
    "bool",
    "contains",
    "double",
    "duration",
    "dyn",
    "endsWith",
    "getDate",
    "getDayOfWeek",
    "getFullYear",
    "getHours",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "has",
    "hasValue",
    "int",
    "matches",
    "orValue",
    "size",
    "startsWith",
    "timestamp",
    "type",
}
_ALIKE: Final = 0.7
_NO_SUCH_FUNCTION: Final = (
    "functions are those of CEL, Kubernetes and Kyverno, such as size(...), timestamp(...) and time.now()"
)
_NO_SUCH_VARIABLE: Final = "conditions know object, namespaceObject, images and variables.<name>"
_STATUS: Final = re.compile(r"^(?:[A-Z_]+: )(.*)$", re.DOTALL)
_KEY: Final = re.compile(r'Key not found in map : "(.*)"')
_FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OUT_OF_MEMORY: Final = "std::bad_alloc"
NO_MEMORY: Final = "needs more memory than it may have: look at fewer or smaller values"

_REFUSED: Final = "can't be used here: "
_UNKNOWN: Final = "there is no "
# The type of what the checker has complained about already.
_FOLLOWS: Final = "*error*"
_NO_MATCH: Final = re.compile(r"^No matching overloads? found(?: : (.*))?")
_RUN_TIME: Final = (
    (
        re.compile(r"^Applying SELECT to non-message type"),
        "looks into a value that is no map (null, a text or a number)",
        "ask for it first, or write .?name",
    ),
    (
        re.compile(r"Iteration budget exceeded|exceeded.*iteration", re.IGNORECASE),
        "takes more than 10,000 steps",
        "look at fewer elements, or filter them first",
    ),
    (re.compile(r"^divide by zero|^modulus by zero"), "divides by zero", "ask for zero first"),
    (
        re.compile(r"^Index error: index=(\S+) size=(\S+)"),
        "asks for an element that the list does not have",
        "ask size() first, or write [?0]",
    ),
    (
        re.compile(r"^(?:String to Timestamp conversion failed|this text is no timestamp)"),
        "reads a text as a timestamp that is none",
        "write it like timestamp('2026-01-31T12:00:00Z')",
    ),
    (
        re.compile(r"^(?:String to Duration conversion failed|this text is no duration)"),
        "reads a text as a duration that is none",
        "write it like duration('36h')",
    ),
    (
        re.compile(r"^this text is no (?:int|uint)$"),
        "reads a text as a whole number that is none",
        "it has digits only, no spaces, and fits into 64 bits",
    ),
    (
        re.compile(r"^this text is no double$"),
        "reads a text as a number that is none",
        "it is written like 1.5 or 2e3, without spaces",
    ),
    (
        re.compile(r"^this text is no bool$"),
        "reads a text as true or false that is neither",
        "compare the text instead, like object.x == 'yes'",
    ),
    (
        re.compile(r"^optional\.none\(\) dereference"),
        "takes the value of an optional that has none",
        "write orValue(...)",
    ),
)
_NO_OPTIONAL: Final = "uses orValue on a value that is no optional: write it like object.?spec.?x.orValue(1)"
# What `run_time` says without quoting anything.
FIXED: Final = frozenset(
    {NO_MEMORY, _NO_OPTIONAL, *(f"{reason}: {advice}" for _, reason, advice in _RUN_TIME)}
)


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """The names that an expression may use; functions besides those that every CEL has."""

    variables: frozenset[str]
    functions: frozenset[str]


def problems(
    source: Named, *, where: str, said: str, known: Known, namespaced: bool = False
) -> tuple[Problem, ...]:
    """What the checker said about one expression."""
    complaints = _COMPLAINT.findall(said)
    if not complaints:
        reason = said.split("\n", 1)[0].removesuffix(" [INVALID_ARGUMENT]")
        reason = reason.removeprefix("INVALID_ARGUMENT: ")
        return (Problem(where=where, expression=source.expression, reason=reason),)
    undeclared = {match[1] for _, _, text in complaints if (match := _UNDECLARED.search(text))}
    if undeclared & _MACROS:
        line, column, _ = complaints[0]
        return (
            Problem(
                where=where,
                expression=source.expression,
                reason="comprehensions take one variable and an expression",
                advice="write list.all(x, x > 0); comprehensions with two variables are not available",
                line=int(line),
                column=int(column),
            ),
        )
    found = [
        _problem(
            source,
            where=where,
            line=int(line),
            column=int(column),
            text=text,
            known=known,
            namespaced=namespaced,
        )
        for line, column, text in complaints
    ]
    # One unknown name makes the checker complain about what stands around it, too: the one that explains most wins.
    refused = [problem for problem in found if problem.reason.startswith(_REFUSED)]
    named = [problem for problem in found if problem.reason.startswith(_UNKNOWN)]
    if refused or named:
        return tuple(refused[:1] or named[:1])
    causes = [problem for problem in found if _FOLLOWS not in problem.reason] or found
    return tuple({(problem.reason, problem.advice): problem for problem in reversed(causes)}.values())[::-1]


def _problem(
    source: Named, *, where: str, line: int, column: int, text: str, known: Known, namespaced: bool
) -> Problem:
    reason, advice = text, ""
    match = _NO_OVERLOAD.search(text)
    unknown = _UNDECLARED.search(text)
    types = match[2].split(", ") if match else None
    position = _position(source.expression, line, column)
    if (unknown or match) and (
        elsewhere := misplaced(source.expression, position, types=types, namespaced=namespaced)
    ):
        reason, advice = elsewhere
    elif unknown:
        reason, advice = _unknown(_name_at(source.expression, line, column, text), known)
    elif match:
        operator = _OPERATORS.fullmatch(match[1]) if "_" in match[1] and not match[1].isidentifier() else None
        name = operator[1] if operator else match[1]
        reason = f"{name} can't be used on ({match[2]})"
        advice = "convert one side, for instance with string(), int() or dyn()" if operator else ""
    elif text.startswith("Syntax error"):
        reason = "it is not written as CEL: " + text.removeprefix("Syntax error: ").split(" expecting ", 1)[0]
        advice = "look for a missing operator, quote or bracket before this place"
    elif "recursion depth" in text:
        reason, advice = "it is nested more than 32 deep", "split it into variables"
    return Problem(
        where=where,
        expression=source.expression,
        reason=reason,
        advice=advice,
        line=max(line, 0),
        column=max(column, 0),
    )


def _position(expression: str, line: int, column: int) -> int:
    return sum(len(row) + 1 for row in expression.split("\n")[: line - 1]) + column - 1


def _name_at(expression: str, line: int, column: int, text: str) -> str:
    """The dotted name that the complaint is about: it points at its beginning, or at the dot within."""
    lines = expression.split("\n")
    row = lines[line - 1] if line <= len(lines) else ""
    position = column - 1
    for match in _NAME.finditer(row):
        if match.start() <= position < match.end() or match.end() == position:
            called = _CALLED.match(row, match.end())
            return re.sub(r"\s", "", match[0]) + ("()" if called else "")
    declared = _UNDECLARED.search(text)
    return declared[1] if declared else ""


def _unknown(written: str, known: Known) -> tuple[str, str]:
    name = written.removesuffix("()")
    parts = name.split(".")
    for candidate in (name, parts[-1], parts[0]):
        if refusal := BY_NAME.get(candidate):
            return f"{_REFUSED}{candidate}: {refusal.reason}", refusal.instead
    if parts[0] == "variables" and len(parts) > 1:
        name = ".".join(parts[:2])
        return f"{_UNKNOWN}variable {name}", _advised(_near(name, known.variables), _NO_SUCH_VARIABLE)
    functions = known.functions | _BUILT_IN
    if not written.endswith("()"):
        if name in functions:
            return f"{name} is a function, and is not called", f"write {name}(...)"
        near = _near(name, known.variables) or _near(parts[0], known.variables)
        return f"{_UNKNOWN}variable {name}", _advised(near, _NO_SUCH_VARIABLE)
    if name in functions or parts[-1] in functions:
        return f"{parts[-1]} can't be used with so many or so few arguments", ""
    return f"{_UNKNOWN}function {name}", _advised(_nearest_function(name, functions), _NO_SUCH_FUNCTION)


def _nearest_function(name: str, functions: frozenset[str]) -> str:
    """Also one that is meant without its family: `now` is time.now."""
    last = name.rpartition(".")[2]
    by_last = {one.rpartition(".")[2].lower(): one for one in sorted(functions)}
    if last.lower() in by_last:
        return by_last[last.lower()]
    near = _near(name, functions) or _near(last, functions)
    return near or by_last.get(_near(last.lower(), by_last), "")


def _near(name: str, known: Iterable[str]) -> str:
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1, cutoff=_ALIKE)), "")


def _advised(near: str, otherwise: str) -> str:
    return f"did you mean {near}?" if near else otherwise


def run_time(said: str) -> str:
    """An error of evaluating, as a sentence that goes on after the name of the condition."""
    match = _STATUS.match(said)
    text = match[1] if match else said
    if _OUT_OF_MEMORY in text or (said.startswith("RESOURCE_EXHAUSTED") and not text.strip()):
        return NO_MEMORY
    if key := _KEY.search(text):
        return f"looks at {key[1]!r}, which is not there: {_asked_first(key[1])}"
    if overload := _NO_MATCH.search(text):
        if overload[1] == "orValue":
            return _NO_OPTIONAL
        used = (overload[1] or "a function").replace("<jump_condition>", "?:").replace("_", "")
        return f"uses {used} on values that it does not take: convert them first"
    for pattern, reason, advice in _RUN_TIME:
        if pattern.search(text):
            return f"{reason}: {advice}"
    return f"fails: {text or said}"


def _asked_first(key: str) -> str:
    """Most labels are no names that could stand behind a dot."""
    if _FIELD.fullmatch(key):
        return f"ask has(...) first, or write .?{key}"
    written = "'" + key.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"ask {written} in ... first, or write [?{written}]"
