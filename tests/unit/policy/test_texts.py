"""Many names at once fit what each by itself would."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.expr.wildcards import matches
from skoupa.policy.texts import texts

pytestmark = pytest.mark.unit

PATTERNS = st.lists(st.text(alphabet="ab*?", max_size=4), max_size=6)


@given(PATTERNS, st.text(alphabet="ab", max_size=5))
def test_one_of_many_fits_where_it_fits_by_itself(patterns: list[str], text: str) -> None:
    assert texts(patterns).fit(text) == any(matches(pattern, text) for pattern in patterns)


def test_ten_thousand_names_with_wildcards_take_no_longer_than_a_few() -> None:
    many = texts(f"web-{number}-*" for number in range(10_000))
    names = [f"web-{number}-x" for number in range(9_000, 11_000)]
    began = time.process_time()
    assert [many.fit(name) for name in names] == [True] * 1_000 + [False] * 1_000
    # Each with each takes ten seconds.
    assert time.process_time() - began < 1
