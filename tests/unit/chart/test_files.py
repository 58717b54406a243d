"""The files of the chart are those that the code would write, and belong to this version."""

from __future__ import annotations

import json

import pytest
import yaml

from harness.chart import CHART, FILES
from harness.chart.pieces import pieces
from skoupa import __version__

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", FILES)
def test_a_generated_file_is_current(name: str) -> None:
    assert (CHART / name).read_text(encoding="utf-8") == FILES[name](), "run `python -m harness.chart`"


def test_no_file_of_an_earlier_version_is_left() -> None:
    written = {path.relative_to(CHART).as_posix() for path in (CHART / "files").rglob("*") if path.is_file()}
    assert written <= FILES.keys()


def test_chart_and_program_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_every_value_is_in_values_yaml_with_a_word_about_it() -> None:
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    assert yaml.safe_load(text).keys() == schema["properties"].keys() - {"global"}
    blocks = text.split("\n\n")
    assert all(block.startswith("#") or "\n  #" in block for block in blocks)


def policy(*, name: str = "guard", action: str, message: str) -> dict[str, object]:
    spec = {"action": action, "message": message}
    return {"apiVersion": "v1", "kind": "Policy", "metadata": {"name": name}, "spec": spec}


def test_a_piece_says_when_it_is_there_and_what_of_it_differs_by_what() -> None:
    def made(circumstance: frozenset[str]) -> list[dict[str, object]]:
        if "guarded" not in circumstance:
            return []
        return [policy(action="Deny" if "strict" in circumstance else "Warn", message="no")]

    assert pieces(("guarded", "strict", "irrelevant"), made) == [
        {
            "only": {"of": ["guarded"], "when": ["guarded"]},
            "object": {
                "apiVersion": "v1",
                "kind": "Policy",
                "metadata": {"name": "guard"},
                "spec": {"message": "no"},
            },
            "varying": [
                {"at": ["spec", "action"], "of": ["strict"], "is": {"none": "Warn", "strict": "Deny"}}
            ],
        }
    ]


def test_what_the_switches_do_not_decide_is_an_error_and_not_a_guess() -> None:
    def made(circumstance: frozenset[str]) -> list[dict[str, object]]:
        (only,) = circumstance if len(circumstance) == 1 else ("",)
        return [policy(action=only, message="no")] if only else []

    with pytest.raises(ValueError, match="does not decide"):
        pieces(("left", "right"), made)
