"""The definitions of retention: an interface that changes only on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from skoupa.kinds.definition import Definition, document
from skoupa.kinds.retention import DEFINITIONS

pytestmark = pytest.mark.unit

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda each: each.name)
def test_a_definition_changes_only_on_purpose(definition: Definition) -> None:
    golden = GOLDEN / f"{definition.name}.yaml"
    assert yaml.safe_load(golden.read_text(encoding="utf-8")) == document(definition), (
        f"if this change is meant, write yaml.safe_dump(definition, sort_keys=False, width=110) to {golden.name}"
    )


def test_every_golden_file_belongs_to_a_definition() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {each.name for each in DEFINITIONS}
