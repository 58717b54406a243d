"""What CEL can't have here is refused before a policy runs, and stands in the docs, counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from skoupa.clock import SystemClock
from skoupa.expr.cel.messages import Named, Source
from skoupa.expr.cel.pool import Pool
from skoupa.expr.cel.refused import DIFFERENCES, LIMITS, REFUSED
from skoupa.policy.cel_checks import UNANSWERED, cel_problems

pytestmark = pytest.mark.unit

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize(
    "call", ["image.GetMetadata('nginx').config != null", "image.getMetadata('a').b == 1"]
)
async def test_what_a_registry_says_of_an_image_is_refused_with_what_to_write(call: str) -> None:
    async with Pool(clock=SystemClock()) as pool:
        report = await pool.compile(Source(conditions=(Named("c", call),)))
        (problem,) = cel_problems(report)
        assert "image.GetMetadata" in str(problem)
        assert "image()" in str(problem)
        fine = await pool.compile(Source(conditions=(Named("c", "image('nginx').registry() != ''"),)))
        assert not list(cel_problems(fine))


def test_what_can_not_be_had_is_listed_and_counted_in_the_docs() -> None:
    page = (DOCS / "policies.md").read_text()
    count = len(REFUSED) + len(UNANSWERED)
    assert f"\n{count} names that Kyverno's CEL has" in page
    assert f"({count} names)" in (DOCS / "differences.md").read_text()
    for refusal in REFUSED:
        assert f"| `{refusal.name}` | {refusal.reason} | {refusal.instead} |" in page
    for name, (why, instead) in UNANSWERED.items():
        assert f"| `{name}` | {why} | {instead} |" in page
    for line in (*LIMITS, *DIFFERENCES):
        assert f"- {line}" in page
