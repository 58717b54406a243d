"""Whom a limit passes over, and that another goes in its stead: kept by other policies, by their own time, by what hangs on them."""

from __future__ import annotations

import pytest

from skoupa import names
from skoupa.kinds.retention.policy import RETENTION_POLICIES
from skoupa.kube.resources import Resource
from tests.unit.controller.retaining.scene import JOBS, ON, after, end, said, template, workload
from tests.unit.controller.retaining.test_groups import ended
from tests.unit.controller.retaining.test_policies import ALSO, defined, job, kinds, policy, ready
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Stage, owned_by, story

pytestmark = pytest.mark.unit

PODS = Resource(version="v1", plural="pods", kind="Pod", namespaced=True)
NEWEST = {"count": 1, "per": "Namespace"}


async def old_job(stage: Stage, name: str, **labels: str) -> None:
    """One that is older than all that come after it."""
    keys = {"after": names.TTL_AFTER_LABEL, "ttl": names.TTL_LABEL}
    await job(stage, name, labels={keys[key]: value for key, value in labels.items()})
    await end(stage, name)
    await stage.later(HOUR)


@story(also=ALSO, features=ON)
async def test_what_another_policy_keeps_as_the_newest_is_passed_over(stage: Stage) -> None:
    await defined(stage)
    await ended(stage, "old-1", "mid", "new")
    play = await stage.play()
    match = kinds("Job", names=["old-*"])
    await policy(stage, "b-newest", match=match, after={"finished": "30d"}, keepNewest=NEWEST)
    await policy(stage, "a-limit", match=kinds("Job"), capacity={"atMost": 2})
    await stage.later(5 * MINUTE)
    assert stage.found(JOBS) == {"old-1", "new"}
    assert "one of the newest that RetentionPolicy/shop/b-newest keeps" in said(play, "old-1")


@story(also=ALSO, features=ON)
async def test_and_no_longer_once_that_policy_keeps_another(stage: Stage) -> None:
    await defined(stage)
    await ended(stage, "old-1", "old-2")
    await stage.play()
    match = kinds("Job", names=["old-*"])
    await policy(stage, "b-newest", match=match, after={"finished": "30d"}, keepNewest={**NEWEST, "count": 2})
    await policy(stage, "a-limit", match=kinds("Job"), capacity={"atMost": 1})
    await stage.later(5 * MINUTE)
    assert stage.found(JOBS) == {"old-1", "old-2"}
    await stage.people.merge_patch(
        RETENTION_POLICIES, "b-newest", {"spec": {"keepNewest": NEWEST}}, namespace=SHOP
    )
    await stage.later(5 * MINUTE)
    assert stage.found(JOBS) == {"old-2"}


@story(also=ALSO, features=ON)
async def test_a_time_that_is_written_on_an_object_is_over_before_a_limit_takes_it(stage: Stage) -> None:
    await defined(stage)
    await old_job(stage, "labelled", after="finished-5h")
    await ended(stage, "mid", "new")
    await stage.play()
    await policy(stage, "limit", match=kinds("Job"), capacity={"atMost": 1})
    await stage.later(5 * MINUTE)
    assert stage.found(JOBS) == {"labelled"}
    await ended(stage, "newer")
    assert stage.found(JOBS) == {"labelled"}
    await stage.later(5 * HOUR)
    assert not stage.found(JOBS)


@story(also=ALSO, features=ON)
async def test_the_ttl_label_too(stage: Stage) -> None:
    await defined(stage)
    await old_job(stage, "labelled", ttl="30d")
    await ended(stage, "mid", "new")
    await stage.play()
    await policy(stage, "limit", match=kinds("Job"), capacity={"atMost": 2})
    await stage.later(5 * MINUTE)
    assert stage.found(JOBS) == {"labelled", "new"}


@story(also=ALSO, features=ON)
async def test_a_label_that_says_nothing_of_how_it_ended_does_not_keep_it(stage: Stage) -> None:
    await defined(stage)
    await old_job(stage, "good", after="failed-7d")
    await ended(stage, "mid", "new")
    await stage.play()
    await policy(stage, "limit", match=kinds("Job"), capacity={"atMost": 2})
    await stage.later(5 * MINUTE)
    assert stage.found(JOBS) == {"mid", "new"}


