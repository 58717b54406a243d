"""The status of a policy in words: runs that stopped, that only reported, that were only what was left of one, and why deletes fail."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.status import LastRun
from skoupa.policy.reading import read_policy
from skoupa.runs.book import Entry
from skoupa.runs.run import Findings
from skoupa.runs.standing import Standing
from skoupa.runs.status import Outlook, Went, status_of, told
from skoupa.runs.stopped import Stopped, became, concluded
from skoupa.sim.clock import START

pytestmark = pytest.mark.unit

FOUND = Findings()
SUSPENDED = {"suspend": "true"}


def entry(
    annotations: dict[str, str] | None = None, *, status: dict[str, Any] | None = None, generation: int = 1
) -> Entry:
    metadata = {
        "name": "tidy",
        "uid": "one",
        "generation": generation,
        "annotations": {f"skoupa.dev/{key}": value for key, value in (annotations or {}).items()},
    }
    body = {
        "apiVersion": CLUSTER_CLEANUP_POLICIES.api_version,
        "kind": CLUSTER_CLEANUP_POLICIES.kind,
        "metadata": metadata,
        "spec": {"schedule": "0 * * * *", "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}},
    }
    return Entry(
        kind=CLUSTER_CLEANUP_POLICIES,
        namespace="",
        name="tidy",
        uid="one",
        generation=generation,
        reading=read_policy(body),
        status=status or {},
    )


def said(went: Went, known: Entry | None = None) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    status = status_of(known or entry(), outlook=Outlook(next_run=START + 60), went=went, now=START)
    return status, {one["type"]: one for one in status["conditions"]}


def stopped(*, waiting: int = 0, failing: int = 0, held: int = 0, deleted: int = 0) -> Stopped:
    stands = Standing(waiting=waiting, failing=failing, held=held)
    return Stopped(stands=stands, deleted=deleted, became=became(entry(SUSPENDED)))


def test_what_was_still_to_go_when_a_run_stopped_stays_and_says_why() -> None:
    went = concluded(
        Went(at=START, findings=FOUND, cause="no"),
        stopped(waiting=9, failing=2, held=3, deleted=1),
        deleted=2,
        generation=1,
    )
    assert (went.counts.deleted, went.counts.held, went.counts.failed) == (2, 13, 0)
    condition = said(went, entry(generation=2))[1]["LastRunSucceeded"]
    assert condition["reason"] == "Stopped"
    assert condition["message"].endswith("; 10 stay, for the policy was suspended meanwhile")
    assert condition["observedGeneration"] == 1
    assert told(entry(), went).stays == "10 stay, for the policy was suspended meanwhile"


def test_a_run_that_was_through_when_its_policy_changed_is_told_as_before() -> None:
    before = Went(at=START, findings=FOUND, counts=LastRun(deleted=4))
    after = concluded(before, stopped(deleted=4), deleted=4, generation=1)
    assert said(after)[1]["LastRunSucceeded"] == said(before)[1]["LastRunSucceeded"]


def test_what_a_run_could_not_evaluate_says_nothing_of_what_its_policy_is_now() -> None:
    went = Went(at=START, error="no such function", broken=True)
    assert said(went)[1]["Ready"]["reason"] == "NotUnderstood"
    after = said(concluded(went, stopped(), deleted=0, generation=1))[1]
    assert (after["Ready"]["reason"], after["LastRunSucceeded"]["reason"]) == ("Scheduled", "NotEvaluated")


def test_what_a_policy_became_is_said_by_what_somebody_did() -> None:
    assert became(entry(SUSPENDED)) == "the policy was suspended meanwhile"
    assert became(entry()) == "the policy was changed meanwhile: its next run chooses anew"
    assert became(entry({"max-deletions": "many"})) == "the policy is not understood any more"


def test_a_run_that_only_reported_is_no_run_that_found_nothing() -> None:
    condition = said(Went(at=START, findings=FOUND, counts=LastRun(matched=1), reported=1))[1]
    assert condition["LastRunSucceeded"]["reason"] == "OnlyReported"
    assert condition["LastRunSucceeded"]["message"].endswith("; only reported: would delete 1")


@pytest.mark.parametrize(
    ("cause", "end"), [("denied today", "tried again: denied today"), ("", "tried again")]
)
def test_why_deletes_fail_is_said_where_it_is_known(cause: str, end: str) -> None:
    went = Went(at=START, findings=FOUND, counts=LastRun(matched=2, failed=2), cause=cause)
    condition = said(went)[1]["LastRunSucceeded"]
    assert condition["reason"] == "NotAllDeleted"
    assert condition["message"].endswith(end)
    assert told(entry(), went).trouble.endswith(end)


def test_what_was_left_of_a_run_leaves_when_the_policy_ran_as_it_stands() -> None:
    went = Went(at=START + 600, findings=FOUND, counts=LastRun(matched=2, deleted=2), rest_of=START)
    status, conditions = said(went, entry(status={"lastExecutionTime": "2026-01-01T00:00:07Z"}))
    assert "lastExecutionTime" not in status, "a merge patch leaves it"
    assert conditions["LastRunSucceeded"]["message"] == (
        "what was left of the run of 2026-01-01T00:00:00Z: matched 2, deleted 2, held 0, failed 0"
    )
    assert said(went)[0]["lastExecutionTime"] == "2026-01-01T00:00:00Z", "where nothing is known of it"


def test_a_run_that_was_thrown_away_has_no_time_and_no_numbers() -> None:
    status, found = said(Went(at=START, error="its run was thrown away", thrown_away=True))
    assert not status.keys() & {"lastExecutionTime", "lastRun"}
    assert found["LastRunSucceeded"]["message"] == "its run was thrown away"
    assert {"lastExecutionTime", "lastRun"} <= said(Went(at=START, error="no answer"))[0].keys()
