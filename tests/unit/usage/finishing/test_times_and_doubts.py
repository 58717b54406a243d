"""When something ended is never guessed, and a strange object never costs more than itself."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.kube.decoding import decode_list
from skoupa.kube.timestamps import whole_seconds
from skoupa.usage.finishing import FIRST_SEEN, RULES, Doubt, Finish, Outcome, shipped
from skoupa.usage.finishing.reading import paths_of
from skoupa.usage.paths import Every, parsed
from tests.unit.usage.finishing.golden_objects import EVERY, TABLE, Case

pytestmark = pytest.mark.unit

NOW = datetime(2026, 8, 4, 12, tzinfo=UTC)
FINISHED = [case for case in EVERY if case.finish and case.finish.get("at")]
STRANGE: list[Any] = [None, "", "x", "True", 0, -1, 3.5, True, [], ["x"], [None], [{}], {}, {"x": 1}]
TIMES = st.integers(1_767_225_600, 1_798_761_600).map(whole_seconds)


def job(condition: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    """A Job that is complete."""
    complete = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-08-04T09:05:00Z"}
    return {
        "metadata": {"name": "report", "creationTimestamp": "2026-08-04T09:00:00Z"},
        "spec": {},
        "status": {"conditions": [complete | (condition or {})], **status},
    }


def read(manifest: dict[str, Any], kind: str = "batch/Job") -> Finish:
    found = shipped().from_manifest(kind, manifest)
    assert isinstance(found, Finish)
    return found


@pytest.mark.parametrize(
    "time",
    [
        None,
        "",
        "yesterday",
        "2026-08-04",
        "2026-08-04T09:05:00",
        "0001-01-01T00:00:00Z",
        "1970-01-01T00:00:00Z",
        0,
        1_785_803_400,
        ["2026-08-04T09:05:00Z"],
        {"time": "2026-08-04T09:05:00Z"},
    ],
)
def test_a_time_that_is_none_is_passed_over_for_the_next(time: Any) -> None:
    assert read(job({"lastTransitionTime": time})).at is None
    other = read(job({"lastTransitionTime": time}, completionTime="2026-08-04T09:04:00Z"))
    assert (other.at, other.at_from) == (datetime(2026, 8, 4, 9, 4, tzinfo=UTC), "status.completionTime")


def test_a_time_before_the_start_or_the_creation_is_none() -> None:
    assert read(job({"lastTransitionTime": "2026-08-04T08:59:59Z"})).at is None
    assert read(job(startTime="2026-08-04T09:05:01Z")).at is None
    assert read(job(startTime="2026-08-04T09:05:00Z")).at is not None


def test_a_fraction_of_a_second_is_never_early() -> None:
    found = read(job({"lastTransitionTime": "2026-08-04T11:05:00.25+02:00"}))
    assert found.at == datetime(2026, 8, 4, 9, 5, 1, tzinfo=UTC)


def test_a_time_that_yaml_has_read_is_a_time() -> None:
    found = read(job({"lastTransitionTime": datetime(2026, 8, 4, 9, 5, tzinfo=UTC)}))
    assert found.at == datetime(2026, 8, 4, 9, 5, tzinfo=UTC)
    assert read(job({"lastTransitionTime": datetime(2026, 8, 4, 9, 5)})).at is None  # noqa: DTZ001


@pytest.mark.parametrize(
    ("at", "first_seen", "counts"),
    [
        # Its own time, whenever it was seen; also where a mark is left from an earlier end.
        (NOW - timedelta(hours=1), None, "own"),
        (NOW - timedelta(hours=1), NOW, "own"),
        (NOW - timedelta(hours=1), NOW - timedelta(days=7), "own"),
        # Clocks differ.
        (NOW + timedelta(minutes=5), NOW, "own"),
        (NOW + timedelta(minutes=5, seconds=1), NOW, "seen"),
        (NOW + timedelta(days=36_500), NOW - timedelta(days=1), "seen"),
        (NOW + timedelta(days=36_500), None, "none"),
        (None, NOW - timedelta(days=1), "seen"),
        (None, None, "none"),
    ],
)
def test_an_end_that_lies_ahead_or_is_not_told_counts_from_when_it_was_first_seen(
    at: datetime | None, first_seen: datetime | None, counts: str
) -> None:
    finish = Finish(outcome=Outcome.FAILED, at=at, at_from="status.finishedAt" if at else "")
    seen = finish.seen(first_seen, now=NOW)
    expected = {"own": (at, finish.at_from), "seen": (first_seen, FIRST_SEEN), "none": (None, "")}
    assert (seen.at, seen.at_from) == expected[counts]


@pytest.mark.parametrize(
    ("manifest", "kind", "why"),
    [
        ({"status": "done"}, "batch/Job", "status is a text, not an object"),
        (
            {"status": {"conditions": {"Complete": True}}},
            "batch/Job",
            "status.conditions is an object, not a list",
        ),
        (
            {"status": {"conditions": ["Complete"]}},
            "batch/Job",
            "status.conditions[] is a text, not an object",
        ),
        ({"status": {"conditions": [None]}}, "batch/Job", "status.conditions[] is missing"),
        (
            {"status": {"conditions": [{"status": "True"}]}},
            "batch/Job",
            "status.conditions[].type is missing",
        ),
        (
            {"status": {"conditions": [{"type": "Complete", "status": True}]}},
            "batch/Job",
            "status.conditions[].status is true or false, not a text",
        ),
        (
            {
                "status": {
                    "conditions": [
                        {"type": "Complete", "status": "True"},
                        {"type": "Complete", "status": "False"},
                    ]
                }
            },
            "batch/Job",
            "answers Complete twice",
        ),
        (
            {
                "status": {
                    "conditions": [
                        {"type": "Complete", "status": "True"},
                        {"type": "Failed", "status": "True"},
                    ]
                }
            },
            "batch/Job",
            "both that it succeeded and that it failed",
        ),
        ({"status": {"phase": 3}}, "Pod", "status.phase is a number, not a text"),
        ({"status": {"phase": ["Succeeded"]}}, "Pod", "status.phase is a list, not a text"),
        (
            job() | {"spec": {"ttlSecondsAfterFinished": "1h"}},
            "batch/Job",
            'spec.ttlSecondsAfterFinished is "1h", which is no number of seconds',
        ),
        (
            job() | {"spec": {"ttlSecondsAfterFinished": -1}},
            "batch/Job",
            'spec.ttlSecondsAfterFinished is "-1", which is no number of seconds',
        ),
        (
            {"status": {"phase": "Completed"}, "spec": {"ttl": "a month"}},
            "velero.io/Backup",
            'spec.ttl is "a month", which is no duration such as 720h0m0s',
        ),
        (
            {"status": {"phase": "Completed", "expiration": "soon"}},
            "velero.io/Backup",
            'status.expiration is "soon", which is no time',
        ),
        ({"metadata": {"labels": ["x"]}}, "batch/Job", "can't be read"),
    ],
)
def test_an_object_of_another_shape_is_in_doubt_and_says_where(
    manifest: dict[str, Any], kind: str, why: str
) -> None:
    found = shipped().from_manifest(kind, {"metadata": {"name": "a"}} | manifest)
    assert isinstance(found, Doubt)
    assert why in found.why


def test_a_strange_condition_that_nobody_asks_for_is_nobodys_business() -> None:
    strange = job()
    strange["status"]["conditions"].append({"type": "Custom", "status": 7})
    assert isinstance(read(strange), Finish)


def test_a_strange_object_does_not_cost_the_page_it_came_with() -> None:
    view = shipped().view("Pod")
    assert view is not None
    items = [{"metadata": {"name": str(index)}, "status": strange} for index, strange in enumerate(STRANGE)]
    body = msgspec.json.encode({"metadata": {}, "items": items})
    _, decoded, undecodable = decode_list(body, view, doing="the test")
    assert (len(decoded), undecodable) == (len(items), ())
    assert not any(isinstance(shipped().finish("Pod", one), Finish) for one in decoded)


def with_value(manifest: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with the value at a path of the object, in the first item of lists on the way."""
    made = copy.deepcopy(manifest)
    node: Any = made
    steps = parsed(path)
    for step, following in pairwise(steps):
        below: Any = [{}] if following is Every.ITEM else {}
        if step is Every.ITEM:
            if not node or not isinstance(node[0], type(below)):
                node[:] = [below]
            node = node[0]
        else:
            if not isinstance(node.get(step), type(below)):
                node[step] = below
            node = node[step]
    if steps[-1] is Every.ITEM:
        node[:] = [value]
    else:
        node[steps[-1]] = value
    return made


