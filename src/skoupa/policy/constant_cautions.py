"""Conditions of a CleanupPolicy that say the same of every object: braces that were forgotten, a value that is not there or has no size.

Such a condition is no mistake to who reads it, in Kyverno as here: `target.metadata.name` without braces is a text, and differs from
every other. So a policy that was meant for a few may take all of a kind; its writer is told, and it runs. Only short ones are looked
at, and not very many: whoever reads a policy does nothing else meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa.errors import ExpressionError
from skoupa.expr.durations import parse_duration
from skoupa.expr.golang import duration_text
from skoupa.expr.readings import quoted
from skoupa.policy.operators import has_size, holds
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem
from skoupa.policy.variable_names import ROOTS
from skoupa.policy.variables import variables_of

_PATH: Final = re.compile(rf"[$({{\s]*(?P<path>(?:{'|'.join(sorted(ROOTS))})[.\[].*?)[)}}\s]*", re.DOTALL)
_SHOWN: Final = 60
_LONGEST: Final = 300
_MOST: Final = 100
_NOTHING_MORE: Final = re.compile(r"(?<=h)0m0s$|(?<=m)0s$")
_EXAMPLE: Final = '"{{ target.metadata.name }}"'


def constant_cautions(clauses: Clauses) -> Iterator[Problem]:
    for mode in ("any", "all"):
        for index, one in enumerate((clauses.comparisons.get(mode) or ())[:_MOST]):
            path = f"spec.conditions.{mode}[{index}]"
            answer = constant(one)
            if answer is not None:
                every = "true of every object" if answer else "true of none"
                what = f"no variable stands in it, so that it is {every}"
                yield Problem(
                    path=path, what=what, instead=f"put what is looked at into braces: {_meant(one)}"
                )
            elif "value" not in one:
                what = "it has no value, so that it is compared with null"
                yield Problem(path=f"{path}.value", what=what, instead="write value: null if that is meant")
            else:
                yield from _without_size(one, path)


def constant(comparison: Mapping[str, Any]) -> bool | None:
    """What it says of every object; None where it looks at something, can't be read, or is longer than a slip of the pen."""
    key, value = comparison.get("key"), comparison.get("value")
    try:
        if len(msgspec.json.encode((key, value))) > _LONGEST:
            return None
        return None if variables_of([key, value]) else holds(str(comparison.get("operator")), key, value)
    except ExpressionError:
        return None


def _without_size(comparison: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """A side that is the same for every object, and is neither more nor less than anything: 7d, of which Go knows nothing."""
    operator = str(comparison.get("operator"))
    for side in ("key", "value"):
        written = comparison.get(side)
        try:
            sized = bool(variables_of(written)) or has_size(operator, written)
        except ExpressionError:
            continue
        if not sized:
            what = f"nothing is more or less than {_shown(written)}, so that it is true of none"
            yield Problem(path=f"{path}.{side}", what=what, instead=_with_size(operator, written))


def _with_size(operator: str, written: Any) -> str:
    found = parse_duration(written) if isinstance(written, str) else None
    if isinstance(found, int):
        hours = _NOTHING_MORE.sub("", duration_text(found * 10**9))
        return f"durations have no days here: write {quoted(hours)}"
    if operator.lower().startswith("duration"):
        return 'write a duration such as "36h", or seconds as a number'
    return 'write a number, a duration ("36h"), a quantity ("1Gi") or a version ("1.2.3")'


def _shown(written: Any) -> str:
    return quoted(written) if isinstance(written, str) else "a value of this type"


def sifts(clauses: Clauses) -> bool:
    """Whether some object may not meet them, as far as can be seen without one."""
    if any(one.expression.strip() != "true" for one in clauses.expressions):
        return True
    of_all, of_any = (clauses.comparisons.get(mode) or () for mode in ("all", "any"))
    if len(of_all) + len(of_any) > _MOST:
        return True
    if any(constant(one) is not True for one in of_all):
        return True
    return bool(of_any) and not any(constant(one) is True for one in of_any)


def _meant(comparison: Mapping[str, Any]) -> str:
    for side in ("key", "value"):
        text = comparison.get(side)
        found = _PATH.fullmatch(text) if isinstance(text, str) else None
        if found is not None and len(found["path"]) <= _SHOWN:
            return f'"{{{{ {found["path"]} }}}}"'
    return _EXAMPLE
