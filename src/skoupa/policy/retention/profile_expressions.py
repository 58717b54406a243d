"""The CEL of a profile, as its compiler is asked about it, and what is wrong with it from what that said.

An object has finished or not by what stands in it: an expression that looks at a clock, at chance, at its Namespace or at anything
else would answer differently without any change of the object, and nobody would ask again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from skoupa.expr.cel.messages import Named, Report, Source
from skoupa.policy.problems import Problem
from skoupa.policy.retention.profiles import Profile

_TESTS: Final = ("finished", "succeeded", "failed")
_WHEN: Final = "finishedAt"
_IS_A_TIME: Final = Named(_WHEN, f"timestamp(variables.{_WHEN}) >= timestamp('1970-01-01T00:00:00Z')")
_INCONSTANT: Final = re.compile(r"\b(time\s*\.\s*now|random)\s*\(")
_ONLY_THE_OBJECT: Final = "let it look at object alone"


def source_of(profile: Profile) -> Source | None:
    """None where it has no expressions."""
    tests = tuple(Named(name, text) for name in _TESTS if (text := getattr(profile, name)))
    if not tests and not profile.finished_at:
        return None
    if not profile.finished_at:
        return Source(conditions=tests)
    return Source(conditions=(*tests, _IS_A_TIME), variables=(Named(_WHEN, profile.finished_at),))


def expression_problems(profile: Profile, report: Report) -> Iterator[Problem]:
    """`report` is what came of compiling `source_of(profile)`."""
    source = source_of(profile) or Source()
    fields = {f"conditions[{index}]": one.name for index, one in enumerate(source.conditions)}
    fields |= {f"variables[{index}]": one.name for index, one in enumerate(source.variables)}
    for found in report.problems:
        field = fields.get(found.where, _WHEN)
        path = f"spec.{field}"
        if found.expression == _IS_A_TIME.expression:
            instead = "let it give a timestamp: timestamp(object.status.endTime)"
            yield Problem(path=path, what="it gives no time", instead=instead)
            continue
        place = f"line {found.line}, column {found.column}: " if found.line else ""
        instead = found.advice or "mend the expression"
        yield Problem(path=path, what=f"{place}{found.reason}", instead=instead)
    if report.problems:
        return
    for function in report.asks:
        yield Problem(path="spec", what=f"{function} looks outside of the object", instead=_ONLY_THE_OBJECT)
    if report.looks_at_namespace:
        what = "namespaceObject is outside of the object"
        yield Problem(path="spec", what=what, instead=_ONLY_THE_OBJECT)
    for name in (*_TESTS, _WHEN):
        text = profile.finished_at if name == _WHEN else getattr(profile, name)
        if changing := _INCONSTANT.search(text):
            what = f"{changing[1]} answers differently each time, though the object is the same"
            yield Problem(path=f"spec.{name}", what=what, instead=_ONLY_THE_OBJECT)
