"""The annotations of a policy: read into fields, or told with what to write."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.policy.policies import Options
from tests.unit.policy.world import cleanup, read, told, warned

pytestmark = pytest.mark.unit


def annotated(*, scope: str = "ClusterCleanupPolicy", **annotations: Any) -> dict[str, Any]:
    obj = cleanup({"kinds": ["ConfigMap"], "names": ["old-*"]}, scope=scope)
    obj["metadata"]["annotations"] = {
        f"skoupa.dev/{key.replace('_', '-')}": value for key, value in annotations.items()
    }
    return obj


def test_without_annotations_a_policy_runs_and_makes_up_once_for_what_it_missed() -> None:
    assert read(annotated()).options == Options()
    assert Options().missed_runs == "Once"


def test_everything_that_annotations_say_is_read() -> None:
    policy = read(
        annotated(
            scope="CleanupPolicy",
            time_zone="Europe/Athens",
            suspend="true",
            missed_runs="Skip",
            max_deletions="100",
            observe="24h",
            service_account="cleaner",
            notice_before="1h",
            notify="team-a",
        )
    )
    assert policy.options == Options(
        suspended=True,
        missed_runs="Skip",
        max_deletions=100,
        observe_seconds=86_400,
        service_account="cleaner",
        notice_seconds=3600,
        notify="team-a",
    )
    assert policy.schedule.zone_name == "Europe/Athens"


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("suspend", "yes", 'write "true" or "false"'),
        ("suspend", True, "write it in quotes"),
        ("missed_runs", "once", "write Once"),
        ("max_deletions", "0", "write a whole number from 1 on"),
        ("max_deletions", "-5", "write a whole number from 1 on"),
        ("max_deletions", "many", "write a whole number from 1 on"),
        ("max_deletions", "²", "write a whole number from 1 on"),
        ("observe", "1 day", "1d"),
        ("notice_before", "soon", "write"),
        ("time_zone", "Europe/Athen", "did you mean Europe/Athens"),
        ("service_account", "cleaner", "a cluster-wide policy has no namespace of its own"),
    ],
)
def test_what_is_not_understood_is_told_and_the_policy_does_not_run(key: str, value: Any, says: str) -> None:
    (problem,) = told(annotated(**{key: value}))
    assert problem.startswith(f"metadata.annotations[skoupa.dev/{key.replace('_', '-')}]: ")
    assert says in problem


def test_an_account_is_a_bare_name() -> None:
    (problem,) = told(annotated(scope="CleanupPolicy", service_account="other/cleaner"))
    assert "write the bare name of a ServiceAccount" in problem


def test_a_zone_before_the_schedule_and_another_beside_it_are_refused() -> None:
    obj = annotated(time_zone="Europe/Athens")
    obj["spec"]["schedule"] = "CRON_TZ=UTC 0 3 * * *"
    (problem,) = told(obj)
    assert problem.startswith("spec.schedule: ")


def test_an_annotation_that_nobody_knows_is_told() -> None:
    assert warned(annotated(supsend="true")) == [
        "metadata.annotations[skoupa.dev/supsend]: a policy has no such annotation; did you mean skoupa.dev/suspend?"
    ]
    obj = cleanup({"kinds": ["ConfigMap"], "names": ["old-*"]})
    obj["metadata"]["annotations"] = {"team": "a"}
    assert warned(obj) == []
