"""Context of cleanup policies: what is asked, for whom, how often, and what comes of an answer that does not come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from skoupa.errors import NotFound, SkoupaError, Status, TimedOut, Unreachable
from tests.unit.policy.world import cleanup
from tests.unit.runs.evaluating import Table, ask, evaluation, outcomes, thing, whys

pytestmark = pytest.mark.unit

PODS_OF_SHOP = "GET /api/v1/namespaces/shop/pods"
TRUE = {"key": 1, "operator": "Equals", "value": 1}
FALSE = {"key": 1, "operator": "Equals", "value": 2}
GONE = NotFound("get it: not found (404)", status=Status(code=404))


def equal(key: Any, value: Any) -> dict[str, Any]:
    return {"key": key, "operator": "Equals", "value": value}


def policy(*conditions: dict[str, Any], context: list[dict[str, Any]]) -> dict[str, Any]:
    return cleanup({"kinds": ["Pod"]}, conditions={"all": list(conditions)}, context=context)


def variable(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "variable": fields}


def call(name: str, path: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "apiCall": {"urlPath": path, **fields}}


async def judged(
    *conditions: dict[str, Any],
    context: list[dict[str, Any]],
    answers: Mapping[str, Any] | None = None,
    objects: int = 1,
) -> tuple[list[str], list[str], Table]:
    """Outcomes, reasons and what was asked, of Pods p0, p1…"""
    calls = Table(answers)
    asked = evaluation(policy(*conditions, context=context), calls=calls)
    found = await ask(asked, *(thing(f"p{number}") for number in range(objects)))
    return outcomes(found), whys(found), calls


async def test_what_does_not_look_at_the_object_is_asked_once_in_a_run() -> None:
    context = [
        call("pods", "/api/v1/namespaces/{{ place }}/pods", jmesPath="items[].metadata.name"),
        variable("place", value="lab"),
    ]
    # An entry sees those before it only, so `place` must come first.
    found, why, calls = await judged(equal("{{ pods[0] }}", "p1"), context=context)
    assert found == ["unclear"]
    assert "context entry pods: place: place is not there" in why[0]
    assert calls.asked == []
    answers = {"GET /api/v1/namespaces/lab/pods": {"items": [{"metadata": {"name": "p1"}}]}}
    same = equal("{{ pods[0] }}", "{{ target.metadata.name }}")
    found, _, calls = await judged(same, context=context[::-1], answers=answers, objects=20)
    assert [number for number, outcome in enumerate(found) if outcome == "claimed"] == [1]
    assert calls.asked == ["GET /api/v1/namespaces/lab/pods"]


async def test_what_looks_at_the_object_itself_or_through_another_is_asked_for_each() -> None:
    context = [
        variable("name", jmesPath="target.metadata.name"),
        call("mine", "/apis/x/v1/namespaces/shop/things/{{ name }}", jmesPath="size"),
    ]
    answers = {f"GET /apis/x/v1/namespaces/shop/things/p{n}": {"size": n % 3} for n in range(20)}
    found, _, calls = await judged(equal("{{ mine }}", 1), context=context, answers=answers, objects=20)
    assert [outcome == "claimed" for outcome in found] == [n % 3 == 1 for n in range(20)]
    assert sorted(calls.asked) == sorted(answers)


async def test_nothing_is_asked_before_a_condition_looks_at_it() -> None:
    context = [call("pods", "/api/v1/namespaces/shop/pods"), call("other", "/api/v1/pods")]
    found, _, calls = await judged(FALSE, equal("{{ pods }}", 1), context=context, objects=5)
    assert (found, calls.asked) == (["left"] * 5, [])
    found, _, calls = await judged(
        TRUE, equal("{{ pods }}", "x"), context=context, answers={PODS_OF_SHOP: "x"}
    )
    assert (found, calls.asked) == (["claimed"], [PODS_OF_SHOP])


async def test_a_failure_of_the_run_s_context_leaves_every_object_unclear_and_is_told_once() -> None:
    context = [
        call("pods", "/api/v1/namespaces/shop/pods"),
        variable("names", jmesPath="pods.items[].name", default=[]),
    ]
    calls = Table({PODS_OF_SHOP: Unreachable("no connection to the API server")})
    # Neither a default nor || makes an empty list of what could not be asked.
    asked = evaluation(policy(equal("{{ names || `[]` }}", []), context=context), calls=calls)
    found = await ask(asked, thing("a"), thing("b"))
    assert outcomes(found) == ["unclear", "unclear"]
    assert "context entry pods: no connection to the API server" in whys(found)[0]
    assert asked.troubles == ("context entry pods: no connection to the API server",)
    assert calls.asked == [PODS_OF_SHOP]


async def test_a_failure_of_one_object_s_context_keeps_that_one() -> None:
    context = [call("mine", "/api/v1/namespaces/shop/secrets/{{ request.name }}")]
    answers: dict[str, Any] = {f"GET /api/v1/namespaces/shop/secrets/p{n}": n for n in range(4)}
    answers["GET /api/v1/namespaces/shop/secrets/p2"] = TimedOut("no answer within 10 s")
    calls = Table(answers)
    asked = evaluation(
        policy({"key": "{{ mine }}", "operator": "LessThan", "value": 9}, context=context), calls=calls
    )
    found = await ask(asked, *(thing(f"p{n}") for n in range(4)))
    assert outcomes(found) == ["claimed", "claimed", "unclear", "claimed"]
    assert asked.troubles == ()


@pytest.mark.parametrize(
    ("answer", "fields", "value"),
    [
        ({"a": {"b": 1}}, {}, {"a": {"b": 1}}),
        ({"a": {"b": 1}}, {"jmesPath": "a.b"}, 1),
        ({"a": {"b": 1}}, {"jmesPath": "{{ first }}.b", "default": "d"}, 1),
        ({"a": {"b": 1}}, {"jmesPath": '"{{ first }}".b'}, 1),
        ({"a": {"b": 1}}, {"jmesPath": "length(@)"}, 1),
        ({"a": {"b": 1}}, {"jmesPath": "a.c || 'd'"}, "d"),
        (GONE, {"default": "d"}, "d"),
        (GONE, {"jmesPath": "a.c", "default": {"x": "{{ first }}"}}, {"x": "a"}),
        (GONE, {"default": []}, []),
    ],
)
async def test_an_answer_is_taken_by_its_path_and_a_default_is_for_what_is_not_there(
    answer: Any, fields: dict[str, Any], value: Any
) -> None:
    context = [variable("first", value="a"), call("found", "/api/v1/namespaces/shop/pods", **fields)]
    outcome, why, _ = await judged(
        equal("{{ found }}", value), context=context, answers={PODS_OF_SHOP: answer}
    )
    assert outcome == ["claimed"], why


@pytest.mark.parametrize(
    ("answer", "fields"),
    [
        ({}, {"jmesPath": "a"}),
        # Somebody renamed what the policy looks for: the default is for what does not exist.
        ({"a": {"b": 1}}, {"jmesPath": "a.c", "default": "none"}),
        ({"a": {"b": 1}}, {"jmesPath": '"{{ first }}".c', "default": "none"}),
        ({}, {"jmesPath": "{{ first }}"}),
        ({}, {"jmesPath": '"{{ first }}"'}),
        (GONE, {}),
        (TimedOut("no answer within 10 s"), {"default": "d"}),
        (SkoupaError("more than 2 MB"), {"default": "d"}),
        ({"a": 5}, {"jmesPath": "length(a)", "default": "d"}),
    ],
)
async def test_an_answer_that_could_not_be_had_is_no_value(answer: Any, fields: dict[str, Any]) -> None:
    context = [variable("first", value="a"), call("found", "/api/v1/namespaces/shop/pods", **fields)]
    condition = {"key": "{{ found || 'none' }}", "operator": "NotEquals", "value": "something"}
    outcome, why, _ = await judged(condition, context=context, answers={PODS_OF_SHOP: answer})
    assert outcome == ["unclear"]
    assert "context entry found:" in why[0]


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"value": "x"}, "x"),
        ({"value": {"a": ["{{ request.name }}"]}}, {"a": ["p0"]}),
        ({"value": {"a": {"b": 1}}, "jmesPath": "a.b"}, 1),
        ({"value": {"p0": 1}, "jmesPath": '"{{ request.name }}"'}, 1),
        ({"value": {"a": 1}, "jmesPath": "b", "default": 2}, 2),
        ({"jmesPath": "target.metadata.name"}, "p0"),
        ({"jmesPath": "target.metadata.labels.app", "default": "none"}, "none"),
        ({"jmesPath": "to_upper(request.name)"}, "P0"),
        ({"jmesPath": "split('a}}b', '}}')[1]"}, "b"),
        ({"default": "only"}, "only"),
        ({"value": False}, False),
        ({"value": 0, "default": 7}, 0),
    ],
)
async def test_a_variable_is_its_value_or_a_path_or_its_default(fields: dict[str, Any], value: Any) -> None:
    outcome, why, _ = await judged(equal("{{ x }}", value), context=[variable("x", **fields)])
    assert outcome == ["claimed"], why


@pytest.mark.parametrize(
    "fields",
    [
        {"value": "{{ target.spec.nope }}", "default": "d"},
        {"value": {"a": 1}, "jmesPath": "b"},
        {"jmesPath": "target.spec.nope"},
        {"value": {"a": None}, "jmesPath": "a"},
    ],
)
async def test_a_variable_without_a_value_is_unclear(fields: dict[str, Any]) -> None:
    outcome, why, _ = await judged(equal("{{ x || '' }}", ""), context=[variable("x", **fields)])
    assert outcome == ["unclear"]
    assert "context entry x:" in why[0]


@pytest.mark.parametrize(
    "path",
    [
        "length(items[?spec.node == '{{ target.spec.node }}'])",
        "items[?spec.node == '{{ target.spec.node }}'] | length(@)",
        "length(items[?spec.node == '{{ to_upper(target.spec.node) }}'])",
        "length(items[?spec.node == '{{ target.spec.{{ request.name }} }}'])",
        "{{ target.spec.node }}",
        "length(items[?spec.{{ target.spec.node }} == 'n'])",
    ],
)
async def test_no_default_stands_in_for_a_variable_that_a_path_names_and_the_object_has_not(
    path: str,
) -> None:
    pods = {"items": [{"spec": {"node": "n"}}]}
    for entry in (
        call("using", "/api/v1/namespaces/shop/pods", jmesPath=path, default=0),
        variable("using", value=pods, jmesPath=path, default=0),
        variable("using", jmesPath=path.replace("items", "target.metadata"), default=0),
    ):
        outcome, why, _ = await judged(equal("{{ using }}", 0), context=[entry], answers={PODS_OF_SHOP: pods})
        assert outcome == ["unclear"], entry
        assert "context entry using:" in why[0]


async def test_a_name_that_is_written_twice_is_the_later_one_which_sees_the_earlier() -> None:
    context = [
        variable("x", value="a"),
        variable("seen", value="{{ x }}"),
        variable("x", value="{{ x }}b"),
        variable("x", value="{{ x }}c"),
    ]
    found, why, _ = await judged(equal("{{ x }} {{ seen }}", "abc a"), context=context)
    assert found == ["claimed"], why


async def test_an_entry_can_t_take_the_place_of_the_object() -> None:
    context = [variable("target", value={"metadata": {"name": "other"}})]
    found, _, _ = await judged(equal("{{ target.metadata.name }}", "p0"), context=context)
    assert found == ["claimed"]


async def test_what_an_object_says_of_itself_never_becomes_part_of_an_expression() -> None:
    context = [variable("sizes", value={"a": 1, "b' || `9` || '": 2}, jmesPath='"{{ request.name }}"')]
    asked = evaluation(policy(equal("{{ sizes }}", 2), context=context))
    assert outcomes(await ask(asked, thing("b' || `9` || '"), thing("a"))) == ["claimed", "left"]


async def test_data_is_sent_by_a_post_and_a_service_gets_its_headers() -> None:
    service = {
        "url": "https://checks.shop/{{ request.name }}",
        "headers": [{"key": "X-Who", "value": "{{ request.namespace }}"}],
    }
    entry = {
        "name": "check",
        "apiCall": {
            "service": service,
            "method": "POST",
            "data": [{"key": "names", "value": ["{{ request.name }}"]}, {"key": "n", "value": 1}],
            "jmesPath": "old",
        },
    }
    found, why, calls = await judged(
        equal("{{ check }}", True), context=[entry], answers={"POST https://checks.shop/p0": {"old": True}}
    )
    assert found == ["claimed"], why
    assert calls.bodies == [{"names": ["p0"], "n": 1}]
    assert calls.headers == [{"X-Who": "shop"}]


async def test_a_global_reference_takes_an_entry_and_its_projection() -> None:
    context = [
        {"name": "all", "globalReference": {"name": "pods", "jmesPath": "[0]"}},
        {"name": "some", "globalReference": {"name": "pods.names"}},
    ]
    answers = {"shared pods": ["a", "b"], "shared pods.names": "c"}
    found, why, calls = await judged(
        equal("{{ all }}{{ some }}", "ac"), context=context, answers=answers, objects=3
    )
    assert found == ["claimed"] * 3, why
    assert sorted(calls.asked) == sorted(answers)


async def test_a_path_that_becomes_no_text_is_unclear() -> None:
    context = [call("x", "{{ target.metadata }}")]
    found, why, _ = await judged(equal("{{ x }}", 1), context=context)
    assert found == ["unclear"]
    assert "urlPath: it must become a string" in why[0]
