"""Conditions in CEL hold where the original's hold; where they differ, the object stays."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.policy.operators import OPERATORS
from tests.unit.policy.converting.asking_both import Asked, form_of
from tests.unit.policy.world import cleanup, kind

pytestmark = pytest.mark.unit

POD = kind("Pod")
AGE = "{{ time_since('', '{{ target.metadata.creationTimestamp }}', '') }}"
OLD = "{{ time_diff('{{target.metadata.creationTimestamp}}','{{ time_now_utc() }}') }}"


def conditions(*every: dict[str, Any], some: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    found = {name: list(many) for name, many in (("all", every), ("any", some)) if many}
    return cleanup({"kinds": ["Pod"]}, conditions=found)


def one(key: str, operator: str, value: Any) -> dict[str, Any]:
    return {"key": key, "operator": operator, "value": value}


def pod(**fields: Any) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "shop", "creationTimestamp": "2026-01-31T10:00:00Z"}
    return {"metadata": {**metadata, **fields.pop("metadata", {})}, **fields}


def expression_of(policy: dict[str, Any]) -> list[str]:
    made = form_of(policy)
    assert made.changed, made.remarks
    assert made.body is not None
    return [each["expression"] for each in made.body["spec"]["conditions"]]


def both(policy: dict[str, Any], body: dict[str, Any]) -> tuple[bool, bool]:
    made = form_of(policy)
    assert made.changed, made.remarks
    assert made.body is not None
    namespaces: dict[str, dict[str, str]] = {"shop": {}}
    return Asked(policy).claims(POD, body, namespaces), Asked(made.body).claims(POD, body, namespaces)


SAID = [
    (one("{{ target.status.phase }}", "Equals", "Failed"), 'object.status.phase == "Failed"'),
    (
        one("{{ target.metadata.ownerReferences[] || `[]` }}", "Equals", []),
        "object.metadata.?ownerReferences.orValue([]) == []",
    ),
    (
        one(AGE, "GreaterThan", "24h"),
        'time.now() - timestamp(string(object.metadata.creationTimestamp)) > duration("24h")',
    ),
    (
        one("{{ target.metadata.labels.\"app.kubernetes.io/name\" || '' }}", "Equals", "web"),
        'object.metadata.?labels[?"app.kubernetes.io/name"].orValue("") == "web"',
    ),
    (one("{{ target.spec.replicas }}", "LessThan", 2), "object.spec.replicas < 2"),
    (one("{{ request.namespace }}", "Equals", "pr-*"), 'object.metadata.namespace.startsWith("pr-")'),
    (one("{{ length(target.spec.containers) }}", "GreaterThan", 1), "size(object.spec.containers) > 1"),
    (
        one("{{ starts_with(target.metadata.name, 'pr-') }}", "equals", True),
        'object.metadata.name.startsWith("pr-") == true',
    ),
    (
        one("{{ target.metadata.name }}", "Equals", "1Gi"),
        'isQuantity(object.metadata.name) && quantity(object.metadata.name).compareTo(quantity("1Gi")) == 0',
    ),
    (
        one("{{ target.spec.wait }}", "Equals", "1h"),
        (
            'type(object.spec.wait) == string && object.spec.wait.matches("^[-+]?[.0-9]") && '
            'duration(object.spec.wait) == duration("1h")'
        ),
    ),
    (one("{{ length(target.spec.containers) }}", "GreaterThan", "1"), "size(object.spec.containers) > 1"),
]


@pytest.mark.parametrize(("condition", "cel"), SAID)
def test_what_people_write_becomes_what_people_would_write(condition: dict[str, Any], cel: str) -> None:
    assert expression_of(conditions(condition)) == [cel]


UNSAID = [
    (one("{{ target.spec.containers[?image=='a'] }}", "Equals", []), "a filter"),
    (one("{{ pods }}", "Equals", []), "its key looks at pods"),
    (one("{{ images.containers.web.tag }}", "Equals", "latest"), "its key looks at images"),
    (one("{{ target.a }}-{{ target.b }}", "Equals", "x"), "variables within variables, or several"),
    (one("{{ target.a }}", "Equals", "{{ target.b }}"), "its value has variables"),
    (one("{{ semver_compare(target.a, '>1.0.0') }}", "Equals", True), "semver_compare"),
    (one("{{ skoupa_unused(target) }}", "Equals", True), "skoupa_unused"),
    (one("{{ length(target.a) }}", "Equals", "1.5"), "no whole number"),
    (one("{{ target.a }}", "GreaterThan", "500m"), "may be a duration or a quantity"),
    (one("{{ target.a }}", "Equals", "0s"), "a plain 0 may not be meant"),
    (one("{{ target.a }}", "AnyIn", "1-10"), "write a list"),
    (one("{{ length(target.a) }}", "LessThan", "9223372036854775808"), "is too large"),
    (one("{{ target.a }}", "GreaterThan", "1.2.3"), "compared as a version"),
    (one(AGE, "GreaterThan", "1d"), "the units are h, m and s"),
    (one("{{ time_since('', target.metadata.annotations.x, '') }}", "GreaterThan", "1h"), "is a time"),
    (one("{{ target.a || target.b }}", "Equals", "x"), "the default of its key is no literal"),
]


@pytest.mark.parametrize(("condition", "reason"), UNSAID)
def test_what_cannot_be_said_leaves_the_policy_as_it_was_and_says_why(
    condition: dict[str, Any], reason: str
) -> None:
    policy = conditions(one("{{ target.status.phase }}", "Equals", "Failed"), condition)
    if "pods" in str(condition["key"]):
        call = {"urlPath": "/api/v1/pods"}
        policy["spec"]["context"] = [{"name": "pods", "apiCall": call}]
    made = form_of(policy)
    assert not made.changed
    assert made.body == policy
    assert reason in made.remarks[0]
    assert "conditions.all[1]" in made.remarks[0]


def test_a_context_that_no_condition_looks_at_is_left_out_and_told() -> None:
    policy = conditions(one("{{ target.status.phase }}", "Equals", "Failed"))
    policy["spec"]["context"] = [{"name": "pods", "apiCall": {"urlPath": "/api/v1/pods"}}]
    made = form_of(policy)
    assert made.changed
    assert any("the context pods" in remark for remark in made.remarks)


@pytest.mark.parametrize("age", [AGE, OLD])
@pytest.mark.parametrize(
    ("created", "goes"), [("2026-01-31T10:59:59Z", True), ("2026-01-31T11:00:00Z", False)]
)
def test_an_age_is_counted_to_the_second(age: str, created: str, goes: bool) -> None:  # noqa: FBT001 - a parameter
    policy = conditions(one(age, "GreaterThan", "1h"))
    assert both(policy, pod(metadata={"creationTimestamp": created})) == (goes, goes)


def test_the_first_of_any_that_holds_decides_and_a_failure_before_it_lets_the_object_stay() -> None:
    holds = one("{{ target.metadata.name }}", "Equals", "web")
    fails = one("{{ target.spec.nothing }}", "Equals", "x")
    assert both(conditions(some=(holds, fails)), pod()) == (True, True)
    assert both(conditions(some=(fails, holds)), pod()) == (False, False)


@pytest.mark.parametrize("operator", ["Equals", "DurationGreaterThan", "GreaterThan"])
def test_what_is_no_duration_is_none_and_the_other_conditions_decide(operator: str) -> None:
    aged = one("{{ target.metadata.annotations.age || '' }}", operator, "24h")
    named = one("{{ target.metadata.name }}", "Equals", "web")
    policy = conditions(some=(aged, named))
    for text in (None, "", "old", "a day"):
        metadata = {"annotations": {"age": text}} if text is not None else {}
        assert both(policy, pod(metadata=metadata)) == (True, True)
        assert both(policy, pod(metadata={**metadata, "name": "other"})) == (False, False)
    longer = {"name": "other", "annotations": {"age": "24h" if operator == "Equals" else "25h"}}
    assert both(policy, pod(metadata=longer)) == (True, True)


@pytest.mark.parametrize(
    "text", ["24h", "1440m", "+24h", "86400s", "1.5h", "-1h", "0", "12abc", ".5h", "", "old"]
)
def test_what_differs_from_a_duration_never_claims_more(text: str) -> None:
    policy = conditions(one("{{ target.metadata.annotations.age }}", "NotEquals", "24h"))
    before, after = both(policy, pod(metadata={"annotations": {"age": text}}))
    assert before or not after


@pytest.mark.parametrize(("operator", "value"), [("AnyIn", "*"), ("AllNotIn", []), ("Equals", "*")])
def test_what_holds_for_every_value_does_not_hold_for_none(operator: str, value: Any) -> None:
    policy = conditions(one("{{ target.metadata.labels.x }}", operator, value))
    assert both(policy, pod()) == (False, False)
    assert both(policy, pod(metadata={"labels": {"x": "a"}})) == (True, True)


TEXTS = ["", "a", "b*", "0", "0s", "5", "5s", "100Mi", "*"]
VALUES: list[Any] = [*TEXTS, 0, 5, 5.5, True, None, [], ["a"], ["*", "5"], [5], {}, {"a": 1}]
KEYS = [
    "{{ target.spec.x }}",
    "{{ target.spec.x || '' }}",
    "{{ target.spec.x || 'a' }}",
    "{{ target.spec.x || `[]` }}",
    "{{ target.spec.x || `5` }}",
    "{{ target.spec.containers[] || `[]` }}",
    "{{ target.metadata.labels.x }}",
    "{{ target.metadata.labels.x || 'a' }}",
    "{{ target.metadata.annotations.x || '' }}",
    # Names that stand in brackets in CEL.
    "{{ target.metadata.labels.\"a/b\" || '' }}",
    '{{ target.metadata.labels."a/b" || `5` }}',
    "{{ target.data.\"a.json\" || '' }}",
    '{{ target.data."a.json" || `[]` }}',
    "{{ target.metadata.name }}",
    "{{ length(target.spec.x) }}",
    "{{ length(target.spec.x || `[]`) }}",
    "{{ starts_with(target.spec.x, 'a') }}",
    AGE,
]
BODIES = [
    pod(),
    *(pod(spec={"x": value}) for value in VALUES),
    *(pod(spec={"containers": value}) for value in ([], [{"a": 1}], [1, "a"], None, "a", {"a": 1})),
    # The server takes no wildcards in labels.
    *(pod(metadata={"labels": {"x": text}}) for text in TEXTS if "*" not in text),
    *(pod(metadata={"annotations": {"x": text}}) for text in TEXTS),
    *(pod(metadata={"labels": {"a/b": text}}) for text in TEXTS if "*" not in text),
    *(pod(data={"a.json": value}) for value in VALUES),
]
AROUND: dict[str, dict[str, str]] = {"shop": {}}


def never_more(policy: dict[str, Any], bodies: list[dict[str, Any]]) -> int:
    """How often both claim; where only the converted policy does, it is wrong."""
    made = form_of(policy)
    if not made.changed:
        assert made.body == policy
        return 0
    assert made.body is not None
    before, after = Asked(policy), Asked(made.body)
    agreed = 0
    for body in bodies:
        if after.claims(POD, body, AROUND):
            assert before.claims(POD, body, AROUND), (made.body["spec"], body)
            agreed += 1
    return agreed


@pytest.mark.parametrize("key", KEYS)
def test_no_condition_claims_more_when_it_is_converted(key: str) -> None:
    """Every operator with every value, on every object."""
    agreed = sum(
        never_more(conditions(one(key, operator, value)), BODIES)
        for operator in OPERATORS
        for value in VALUES
    )
    assert agreed > 0, "nothing was compared"


@pytest.mark.parametrize("key", KEYS)
def test_what_has_no_answer_has_none_when_it_is_converted_whatever_it_is_compared_with(key: str) -> None:
    """`any` asks in order: what comes after it must not be asked."""
    always = one("{{ target.metadata.name }}", "NotEquals", "")
    for operator in OPERATORS:
        for value in [*VALUES, "*", ["*"], [], "?*"]:
            never_more(conditions(some=(one(key, operator, value), always)), BODIES)


AMOUNTS = ["0", "5", "5.0", "1e3", "1000", "1k", "1Gi", "1024Mi", "5m", "300s", "0.005", "1h", "60m", "x"]
AMOUNTS_AND_MORE: list[Any] = [*AMOUNTS, 0, 5, 5.0, 1000, 300, True, None, [], ["5"], {}]
AMOUNT_BODIES = [
    *(pod(spec={"x": value}) for value in AMOUNTS_AND_MORE),
    *(pod(metadata={"labels": {"x": text}}) for text in AMOUNTS),
]
EQUALITY = ("Equals", "NotEquals")


@pytest.mark.parametrize("value", AMOUNTS)
@pytest.mark.parametrize("key", ["{{ target.spec.x }}", "{{ target.metadata.labels.x }}"])
def test_texts_that_are_amounts_are_compared_as_such(key: str, value: str) -> None:
    """`1Gi` has no other form in YAML, so there is nothing that a writer could change."""
    for operator in OPERATORS:
        policy = conditions(one(key, operator, value))
        if operator in EQUALITY:
            assert form_of(policy).changed, form_of(policy).remarks
            assert never_more(policy, AMOUNT_BODIES) > 0
        else:
            never_more(policy, AMOUNT_BODIES)


_comparisons = st.builds(one, st.sampled_from(KEYS), st.sampled_from(OPERATORS), st.sampled_from(VALUES))


@settings(max_examples=60, deadline=None)
@given(st.lists(_comparisons, max_size=1), st.lists(_comparisons, max_size=3))
def test_conditions_together_claim_no_more_when_they_are_converted(
    every: list[dict[str, Any]], some: list[dict[str, Any]]
) -> None:
    never_more(conditions(*every, some=tuple(some)), BODIES)
