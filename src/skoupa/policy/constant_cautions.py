"""Conditions of a CleanupPolicy that say the same of every object: braces that were forgotten, a value that is not there.

Such a condition is no mistake to who reads it, in Kyverno as here: `target.metadata.name` without braces is a text, and differs from
every other. So a policy that was meant for a few may take all of a kind; its writer is told, and it runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from skoupa.errors import ExpressionError
from skoupa.policy.operators import holds
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem
from skoupa.policy.variable_names import ROOTS
from skoupa.policy.variables import variables_of

_PATH: Final = re.compile(rf"[$({{\s]*(?P<path>(?:{'|'.join(sorted(ROOTS))})[.\[].*?)[)}}\s]*", re.DOTALL)
_SHOWN: Final = 60
_EXAMPLE: Final = '"{{ target.metadata.name }}"'


def constant_cautions(clauses: Clauses) -> Iterator[Problem]:
    for mode in ("any", "all"):
        for index, one in enumerate(clauses.comparisons.get(mode) or ()):
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


def constant(comparison: Mapping[str, Any]) -> bool | None:
    """What it says of every object; None where it looks at something, or can't be read."""
    key, value = comparison.get("key"), comparison.get("value")
    try:
        return None if variables_of([key, value]) else holds(str(comparison.get("operator")), key, value)
    except ExpressionError:
        return None


def sifts(clauses: Clauses) -> bool:
    """Whether some object may not meet them, as far as can be seen without one."""
    if any(one.expression.strip() != "true" for one in clauses.expressions):
        return True
    of_all, of_any = (clauses.comparisons.get(mode) or () for mode in ("all", "any"))
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
