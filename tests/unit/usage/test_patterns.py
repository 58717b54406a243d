"""Names of which only part is known: what they mean, and that no pattern takes long to say so."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skoupa.usage.applying.naming import names_meant, untemplated
from skoupa.usage.edges.patterns import means
from skoupa.usage.inner_text import values_in
from skoupa.usage.rules import Form
from skoupa.usage.spelled import spelled

pytestmark = pytest.mark.unit

SPELLED = {"#": "[0-9]+", "*": ".*"}


@given(st.text(alphabet="ab1#*", max_size=8), st.text(alphabet="ab12", max_size=8))
@example("a#*5x", "a15x")
@example("*#*#", "a12")
@example("##", "1")
@example("", "")
def test_a_pattern_means_what_its_signs_stand_for(pattern: str, name: str) -> None:
    plain = "".join(SPELLED.get(sign, re.escape(sign)) for sign in pattern)
    assert means(pattern, name) == (pattern == name or re.fullmatch(plain, name) is not None)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("*a" * 100 + "*c", "a" * 252 + "b"),
        ("#1" * 100 + "x", "1" * 253),
        ("#" * 200 + "x", "1" * 253),
        ("*" * 2000 + "x", "a" * 253),
        ("*a" * 100_000, "a" * 253),
    ],
)
def test_no_pattern_takes_long(pattern: str, name: str) -> None:
    began = time.process_time()
    assert not means(pattern, name)
    assert time.process_time() - began < 2


def test_a_pattern_that_says_more_than_a_name_has_room_for_means_none() -> None:
    assert means("*" + "a" * 253, "a" * 253)
    assert not means("*" + "a" * 254, "a" * 253)


@pytest.mark.parametrize("hole", ["{{", "${", "$(", "{", "<"])
def test_holes_that_never_end_do_not_take_long_either(hole: str) -> None:
    text = hole * 120_000
    began = time.process_time()
    untemplated(text)
    spelled(text[:2000])
    values_in(f"secret:\n{text}")
    for form in Form:
        list(names_meant(text, form))
    assert time.process_time() - began < 5


def test_a_long_name_of_traefik_means_none_and_does_not_take_long() -> None:
    began = time.process_time()
    assert not list(names_meant("a-" * 120_000, Form.TRAEFIK))
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("db-{{ inputs.name }}", "db-*"),
        ('{{ printf "%s{" .x }}-db', "*-db"),
        ("db-${NAME}", "db-*"),
        ("db-$(NAME)", "db-*"),
        ("${pvc.annotations['team']}-db", "*-db"),
    ],
)
def test_a_hole_stands_for_anything(text: str, name: str) -> None:
    assert untemplated(text) == name
    found = spelled(text)
    assert found is not None
    assert found.name == name
