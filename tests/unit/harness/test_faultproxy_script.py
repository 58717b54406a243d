"""The script: which rule acts on which request; and what faults make of a body."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.faultproxy.edits import Ending, editor_of
from harness.faultproxy.faults import (
    Answer,
    Close,
    CutLine,
    Duplicate,
    EndWatch,
    Fault,
    HalfClose,
    InjectLine,
    Reset,
    Silence,
    Slow,
    WatchError,
    error_line,
    kube_status,
)
from harness.faultproxy.script import Request, Rule, Script

pytestmark = pytest.mark.unit

LIST = Request("GET", "/api/v1/pods", "limit=500")
WATCH = Request("GET", "/api/v1/pods", "watch=1&resourceVersion=7")
DELETE = Request("DELETE", "/api/v1/namespaces/a/pods/b", "")


def taken(rule: Rule, *requests: Request) -> list[bool]:
    script = Script()
    script.add(rule, now=0)
    return [script.take(request, now=0) is not None for request in requests]


@pytest.mark.parametrize(
    ("query", "watch"),
    [("watch=1", True), ("a=b&watch=true", True), ("watch=0", False), ("watch=false", False), ("", False)],
)
def test_a_watch_is_known_by_its_query(query: str, watch: bool) -> None:  # noqa: FBT001 - a parameter of the table
    assert Request("GET", "/", query).watch is watch


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Rule(Reset(), times=None), [True, True, True]),
        (Rule(Reset(), times=None, method="DELETE"), [False, False, True]),
        (Rule(Reset(), times=None, watch=True), [False, True, False]),
        (Rule(Reset(), times=None, watch=False), [True, False, True]),
        (Rule(Reset(), times=None, path="/api/v1/pods"), [True, True, False]),
        (Rule(Reset(), times=None, path=re.compile(r"/pods/b\?$")), [False, False, True]),
        (Rule(Reset(), times=None, path=re.compile("resourceVersion=7")), [False, True, False]),
    ],
)
def test_a_rule_takes_what_fits_all_it_says(rule: Rule, expected: list[bool]) -> None:
    assert taken(rule, LIST, WATCH, DELETE) == expected


def test_a_rule_acts_once_unless_it_says_more() -> None:
    assert taken(Rule(Reset()), LIST, LIST) == [True, False]
    assert taken(Rule(Reset(), times=2), LIST, LIST, LIST) == [True, True, False]


def test_a_rule_lets_the_first_ones_through() -> None:
    assert taken(Rule(Reset(), path="/api/v1/pods", after=2), LIST, DELETE, LIST, LIST, LIST) == [
        False,
        False,
        False,
        True,
        False,
    ]


def test_a_rule_acts_during_its_window_only() -> None:
    script = Script()
    script.add(Rule(Reset(), times=None, during=5), now=100)
    assert [script.take(LIST, now=now) is not None for now in (100, 104.9, 105, 106)] == [
        True,
        True,
        False,
        False,
    ]


def test_the_first_rule_that_applies_acts_and_the_next_one_follows_when_it_is_spent() -> None:
    script = Script()
    first, second = Rule(Reset()), Rule(Close())
    script.add(first, now=0)
    script.add(second, now=0)
    assert [script.take(LIST, now=0) for _ in range(3)] == [first, second, None]


def test_hits_count_what_a_rule_did_and_survive_clearing() -> None:
    script = Script()
    rule = Rule(Reset(), times=None, after=1)
    script.add(rule, now=0)
    for _ in range(3):
        script.take(LIST, now=0)
    script.clear()
    assert script.take(LIST, now=0) is None
    assert script.hits(rule) == 2
    assert script.hits(Rule(Close())) == 0


def test_a_cleared_rule_can_be_added_again() -> None:
    script = Script()
    script.add(Rule(Reset()), now=0)
    script.clear()
    script.add(Rule(Reset()), now=0)
    assert script.take(LIST, now=0) == Rule(Reset())


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Rule(Reset(), times=0),
        lambda: Rule(Reset(), after=-1),
        lambda: Reset(after_bytes=1, after_lines=1),
        lambda: Silence(after_bytes=-1),
        lambda: CutLine(-1),
        lambda: Slow(delay=-1),
        lambda: Slow(bytes_per_second=0),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(ValueError, match=r"\w"):
        wrong()


def edited(fault: Fault, pieces: list[bytes]) -> tuple[bytes, Ending | None]:
    editor = editor_of(fault)
    assert editor is not None
    edit = editor.start()
    out = edit.out
    for piece in pieces:
        if edit.ending is not None:
            return out, edit.ending
        edit = editor.feed(piece)
        out += edit.out
    if edit.ending is None:
        edit = editor.finish()
        out += edit.out
    return out, edit.ending


THREE = b"one\ntwo\nthree\n"
ERROR = error_line(WatchError()) + b"\n"


@pytest.mark.parametrize(
    ("fault", "out", "ending"),
    [
        (Reset(after_bytes=5), b"one\nt", Reset(after_bytes=5)),
        (Reset(after_bytes=99), THREE, Reset(after_bytes=99)),
        (Close(after_bytes=0), b"", Close(after_bytes=0)),
        (HalfClose(after_lines=0), b"", HalfClose(after_lines=0)),
        (Silence(after_lines=2), b"one\ntwo\n", Silence(after_lines=2)),
        (EndWatch(1), b"one\n", EndWatch(1)),
        (CutLine(), b"on", Close()),
        (CutLine(2), b"one\ntwo\nthr", Close()),
        (CutLine(3), THREE, Close()),
        (Duplicate(), b"one\none\ntwo\ntwo\nthree\nthree\n", None),
        (InjectLine(b"x"), b"x\n" + THREE, None),
        (InjectLine(b"x", after_lines=1), b"one\nx\ntwo\nthree\n", None),
        (InjectLine(b"x", after_lines=1, end=True), b"one\nx\n", EndWatch()),
        (InjectLine(b"x", after_lines=9), THREE + b"x\n", None),
        (WatchError(), ERROR, EndWatch()),
        (WatchError(after_lines=2), b"one\ntwo\n" + ERROR, EndWatch()),
    ],
)
@given(cuts=st.lists(st.integers(0, len(THREE)), max_size=6).map(sorted))
def test_a_fault_makes_the_same_of_a_body_in_any_pieces(
    fault: Fault, out: bytes, ending: Ending | None, cuts: list[int]
) -> None:
    bounds = [0, *cuts, len(THREE)]
    pieces = [THREE[start:end] for start, end in pairwise(bounds)]
    assert edited(fault, pieces) == (out, ending)


def test_what_a_fault_has_let_through_does_not_wait_for_more() -> None:
    editor = editor_of(Silence(after_lines=9))
    assert editor is not None
    assert editor.feed(b"one\nhal").out == b"one\n"
    assert editor.feed(b"f\n").out == b"half\n"


@pytest.mark.parametrize("fault", [Reset(), Slow(delay=1), Answer(), None])
def test_faults_that_leave_the_body_alone_edit_nothing(fault: Fault | None) -> None:
    assert editor_of(fault) is None


def test_a_status_says_what_the_api_server_says() -> None:
    answer = kube_status(410)
    assert b'"reason":"Expired","code":410' in answer.body
    assert ("Retry-After", "7") in kube_status(429, retry_after=7).headers
    assert "Retry-After" not in dict(kube_status(429).headers)
