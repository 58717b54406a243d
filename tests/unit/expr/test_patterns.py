"""Regular expressions as Go reads them. The tables are those of Go's regexp tests and of its documentation."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.expr import patterns

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("pattern", "template", "text", "result"),
    [
        ("", "", "", ""),
        ("", "x", "", "x"),
        ("", "", "abc", "abc"),
        ("", "x", "abc", "xaxbxcx"),
        ("b", "", "", ""),
        ("b", "x", "", ""),
        ("b", "", "abc", "ac"),
        ("b", "x", "abc", "axc"),
        ("y", "", "", ""),
        ("y", "x", "", ""),
        ("y", "", "abc", "abc"),
        ("y", "x", "abc", "abc"),
        ("[a-c]*", "x", "\u65e5", "x\u65e5x"),
        ("[^\u65e5]", "x", "abc\u65e5def", "xxx\u65e5xxx"),
        ("^[a-c]*", "x", "abcdabc", "xdabc"),
        ("[a-c]*$", "x", "abcdabc", "abcdx"),
        ("^[a-c]*$", "x", "abcdabc", "abcdabc"),
        ("^[a-c]*", "x", "abc", "x"),
        ("[a-c]*$", "x", "abc", "x"),
        ("^[a-c]*$", "x", "abc", "x"),
        ("^[a-c]*", "x", "dabce", "xdabce"),
        ("[a-c]*$", "x", "dabce", "dabcex"),
        ("^[a-c]*$", "x", "dabce", "dabce"),
        ("^[a-c]*", "x", "", "x"),
        ("[a-c]*$", "x", "", "x"),
        ("^[a-c]*$", "x", "", "x"),
        ("^[a-c]+", "x", "abcdabc", "xdabc"),
        ("[a-c]+$", "x", "abcdabc", "abcdx"),
        ("^[a-c]+$", "x", "abcdabc", "abcdabc"),
        ("^[a-c]+", "x", "abc", "x"),
        ("[a-c]+$", "x", "abc", "x"),
        ("^[a-c]+$", "x", "abc", "x"),
        ("^[a-c]+", "x", "dabce", "dabce"),
        ("[a-c]+$", "x", "dabce", "dabce"),
        ("^[a-c]+$", "x", "dabce", "dabce"),
        ("^[a-c]+", "x", "", ""),
        ("[a-c]+$", "x", "", ""),
        ("^[a-c]+$", "x", "", ""),
        ("abc", "def", "abcdefg", "defdefg"),
        ("bc", "BC", "abcbcdcdedef", "aBCBCdcdedef"),
        ("abc", "", "abcdabc", "d"),
        ("x", "xXx", "xxxXxxx", "xXxxXxxXxXxXxxXxxXx"),
        ("abc", "d", "", ""),
        ("abc", "d", "abc", "d"),
        (".+", "x", "abc", "x"),
        ("[a-c]*", "x", "def", "xdxexfx"),
        ("[a-c]+", "x", "abcbcdcdedef", "xdxdedef"),
        ("[a-c]*", "x", "abcbcdcdedef", "xdxdxexdxexfx"),
        ("a+", "($0)", "banana", "b(a)n(a)n(a)"),
        ("a+", "(${0})", "banana", "b(a)n(a)n(a)"),
        ("a+", "(${0})$0", "banana", "b(a)an(a)an(a)a"),
        ("hello, (.+)", "goodbye, ${1}", "hello, world", "goodbye, world"),
        ("hello, (.+)", "goodbye, $1x", "hello, world", "goodbye, "),
        ("hello, (.+)", "goodbye, ${1}x", "hello, world", "goodbye, worldx"),
        ("hello, (.+)", "<$0><$1><$2><$3>", "hello, world", "<hello, world><world><><>"),
        ("hello, (?P<noun>.+)", "goodbye, $noun!", "hello, world", "goodbye, world!"),
        ("hello, (?P<noun>.+)", "goodbye, ${noun}", "hello, world", "goodbye, world"),
        ("(?P<x>hi)|(?P<x>bye)", "$x$x$x", "hi", "hihihi"),
        ("(?P<x>hi)|(?P<x>bye)", "$x$x$x", "bye", "byebyebye"),
        ("(?P<x>hi)|(?P<x>bye)", "$xyz", "hi", ""),
        ("(?P<x>hi)|(?P<x>bye)", "${x}yz", "hi", "hiyz"),
        ("(?P<x>hi)|(?P<x>bye)", "hello $$x", "hi", "hello $x"),
        ("a+", "${oops", "aaa", "${oops"),
        ("a+", "$$", "aaa", "$"),
        ("a+", "$", "aaa", "$"),
        ("(x)?", "$1", "123", "123"),
        ("abc", "$1", "123", "123"),
        ("(a)(b){0}(c)", ".$1|$3.", "xacxacx", "x.a|c.x.a|c.x"),
        ("(a)(((b))){0}c", ".$1.", "xacxacx", "x.a.x.a.x"),
        ("((a(b){0}){3}){5}(h)", "y caramb$2", "say aaaaaaaaaaaaaaaah", "say ay caramba"),
        ("((a(b){0}){3}){5}h", "y caramb$2", "say aaaaaaaaaaaaaaaah", "say ay caramba"),
        # the examples of the documentation
        ("a(x*)b", "T", "-ab-axxb-", "-T-T-"),
        ("a(x*)b", "$1", "-ab-axxb-", "--xx-"),
        ("a(x*)b", "$1W", "-ab-axxb-", "---"),
        ("a(x*)b", "${1}W", "-ab-axxb-", "-W-xxW-"),
    ],
)
def test_a_template_is_filled_as_go_fills_it(pattern: str, template: str, text: str, result: str) -> None:
    assert patterns.compile(pattern).replace_all(text, template) == result


@pytest.mark.parametrize(
    ("pattern", "replacement", "text", "result"),
    [
        ("a+", "($0)", "banana", "b($0)n($0)n($0)"),
        ("a+", "(${0})", "banana", "b(${0})n(${0})n(${0})"),
        ("a+", "(${0})$0", "banana", "b(${0})$0n(${0})$0n(${0})$0"),
        ("hello, (.+)", "goodbye, ${1}", "hello, world", "goodbye, ${1}"),
        ("hello, (?P<noun>.+)", "goodbye, $noun!", "hello, world", "goodbye, $noun!"),
        ("hello, (?P<noun>.+)", "goodbye, ${noun}", "hello, world", "goodbye, ${noun}"),
        ("(?P<x>hi)|(?P<x>bye)", "$x$x$x", "hi", "$x$x$x"),
        ("(?P<x>hi)|(?P<x>bye)", "$x$x$x", "bye", "$x$x$x"),
        ("(?P<x>hi)|(?P<x>bye)", "$xyz", "hi", "$xyz"),
        ("(?P<x>hi)|(?P<x>bye)", "${x}yz", "hi", "${x}yz"),
        ("(?P<x>hi)|(?P<x>bye)", "hello $$x", "hi", "hello $$x"),
        ("a+", "${oops", "aaa", "${oops"),
        ("a+", "$$", "aaa", "$$"),
        ("a+", "$", "aaa", "$"),
        # the example of the documentation
        ("a(x*)b", "${1}", "-ab-axxb-", "-${1}-${1}-"),
    ],
)
def test_a_literal_replacement_is_taken_as_it_is(
    pattern: str, replacement: str, text: str, result: str
) -> None:
    assert patterns.compile(pattern).replace_all_literal(text, replacement) == result


@pytest.mark.parametrize(
    ("pattern", "text", "limit", "found"),
    [
        ("a.", "paranormal", None, ["ar", "an", "al"]),
        ("a.", "paranormal", 2, ["ar", "an"]),
        ("a.", "paranormal", 0, []),
        ("a.", "graal", None, ["aa"]),
        ("a.", "none", None, []),
        ("a*", "baaab", None, ["", "aaa", ""]),
        ("", "\u65e5x", None, ["", "", ""]),
    ],
)
def test_all_matches_are_found_as_go_finds_them(
    pattern: str, text: str, limit: int | None, found: list[str]
) -> None:
    assert patterns.compile(pattern).find_all(text, limit=limit) == found
    assert patterns.compile(pattern).find(text) == next(iter(patterns.compile(pattern).find_all(text)), None)


def test_a_search_looks_anywhere() -> None:
    assert patterns.compile("foo.*").search("seafood")
    assert not patterns.compile("^foo").search("seafood")
    assert patterns.compile(r"^\w+ü$").search("größü") is False
    assert patterns.compile(r"^[\wöß]+ü$").search("größü")


@pytest.mark.parametrize(
    "text",
    [
        "*",
        "+",
        "?",
        "(abc",
        "abc)",
        "x[a-z",
        "[z-a]",
        "abc\\",
        "a**",
        "a*+",
        "\\x",
        "a{1001}",
        r"\8",
        r"\C",
        r"x\\\C",
    ],
)
def test_what_go_does_not_compile_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match="is no regular expression"):
        patterns.compile(text)


@pytest.mark.parametrize(
    "text", ["(?=a)", "(?<!a)b", r"(a)\1", r"\pX", "a" * 10_001, "((a{1,100}){1,100}){1,100}"]
)
def test_what_could_hang_or_grow_does_not_compile(text: str) -> None:
    started = time.process_time()
    with pytest.raises(ValueError, match="regular expression"):
        patterns.compile(text)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a*)*b", "a" * 50_000),
        ("(a|aa)+$", "a" * 50_000 + "b"),
        ("(x+x+)+y", "x" * 50_000),
        ("c(?:.*x)?", "c" * 1_000_000),
        ("", "c" * 1_000_000),
        (".", "c" * 100_000),
    ],
)
def test_no_pattern_hangs(pattern: str, text: str) -> None:
    started = time.process_time()
    compiled = patterns.compile(pattern)
    compiled.search(text)
    for act in (compiled.find_all, lambda given: compiled.replace_all(given, "$0")):
        try:
            act(text)
        except ValueError as error:
            assert "matches too often" in str(error)  # noqa: PT017 - either outcome is right, neither may hang
    assert time.process_time() - started < 5


def test_a_replacement_that_explodes_is_refused() -> None:
    with pytest.raises(ValueError, match="makes more than"):
        patterns.compile(".*").replace_all("a" * 100_000, "$0" * 1000)


def test_a_text_that_is_too_long_or_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="too long for a regular expression"):
        patterns.compile("a").search("a" * (patterns.LONGEST_TEXT + 1))
    with pytest.raises(ValueError, match="lone surrogate"):
        patterns.compile("a").search("\ud800")


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_pattern_compiles_or_says_why_not(pattern: str, text: str) -> None:
    try:
        compiled = patterns.compile(pattern)
    except ValueError as error:
        assert "regular expression" in str(error)  # noqa: PT017 - either outcome is right
        return
    whole = compiled.find_all(text)
    assert bool(whole) is compiled.search(text)
    assert compiled.replace_all(text, "$0") == text


@given(st.text(alphabet="ab$1{}", max_size=12), st.text(alphabet="abc", max_size=12))
def test_a_dollar_doubled_is_a_dollar(template: str, text: str) -> None:
    compiled = patterns.compile("[ab]")
    assert compiled.replace_all(text, template.replace("$", "$$")) == compiled.replace_all_literal(
        text, template
    )


@given(st.text(alphabet="ab$.", max_size=12))
def test_groups_are_counted_past_quotes_and_classes(text: str) -> None:
    pattern = rf"[(]\((?P<first>a)\Q(?P<no>\E[^]()]({re.escape(text)})"
    sample = f"((a(?P<no>x{text}"
    assert patterns.compile(pattern).replace_all(sample, "${first}|$2") == f"a|{text}"
