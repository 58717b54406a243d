"""Every row of the table of finishing, on objects as clusters have them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from skoupa.kube.decoding import decode_list
from skoupa.usage.finishing import RULES, Doubt, Ends, Finish, Finishes, Outcome, shipped
from skoupa.usage.finishing.reading import paths_of
from skoupa.usage.finishing.rules import Condition, FinishRule, TimeOf, succeeded
from skoupa.usage.paths import parsed, written
from tests.unit.usage.finishing.golden_objects import EVERY, GENERIC, TABLE, Case

pytestmark = pytest.mark.unit


def moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.case)
def test_a_row_of_the_table(case: Case) -> None:
    found = shipped().from_manifest(case.kind, case.object)
    if case.doubt:
        assert isinstance(found, Doubt)
        assert case.doubt in found.why
    elif case.finish is None:
        assert found is None
    else:
        expected, own = case.finish, case.finish.get("own", {})
        assert isinstance(found, Finish)
        assert found.outcome is Outcome(expected["outcome"])
        assert (found.at, found.at_from) == (moment(expected.get("at")), expected.get("from", ""))
        assert (found.own_ttl, found.own_from) == (own.get("seconds"), own.get("from", ""))
        assert found.own_until == moment(own.get("until"))
        assert len(found.held_by) == len(expected.get("held", []))
        for why, words in zip(found.held_by, expected.get("held", []), strict=True):
            assert words in why


def test_every_kind_of_the_table_is_seen_at_work_and_at_its_end() -> None:
    kinds = {rule.kind for rule in RULES}
    assert {case.kind for case in TABLE if case.finish} == kinds
    assert {case.kind for case in TABLE if not case.finish} == kinds


def test_what_a_server_sends_is_read_as_what_a_file_has() -> None:
    finishes = shipped()
    for kind in sorted({case.kind for case in EVERY}):
        items = [case.object for case in EVERY if case.kind == kind]
        view = finishes.view(kind)
        assert view is not None
        body = msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": items})
        _, decoded, undecodable = decode_list(body, view, doing="the test")
        assert not undecodable
        for one, item in zip(decoded, items, strict=True):
            assert one.metadata.name == item["metadata"]["name"]
            assert finishes.finish(kind, one) == finishes.from_manifest(kind, item)


def test_no_rule_reads_the_creation_of_an_object() -> None:
    for rule in RULES:
        assert len({rule.kind for rule in RULES}) == len(RULES)
        for path in paths_of(rule):
            assert written(parsed(path)) == path
            assert path.startswith(("status.", "spec."))


@pytest.mark.parametrize(
    "kind", ["ConfigMap", "apps/Deployment", "batch/CronJob", "gateway.networking.k8s.io/Gateway"]
)
def test_a_kind_that_does_not_end_is_never_finished(kind: str) -> None:
    finishes = shipped()
    ended = {"metadata": {"name": "a"}, "status": GENERIC[0].object["status"]}
    assert finishes.ends(kind) is Ends.NEVER
    assert finishes.view(kind) is None
    assert finishes.rule(kind) is None
    assert finishes.from_manifest(kind, ended) is None


def test_who_knows_a_kind_by_a_rule_and_who_by_its_shape() -> None:
    finishes = shipped()
    assert finishes.ends("batch/Job") is Ends.BY_RULE
    assert finishes.ends("batch.example.org/Render") is Ends.BY_SHAPE
    assert "batch/Job" in finishes.kinds()
    assert "batch.example.org/Render" not in finishes.kinds()


def test_a_rule_that_is_taught_beats_the_one_that_is_shipped() -> None:
    taught = FinishRule(kind="batch/Job", signs=(succeeded(Condition("Archived")),), times=(TimeOf(),))
    finishes = Finishes([*RULES, taught])
    complete = next(case.object for case in TABLE if case.kind == "batch/Job" and case.finish)
    assert isinstance(shipped().from_manifest("batch/Job", complete), Finish)
    assert finishes.from_manifest("batch/Job", complete) is None
    archived: dict[str, Any] = {
        "metadata": {"name": "a"},
        "status": {
            "conditions": [
                {"type": "Archived", "status": "True", "lastTransitionTime": "2026-08-04T09:00:00Z"}
            ]
        },
    }
    found = finishes.from_manifest("batch/Job", archived)
    assert isinstance(found, Finish)
    assert found.at == datetime(2026, 8, 4, 9, tzinfo=UTC)


def test_what_runs_again_after_its_end_has_not_finished() -> None:
    complete = next(case for case in TABLE if case.kind == "argoproj.io/Workflow" and case.finish)
    again = {
        **complete.object,
        "status": {**complete.object["status"], "phase": "Running", "finishedAt": None},
    }
    assert isinstance(shipped().from_manifest(complete.kind, complete.object), Finish)
    assert shipped().from_manifest(complete.kind, again) is None
