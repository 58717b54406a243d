"""What a deleting policy says of objects: conditions in CEL, Namespaces that they look at, and PolicyExceptions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from skoupa.clock import SystemClock
from skoupa.errors import BadExpression, Forbidden, Status, Unreachable
from skoupa.expr.cel.limits import Limits
from skoupa.expr.cel.messages import GlobalContext, Question
from skoupa.expr.cel.pool import Pool
from skoupa.policy.exemptions import Exemption, read_exemption
from skoupa.runs import expressions
from tests.unit.policy.world import deleting, kind
from tests.unit.runs.evaluating import Moment, Table, ask, evaluation, outcomes, thing, whys

pytestmark = [pytest.mark.unit, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[Pool]:
    """For tests that harm no child: starting one takes longer than most of them."""
    async with Pool(clock=SystemClock()) as shared:
        yield shared


def policy(
    *conditions: str,
    variables: dict[str, str] | None = None,
    scope: str = "DeletingPolicy",
    **constraints: Any,
) -> dict[str, Any]:
    written = deleting(
        {"resources": ["pods", "namespaces", "deployments", "secrets"]}, scope=scope, **constraints
    )
    written["spec"]["conditions"] = [
        {"name": f"c{number}", "expression": text} for number, text in enumerate(conditions)
    ]
    written["spec"]["variables"] = [
        {"name": name, "expression": text} for name, text in (variables or {}).items()
    ]
    return written


def exception(*conditions: str, name: str = "spare", **spec: Any) -> Exemption:
    return read_exemption(
        {
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {
                "policyRefs": [{"kind": "DeletingPolicy", "name": "old"}],
                "matchConditions": [
                    {"name": f"m{number}", "expression": text} for number, text in enumerate(conditions)
                ],
                **spec,
            },
        }
    )


async def test_all_conditions_must_be_true_and_an_error_keeps_that_object_alone(pool: Pool) -> None:
    asked = evaluation(
        policy("object.metadata.labels['app'] == 'web'", "object.metadata.name != 'keep'"), pool=pool
    )
    found = await ask(
        asked,
        thing("a", labels={"app": "web"}),
        thing("keep", labels={"app": "web"}),
        thing("b", labels={"app": "db"}),
        thing("c"),
    )
    assert outcomes(found) == ["claimed", "left", "left", "unclear"]
    assert "DeletingPolicy/old is not known: condition c0" in whys(found)[3]
    assert not asked.needs_bodies


async def test_without_conditions_the_match_decides(pool: Pool) -> None:
    asked = evaluation(policy(objectSelector={"matchLabels": {"app": "web"}}), pool=pool)
    assert outcomes(await ask(asked, thing(labels={"app": "web"}), thing())) == ["claimed", "left"]
    assert not asked.needs_bodies


async def test_only_what_matches_is_asked(pool: Pool) -> None:
    before = pool.statistics.objects
    asked = evaluation(
        policy("object.metadata.name == 'b'", objectSelector={"matchLabels": {"app": "web"}}), pool=pool
    )
    web = {"app": "web"}
    found = await ask(asked, thing("a"), thing("b", labels=web), thing("c", labels=web), thing("d"))
    assert outcomes(found) == ["left", "claimed", "left", "left"]
    assert pool.statistics.objects - before == 2


async def test_variables_are_worked_out_when_a_condition_reaches_them(pool: Pool) -> None:
    asked = evaluation(
        policy(
            "object.metadata.name == 'a' || variables.size > 1",
            variables={"size": "object.spec.size"},
        ),
        pool=pool,
    )
    found = await ask(asked, thing("a"), thing("b", spec={"size": 2}), thing("c"))
    assert outcomes(found) == ["claimed", "claimed", "unclear"]
    assert asked.needs_bodies


async def test_a_condition_that_does_not_compile_is_told_when_a_run_begins(pool: Pool) -> None:
    with pytest.raises(BadExpression, match="there is no variable nope"):
        await evaluation(policy("nope == 1"), pool=pool).begin()


async def test_the_kind_is_what_was_listed(pool: Pool) -> None:
    asked = evaluation(policy("object.kind == 'Deployment' && object.apiVersion == 'apps/v1'"), pool=pool)
    told = thing(kind="PartialObjectMetadata", apiVersion="meta.k8s.io/v1")
    assert outcomes(await ask(asked, told, what="Deployment")) == ["claimed"]


async def test_the_namespace_of_an_object_is_read_once_and_only_where_it_is_looked_at(pool: Pool) -> None:
    def read(name: str, team: str) -> tuple[str, dict[str, Any]]:
        return f"GET /api/v1/namespaces/{name}", {"metadata": {"name": name, "annotations": {"team": team}}}

    calls = Table(dict([read("shop", "a"), read("lab", "b")]))
    looking = policy("namespaceObject.metadata.annotations['team'] == 'a'")
    asked = evaluation(looking, pool=pool, calls=calls)
    pods = [thing(f"p{number}", namespace="lab" if number % 2 else "shop") for number in range(6)]
    assert outcomes(await ask(asked, *pods)) == ["claimed", "left"] * 3
    assert outcomes(await ask(asked, *pods)) == ["claimed", "left"] * 3
    assert calls.asked == ["GET /api/v1/namespaces/shop", "GET /api/v1/namespaces/lab"]
    # A Namespace is its own.
    own = thing("new", namespace="", annotations={"team": "a"})
    assert outcomes(await ask(asked, own, what="Namespace")) == ["claimed"]
    unread = evaluation(policy("object.metadata.name == 'p0'"), pool=pool, calls=Table())
    assert outcomes(await ask(unread, *pods[:2])) == ["claimed", "left"]


async def test_a_namespace_that_can_t_be_read_leaves_what_is_in_it_unclear(pool: Pool) -> None:
    refused = Forbidden("get namespaces/lab: no (403)", status=Status(code=403))
    answers = {"shop": {"metadata": {"name": "shop"}}, "lab": refused}

    async def read(name: str) -> Any:
        answer = answers[name]
        if isinstance(answer, Forbidden):
            raise answer
        return answer

    calls = Table()
    asked = evaluation(
        policy("namespaceObject.metadata.name == 'shop' || true"),
        pool=pool,
        calls=calls,
        namespace_object=read,
    )
    found = await ask(asked, thing("a"), thing("b", namespace="lab"), thing("c"))
    assert outcomes(found) == ["claimed", "unclear", "claimed"]
    assert "namespace lab could not be read" in whys(found)[1]
    assert "403" in whys(found)[1]
    assert calls.asked == []


async def test_a_question_without_an_answer_keeps_the_object(pool: Pool) -> None:
    class Answering:
        async def answer(self, question: Question) -> bytes:
            assert isinstance(question, GlobalContext)
            if question.name == "b":
                raise Unreachable("no connection")
            return json.dumps("yes").encode()

    asked = evaluation(
        policy("globalContext.Get(object.metadata.name) == 'yes'"),
        pool=pool,
        calls=Table(broker=Answering()),
    )
    found = await ask(asked, thing("a"), thing("b"), thing("c"))
    assert outcomes(found) == ["claimed", "unclear", "claimed"]
    assert "condition c0 has no answer" in whys(found)[1]


async def test_what_an_exception_means_stays_with_its_name(pool: Pool) -> None:
    asked = evaluation(
        policy("object.metadata.name != 'd'"),
        pool=pool,
        exemptions=[
            exception("object.metadata.name == 'a'"),
            exception("object.metadata.labels['x'] == '1'"),
        ],
    )
    found = await ask(
        asked,
        thing("a"),
        thing("b", labels={"x": "1"}),
        thing("c", labels={"x": "2"}),
        thing("d"),
        thing("e"),
    )
    assert outcomes(found) == ["left", "left", "claimed", "left", "unclear"]
    assert "the PolicyException shop/spare exempts it from DeletingPolicy/old" in whys(found)[0]
    assert whys(found)[3] == ""
    assert "whether the PolicyException shop/spare exempts it" in whys(found)[4]


async def test_an_exception_without_conditions_lets_everything_stay(pool: Pool) -> None:
    asked = evaluation(policy(), pool=pool, exemptions=[exception()])
    assert outcomes(await ask(asked, thing())) == ["left"]
    assert asked.troubles == ()


async def test_an_exception_that_can_t_be_meant_lets_everything_stay_and_is_told_once(pool: Pool) -> None:
    asked = evaluation(policy(), pool=pool, exemptions=[exception("nope ==")])
    assert outcomes(await ask(asked, thing("a"), thing("b"))) == ["unclear", "unclear"]
    assert len(asked.troubles) == 1
    assert "PolicyException shop/spare may let more stay than it means: conditions[0]" in asked.troubles[0]
    unread = evaluation(policy(), pool=pool, exemptions=[exception(matchConditions="nope")])
    assert outcomes(await ask(unread, thing())) == ["left"]
    assert "spec.matchConditions" in unread.troubles[0]


async def test_exceptions_of_other_policies_and_past_ones_are_not_asked(pool: Pool) -> None:
    other = exception(policyRefs=[{"kind": "DeletingPolicy", "name": "other"}])
    past = exception(expiresAt="2025-12-31T23:59:59Z")
    asked = evaluation(policy(), pool=pool, exemptions=[other, past])
    assert outcomes(await ask(asked, thing())) == ["claimed"]


async def test_exceptions_that_look_at_bodies_need_them(pool: Pool) -> None:
    asked = evaluation(policy(), pool=pool, exemptions=[exception("has(object.spec.x)")])
    await asked.begin()
    assert asked.needs_bodies
    assert outcomes(await ask(asked, thing(spec={"x": 1}), thing(spec={}))) == ["left", "claimed"]


async def test_large_pages_go_in_several_batches(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "_BATCH_BYTES", 1000)
    before = pool.statistics.batches
    asked = evaluation(policy("object.metadata.name.endsWith('1')"), pool=pool)
    found = await ask(asked, *(thing(f"p{number}", note="x" * 300) for number in range(12)))
    assert outcomes(found) == ["claimed" if number in {1, 11} else "left" for number in range(12)]
    assert pool.statistics.batches - before == 6


async def test_an_expression_that_takes_too_long_costs_its_object_only() -> None:
    slow = "object.metadata.name != 'slow' || object.numbers.all(a, object.numbers.all(b, a + b >= 0))"
    limits = Limits(expression_seconds=0.3, memory_bytes=200 * 2**20)
    async with Pool(clock=SystemClock(), limits=limits) as own:
        asked = evaluation(policy(slow), pool=own)
        numbers = list(range(2000))
        found = await ask(
            asked, thing("a", numbers=numbers), thing("slow", numbers=numbers), thing("b", numbers=numbers)
        )
    assert outcomes(found) == ["claimed", "unclear", "claimed"]
    assert "condition c0" in whys(found)[1]


async def test_a_run_whose_expressions_take_too_long_ends_and_says_so_as_a_whole() -> None:
    limits = Limits(run_seconds=0.1, turn_seconds=0.0)
    async with Pool(clock=SystemClock(), limits=limits) as own:
        asked = evaluation(policy("lists.range(200000).distinct().size() > 0"), pool=own)
        found = await ask(asked, *(thing(f"p{number}") for number in range(30)))
    assert outcomes(found)[0] == "claimed"
    assert outcomes(found)[-1] == "unclear"
    assert "evaluating took more than 0.1 s for the objects of one run" in whys(found)[-1]
    (trouble,) = asked.troubles
    assert "make the expressions cheaper" in trouble


async def test_a_pool_that_can_t_judge_leaves_everything_unclear() -> None:
    class Broken(Pool):
        async def judge(self, *_: Any, **__: Any) -> Any:
            raise Unreachable("no process can be started")

    async with Broken(clock=SystemClock()) as own:
        found = await ask(evaluation(policy("true"), pool=own), thing("a"), thing("b"))
    assert outcomes(found) == ["unclear", "unclear"]
    assert "no process can be started" in whys(found)[0]


async def test_an_object_alone_is_judged_like_one_of_a_page(pool: Pool) -> None:
    asked = evaluation(policy("object.metadata.name == 'web'"), pool=pool, clock=Moment())
    assert (await asked.one(kind("Pod"), msgspec.json.encode(thing()))).outcome == "claimed"
    assert (await asked.one(kind("Pod"), msgspec.json.encode(thing("db")))).outcome == "left"


async def test_what_is_told_of_a_secret_quotes_nothing_of_it(pool: Pool) -> None:
    secret = thing(data={"key": "hunter2"})
    for asked in (
        evaluation(policy("int(object.data.key) > 1"), pool=pool),
        evaluation(policy(), pool=pool, exemptions=[exception("int(object.data.key) > 1")]),
    ):
        found = await ask(asked, secret, what="Secret")
        assert outcomes(found) == ["unclear"]
        assert "hunter2" not in whys(found)[0]
        assert "more is not shown of a Secret" in whys(found)[0]
