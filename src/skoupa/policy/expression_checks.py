"""What is wrong with the JMESPath of a CleanupPolicy: whatever no object can make right, told before any is looked at.

For `read_policy(check=…)`. CEL is not asked here: it is compiled in a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from skoupa.errors import BadExpression
from skoupa.expr import jmespath
from skoupa.kinds.policies.context import ApiCall, ContextEntry
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem
from skoupa.policy.variables import Template

_VARIABLE = "{{"


class _Names(msgspec.Struct, frozen=True):
    """Of the entries that may be looked at, and of those that come too late for that."""

    known: Sequence[str]
    later: Sequence[str] = ()


def jmespath_problems(clauses: Clauses) -> Iterator[Problem]:
    """Of conditions and context; for a DeletingPolicy, which has neither, nothing."""
    names = [entry.name for entry in clauses.context]
    for index, entry in enumerate(clauses.context):
        yield from _entry_problems(entry, f"spec.context[{index}]", _Names(names[:index], names[index:]))
    for mode in ("any", "all"):
        for index, comparison in enumerate(clauses.comparisons.get(mode) or ()):
            place = f"spec.conditions.{mode}[{index}]"
            for field in ("key", "value"):
                yield from _template_problems(comparison.get(field), f"{place}.{field}", _Names(names))


def _entry_problems(entry: ContextEntry, path: str, names: _Names) -> Iterator[Problem]:
    if entry.api_call is not None:
        yield from _call_problems(entry.api_call, f"{path}.apiCall", names)
    if entry.variable is not None:
        place = f"{path}.variable"
        yield from _template_problems(entry.variable.value, f"{place}.value", names)
        yield from _template_problems(entry.variable.default, f"{place}.default", names)
        if entry.variable.value is None and entry.variable.jmes_path:
            # It looks at the variables themselves, and a slip of the pen would leave the default for every object.
            whole = f"{{{{ {entry.variable.jmes_path} }}}}"
            yield from _template_problems(whole, f"{place}.jmesPath", names)
        else:
            yield from _projection_problems(entry.variable.jmes_path, f"{place}.jmesPath", names)
    if entry.global_reference is not None:
        place = f"{path}.globalReference"
        yield from _template_problems(entry.global_reference.name, f"{place}.name", names)
        yield from _projection_problems(entry.global_reference.jmes_path, f"{place}.jmesPath", names)


def _call_problems(call: ApiCall, path: str, names: _Names) -> Iterator[Problem]:
    yield from _template_problems(call.url_path, f"{path}.urlPath", names)
    for index, datum in enumerate(call.data):
        yield from _template_problems(datum.value, f"{path}.data[{index}].value", names)
    if call.service is not None:
        yield from _template_problems(call.service.url, f"{path}.service.url", names)
        for index, header in enumerate(call.service.headers):
            yield from _template_problems(header.value, f"{path}.service.headers[{index}].value", names)
    yield from _template_problems(call.default, f"{path}.default", names)
    yield from _projection_problems(call.jmes_path, f"{path}.jmesPath", names)


def _template_problems(value: Any, path: str, names: _Names) -> Iterator[Problem]:
    yield from _told(lambda: Template(value).check(names.known, later=names.later), path)


def _projection_problems(text: str | None, path: str, names: _Names) -> Iterator[Problem]:
    """A projection looks at an answer, so what it begins with is not known here."""
    if text is None:
        return
    if _VARIABLE in text:
        yield from _template_problems(text, path, names)
    else:
        yield from _told(lambda: jmespath.compile(text), path)


def _told(check: Callable[[], object], path: str) -> Iterator[Problem]:
    try:
        check()
    except BadExpression as error:
        yield Problem(path=path, what=error.message, instead=error.advice or "mend the expression")
