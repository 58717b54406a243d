"""The table of differences from Kyverno: complete, and each with a place in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from skoupa.model.differences import DIFFERENCES, PAGE, anchor, difference

pytestmark = pytest.mark.unit

REPOSITORY = Path(__file__).parents[3]


def test_every_difference_leads_to_a_heading_of_the_page_that_says_it_at_length() -> None:
    page = (REPOSITORY / PAGE).read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    for code, meaning in DIFFERENCES.items():
        assert meaning.heading in headings, code
        assert meaning.docs == f"{PAGE}#{anchor(meaning.heading)}"


def test_every_difference_is_in_the_guide() -> None:
    page = (REPOSITORY / "docs" / "migrate.md").read_text(encoding="utf-8")
    for code in DIFFERENCES:
        assert f"| `{code}` |" in page, f"docs/migrate.md does not list {code}"
    listed = re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE)
    assert set(listed) >= DIFFERENCES.keys()
    assert len(set(listed)) == len(listed)


def test_a_difference_says_both_sides_with_its_facts() -> None:
    found = difference("propagation", kind="Job")
    assert "dependents of a Job" in found.kyverno
    assert found.skoupa == "deletes its dependents too (Background)"


@pytest.mark.parametrize("facts", [{}, {"kind": "Job", "name": "a"}, {"kinds": "Job"}])
def test_facts_that_do_not_belong_to_it_are_a_slip_of_ours(facts: dict[str, str]) -> None:
    with pytest.raises(LookupError, match="propagation takes"):
        difference("propagation", **facts)


def test_an_anchor_is_written_as_markdown_does() -> None:
    assert anchor("Timing and persistence") == "timing-and-persistence"
    assert anchor("The ends of the scale") == "the-ends-of-the-scale"
