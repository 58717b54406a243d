"""CEL that is written from Python values."""

from __future__ import annotations

import pytest

from skoupa.admission.cel import choose, literal, matches, replaced, sentence

pytestmark = pytest.mark.unit


def test_a_literal_can_hold_quotes_and_backslashes() -> None:
    assert literal("it's a \\d") == r"'it\'s a \\d'"


def test_a_sentence_is_its_words_and_what_fills_its_places() -> None:
    assert sentence("{key} is {value}!", key="a", value="b ? c : d") == "(a) + ' is ' + (b ? c : d) + '!'"
    assert sentence("plain") == "'plain'"
    assert sentence("") == "''"


def test_the_first_case_that_holds_is_chosen() -> None:
    chosen = choose([("a", "1"), ("b", "2")], otherwise="3")
    assert chosen == "((a) ? (1) : ((b) ? (2) : (3)))"


def test_a_form_is_matched_by_all_of_the_text() -> None:
    assert matches("x", "a|b") == "x.matches('^(?:a|b)$')"


def test_replacements_come_one_after_the_other() -> None:
    assert replaced("x", [("a", ""), ("b", "c")]) == "x.replace('a', '').replace('b', 'c')"