PLACES = [(rule.kind, path) for rule in RULES for path in dict.fromkeys(paths_of(rule))]


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(PLACES), st.sampled_from(STRANGE), st.integers(0, 3), st.data())
def test_whatever_stands_in_an_object_reading_it_never_raises_and_never_finds_a_time_before_its_start(
    place: tuple[str, str], strange: Any, up: int, data: st.DataObject
) -> None:
    kind, path = place
    case = data.draw(st.sampled_from([case for case in TABLE if case.kind == kind]))
    # At the end of a path, or somewhere on the way to it.
    parts = path.split(".")
    broken = with_value(case.object, ".".join(parts[: max(1, len(parts) - up)]), strange)
    found = shipped().from_manifest(kind, broken)
    assert found is None or isinstance(found, Finish | Doubt)
    if isinstance(found, Finish) and found.at is not None:
        assert found.at >= datetime.fromisoformat(case.object["metadata"]["creationTimestamp"])


@settings(deadline=None)
@given(st.sampled_from(FINISHED), TIMES)
def test_the_end_is_never_taken_from_the_creation(case: Case, created: str) -> None:
    """Another creation changes no time, unless it lies after it: then there is none."""
    known = read(case.object, case.kind)
    moved = copy.deepcopy(case.object)
    moved["metadata"]["creationTimestamp"] = created
    found = shipped().from_manifest(case.kind, moved)
    assert known.at is not None
    if datetime.fromisoformat(created) <= known.at:
        assert found == known
    elif isinstance(found, Finish):
        assert found.at is None or found.at >= datetime.fromisoformat(created)


