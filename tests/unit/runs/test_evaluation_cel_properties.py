"""What holds for every deleting policy, exception and object: what has no answer is never claimed, nor what an exception may mean."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skoupa.clock import SystemClock
from skoupa.errors import Unreachable
from skoupa.expr.cel.messages import Question
from skoupa.expr.cel.pool import Pool
from skoupa.policy.exemptions import read_exemption
from tests.unit.policy.world import deleting
from tests.unit.runs.evaluating import Table, ask, evaluation, outcomes, thing

pytestmark = pytest.mark.unit

# A text, and what it is for an object, worked out by itself; None: it has no answer.
Condition = tuple[str, Callable[[dict[str, Any]], bool | None]]


def of_field(text: str, field: str, answer: Callable[[Any], bool | None]) -> Condition:
    return text, lambda target: answer(target[field]) if field in target else None


def is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


ATOMS: list[Condition] = [
    ("true", lambda _: True),
    ("false", lambda _: False),
    ("has(object.a)", lambda target: "a" in target),
    of_field("object.a == 'x'", "a", lambda value: value == "x"),
    of_field(
        "object.a.size() > 1", "a", lambda value: len(value) > 1 if isinstance(value, str | list) else None
    ),
    of_field("object.b > 1", "b", lambda value: value > 1 if is_number(value) else None),
    of_field(
        "100 / object.b > 1", "b", lambda value: int(100 / value) > 1 if is_number(value) and value else None
    ),
    ("object.metadata.labels['app'] == 'web'", lambda _: None),
    ("globalContext.Get('silent') == 'yes'", lambda _: None),
    ("namespaceObject.metadata.name == 'shop'", lambda _: None),
]


def both(one: Condition, other: Condition) -> Condition:
    def answer(target: dict[str, Any]) -> bool | None:
        found = (one[1](target), other[1](target))
        return False if False in found else None if None in found else True

    return f"({one[0]}) && ({other[0]})", answer


def negated(one: Condition) -> Condition:
    return f"!({one[0]})", lambda target: None if (found := one[1](target)) is None else not found


def either(one: Condition, other: Condition) -> Condition:
    return negated(both(negated(one), negated(other)))


conditions = st.lists(
    st.recursive(
        st.sampled_from(ATOMS),
        lambda inner: st.builds(both, inner, inner) | st.builds(either, inner, inner) | inner.map(negated),
        max_leaves=4,
    ),
    max_size=3,
)
fields: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "a": st.sampled_from(["", "x", "xy", 1, None, []]),
        "b": st.sampled_from([0, 1, 2, 50, True, "2", None]),
    },
)
BROKEN: dict[str, dict[str, Any]] = {
    "conditions": {"matchConditions": [{"name": "m", "expression": "objct.a == 1"}]},
    "shape": {"matchConditions": "object.a == 1"},
    "no texts": {"matchConditions": [{"name": "m", "expression": 5}]},
}
# All of these leave it to the conditions of the exception: whom it is about, and until when, nobody can read.
ABOUT: list[dict[str, Any]] = [
    {},
    {"policyRefs": [{"kind": "DeletingPolicy", "name": "old"}]},
    {"policyRefs": "old"},
    {"policyRefs": None},
    {"policyRefs": [{"kind": 5}]},
    {"expiresAt": "2999-01-01T00:00:00Z"},
    {"expiresAt": "tomorrow"},
]


class Silent:
    async def answer(self, question: Question) -> bytes:
        raise Unreachable("no connection")


def answered(many: list[Condition], target: dict[str, Any]) -> bool | None:
    """As && does: one that is false decides. A Namespace that one of them looks at is read before any is asked."""
    if any("namespaceObject" in text for text, _ in many):
        return None
    found = [answer(target) for _, answer in many]
    return False if False in found else None if None in found else True


def written(*many: Condition) -> list[dict[str, str]]:
    return [{"name": f"c{number}", "expression": text} for number, (text, _) in enumerate(many)]


Ask = Callable[..., str]


@pytest.fixture(scope="module")
def judged() -> Iterator[Ask]:
    """One object, asked about once; the child lives as long as the module."""
    with asyncio.Runner() as runner:
        pool = runner.run(Pool(clock=SystemClock()).__aenter__())

        def one(target: dict[str, Any], every: list[Condition], *exceptions: dict[str, Any]) -> str:
            policy = deleting({"resources": ["pods"]})
            policy["spec"]["conditions"] = written(*every)
            exemptions = [
                read_exemption({"metadata": {"name": f"e{number}", "namespace": "shop"}, "spec": spec})
                for number, spec in enumerate(exceptions)
            ]
            silent = Table({"GET /api/v1/namespaces/shop": Unreachable("no connection")}, broker=Silent())
            asked = evaluation(policy, pool=pool, calls=silent, exemptions=exemptions)
            (found,) = outcomes(runner.run(ask(asked, target)))
            return found

        yield one
        runner.run(pool.__aexit__(None, None, None))


@settings(max_examples=150, deadline=None)
@given(every=conditions, more=fields)
def test_what_has_no_answer_never_claims(judged: Ask, every: list[Condition], more: dict[str, Any]) -> None:
    target = {**thing(), **more}
    expected = {True: "claimed", False: "left", None: "unclear"}
    assert judged(target, every) == expected[answered(every, target)]


@settings(max_examples=150, deadline=None)
@given(
    every=conditions,
    exempting=st.lists(st.tuples(st.sampled_from(ABOUT), conditions), min_size=1, max_size=3),
    more=fields,
)
@example(every=[], exempting=[({"policyRefs": "old"}, [ATOMS[7]])], more={})
def test_what_an_exception_means_or_may_mean_is_never_claimed(
    judged: Ask,
    every: list[Condition],
    exempting: list[tuple[dict[str, Any], list[Condition]]],
    more: dict[str, Any],
) -> None:
    target = {**thing(), **more}
    about = {"policyRefs": [{"kind": "DeletingPolicy", "name": "old"}]}
    specs = [{**about, **spec, "matchConditions": written(*many)} for spec, many in exempting]
    goes = answered(every, target) is True
    spared = {answered(many, target) for _, many in exempting}
    assert (judged(target, every, *specs) == "claimed") == (goes and spared == {False})


@settings(max_examples=30, deadline=None)
@given(broken=st.sampled_from(sorted(BROKEN)), about=st.sampled_from(ABOUT), more=fields)
def test_an_exception_that_nobody_understands_lets_everything_stay(
    judged: Ask, broken: str, about: dict[str, Any], more: dict[str, Any]
) -> None:
    references = {"policyRefs": [{"kind": "DeletingPolicy", "name": "old"}]}
    assert judged({**thing(), **more}, [], {**references, **about, **BROKEN[broken]}) != "claimed"
