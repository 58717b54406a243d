"""What may be told of an error to people who may not read what it is about: which expression, and what kind of trouble.

Errors quote values: of the object, of its context, of other objects. Whoever writes a policy or reads its status reads
them with Skoupa's eyes, not with their own. So of what varies only that is told which stands in the policy itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa.errors import (
    ApiError,
    BadExpression,
    BadReply,
    ExpressionError,
    Forbidden,
    KindUnreadable,
    NotFound,
    SkoupaError,
    TimedOut,
    TooCostly,
    Unanswered,
    UnknownKind,
    Unreachable,
    Unresolved,
    UsageUnknown,
)
from skoupa.expr.cel.messages import Source
from skoupa.expr.cel.wording import FIXED

UNTOLD: Final = "(its values are not shown)"

_KINDS: Final[tuple[tuple[type[SkoupaError], str], ...]] = (
    (Unresolved, "it looks at something that is not there"),
    (TooCostly, "it takes more steps, output or time than it may"),
    (BadExpression, "it can't be read"),
    (ExpressionError, "it can't be worked out with the values that it gets"),
    (NotFound, "there is no such object"),
    (Forbidden, "Skoupa may not ask for it"),
    (ApiError, "the server refuses it"),
    (TimedOut, "there is no answer in time"),
    (Unreachable, "nobody can be reached there"),
    (BadReply, "the answer can't be used"),
    (KindUnreadable, "whether there is such a kind is not known"),
    (UnknownKind, "there is no such kind"),
)
# Reasons that quote nothing, in the words in which whoever raises them says them.
_PLAIN: Final = frozenset(
    {
        "a key must become a string",
        "a policy of a namespace may not call services",
        "a policy of a namespace may not look at the values of Secrets",
        "a value is nested too deeply to be written out",
        "it is null",
        "it leads nowhere",
        "it must become a string",
        "the values are nested too deeply",
    }
)
_ABSENT: Final = re.compile(r"(.+) is not there")
_FUNCTION: Final = re.compile(r"([a-z][a-z0-9_]*): ")
_VARIABLE: Final = re.compile(r"(?:fails: )?variable (\w+) (.*)", re.DOTALL)
_KEY: Final = re.compile(r"looks at '(.*)', which is not there: .*", re.DOTALL)
# What the engine says of a condition begins so where it quotes, and what it says of no single condition quotes nothing.
_QUOTING: Final = ("fails", "looks at")
_OF_THE_BATCH: Final = ("the batch ", "evaluating ", "the object ", "the page ", "namespace ")
_HOST: Final = re.compile(r"the operator can add \S+ to")
_SILENCE: Final = re.compile(r"got no answer within [0-9.]+ s$")
_NO_ENTRY: Final = re.compile(r"there is no (GlobalContextEntry [-a-z0-9.]+)")
_NO_SUCH_ENTRY: Final = "such GlobalContextEntry"


def trouble(error: SkoupaError, *, written: str = "") -> str:
    """`written` is all that stands in the policy."""
    if isinstance(error, UsageUnknown):
        return str(error)
    what = next((words for kind, words in _KINDS if isinstance(error, kind)), "it is refused")
    if not isinstance(error, ExpressionError):
        # Advice names settings and never what was found, but for the host that a policy may have made of it.
        advice = _HOST.sub("the operator can add its host to", error.advice)
        said = error.message if error.message in _PLAIN else what
        if entry := _NO_ENTRY.fullmatch(error.message):
            said = f"there is no {entry[1] if _is_written(entry[1], written) else _NO_SUCH_ENTRY}"
        return f"{said}: {advice}" if advice else said
    where = f"{error.expression}: " if error.expression and error.expression in written else ""
    if isinstance(error, Unanswered):
        return f"{where}{error.reason}{f': {error.advice}' if error.advice else ''}"
    absent = _ABSENT.fullmatch(error.reason) if isinstance(error, Unresolved) else None
    if error.reason in _PLAIN or (absent is not None and absent[1] in written):
        return f"{where}{error.reason}{f': {error.advice}' if error.advice else ''}"
    function = _FUNCTION.match(error.reason)
    if function is not None and f"{function[1]}(" in written:
        what = f"{function[1]} can't work with what it gets"
    return f"{where}{what} {UNTOLD}"


def trouble_of_condition(said: str, source: Source, *, asked: Mapping[str, str]) -> str:
    """Of what CEL said of an object; `asked` are the troubles of what it asked for, by the words that quote more."""
    if said.startswith(_OF_THE_BATCH):
        return said
    written = texts(msgspec.to_builtins(source))
    names = [one.name for one in source.conditions if said.startswith(f"condition {one.name} ")]
    if not names:
        return f"a condition has no answer {UNTOLD}"
    called = f"condition {max(names, key=len)}"
    rest = said.removeprefix(f"{called} ")
    while (inner := _VARIABLE.fullmatch(rest)) and any(inner[1] == one.name for one in source.variables):
        called, rest = f"{called}: variable {inner[1]}", inner[2]
    key = _KEY.fullmatch(rest)
    quotes = rest.startswith(_QUOTING) and rest not in FIXED
    if not quotes or (key is not None and key[1] in written):
        return f"{called} {rest}"
    known = next((gist for words, gist in asked.items() if words in rest), "")
    if (entry := _NO_ENTRY.search(rest)) and _is_written(entry[1], written):
        known = known.replace(_NO_SUCH_ENTRY, entry[1])
    if not known and _SILENCE.search(rest):
        known = "a question got no answer in time"
    return f"{called} has no answer{f': {known}' if known else ''} {UNTOLD}"


def _is_written(entry: str, written: str) -> bool:
    """Whether the policy names the entry itself, alone on a line or in quotes; else it may be made of what was read."""
    name = entry.rpartition(" ")[2]
    return name in written.split("\n") or any(f"{quote}{name}{quote}" in written for quote in "'\"")


def texts(value: Any) -> str:
    """Everything written in a value, keys too, each on a line of its own."""
    return "\n".join(_texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
