"""The examples are complete, readable, and listed."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from skoupa import names
from skoupa.admission.grammar import MAXIMUM_SECONDS

pytestmark = pytest.mark.unit

EXAMPLES = Path(__file__).parents[3] / "examples"
POLICIES = sorted((EXAMPLES / "admission").glob("*.yaml"))


def test_each_example_is_listed_once() -> None:
    rows = [
        line
        for line in (EXAMPLES / "README.md").read_text().splitlines()
        if line.startswith("| [") and "](admission/" in line
    ]
    listed = [row.partition("](")[2].partition(")")[0] for row in rows]
    assert sorted(listed) == [str(path.relative_to(EXAMPLES)) for path in POLICIES]


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.stem)
def test_each_example_is_a_policy_with_its_binding(path: Path) -> None:
    policy, binding = yaml.safe_load_all(path.read_text())
    assert binding["kind"] == f"{policy['kind']}Binding"
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    assert binding["metadata"]["name"] == policy["metadata"]["name"]
    assert (
        names.TTL_LABEL in path.read_text().splitlines()[0] or "ttl label" in path.read_text().splitlines()[0]
    )


def test_the_examples_know_the_longest_duration() -> None:
    assert str(MAXIMUM_SECONDS) in (EXAMPLES / "admission" / "correct-format.yaml").read_text()
