"""What is wrong with `conditions` and `context` of a CleanupPolicy besides their expressions, in words."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from skoupa.expr.readings import quoted
from skoupa.kinds.policies.context import NO_CONFIG_MAP, NO_IMAGE_REGISTRY, ContextEntry
from skoupa.policy.confinement import may_be_confined
from skoupa.policy.operators import OPERATORS, RENAMED
from skoupa.policy.problems import Problem

_BY_LOWER: Final = {operator.lower(): operator for operator in OPERATORS}
_FIELDS: Final = ("key", "operator", "value", "message")


def comparison_problems(conditions: Any, *, path: str) -> Iterator[Problem]:
    """Of `conditions` as they were written."""
    if not isinstance(conditions, Mapping):
        yield Problem(path=path, what="it is no object with fields", instead="write any or all with a list")
        return
    for mode, many in conditions.items():
        place = f"{path}.{mode}"
        if mode not in {"any", "all"}:
            yield Problem(
                path=path, what=f"there is no field {quoted(str(mode))}", instead="write any or all"
            )
        elif many is not None and not isinstance(many, list | tuple):
            yield Problem(path=place, what="it is no list", instead="write a list of key, operator and value")
        else:
            for index, one in enumerate(many or ()):
                yield from _comparison_problems(one, f"{place}[{index}]")


def as_far_as_readable(conditions: Any) -> dict[str, list[Mapping[str, Any]]]:
    """Of conditions with problems what has expressions, each in its place; never to judge by."""
    if not isinstance(conditions, Mapping):
        return {}
    return {
        mode: [one if isinstance(one, Mapping) else {} for one in many]
        for mode, many in conditions.items()
        if mode in {"any", "all"} and isinstance(many, list | tuple)
    }


def context_problems(entry: ContextEntry, *, path: str, namespace: str) -> Iterator[Problem]:
    """`namespace` is that of a namespaced policy, which reads nothing outside of it."""
    sources = [entry.api_call, entry.variable, entry.global_reference, entry.config_map, entry.image_registry]
    if entry.config_map is not None:
        what, _, instead = NO_CONFIG_MAP.partition(": ")
        yield Problem(path=path, what=what, instead=instead)
    if entry.image_registry is not None:
        what, _, instead = NO_IMAGE_REGISTRY.partition(": ")
        yield Problem(path=path, what=what, instead=instead)
    given = sum(source is not None for source in sources)
    if given != 1:
        instead = "write exactly one of apiCall, variable and globalReference"
        yield Problem(path=path, what=f"it has {given or 'no'} sources", instead=instead)
    call = entry.api_call
    if call is None:
        return
    if call.url_path is None and call.service is None:
        instead = "write urlPath for the API server, or service"
        yield Problem(path=f"{path}.apiCall", what="it says not where to", instead=instead)
    if namespace and call.url_path and call.service is None and not may_be_confined(call.url_path, namespace):
        what = f"{quoted(call.url_path)} leads out of {namespace}, the namespace of the policy"
        instead = f"write /api/v1/namespaces/{namespace}/… or /apis/GROUP/VERSION/namespaces/{namespace}/…"
        yield Problem(path=f"{path}.apiCall.urlPath", what=what, instead=instead)


def _comparison_problems(one: Any, path: str) -> Iterator[Problem]:
    if not isinstance(one, Mapping):
        yield Problem(path=path, what="it is no object with fields", instead="write key, operator and value")
        return
    for field in one:
        if field not in _FIELDS:
            near = difflib.get_close_matches(str(field), _FIELDS, n=1)
            instead = f"did you mean {near[0]}?" if near else f"there are {', '.join(_FIELDS)}"
            yield Problem(path=path, what=f"there is no field {quoted(str(field))}", instead=instead)
    if "key" not in one:
        yield Problem(path=f"{path}.key", what="it is missing", instead="write what is compared")
    operator = one.get("operator")
    if not isinstance(operator, str) or operator.lower() not in _BY_LOWER:
        yield _operator_problem(operator, f"{path}.operator")


def _operator_problem(operator: Any, path: str) -> Problem:
    if not isinstance(operator, str) or not operator:
        return Problem(path=path, what="it is missing", instead=f"write one of {', '.join(OPERATORS)}")
    what = f"there is no operator {quoted(operator)}"
    if operator.lower() in RENAMED:
        return Problem(path=path, what=what, instead=f"write {RENAMED[operator.lower()]}")
    near = difflib.get_close_matches(operator.lower(), _BY_LOWER, n=1)
    instead = f"did you mean {_BY_LOWER[near[0]]}?" if near else f"write one of {', '.join(OPERATORS)}"
    return Problem(path=path, what=what, instead=instead)
