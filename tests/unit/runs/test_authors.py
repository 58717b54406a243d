"""Who wrote a spec last, and when, as the server tells it."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.runs.authors import last_write

pytestmark = pytest.mark.unit


def wrote(manager: str, time: str, fields: str = "f:spec", **more: str) -> dict[str, Any]:
    return {"manager": manager, "time": time, "fieldsV1": {fields: {}}, **more}


def test_the_last_of_those_who_wrote_the_spec_counts() -> None:
    fields = [
        wrote("kim", "2026-01-01T00:00:10Z"),
        wrote("lee", "2026-01-01T00:00:20Z"),
        wrote("annotator", "2026-01-01T00:00:30Z", "f:metadata"),
        wrote("skoupa", "2026-01-01T00:00:40Z", subresource="status"),
    ]
    assert last_write({"managedFields": fields}) == ("lee", 1_767_225_620)


@pytest.mark.parametrize("metadata", [{}, {"managedFields": None}, {"managedFields": [wrote("kim", "")]}])
def test_a_time_that_nobody_tells_is_none(metadata: dict[str, Any]) -> None:
    assert last_write(metadata)[1] == 0