@story(also=ALSO, features=ON)
async def test_what_nobody_understands_on_an_object_keeps_it_and_says_what_to_write(stage: Stage) -> None:
    await defined(stage)
    await old_job(stage, "odd", after="completed-1h")
    await ended(stage, "mid", "new")
    play = await stage.play()
    await policy(stage, "limit", match=kinds("Job"), capacity={"atMost": 2})
    await stage.later(5 * MINUTE)
    assert stage.found(JOBS) == {"odd", "new"}
    assert "write finished-1h" in said(play, "odd")


@story(also=ALSO, features=ON)
async def test_what_would_take_along_something_kept_is_passed_over_until_that_is_not_kept_any_more(
    stage: Stage,
) -> None:
    await defined(stage)
    body = {"metadata": {"name": "holder"}, "spec": {"template": template("elsewhere")}}
    holder = await stage.people.create(JOBS, body, namespace=SHOP)
    pod = {
        "metadata": {
            "name": "precious",
            "labels": {names.KEEP_LABEL: "true"},
            "ownerReferences": [owned_by(holder)],
        },
        "spec": {"containers": [{"name": "main", "image": "main:1"}]},
        "status": {"phase": "Succeeded"},
    }
    await stage.people.create(PODS, pod, namespace=SHOP)
    await end(stage, "holder")
    await stage.later(HOUR)
    await ended(stage, "mid", "new")
    await stage.play()
    await policy(stage, "limit", match=kinds("Job"), capacity={"atMost": 2})
    await stage.later(5 * MINUTE)
    assert stage.found(JOBS) == {"holder", "new"}
    await stage.label("precious", resource=PODS, keep=None)
    await stage.later(2 * MINUTE)
    await ended(stage, "newer")
    assert stage.found(JOBS) == {"new", "newer"}


@story(also=ALSO, features=ON)
async def test_a_label_of_one_object_does_not_make_it_newer_than_others(stage: Stage) -> None:
    await defined(stage)
    await old_job(stage, "labelled", ttl="30d")
    await ended(stage, "mid", "new")
    await stage.play()
    newest = {"count": 2, "per": "Namespace"}
    await policy(stage, "newest", match=kinds("Job"), after={"finished": "5m"}, keepNewest=newest)
    await stage.later(15 * MINUTE)
    assert stage.found(JOBS) == {"labelled", "mid", "new"}


@story(also=ALSO, features=ON)
async def test_with_a_second_time_on_it_the_ttl_label_waits_for_that(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("config", "5m", labels=after("unused-20m"))
    await stage.later(10 * MINUTE)
    assert stage.there("config")
    assert "skoupa.dev/ttl-after=unused-20m lets it stay until" in play.why_held("config")
    await stage.later(11 * MINUTE)
    assert not stage.there("config")


async def ended_pod(stage: Stage, name: str, *, namespace: str = SHOP, ended: float) -> None:
    """One that ended so many seconds after the beginning of the story, whenever it was made."""
    body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "main:1"}]}}
    await stage.people.create(PODS, body, namespace=namespace)
    at = stage.time(ended - stage.now)
    state = {"terminated": {"exitCode": 0, "finishedAt": at}}
    status = {"phase": "Succeeded", "containerStatuses": [{"name": "main", "state": state}]}
    await stage.people.merge_patch(PODS, name, {"status": status}, namespace=namespace, subresource="status")
    await stage.settle()


