"""Children that judge pages: every object gets one answer, and whatever an expression does harms one object at most."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from skoupa.clock import SystemClock
from skoupa.errors import BadReply, NotFound, Status, TimedOut, UsageError
from skoupa.expr.cel.accounts import Account
from skoupa.expr.cel.limits import Limits
from skoupa.expr.cel.messages import Circumstances, GetResource, GlobalContext, Question, Result
from skoupa.expr.cel.pool import Pool
from tests.unit.expr.cel.asking import source

pytestmark = [pytest.mark.unit, pytest.mark.asyncio(loop_scope="module")]

NOW = Circumstances(now=1_769_860_800.0, seed="s")
# Quick to die of, and far from what a loaded machine needs for an honest object.
LIMITS = Limits(
    memory_bytes=200 * 2**20,
    expression_seconds=0.5,
    silence_seconds=20,
    question_seconds=5,
    answer_bytes=12 * 2**20,
)
ASKS = 'globalContext.Get(object.metadata.name) == "yes"'


class Telling:
    """A broker that answers with a function of the question."""

    def __init__(self, answer: Callable[[Question], Awaitable[Any]]) -> None:
        self._answer = answer
        self.asked: list[Question] = []

    async def answer(self, question: Question) -> bytes:
        self.asked.append(question)
        return json.dumps(await self._answer(question)).encode()


def pool(**limits: Any) -> Pool:
    return Pool(clock=SystemClock(), limits=msgspec.structs.replace(LIMITS, **limits))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judges() -> AsyncIterator[Pool]:
    """For tests that harm no child: starting one takes longer than most of them."""
    async with pool() as shared:
        yield shared


def page(*objects: Any, kind: str = "PodList") -> bytes:
    return json.dumps({"kind": kind, "apiVersion": "v1", "items": objects}).encode()


def named(*names: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"metadata": {"name": name, "namespace": "shop", "uid": f"u-{name}"}, **fields} for name in names]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def matched(results: list[Result]) -> list[bool | None]:
    """None for an error."""
    return [None if result.error else result.matched for result in results]


async def test_every_object_gets_its_answer_in_order() -> None:
    async with pool() as judges:
        results = await judges.judge(
            source("object.metadata.name == 'a' && object.kind == 'Pod' && object.apiVersion == 'v1'"),
            page(*named("a", "b"), {"metadata": {}}, 5, *named("a")),
            circumstances=NOW,
        )
        assert matched(results) == [True, False, None, None, True]
        assert "looks at 'name', which is not there" in results[2].error
        assert "can't be read" in results[3].error
        assert await judges.judge(source("true"), page(), circumstances=NOW) == []
        assert (judges.statistics.started, judges.statistics.objects) == (1, 5)


async def test_compiling_tells_problems_and_fields(judges: Pool) -> None:
    good = await judges.compile(source("object.metadata.name == 'a'"))
    assert (good.problems, good.fields) == ((), ("metadata",))
    bad = await judges.compile(source("object.metadata.name =="))
    assert "not written as CEL" in bad.problems[0].reason
    results = await judges.judge(source("nope == 1"), page(*named("a", "b")), circumstances=NOW)
    assert matched(results) == [None, None]
    assert "there is no variable nope" in results[0].error


async def test_what_a_page_is_told_to_be_wins_over_what_its_items_say(judges: Pool) -> None:
    metadata_only = page({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {}})
    told = msgspec.structs.replace(NOW, api_version="apps/v1", kind="Deployment")
    results = await judges.judge(
        source("object.kind == 'Deployment' && object.apiVersion == 'apps/v1'"),
        metadata_only,
        circumstances=told,
    )
    assert matched(results) == [True]


async def test_a_page_that_is_none_is_a_bad_reply_and_the_child_lives_on(judges: Pool) -> None:
    for broken in (b"{", b"[]", b'{"items": 5}', b"\xff", b""):
        with pytest.raises(BadReply, match="can't be read"):
            await judges.judge(source("true"), broken, circumstances=NOW)
    assert matched(await judges.judge(source("true"), page({}), circumstances=NOW)) == [True]


HOG = "'aaaaaaaaaa'" + ".replace('a', 'aaaaaaaaaa')" * 8 + ".size() > 0"
LOOP = "object.n.map(a, object.n.map(b, object.text.replace('y', 'zz').size())).size() > 0"


@pytest.mark.parametrize(
    ("harm", "fields", "limits", "words"),
    [
        (LOOP, {"n": list(range(90)), "text": "y" * 150_000}, {"memory_bytes": 8 * 2**30}, "s of CPU time"),
        (HOG, {}, {"expression_seconds": 20.0}, "memory"),
    ],
    ids=["loops", "explodes"],
)
async def test_an_expression_that_overruns_costs_one_object(
    harm: str, fields: dict[str, Any], limits: dict[str, Any], words: str
) -> None:
    async with pool(**limits) as judges:
        results = await judges.judge(
            source(f"object.metadata.name == 'bad' ? {harm} : true"),
            page(*named("ok"), *named("bad", **fields), *named("ok", "ok")),
            circumstances=NOW,
        )
        assert matched(results) == [True, None, True, True]
        assert words in results[1].error
        assert "condition c0" in results[1].error


async def test_a_variable_that_needs_too_much_memory_says_what_to_do() -> None:
    async with pool(expression_seconds=20.0) as judges:
        (result,) = await judges.judge(
            source("variables.hog.size() > 0", variables={"hog": HOG.removesuffix(".size() > 0")}),
            page(*named("a")),
            circumstances=NOW,
        )
    assert "variable hog needs more memory than it may have: look at fewer or smaller values" in result.error
    assert "bad_alloc" not in result.error


async def test_comprehensions_end_after_a_number_of_steps(judges: Pool) -> None:
    (result,) = await judges.judge(
        source("object.n.all(a, object.n.all(b, object.n.all(c, a + b + c >= 0)))"),
        page({"n": list(range(100))}),
        circumstances=NOW,
    )
    assert "takes more than 10,000 steps" in result.error


async def test_deep_objects_and_deep_expressions_cost_one_object(judges: Pool) -> None:
    deep = b'{"a":' * 9_000 + b"1" + b"}" * 9_000
    whole = b'{"items":[{"x":1},{"x":' + deep + b'},{"x":1}]}'
    assert matched(await judges.judge(source("object.x == 1"), whole, circumstances=NOW)) in (
        [True, None, True],
        [True, False, True],
    )
    report = await judges.compile(source("(" * 5_000 + "true" + ")" * 5_000))
    assert report.problems
    assert matched(await judges.judge(source("true"), page({}), circumstances=NOW)) == [True]


async def test_ten_megabytes_are_nothing_special(judges: Pool) -> None:
    large = named("a")[0] | {"data": {"x": "y" * 10_000_000}}
    results = await judges.judge(
        source("size(object.data.x) == 10000000"), page(large, large), circumstances=NOW
    )
    assert matched(results) == [True, True]

    async def answer(question: Question) -> str:
        return "z" * (10_000_000 if "small" in str(question) else 13_000_000)

    results = await judges.judge(
        source("globalContext.Get(object.metadata.name).size() == 10000000"),
        page(*named("small", "large")),
        circumstances=NOW,
        broker=Telling(answer),
    )
    assert matched(results) == [True, None]
    assert "13,000,002 bytes, more than" in results[1].error


async def test_a_killed_child_costs_the_object_that_it_was_at() -> None:
    async with pool() as judges:

        async def answer(question: Question) -> str:
            if question == GlobalContext(name="bad"):
                os.kill(judges.pids[0], signal.SIGKILL)
            return "yes"

        results = await judges.judge(
            source(ASKS), page(*named("a", "b", "bad", "c", "d")), circumstances=NOW, broker=Telling(answer)
        )
        assert matched(results) == [True, True, None, True, True]
        assert "killed (signal 9)" in results[2].error
        assert (judges.statistics.started, judges.statistics.died) == (2, 1)


async def test_a_child_that_stands_still_is_ended() -> None:
    # Longer than one needs to start, too.
    async with pool(silence_seconds=4) as judges:

        async def answer(question: Question) -> str:
            if question == GlobalContext(name="bad"):
                os.kill(judges.pids[0], signal.SIGSTOP)
            return "yes"

        results = await judges.judge(
            source(ASKS), page(*named("a", "bad", "c")), circumstances=NOW, broker=Telling(answer)
        )
        assert matched(results) == [True, None, True]
        assert "did not answer within 4 s" in results[1].error


async def test_a_question_that_is_never_answered_costs_one_object_and_no_child() -> None:
    async def answer(question: Question) -> str:
        if question == GlobalContext(name="bad"):
            await asyncio.Event().wait()
        return "yes"

    async with pool(question_seconds=0.3) as judges:
        results = await judges.judge(
            source(ASKS), page(*named("a", "bad", "c")), circumstances=NOW, broker=Telling(answer)
        )
        assert matched(results) == [True, None, True]
        assert "GlobalContext(bad) got no answer within 0.3 s" in results[1].error
        assert judges.statistics.started == 1


async def test_a_batch_has_a_limit_and_what_was_not_reached_stays() -> None:
    async def answer(question: Question) -> str:
        await asyncio.Event().wait()
        return ""

    # As long as a child needs to start on a busy machine, several times.
    async with pool(batch_seconds=6.0, question_seconds=60) as judges:
        results = await judges.judge(
            source("object.metadata.name == 'a' || " + ASKS),
            page(*named("a", "b", "c")),
            circumstances=NOW,
            broker=Telling(answer),
        )
        assert len(results) == 3
        assert not any(result.matched and result.error for result in results)
        assert "the batch took longer than 6 s" in results[2].error
        assert matched(await judges.judge(source("true"), page({}), circumstances=NOW)) == [True]


async def test_errors_of_the_broker_are_told_and_a_missing_object_is_one(judges: Pool) -> None:
    async def answer(question: Question) -> str:
        if isinstance(question, GetResource):
            raise NotFound("get: not found", status=Status(code=404))
        raise UsageError("this policy may not ask for that", advice="name your own namespace")

    # As in Kyverno, where each of these fails too.
    for asked in ("%s == null", "!has(%s.data)", "%s != 'x'", "%s.?data.orValue({}) == {}"):
        (result,) = await judges.judge(
            source(asked % 'resource.Get("v1", "pods", "shop", object.metadata.name)'),
            page(*named("a")),
            circumstances=NOW,
            broker=Telling(answer),
        )
        assert not result.matched
        assert "get: not found" in result.error
    (result,) = await judges.judge(source(ASKS), page(*named("a")), circumstances=NOW, broker=Telling(answer))
    assert result.error == ("condition c0 fails: this policy may not ask for that: name your own namespace")
    (result,) = await judges.judge(source(ASKS), page(*named("a")), circumstances=NOW)
    assert "GlobalContext is not allowed here" in result.error


async def test_the_same_question_is_asked_once_in_a_batch_but_posts_every_time(judges: Pool) -> None:
    async def answer(question: Question) -> Any:
        return {"statusCode": 200, "body": None}

    reading, writing = Telling(answer), Telling(answer)
    objects = page(*named("a", "b", "c"))
    await judges.judge(source('globalContext.Get("x") != null'), objects, circumstances=NOW, broker=reading)
    await judges.judge(
        source('http.Post("https://x", 1).statusCode == 200'), objects, circumstances=NOW, broker=writing
    )
    assert (len(reading.asked), len(writing.asked)) == (1, 3)


async def test_time_and_chance_are_handed_in() -> None:
    objects = page(*named("a", "b"))
    random = "random('[0-9a-f]{64}') < '8' == (object.metadata.name == 'x')"
    async with pool() as one, pool() as other:
        assert matched(
            await one.judge(
                source('time.now() == timestamp("2026-01-31T12:00:00Z")'), objects, circumstances=NOW
            )
        ) == [True, True]
        found = await one.judge(source(random), objects, circumstances=NOW)
        assert found == await other.judge(source(random), objects, circumstances=NOW)
        assert found == await one.judge(source(random), objects, circumstances=NOW)
        alone = await other.judge(source(random), page(*named("b")), circumstances=NOW)
        assert alone == found[1:]


async def test_the_namespace_is_the_one_that_was_handed_in(judges: Pool) -> None:
    labelled = msgspec.Raw(b'{"metadata":{"name":"shop","labels":{"team":"a"}}}')
    told = msgspec.structs.replace(NOW, namespaces={"shop": labelled})
    expression = source("namespaceObject.metadata.labels.team == 'a'")
    assert matched(await judges.judge(expression, page(*named("a")), circumstances=told)) == [True]
    (unknown,) = await judges.judge(expression, page(*named("a")), circumstances=NOW)
    assert "namespace shop could not be read" in unknown.error
    cluster_wide = page({"metadata": {"name": "n"}})
    assert matched(
        await judges.judge(source("namespaceObject == null"), cluster_wide, circumstances=NOW)
    ) == [True]
    itself = page({"metadata": {"name": "n", "labels": {"team": "a"}}}, kind="NamespaceList")
    assert matched(await judges.judge(expression, itself, circumstances=NOW)) == [True]


async def test_images_are_those_of_the_pod_or_of_its_template(judges: Pool) -> None:
    containers = {"containers": [{"image": "nginx"}], "initContainers": [{"image": "busybox"}]}
    expression = source("images.containers == ['nginx'] && images.initContainers == ['busybox']")
    for kind, spec in (
        ("PodList", containers),
        ("DeploymentList", {"template": {"spec": containers}}),
        ("CronJobList", {"jobTemplate": {"spec": {"template": {"spec": containers}}}}),
    ):
        results = await judges.judge(expression, page({"spec": spec}, kind=kind), circumstances=NOW)
        assert matched(results) == [True], kind


async def test_a_text_with_a_nul_is_an_error_where_it_is_looked_at(judges: Pool) -> None:
    objects = page({"a": {"x": "a\0b", "y": 1}, "b": "c\0"}, {"a": {"x": "a\\u0000b"}})
    results = await judges.judge(source("object.a.x == 'a'"), objects, circumstances=NOW)
    assert matched(results) == [None, False]
    assert "NUL" in results[0].error
    assert matched(await judges.judge(source("has(object.a.y)"), objects, circumstances=NOW)) == [
        True,
        False,
    ]


async def test_a_field_that_is_no_map_is_seen_as_it_is(judges: Pool) -> None:
    objects = page({"spec": None}, {"spec": "x"}, {"spec": {"x": 1}}, {})
    assert matched(await judges.judge(source("object.spec.x == 1"), objects, circumstances=NOW)) == [
        None,
        None,
        True,
        None,
    ]
    assert matched(
        await judges.judge(source("has(object.spec) && object.spec == null"), objects, circumstances=NOW)
    ) == [True, False, False, False]


async def test_cancelling_ends_the_child_and_leaves_nothing_behind() -> None:
    reached = asyncio.Event()

    async def answer(question: Question) -> str:
        reached.set()
        await asyncio.Event().wait()
        return ""

    async with pool() as judges:
        async with asyncio.timeout(30):
            task = asyncio.ensure_future(
                judges.judge(source(ASKS), page(*named("a")), circumstances=NOW, broker=Telling(answer))
            )
            await reached.wait()
            (child,) = judges.pids
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert not alive(child)
        assert matched(await judges.judge(source("true"), page({}), circumstances=NOW)) == [True]
        (child,) = judges.pids
    assert not alive(child)


async def test_a_child_that_grew_is_replaced_even_within_a_batch() -> None:
    async with pool(retire_bytes=110 * 2**20) as judges:
        objects = named(*"abcdefghijklmnopqrst", text="y" * 1_000_000)
        results = await judges.judge(
            source(
                "object.text.find('x') == '' && object.text.findAll('z') == []", "sha256(object.text) != ''"
            ),
            page(*objects),
            circumstances=NOW,
        )
        assert matched(results) == [True] * 20
        assert judges.statistics.started > 1
        assert judges.statistics.died == 0


async def test_batches_wait_for_their_turn() -> None:
    async with pool(children=1) as judges:
        objects = page(*named(*(f"n{number}" for number in range(50))))
        found = await asyncio.gather(
            *(
                judges.judge(source(f"object.metadata.name == 'n{number}'"), objects, circumstances=NOW)
                for number in range(8)
            )
        )
        for number, results in enumerate(found):
            assert [result.matched for result in results] == [index == number for index in range(50)]
        assert judges.statistics.started == 1


async def test_a_child_needs_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a pod, whose file system is read-only."""
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    async with pool() as judges:
        assert matched(await judges.judge(source("true"), page({}), circumstances=NOW)) == [True]


