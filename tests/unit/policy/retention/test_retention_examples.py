"""The examples of retention policies, and those in the guide, are read as they are meant."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa.policy.retention.reading import read_retention

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[4]
EXAMPLES = sorted((ROOT / "examples/retention").glob("*.yaml"))
GUIDE = (ROOT / "docs/retention.md").read_text(encoding="utf-8")
LISTED = (ROOT / "examples/README.md").read_text(encoding="utf-8")


def in_the_guide() -> Iterator[dict[str, Any]]:
    block: list[str] = []
    for line in (*GUIDE.splitlines(), ""):
        if line.startswith("    "):
            block.append(line)
        elif block:
            if block[0].strip().startswith("apiVersion:"):
                yield yaml.safe_load(textwrap.dedent("\n".join(block)))
            block = []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_understood_stands_in_the_guide_and_in_the_list(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    body = yaml.safe_load(text)
    reading = read_retention(body)
    assert reading.policy is not None, reading.problems
    assert body in list(in_the_guide())
    assert f"retention/{path.name}" in LISTED


def test_every_policy_of_the_guide_is_understood() -> None:
    policies = [one for one in in_the_guide() if one["kind"] != "KindProfile"]
    assert len(policies) > len(EXAMPLES)
    for one in policies:
        assert read_retention(one).problems == (), one