@settings(deadline=None)
@given(st.sampled_from([rule for rule in RULES if rule.started]), TIMES, TIMES)
def test_the_end_is_never_before_the_start(rule: Any, start: str, end: str) -> None:
    (case, *_) = [case for case in FINISHED if case.kind == rule.kind]
    manifest = copy.deepcopy(case.object)
    del manifest["metadata"]["creationTimestamp"]
    for path in rule.started:
        manifest = with_value(manifest, path, start)
    ended = (
        "status.containerStatuses[].state.terminated.finishedAt"
        if rule.kind == "Pod"
        else "status.completionTime"
    )
    for path in {ended, *(path for path in paths_of(rule) if path.endswith(("Time", "At", "Timestamp")))}:
        if path not in rule.started and path.count("[]") < 2:
            manifest = with_value(manifest, path, end)
    found = shipped().from_manifest(rule.kind, manifest)
    assert isinstance(found, Finish)
    assert found.at is None or found.at >= datetime.fromisoformat(start)


def test_who_wrote_which_field_is_no_obstacle() -> None:
    managed = [
        {"manager": "kubectl", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}
    ]
    manifest = {"metadata": {"name": "a", "managedFields": managed}, "status": {"phase": "Succeeded"}}
    assert isinstance(shipped().from_manifest("Pod", manifest), Finish)