async def test_a_child_that_was_killed_while_it_had_nothing_to_do_costs_nothing() -> None:
    async with pool() as judges:
        for _ in range(4):
            assert (await judges.compile(source("true"))).problems == ()
            killed(judges)
            assert matched(await judges.judge(source("true"), page({}), circumstances=NOW)) == [True]
            killed(judges)


def killed(judges: Pool) -> None:
    (child,) = judges.pids
    os.kill(child, signal.SIGKILL)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)


async def test_a_compiler_that_stands_still_says_nothing_of_the_policy() -> None:
    async with pool(silence_seconds=4) as judges:
        await judges.compile(source("true"))
        os.kill(judges.pids[0], signal.SIGSTOP)
        assert (await judges.compile(source("object.metadata.name == 'a'"))).problems == ()


async def test_where_no_process_can_be_started_nothing_is_judged_and_later_it_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    async with pool() as judges:
        account = Account()
        with monkeypatch.context() as crowded:
            crowded.setattr(subprocess, "Popen", full)
            with pytest.raises(TimedOut, match="no process could be started"):
                await judges.compile(source("true"))
            results = await judges.judge(source("true"), page({}, {}), circumstances=NOW, account=account)
        assert matched(results) == [None, None]
        assert "no process could be started" in results[0].error
        assert account.interrupted
        assert matched(await judges.judge(source("true"), page({}), circumstances=NOW)) == [True]


async def test_what_an_expression_did_itself_is_no_interruption() -> None:
    account = Account()
    async with pool(expression_seconds=20.0) as judges:
        (result,) = await judges.judge(source(HOG), page({}), circumstances=NOW, account=account)
    assert "memory" in result.error
    assert not account.interrupted
