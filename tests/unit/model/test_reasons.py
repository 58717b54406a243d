"""The table of reasons: every code can be said, every place that says one says it rightly, and none is left over."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import skoupa
from skoupa.model.reasons import REASONS, problems, reason, render

pytestmark = pytest.mark.unit

SOURCES = sorted(Path(skoupa.__file__).parent.rglob("*.py"))


def said() -> Iterator[tuple[str, str, frozenset[str] | None]]:
    """Every `reason("code", fact=…)` of the source: where, the code, the facts (None where they are a mapping)."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id != "reason" or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            facts = [keyword.arg for keyword in node.keywords]
            known = None if None in facts else frozenset(fact for fact in facts if fact)
            yield f"{path.name}:{node.lineno}", str(node.args[0].value), known


def quoted_codes() -> set[str]:
    """Texts of the source that are codes, for those that reach `reason` in a variable."""
    found = set()
    for path in SOURCES:
        if path.name != "reasons.py":
            found |= {
                node.value
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in REASONS
            }
    return found


@pytest.mark.parametrize("code", sorted(REASONS))
def test_every_reason_can_be_rendered(code: str) -> None:
    told = reason(code, **{fact: f"<{fact}>" for fact in REASONS[code].facts})
    text = render(told)
    assert all(f"<{fact}>" in text for fact in REASONS[code].facts)
    assert "\n" not in text
    assert not text.endswith(".")
    assert str(told) == text


def test_every_place_that_gives_a_reason_gives_all_its_facts() -> None:
    places = list(said())
    assert len(places) > 20
    for where, code, facts in places:
        assert code in REASONS, where
        assert facts is None or facts == REASONS[code].facts, where


def test_no_reason_is_in_the_table_that_nobody_gives() -> None:
    assert set(REASONS) - quoted_codes() == set()


def test_a_fact_too_few_or_too_many_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="is told with"):
        reason("kept")
    with pytest.raises(TypeError, match="is told with"):
        reason("kept", value="x", colour="blue")
    with pytest.raises(KeyError):
        reason("no-such-code")


@given(st.text(max_size=50))
def test_values_of_others_are_never_taken_for_places_in_the_sentence(value: str) -> None:
    assert render(reason("kept", value=value)) == f"kept by its label skoupa.dev/keep={value}"


def test_equal_reasons_are_equal_however_they_are_written() -> None:
    one = reason("ttl-date", key="a", value="b")
    assert one == reason("ttl-date", value="b", key="a")
    assert hash(one) == hash(reason("ttl-date", value="b", key="a"))


def test_only_problems_are_told_to_the_writer() -> None:
    short = reason("ttl-short", key="a", value="b", what="c")
    bad = reason("ttl-annotation", key="a", command="b")
    assert problems([short, bad]) == (bad,)
