"""Who wrote a spec last, and when, as the server tells it; and how large it is."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.runs.authors import fields_in, last_write

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


SPEC = {"schedule": "0 1 * * *", "match": {"any": [{"names": ["a", "b"]}, {}]}, "exclude": {"any": []}}


@pytest.mark.parametrize(
    "without",
    [
        {**SPEC, "exclude": {}},
        {"schedule": SPEC["schedule"], "match": SPEC["match"]},
        {**SPEC, "match": {"any": [{"names": ["a"]}, {}]}},
        {**SPEC, "match": {"any": [{"names": ["a", "b"]}]}},
        None,
    ],
)
def test_what_lost_something_has_fewer_fields(without: Any) -> None:
    assert fields_in(without) < fields_in(SPEC) == 10


def test_a_field_with_another_value_counts_the_same_and_depth_does_no_harm() -> None:
    assert fields_in({**SPEC, "schedule": None}) == fields_in(SPEC)
    deep: Any = {}
    for _ in range(10_000):
        deep = {"a": deep}
    assert fields_in(deep) == 10_000