@story(also=ALSO, features=ON)
async def test_pods_that_ended_are_shared_between_namespaces_by_their_end_and_what_one_does_not_need_is_lent(
    stage: Stage,
) -> None:
    await defined(stage)
    await stage.namespace("other")
    # The younger a Pod is here, the sooner it ended.
    for number in range(6):
        await ended_pod(stage, f"pod-{number}", ended=HOUR - number * MINUTE)
    await ended_pod(stage, "only", namespace="other", ended=0)
    await stage.later(HOUR)
    await stage.play()
    limit = {"atMost": 4, "divide": "PerNamespace"}
    await policy(stage, "pods", cluster=True, match=kinds("Pod"), capacity=limit)
    await stage.later(MINUTE)
    # Two for each; one needs one alone.
    assert stage.found(PODS, "other") == {"only"}
    assert stage.found(PODS) == {"pod-0", "pod-1", "pod-2"}


@story(also=ALSO, features=ON)
async def test_pods_that_a_living_job_counts_on_stay_whatever_the_limit(stage: Stage) -> None:
    await defined(stage)
    body = {"metadata": {"name": "report"}, "spec": {"template": template("elsewhere")}}
    report = await stage.people.create(JOBS, body, namespace=SHOP)
    for number in range(3):
        await ended_pod(stage, f"free-{number}", ended=number)
        body = {
            "metadata": {"name": f"of-job-{number}", "ownerReferences": [owned_by(report)]},
            "spec": {"containers": [{"name": "main", "image": "main:1"}]},
        }
        await stage.people.create(PODS, body, namespace=SHOP)
        status = {"phase": "Succeeded"}
        await stage.people.merge_patch(
            PODS, f"of-job-{number}", {"status": status}, namespace=SHOP, subresource="status"
        )
    await stage.play()
    await policy(stage, "pods", match=kinds("Pod"), capacity={"atMost": 1})
    await stage.later(5 * MINUTE)
    assert stage.found(PODS) == {"of-job-0", "of-job-1", "of-job-2"}
    told = ready(stage, "pods")["message"]
    assert "3 stay while an owner lives" in told


@story(also=ALSO, features=ON)
async def test_what_is_made_before_its_first_user_is_not_taken_by_a_limit_before_that_comes(
    stage: Stage,
) -> None:
    await defined(stage)
    await workload(stage, "web", "used")
    await stage.make("used")
    await stage.play()
    await policy(stage, "configs", match=kinds("ConfigMap"), capacity={"atMost": 1})
    await stage.later(15 * MINUTE)
    assert stage.found() == {"used"}
    for name in ("coming", "forgotten"):
        await stage.make(name)
    await stage.later(5 * MINUTE)
    assert stage.found() == {"used", "coming", "forgotten"}
    await workload(stage, "next", "coming")
    await stage.later(10 * MINUTE)
    assert stage.found() == {"used", "coming"}


@story(also=ALSO, features=ON)
async def test_nor_by_a_policy_that_keeps_the_newest_and_names_no_time(stage: Stage) -> None:
    await defined(stage)
    await stage.play()
    await policy(stage, "configs", match=kinds("ConfigMap"), keepNewest=NEWEST)
    for name in ("coming", "forgotten", "newest"):
        await stage.make(name)
        await stage.later(2)
    await stage.later(5 * MINUTE)
    assert stage.found() == {"coming", "forgotten", "newest"}
    await workload(stage, "next", "coming")
    await stage.make("newer")
    await stage.later(6 * MINUTE)
    # What is used is the newest of all.
    assert stage.found() == {"coming", "newer"}
    await stage.later(6 * MINUTE)
    assert stage.found() == {"coming"}


@story(also=ALSO, features=ON)
async def test_a_limit_is_not_put_off_by_the_times_of_another_policy_whose_status_says_so(
    stage: Stage,
) -> None:
    await defined(stage)
    await ended(stage, "old-1", "mid", "new")
    await stage.play()
    await policy(stage, "times", match=kinds("Job"), after={"finished": "30d"})
    await policy(stage, "limit", match=kinds("Job"), capacity={"atMost": 2})
    await stage.later(5 * MINUTE)
    assert stage.found(JOBS) == {"mid", "new"}
    over = (
        "What is over the limit of RetentionPolicy/shop/limit goes at once, before its own times have come."
    )
    assert over in ready(stage, "times")["message"]
    assert "over the limit" not in ready(stage, "limit")["message"]
