"""What holds for every policy and every object: exclusion only takes away, and what failed is never claimed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.errors import SkoupaError, Unreachable
from skoupa.expr.jmespath import Context
from skoupa.expr.schedules import Schedule, parse_schedule
from skoupa.policy.filters import Filters
from skoupa.policy.match import Subject
from skoupa.policy.operators import OPERATORS, holds
from skoupa.policy.policies import Policy
from skoupa.policy.variables import roots_of, substitute
from skoupa.runs.evaluation import Evaluation, Found
from skoupa.sim.clock import START
from tests.unit.policy.world import cleanup, kind
from tests.unit.policy.writing_policies import EVERYTHING, excludes, matches
from tests.unit.runs.evaluating import Moment, Table, evaluation, outcomes, thing

pytestmark = pytest.mark.unit

POD = kind("Pod")
_keys = st.sampled_from(["a", "b", "items", "name"])
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "1h", "10Mi", "1.2.3", "*"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3),
    max_leaves=6,
)
_paths = st.sampled_from(
    [
        "target.a",
        "target.a.b",
        "target.b[0]",
        "target.items[].name",
        "target.a || 'x'",
        "length(target.a)",
        "to_upper(target.b)",
        "add(target.a, target.b)",
        "target.metadata.labels.x",
        "request.name",
        "target.a == `1` && target.b",
        "sum(target.items)",
        "time_since('', target.a, '')",
        "own",
        "shared",
        "failing",
        "failing || 'x'",
        "absent || `[]`",
    ]
)
_values = _json | _paths.map(lambda path: f"{{{{ {path} }}}}")
_comparisons = st.builds(
    lambda key, operator, value: {"key": key, "operator": operator, "value": value},
    _values,
    st.sampled_from(OPERATORS),
    _values,
)
_CONTEXT: list[dict[str, Any]] = [
    {"name": "own", "variable": {"value": "{{ target.a }}"}},
    {"name": "shared", "variable": {"value": "x"}},
    {"name": "failing", "apiCall": {"urlPath": "/api/v1/pods", "default": []}},
    {"name": "absent", "variable": {"jmesPath": "failing.items", "default": []}},
]
_FAILING = ("failing", "absent")


def claimed(policy: Policy) -> set[int]:
    """Which of all objects that few words can make go by a policy."""

    async def judged() -> list[Found]:
        asked = Evaluation(
            policy, pool=_NO_POOL, calls=Table(), clock=Moment(), namespaces={"a": {"x": "1"}, "ab": {}}
        )
        return [
            await asked.one(resource, msgspec.json.encode({"metadata": _shown(metadata)}))
            for resource, metadata in EVERYTHING
        ]

    return {index for index, one in enumerate(asyncio.run(judged())) if one.outcome == "claimed"}


def _shown(metadata: Any) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(metadata)
    return {name: value for name, value in fields.items() if value is not None}


def _schedule() -> Schedule:
    found = parse_schedule("@daily", zone_name="", minimum_seconds=60)
    assert isinstance(found, Schedule)
    return found


_SCHEDULE = _schedule()
_NO_POOL: Any = None


@settings(max_examples=60, deadline=None)
@given(match=matches, exclude=excludes)
def test_match_and_exclude_together_are_never_more_than_match_alone(match: Filters, exclude: Filters) -> None:
    def policy(subject: Subject) -> Policy:
        return Policy(
            kind="ClusterCleanupPolicy", namespace="", name="old", subject=subject, schedule=_SCHEDULE
        )

    alone = claimed(policy(Subject(match=match)))
    together = claimed(policy(Subject(match=match, exclude=exclude)))
    assert together <= alone
    confined = claimed(policy(Subject(match=match, exclude=exclude, namespace="a")))
    assert confined <= together
    assert all(EVERYTHING[index][1].namespace == "a" for index in confined)


def _truly(one: dict[str, Any], target: dict[str, Any]) -> bool | None:
    """Whether a comparison holds, worked out by itself; None: it has no answer."""
    text = json.dumps(one)
    if any(f"{{{{ {name}" in text for name in _FAILING):
        return None
    context = Context(now=START)
    try:
        own = {"shared": "x"}
        if "{{ own" in text:
            value = substitute("{{ target.a }}", roots_of(target), context)
            if value is None:
                return None
            own["own"] = value
        roots = roots_of(target, named=own)
        key, value = (substitute(one[side], roots, context) for side in ("key", "value"))
        return holds(one["operator"], key, value)
    except SkoupaError:
        return None


@settings(max_examples=400, deadline=None)
@given(
    every=st.lists(_comparisons, max_size=3),
    some=st.lists(_comparisons, max_size=3),
    fields=st.dictionaries(_keys, _json, max_size=4),
)
def test_what_has_no_answer_never_claims(
    every: list[dict[str, Any]], some: list[dict[str, Any]], fields: dict[str, Any]
) -> None:
    fields.pop("metadata", None)
    target = {**thing(), **fields, "apiVersion": "v1", "kind": "Pod"}
    calls = Table({"GET /api/v1/pods": Unreachable("no connection")})
    policy = cleanup({"kinds": ["Pod"]}, conditions={"all": every, "any": some}, context=_CONTEXT)
    found = asyncio.run(evaluation(policy, calls=calls).page(POD, msgspec.json.encode({"items": [target]})))
    expected = _expected([_truly(one, target) for one in every], [_truly(one, target) for one in some])
    assert outcomes(found) == [expected]
    assert (found[0].why is not None) == (expected == "unclear")


def _expected(every: list[bool | None], some: list[bool | None]) -> str:
    for answer in every:
        if answer is not True:
            return "unclear" if answer is None else "left"
    for answer in some:
        if answer is not False:
            return "unclear" if answer is None else "claimed"
    return "left" if some else "claimed"


@settings(max_examples=200, deadline=None)
@given(items=st.lists(_json | st.dictionaries(st.just("metadata"), _json), max_size=6), data=st.data())
def test_every_object_of_a_page_gets_one_answer_and_what_is_none_is_never_claimed(
    items: list[Any], data: st.DataObject
) -> None:
    sound = data.draw(st.lists(st.booleans(), min_size=len(items), max_size=len(items)))
    page = [thing(f"p{n}") if ok else one for n, (one, ok) in enumerate(zip(items, sound, strict=True))]
    is_named = {"key": "{{ target.metadata.name }}", "operator": "Equals", "value": "p*"}
    policy = cleanup({"kinds": ["Pod"]}, conditions={"all": [is_named]})
    found = asyncio.run(evaluation(policy).page(POD, msgspec.json.encode({"items": page})))
    assert len(found) == len(page)
    assert [one.outcome == "claimed" for one in found] == sound
