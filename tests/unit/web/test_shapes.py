"""What one side says is what the other hears."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.ledger.store import Place, Wish
from skoupa.web.remembering import Answers
from skoupa.web.shapes import MOST_ROWS, Question, query_of, question_of
from tests.unit.web.desks import Ticking

pytestmark = pytest.mark.unit

texts = st.none() | st.text(max_size=20)
times = st.none() | st.floats(min_value=0, max_value=4e9, allow_nan=False)
wishes = st.builds(
    Wish,
    uid=texts,
    kind=texts,
    namespace=texts,
    name=texts,
    since=times,
    until=times,
    mechanism=texts,
    rule=texts,
    rule_end=texts,
    run=texts,
    outcomes=st.none() | st.just(("deleted",)) | st.just(("failed", "gone-by-unknown")),
)
places = st.none() | st.builds(
    Place, at=st.floats(0, 4e9), id=st.text("0123456789abc", min_size=15, max_size=15)
)


@given(wish=wishes, limit=st.integers(1, MOST_ROWS), before=places)
def test_a_question_arrives_as_it_was_asked(wish: Wish, limit: int, before: Place | None) -> None:
    question = Question(wish=wish, limit=limit, before=before)
    assert question_of(query_of(question)) == question


def test_answers_are_forgotten_after_a_while_and_the_oldest_makes_room() -> None:
    clock = Ticking()
    answers = Answers[str, int](clock, seconds=30, most=3)
    for number, key in enumerate("abcd"):
        answers.put(key, number)
    assert [answers.get(key) for key in "abcd"] == [None, 1, 2, 3]
    assert len(answers) == 3
    clock.ahead += 31
    assert [answers.get(key) for key in "bcd"] == [None, None, None]
    assert len(answers) == 0
