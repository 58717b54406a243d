"""A run asks each question once, has a bounded number of them, and does not wait for the same silence for ever."""

from __future__ import annotations

import asyncio

import pytest

from skoupa.errors import BadReply, NotFound, SkoupaError, Status, TimedOut, UsageError
from skoupa.runs.calls.answers import PATIENCE, Answer, Answers

pytestmark = pytest.mark.unit


class Asked:
    def __init__(self, body: bytes = b"1", error: SkoupaError | None = None) -> None:
        self.times = 0
        self.body = body
        self.error = error

    async def __call__(self) -> Answer:
        self.times += 1
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return Answer(self.body, where="a service")


async def test_the_same_question_is_asked_once_also_at_the_same_time() -> None:
    answers, asked = Answers(most=10), Asked()
    found = await asyncio.gather(*(answers.get("a", place="x", ask=asked) for _ in range(5)))
    assert {answer.value() for answer in found} == {1}
    assert (await answers.get("a", place="x", ask=asked)).value() == 1
    assert (asked.times, answers.made) == (1, 1)


async def test_a_question_that_failed_fails_the_same_way_for_the_rest_of_the_run() -> None:
    answers = Answers(most=10)
    asked = Asked(error=NotFound("it is not there", status=Status(code=404)))
    for _ in range(3):
        with pytest.raises(NotFound, match="not there"):
            await answers.get("a", place="x", ask=asked)
    assert asked.times == 1


async def test_a_run_makes_no_more_calls_than_it_may() -> None:
    answers, asked = Answers(most=3), Asked()
    for key in range(3):
        await answers.get(key, place="x", ask=asked)
    with pytest.raises(UsageError, match="maxCallsPerRun"):
        await answers.get("more", place="x", ask=asked)
    assert (await answers.get(1, place="x", ask=asked)).value() == 1
    assert asked.times == 3


async def test_who_was_silent_too_often_is_asked_no_more() -> None:
    answers, silent = Answers(most=100), Asked(error=TimedOut("no answer"))
    for key in range(PATIENCE + 5):
        with pytest.raises(TimedOut):
            await answers.get(key, place="x", ask=silent)
    assert silent.times == PATIENCE
    speaking = Asked()
    assert (await answers.get("other", place="y", ask=speaking)).value() == 1


async def test_who_asks_and_does_not_wait_counts_as_silence_too() -> None:
    answers, begun = Answers(most=100), asyncio.Event()

    async def never() -> Answer:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    for key in range(PATIENCE):
        begun.clear()
        waiting = asyncio.create_task(answers.get(key, place="x", ask=never))
        await begun.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
    with pytest.raises(TimedOut, match="asked no more"):
        await answers.get("next", place="x", ask=never)


async def test_what_got_no_answer_is_remembered_until_it_gets_one() -> None:
    answers, begun = Answers(most=100), asyncio.Event()

    async def never() -> Answer:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    waiting = asyncio.create_task(answers.get("a", place="x", ask=never))
    await begun.wait()
    waiting.cancel()
    await asyncio.wait([waiting])
    assert answers.unanswered
    await answers.get("a", place="x", ask=Asked())
    assert not answers.unanswered, "whoever read too slowly reads again, and had its answer"
    with pytest.raises(TimedOut):
        await answers.get("b", place="x", ask=Asked(error=TimedOut("no answer")))
    assert answers.unanswered


async def test_answers_are_kept_up_to_a_size() -> None:
    answers, asked = Answers(most=100, kept_bytes=10), Asked(b'"1234"')
    await answers.get("a", place="x", ask=asked)
    await answers.get("b", place="x", ask=asked)
    await answers.get("b", place="x", ask=asked)
    assert asked.times == 2
    await answers.get("a", place="x", ask=asked)
    assert asked.times == 3


@pytest.mark.parametrize("body", [b"", b"<html>", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_an_error_that_does_not_quote_it(body: bytes) -> None:
    with pytest.raises(BadReply) as caught:
        Answer(body, where="https://prices.shop").value()
    assert "html" not in str(caught.value)
