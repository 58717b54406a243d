"""What no object can make right in the JMESPath of a policy is told with its place, before the policy runs."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.policy.expression_checks import jmespath_problems
from tests.unit.policy.world import cleanup, read, told

pytestmark = pytest.mark.unit

PODS = {"kinds": ["Pod"]}


def entry(**source: Any) -> dict[str, Any]:
    return {"name": "found", **source}


def one(key: Any, value: Any = "a") -> dict[str, Any]:
    return {"key": key, "operator": "Equals", "value": value}


WRONG = [
    ({"conditions": {"any": [one("{{ time_since('') }}")]}}, "spec.conditions.any[0].key", "time_since("),
    (
        {"conditions": {"all": [one("{{ target.a }}", "{{ b }}")]}},
        "spec.conditions.all[0].value",
        "no variable b",
    ),
    ({"conditions": {"all": [one("{{ target.a")]}}, "spec.conditions.all[0].key", "{{ has no }}"),
    (
        {"context": [entry(apiCall={"urlPath": "/api/v1/{{ nowhere }}"})]},
        "spec.context[0].apiCall.urlPath",
        "no variable nowhere",
    ),
    (
        {"context": [entry(apiCall={"urlPath": "/api/v1/pods", "jmesPath": "items["})]},
        "spec.context[0].apiCall.jmesPath",
        "items[",
    ),
    (
        {
            "context": [
                entry(
                    apiCall={
                        "method": "POST",
                        "service": {
                            "url": "https://a.example/{{ x }}",
                            "headers": [{"key": "a", "value": "{{ y }}"}],
                        },
                        "data": [{"key": "b", "value": "{{ z }}"}],
                    }
                )
            ]
        },
        "spec.context[0].apiCall.data[0].value",
        "no variable z",
    ),
    (
        {"context": [entry(variable={"value": "{{ nobody }}", "jmesPath": "a || ", "default": "{{ d }}"})]},
        "spec.context[0].variable.jmesPath",
        "a ||",
    ),
    (
        {"context": [entry(globalReference={"name": "all", "jmesPath": "foo(@)"})]},
        "spec.context[0].globalReference.jmesPath",
        "no function foo",
    ),
    (
        {"context": [entry(globalReference={"name": "{{ nowhere }}"})]},
        "spec.context[0].globalReference.name",
        "no variable nowhere",
    ),
    (
        {"context": [entry(variable={"jmesPath": "targt.metadata.labels.team", "default": ""})]},
        "spec.context[0].variable.jmesPath",
        "no variable targt; did you mean target?",
    ),
    (
        {"context": [entry(variable={"value": "{{ found }}", "default": ""})]},
        "spec.context[0].variable.value",
        "found is not known here: an entry of the context sees those before it; write this entry behind",
    ),
    (
        {
            "context": [
                entry(variable={"jmesPath": "later", "default": ""}),
                {"name": "later", "variable": {"value": 1}},
            ]
        },
        "spec.context[0].variable.jmesPath",
        "later is not known here",
    ),
]


@pytest.mark.parametrize(
    ("spec", "path", "words"), WRONG, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_mistake_is_told_with_its_place(spec: dict[str, Any], path: str, words: str) -> None:
    found = told(cleanup(PODS, **spec), check=jmespath_problems)
    assert any(text.startswith(f"{path}: ") and words in text for text in found), found


def test_every_part_of_a_call_is_looked_at() -> None:
    found = told(cleanup(PODS, **WRONG[5][0]), check=jmespath_problems)  # type: ignore[arg-type] # a spec
    assert [text.partition(": ")[0].removeprefix("spec.context[0].apiCall.") for text in found] == [
        "data[0].value",
        "service.url",
        "service.headers[0].value",
    ]


def test_what_can_be_right_for_some_object_is_no_mistake() -> None:
    context = [
        entry(
            apiCall={
                "urlPath": "/api/v1/namespaces/{{ target.metadata.namespace }}/pods",
                "jmesPath": "items[]",
            }
        ),
        {"name": "more", "variable": {"jmesPath": "found[?name == '{{ request.name }}']"}},
        {"name": "more", "variable": {"jmesPath": "more || `[]`"}},
    ]
    conditions = {"all": [one("{{ length(more) }}", 0)], "any": [one("{{ images.containers.web.tag }}")]}
    assert read(cleanup(PODS, context=context, conditions=conditions), check=jmespath_problems)
