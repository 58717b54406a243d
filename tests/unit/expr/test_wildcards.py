"""Wildcards. The table is that of Kyverno's own matcher tests."""

from __future__ import annotations

import fnmatch
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.expr.wildcards import LIMIT, cost, has_wildcard, matches

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("*", "s3:GetObject", True),
        ("", "s3:GetObject", False),
        ("", "", True),
        ("s3:*", "s3:ListMultipartUploadParts", True),
        ("s3:ListBucketMultipartUploads", "s3:ListBucket", False),
        ("s3:ListBucket", "s3:ListBucket", True),
        ("s3:ListBucketMultipartUploads", "s3:ListBucketMultipartUploads", True),
        ("my-bucket/oo*", "my-bucket/oo", True),
        ("my-bucket/In*", "my-bucket/India/Karnataka/", True),
        ("my-bucket/In*", "my-bucket/Karnataka/India/", False),
        ("my-bucket/In*/Ka*/Ban", "my-bucket/India/Karnataka/Ban", True),
        ("my-bucket/In*/Ka*/Ban", "my-bucket/India/Karnataka/Ban/Ban/Ban/Ban/Ban", True),
        ("my-bucket/In*/Ka*/Ban", "my-bucket/India/Karnataka/Area1/Area2/Area3/Ban", True),
        ("my-bucket/In*/Ka*/Ban", "my-bucket/India/State1/State2/Karnataka/Area1/Area2/Area3/Ban", True),
        ("my-bucket/In*/Ka*/Ban", "my-bucket/India/Karnataka/Bangalore", False),
        ("my-bucket/In*/Ka*/Ban*", "my-bucket/India/Karnataka/Bangalore", True),
        ("my-bucket/*", "my-bucket/India", True),
        ("my-bucket/oo*", "my-bucket/odo", False),
        ("my-bucket?/abc*", "mybucket/abc", False),
        ("my-bucket?/abc*", "my-bucket1/abc", True),
        ("my-?-bucket/abc*", "my--bucket/abc", False),
        ("my-?-bucket/abc*", "my-1-bucket/abc", True),
        ("my-?-bucket/abc*", "my-k-bucket/abc", True),
        ("my??bucket/abc*", "mybucket/abc", False),
        ("my??bucket/abc*", "my4abucket/abc", True),
        ("my-bucket?abc*", "my-bucket/abc", True),
        ("my-bucket/abc?efg", "my-bucket/abcdefg", True),
        ("my-bucket/abc?efg", "my-bucket/abc/efg", True),
        ("my-bucket/abc????", "my-bucket/abc", False),
        ("my-bucket/abc????", "my-bucket/abcde", False),
        ("my-bucket/abc????", "my-bucket/abcdefg", True),
        ("my-bucket/abc?", "my-bucket/abc", False),
        ("my-bucket/abc?", "my-bucket/abcd", True),
        ("my-bucket/abc?", "my-bucket/abcde", False),
        ("my-bucket/mnop*?", "my-bucket/mnop", False),
        ("my-bucket/mnop*?", "my-bucket/mnopqrst/mnopqr", True),
        ("my-bucket/mnop*?", "my-bucket/mnopqrst/mnopqrs", True),
        ("my-bucket/mnop*?", "my-bucket/mnopq", True),
        ("my-bucket/mnop*?", "my-bucket/mnopqr", True),
        ("my-bucket/mnop*?and", "my-bucket/mnopqand", True),
        ("my-bucket/mnop*?and", "my-bucket/mnopand", False),
        ("my-bucket/mnop*?", "my-bucket/mn", False),
        ("my-bucket/mnop*??", "my-bucket/mnopqrst", True),
        ("my-bucket/mnop*qrst", "my-bucket/mnopabcdegqrst", True),
        ("my-bucket/mnop*?and?", "my-bucket/mnopqanda", True),
        ("my-bucket/mnop*?and", "my-bucket/mnopqanda", False),
        ("my-?-bucket/abc*", "my-bucket/mnopqanda", False),
    ],
)
def test_a_pattern_fits_what_it_fits_in_kyverno(pattern: str, text: str, fits: bool) -> None:  # noqa: FBT001 - a column
    assert matches(pattern, text) is fits


def test_only_the_star_and_the_question_mark_are_special() -> None:
    assert has_wildcard("a*")
    assert has_wildcard("?")
    assert not has_wildcard("[a]")
    assert matches("[a]*", "[a]b")
    assert not matches("[a]*", "ab")
    assert matches("a.c", "a.c")
    assert not matches("a.?", "abc")


def test_a_question_mark_is_one_character_and_never_none() -> None:
    assert matches("?", "ü")
    assert matches("??", "日本")
    assert matches("a?b", "a\nb")
    assert not matches("?", "")
    assert not matches("a?", "a")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("*a" * 200 + "b", "a" * 100_000),
        ("*" + "a" * 100 + "?" + "b" * 100 + "*", "a" * 50_000),
        ("*" + "?" * 200 + "b*", "a" * 50_000),
        ("*" * 50_000, "a" * 50_000),
        ("?" * 100_000, "a" * 99_999),
    ],
)
def test_no_pattern_hangs(pattern: str, text: str) -> None:
    started = time.process_time()
    matches(pattern, text)
    assert time.process_time() - started < 2


def test_what_would_take_long_is_refused_and_not_guessed() -> None:
    pattern, text = "*" + "?" * 10_000 + "b*", "a" * 1_000_000
    assert cost(pattern, text) > LIMIT
    with pytest.raises(ValueError, match="too long for a pattern of 10,003"):
        matches(pattern, text)


@pytest.mark.parametrize(
    "pattern", ["*" + "?" * 1_000_000 + "*", "*?" * 500_000, "*" + "?a" * 126 + "*" * 1_000_000]
)
def test_a_name_is_never_too_long_for_a_pattern(pattern: str) -> None:
    assert not matches(pattern, "b" * 253)


@given(st.text(alphabet="ab*?", max_size=8), st.text(alphabet="ab", max_size=10))
def test_patterns_agree_with_the_shell(pattern: str, text: str) -> None:
    assert matches(pattern, text) is fnmatch.fnmatchcase(text, pattern)


@given(st.text())
def test_every_text_fits_itself_and_the_star(text: str) -> None:
    assert matches(text, text)
    assert matches("*", text)
    assert matches(f"*{text}*", f"<{text}>")
